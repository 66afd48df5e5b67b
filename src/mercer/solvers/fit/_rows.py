"""Kernel rows on demand: segments of samples, and blocks of rows in bounded memory."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from copy import copy

import numpy as np

from ..._array import host
from ..._threads import Workers
from ...evaluation import Evaluator
from ...types import DType

GROUP = 64  # rows computed together in shared blocks


class Segment:
    """A subset of the samples of a problem, which provides kernel rows.

    Parameters
    ----------
    evaluator : Evaluator
        Kernel entries between these samples.
    dtype : of the rows; ``exact(rows, columns)``, between any samples of the problem, is double.

    Attributes
    ----------
    index : array of int
        Indices of these samples among all.
    """

    def __init__(self, evaluator: Evaluator, dtype: DType = np.float64):
        self.evaluator, self.exact = evaluator.cast(dtype), evaluator.exact
        with np.errstate(over="ignore", invalid="ignore"):  # the solver rejects values that are not finite
            self.diagonal = host(evaluator.diagonal()).astype(np.float64)
        self.index = np.arange(len(self.diagonal))

    @property
    def n(self) -> int:
        """The number of samples."""
        return len(self.index)

    def take(self, index: np.ndarray) -> Segment:
        """The segment of the samples at `index`."""
        part = copy(self)
        part.evaluator, part.diagonal = self.evaluator.take(index, index), self.diagonal[index]
        part.index = self.index[index]
        return part


class Arena:
    """Memory reused by successive problems, because the first touch of fresh memory is slow."""

    def __init__(self) -> None:
        self.memory: np.ndarray | None = None

    def take(self, rows: int, columns: int, dtype: DType) -> np.ndarray:
        """An array with arbitrary contents, valid until the next call."""
        size = rows * columns
        if self.memory is None or self.memory.size < size or self.memory.dtype != dtype:
            self.memory = np.empty(size, dtype)
        return self.memory[:size].reshape(rows, columns)


class Block:
    """A cache of at most `capacity` rows of the matrix between two segments; the least recently used are evicted.

    A block with capacity for all rows can be shared by threads: each row has a permanent place, and a row computed by
    two threads at once is written twice with the same values. Places are assigned in order, so that only used memory is
    touched. In `shared` blocks, rows that are not `separate` are computed in fixed groups, so that thread timing does
    not affect which rows are computed together, and hence their rounding.
    """

    def __init__(
        self, S: Segment, T: Segment, capacity: int, dtype: DType, arena: Arena | None = None, shared: bool = False
    ):
        self.S, self.T, self.grouped = S, T, shared and not S.evaluator.separate
        self.capacity = min(max(capacity, 4), S.n)
        self.K = np.empty((self.capacity, T.n), dtype) if arena is None else arena.take(self.capacity, T.n, dtype)
        self.slot = np.full(S.n, -1)
        self.owner = np.full(self.capacity, -1)
        self.stamp = np.full(self.capacity, -1)
        self.used = self.computed = self.evicted = 0
        self.lock = threading.Lock()

    @property
    def whole(self) -> bool:
        """Whether every row has a place."""
        return self.capacity == self.S.n

    def require(self, rows: np.ndarray, clock: int, workers: Workers) -> np.ndarray:
        """Compute these (distinct) rows if needed, and return their places."""
        require({self: rows}, clock, workers)
        return self.slot[rows]

    def lacking(self, rows: np.ndarray, clock: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """The rows to compute, in parts that are computed together, and their places; rows that are there stay."""
        slot = self.slot[rows]
        missing = rows[slot < 0]
        if not self.whole:
            self.stamp[slot[slot >= 0]] = clock
        if not len(missing):
            return []
        return [
            (part, self._place(part) if self.whole else self._make_room(part, clock)) for part in self._parts(missing)
        ]

    def keep(self, rows: np.ndarray, places: np.ndarray) -> None:
        """Note that these rows are now at these places."""
        self.slot[rows] = places
        with self.lock:
            self.computed += len(rows)

    def _parts(self, missing: np.ndarray) -> list[np.ndarray]:
        """The rows to compute, in parts computed together."""
        if not self.grouped:
            return [missing]
        starts = GROUP * np.unique(missing // GROUP)
        return [np.arange(start, min(start + GROUP, self.S.n)) for start in starts]

    def _place(self, missing: np.ndarray) -> np.ndarray:
        with self.lock:
            first = missing[self.owner[missing] < 0]  # in a whole block, `owner` is the place assigned to a row
            self.owner[first] = np.arange(self.used, self.used + len(first))
            self.used += len(first)
        return self.owner[missing]

    def _make_room(self, missing: np.ndarray, clock: int) -> np.ndarray:
        free = min(len(missing), self.capacity - self.used)
        places = np.arange(self.used, self.used + free)
        self.used += free
        if free < len(missing):
            need = len(missing) - free
            self.stamp[places] = clock
            oldest = np.argpartition(self.stamp, need - 1)[:need]
            self.slot[self.owner[oldest]] = -1
            self.evicted += need
            places = np.concatenate([places, oldest])
        self.owner[places], self.stamp[places] = missing, clock
        return places


def require(wanted: Mapping[Block, np.ndarray], clock: int, workers: Workers) -> None:
    """Compute the rows that blocks over the same columns lack, together."""
    parts = [(block, *part) for block, rows in wanted.items() for part in block.lacking(rows, clock)]
    if parts:
        columns = parts[0][0].T.evaluator
        columns.fill([(block.S.evaluator, rows, block.K, places) for block, rows, places in parts], workers)
    for block, rows, places in parts:
        block.keep(rows, places)
