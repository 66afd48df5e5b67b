"""Kernel rows on demand: segments of prepared points, and blocks of rows in bounded memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from ...kernels._base import TILE

GROUP = 64  # rows that are computed together in shared blocks
ALIGN = 64  # parts of work begin at multiples of this: whole cache lines, and whole panels of packed columns


class Workers:
    """Runs ``work(start, stop)`` over 0 … n on threads, or inline without a pool."""

    def __init__(self, pool: ThreadPoolExecutor | None = None, parts: int = 1):
        self.pool, self.parts = pool, parts

    def __call__(self, work: Callable[[int, int], None], n: int, grain: int = 1, align: int = ALIGN) -> None:
        if self.pool is None or n < 2 * grain:
            work(0, n)
            return
        edges = np.minimum(np.linspace(0, -(-n // align), self.parts + 1).astype(int) * align, n).tolist()
        futures = [self.pool.submit(work, a, b) for a, b in pairwise(edges[1:])]
        work(*edges[:2])
        for future in futures:
            future.result()


class Segment:
    """Some samples of a problem, ready to give rows: `left` as rows and `right` as columns of the matrix.

    Both have ``take``, ``matrix`` and ``len`` (`mercer.kernels.Prepared`). ``exact(rows, columns)`` is the matrix
    between samples in double precision; `index` says which samples these are.
    """

    def __init__(
        self,
        left: Any,
        right: Any,
        diagonal: np.ndarray,
        exact: Callable[[Any, Any], Any],
        index: np.ndarray | None = None,
    ):
        self.left, self.right, self.diagonal, self.exact = left, right, diagonal, exact
        self.n = len(right)
        self.index = np.arange(self.n) if index is None else index

    def take(self, index: np.ndarray) -> Segment:
        """The segment of the samples at `index`."""
        left = self.left.take(index)
        right = left if self.right is self.left else self.right.take(index)
        return Segment(left, right, self.diagonal[index], self.exact, self.index[index])


class Arena:
    """Memory that one problem after another uses, because the first touch of fresh memory is slow."""

    def __init__(self) -> None:
        self.memory: np.ndarray | None = None

    def take(self, rows: int, columns: int, dtype: Any) -> np.ndarray:
        """An array with arbitrary contents, valid until the next call."""
        size = rows * columns
        if self.memory is None or self.memory.size < size or self.memory.dtype != dtype:
            self.memory = np.empty(size, dtype)
        return self.memory[:size].reshape(rows, columns)


class Block:
    """Rows of the matrix between two segments, at most `capacity` of them; the least recently used make room.

    A block that has room for all rows may be shared by threads: each row has its own place for good, and a row that two
    threads compute at once is written twice with the same values. Places are given out in turn, so that memory is
    touched only as far as it is used. In `shared` blocks, rows that are not `separate` come in fixed groups, so that
    the timing of threads does not decide in whose company a row is computed, and with which digits.
    """

    def __init__(
        self, S: Segment, T: Segment, capacity: int, dtype: Any, arena: Arena | None = None, shared: bool = False
    ):
        self.S, self.T, self.grouped = S, T, shared and not S.left.separate
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
        """Have these rows computed, and return where they are."""
        slot = self.slot[rows]
        missing = np.unique(rows[slot < 0])
        if len(missing):
            for part in self._parts(missing):
                places = self._place(part) if self.whole else self._make_room(part, slot[slot >= 0], clock)
                self._compute(part, places, workers)
                self.slot[part] = places
            slot = self.slot[rows]
        if not self.whole:
            self.stamp[slot] = clock
        return slot

    def _parts(self, missing: np.ndarray) -> list[np.ndarray]:
        """The rows to compute, each part at once."""
        if not self.grouped:
            return [missing]
        starts = GROUP * np.unique(missing // GROUP)
        return [np.arange(start, min(start + GROUP, self.S.n)) for start in starts]

    def _place(self, missing: np.ndarray) -> np.ndarray:
        with self.lock:
            first = missing[self.owner[missing] < 0]  # of a whole block, `owner` is the place that a row was given
            self.owner[first] = np.arange(self.used, self.used + len(first))
            self.used += len(first)
        return self.owner[missing]

    def _make_room(self, missing: np.ndarray, in_use: np.ndarray, clock: int) -> np.ndarray:
        self.stamp[in_use] = clock
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

    def _compute(self, rows: np.ndarray, places: np.ndarray, workers: Workers) -> None:
        left = self.S.left.take(rows)

        def work(start: int, stop: int) -> None:
            with np.errstate(over="ignore", invalid="ignore"):  # the solver looks at what it takes of the rows
                left.fill(self.K, places, self.T.right, start, stop)

        workers(work, self.T.n, 512, align=ALIGN if left.separate else TILE)
        with self.lock:
            self.computed += len(rows)
