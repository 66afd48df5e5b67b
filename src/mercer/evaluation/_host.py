"""Kernel values on the host: in cache-sized tiles, on threads with one BLAS thread each.

A symmetric matrix needs only the upper tiles. Kernels with expensive values declare a small `tile`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .._array import is_sparse, on_host
from .._threads import ALIGN, Workers, n_threads, run, slices
from ..types import Array, Checked, Evaluable, Index
from ._base import Evaluator, backend
from ._points import TILE as COLUMNS
from ._points import Points

TILE = 1024  # rows and columns: 4 MiB in float32, with temporaries within the last-level cache of a core
SMALL = 1 << 22  # entries below which one call of evaluate is fastest, for kernels whose values are cheap
STRIP = 192  # rows of a quick product
QUICK = 1 << 18  # entries above which the matrix is computed in tiles


@backend
class HostEvaluator(Evaluator):
    """Kernel values of collections in main memory."""

    @classmethod
    def suits(cls, kernel: Evaluable, X: Checked) -> bool:
        return on_host(X) and not kernel.whole

    @property
    def separate(self) -> bool:
        return self.left.separate

    @property
    def batch(self) -> int:
        return self.left.batch

    def take(self, rows: Index, columns: Index = slice(None)) -> Evaluator:
        return _Part(self, rows, columns)

    def product(self, V: Array, n_jobs: int | None = None, entries: int | None = None) -> Any:
        """K V, in tiles of at most `entries` values, one per thread at a time."""
        n, m = self.shape
        if n * m <= self._small:
            return self.kernel.evaluate(self.X, None if self.symmetric else self.Y) @ V
        size = min(TILE, self.kernel.tile)
        size = size if entries is None else max(16, min(size, int(np.sqrt(entries))))
        rows, columns = slices(n, size), slices(m, size)
        out = np.zeros((n, *V.shape[1:]), dtype=V.dtype)
        if self.symmetric:
            return self._symmetric_product(V, rows, out, n_threads(n_jobs))
        values = self._tiles()

        def strip(r: slice) -> None:
            for c in columns:
                out[r] += values(r, c) @ V[c]

        run(rows, strip, n_jobs)
        return out

    def quick_product(self, V: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """K V on the host from `points`, a strip of rows at a time: fast, as accurate as `rows`.

        Rows of a sparse X are made dense if Y is dense.
        """
        n, right, part = self.shape[0], self.right, self.kernel.domain.take
        columns = np.ascontiguousarray(V.reshape(len(V), -1))
        out = np.empty((n, columns.shape[1]), V.dtype)
        dense = is_sparse(self.X) and not is_sparse(self.Y)

        def strip(r: slice) -> None:
            X = part(self.X, r)
            out[r] = self.kernel.points(X.toarray() if dense else X, right).matrix(right) @ columns

        run(slices(n, STRIP), strip, n_jobs)
        return out.reshape(n, *V.shape[1:])

    def quick(self, n_jobs: int | None = 1) -> Any:
        """The whole matrix from `points`; bitwise independent of the number of threads."""
        n, m = self.shape
        left, right = self.left, self.right
        if n * m <= QUICK:
            return left.matrix(right)
        rows, symmetric = slices(n, COLUMNS), self.symmetric
        out = np.empty((n, m))

        def work(tile: tuple[slice, slice]) -> None:
            r, c = tile
            out[tile] = left.take(r).matrix(right.take(c))
            if symmetric and r != c:
                out[c, r] = out[tile].T

        run(_pairs(rows, rows if symmetric else slices(m, COLUMNS), symmetric), work, n_jobs)
        return out

    def fill(self, parts: Sequence[Any], workers: Workers) -> None:
        right = self.right
        lefts = [(evaluator.left.take(index), out, places) for evaluator, index, out, places in parts]

        def work(start: int, stop: int) -> None:
            with np.errstate(over="ignore", invalid="ignore"):  # the solver checks the values that it uses
                right.receive(lefts, start, stop)

        workers(work, len(right), 512, align=ALIGN if right.separate else COLUMNS)

    # ---- how

    @property
    def _small(self) -> int:
        """Entries below which one call of evaluate is fastest."""
        return SMALL if self.kernel.tile >= TILE else 2 * self.kernel.tile**2

    def _dense(self, n: int, m: int, n_jobs: int | None) -> Any:
        if n * m <= self._small or (self._given is None and not self.symmetric):
            return super()._dense(n, m, n_jobs)
        size = min(TILE, self.kernel.tile)
        rows = slices(n, size)
        columns = rows if self.symmetric else slices(m, size)
        out, values = np.empty((n, m), dtype=self.like.dtype), self._tiles()

        def work(tile: tuple[slice, slice]) -> None:
            r, c = tile
            block = values(r, c)
            if self.symmetric and r == c:
                # mirrored, because a + b + c and a + c + b may differ in the last digit
                out[r, c] = np.triu(block) + np.triu(block, 1).T
                return
            out[r, c] = block
            if self.symmetric:
                out[c, r] = block.T

        run(_pairs(rows, columns, self.symmetric), work, n_jobs)
        return out

    def _symmetric_product(self, V: Array, rows: list[slice], out: np.ndarray, threads: int) -> np.ndarray:
        """Each tile above the diagonal is computed once and used twice."""
        partial, values = [np.zeros_like(out) for _ in range(threads)], self._tiles()

        def work(job: tuple[np.ndarray, list[tuple[slice, slice]]]) -> None:
            mine, tiles = job
            for r, c in tiles:
                K = values(r, c)
                mine[r] += K @ V[c]
                if r != c:
                    mine[c] += K.T @ V[r]

        tiles = list(_pairs(rows, rows, True))
        run([(partial[t], tiles[t::threads]) for t in range(threads)], work, threads)
        return sum(partial)  # type: ignore[return-value]

    def _tiles(self) -> Callable[[slice, slice], Any]:
        """A function from rows and columns to their values; kernels that prepare members do so once."""
        if self.kernel.prepares:
            left, right = self.left, self.right
            return lambda r, c: left.take(r).matrix(right.take(c))
        part, evaluate, X, Y = self.kernel.domain.take, self.kernel.evaluate, self.X, self.Y
        if self.symmetric:
            return lambda r, c: evaluate(part(X, r)) if r == c else evaluate(part(X, r), part(X, c))
        return lambda r, c: evaluate(part(X, r), part(Y, c))


class _Part(HostEvaluator):
    """Some rows and columns. Prepared points are shared; the members themselves are selected only if needed."""

    def __init__(self, base: HostEvaluator, rows: Index, columns: Index):
        self.kernel, self.base, self._rows, self._columns = base.kernel, base, rows, columns
        self._same = base.symmetric and rows is columns

    @property
    def separate(self) -> bool:
        return self.base.separate

    @property
    def batch(self) -> int:
        return self.base.batch

    @cached_property
    def X(self) -> Any:
        return self.kernel.domain.take(self.base.X, self._rows)

    @cached_property
    def _given(self) -> Any:
        return None if self._same else self.kernel.domain.take(self.base.Y, self._columns)

    @cached_property
    def left(self) -> Points:
        if self._same:
            return self.right
        prepared = self.base.symmetric or "left" in vars(self.base)
        return self.base.left.take(self._rows) if prepared else self.kernel.points(self.X, self.right)

    @cached_property
    def right(self) -> Points:
        return self.base.right.take(self._columns)


def _pairs(rows: list[slice], columns: list[slice], symmetric: bool) -> Iterator[tuple[slice, slice]]:
    return ((r, c) for i, r in enumerate(rows) for c in (columns[i:] if symmetric else columns))
