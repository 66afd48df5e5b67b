"""The evaluator: kernel values between two bound collections, computed when they are asked for.

On the host, large matrices and products are computed in tiles that stay in the cache, on threads with one BLAS thread
each; of a symmetric matrix only the upper tiles are. Kernels whose single values are expensive say so by a small
`tile`. Other devices take whole blocks of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from .._array import is_sparse, namespace, on_host
from .._errors import fitting_memory
from .._threads import ALIGN, Workers, n_threads, run, slices
from ..domains import take
from ..types import Array, Checked, DType, Index
from ._points import TILE as COLUMNS
from ._points import Points

TILE = 1024  # rows and columns: 4 MiB in float32, with temporaries within the last-level cache of a core
SMALL = 1 << 21  # entries below which one call of evaluate is fastest, for kernels whose values are cheap
DEVICE = 1 << 26  # entries of a block of rows on another device


def bind(kernel: Any, X: Checked, Y: Checked = None) -> Evaluator:
    """The evaluator of a kernel on checked collections; Y = None means Y = X."""
    return WholeEvaluator(kernel, X, Y) if kernel.whole else Evaluator(kernel, X, Y)


class Evaluator:
    """k(xᵢ, yⱼ) for the members of two checked collections, in the array library and on the device of X.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> values = Linear().bind(np.array([[1.0], [2.0], [3.0]]))
    >>> values.shape, values.block(slice(0, 1), slice(None))
    ((3, 3), array([[1., 2., 3.]]))
    >>> values.product(np.ones(3))
    array([ 6., 12., 18.])
    """

    def __init__(self, kernel: Any, X: Any, Y: Any = None):
        self.kernel, self.X, self._given = kernel, X, Y

    @cached_property
    def Y(self) -> Any:
        """The members that columns belong to; of samples that are known by their values alone, their numbers."""
        return self.kernel.domain.centres(self.X) if self._given is None else self._given

    @property
    def symmetric(self) -> bool:
        """Whether rows and columns are the same members."""
        return self._given is None and self.Y is self.X

    @property
    def shape(self) -> tuple[int, int]:
        """Members of X, and of Y."""
        n = self.kernel.domain.size(self.X)
        return n, n if self._given is None else self.kernel.domain.size(self._given)

    @cached_property
    def like(self) -> Any:
        """A 1 × 1 array in the library, type and device of the values."""
        return self.block(slice(0, 1), slice(0, 1))

    # ---- values

    def block(self, rows: Index, columns: Index) -> Any:
        """The values of the given rows and columns (slices or integer arrays)."""
        part = self.kernel.domain.take
        return self.kernel.evaluate(part(self.X, rows), part(self.Y, columns))

    def diagonal(self) -> Any:
        """k(xᵢ, xᵢ)."""
        return self.kernel.evaluate_diag(self.X)

    def dense(self, n_jobs: int | None = None) -> Any:
        """The whole matrix."""
        n, m = self.shape
        with fitting_memory(self.kernel, n, m, getattr(self.X, "dtype", None)):
            return self._dense(n, m, n_jobs)

    def product(self, V: Array, n_jobs: int | None = None, entries: int | None = None) -> Any:
        """K V, without ever holding more than a tile a thread, or `entries` values at a time on another device."""
        n, m = self.shape
        if not on_host(self.X):
            part, size = self.kernel.domain.take, max(1, (entries or DEVICE) // max(m, 1))
            blocks = [self.kernel.evaluate(part(self.X, r), self.Y) @ V for r in slices(n, size)]
            return namespace(V).concat(blocks, axis=0)
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

    # ---- rows for solvers that ask for a few again and again

    @cached_property
    def left(self) -> Points:
        """The members of X, held for rows."""
        return self.right if self.symmetric else self.kernel.points(self.X, self.right)

    @cached_property
    def right(self) -> Points:
        """The members of Y, held for columns."""
        return self.kernel.points(self.Y)

    def take(self, rows: Index, columns: Index = slice(None)) -> Evaluator:
        """The evaluator of some members of each; what is held of them is shared."""
        return _Part(self, rows, columns)

    def quick(self) -> Any:
        """The whole matrix from `points`."""
        return self.left.matrix(self.right)

    def cast(self, dtype: DType) -> Evaluator:
        """The same in another precision, where the collections are arrays."""
        X = cast(self.X, dtype)
        return self if X is self.X else Evaluator(self.kernel, X, None if self.symmetric else cast(self.Y, dtype))

    def exact(self, rows: Index, columns: Index) -> Any:
        """The values of the given rows and columns from `points` in double precision."""
        part = self.kernel.domain.take
        members = part(self.X, rows), part(self.Y, columns)
        return Evaluator(self.kernel, *(cast(Z, np.float64) for Z in members)).quick()

    def rows(
        self, index: np.ndarray, out: np.ndarray, places: np.ndarray, workers: Workers, over: Evaluator | None = None
    ) -> None:
        """out[places[i], :] = the row index[i], over the columns of another evaluator where one is given.

        From `points`: fast, but distances of close pairs keep fewer digits than those of `block`.
        """
        left, right = self.left.take(index), (over or self).right

        def work(start: int, stop: int) -> None:
            with np.errstate(over="ignore", invalid="ignore"):  # the solver looks at what it takes of the rows
                left.fill(out, places, right, start, stop)

        workers(work, len(right), 512, align=ALIGN if left.separate else COLUMNS)

    # ---- how

    @property
    def _small(self) -> int:
        """Entries below which one call of evaluate is fastest."""
        return min(SMALL, 2 * self.kernel.tile**2)

    def _whole(self) -> Any:
        return self.kernel.evaluate(self.X, self._given)

    def _dense(self, n: int, m: int, n_jobs: int | None) -> Any:
        if n * m <= self._small or not on_host(self.X) or (self._given is None and not self.symmetric):
            return self._whole()
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
        """A function of rows and columns that gives their values; kernels that ask for it see each member once."""
        if self.kernel.prepares:
            left, right = self.left, self.right
            return lambda r, c: left.take(r).matrix(right.take(c))
        part, evaluate, X, Y = self.kernel.domain.take, self.kernel.evaluate, self.X, self.Y
        if self.symmetric:
            return lambda r, c: evaluate(part(X, r)) if r == c else evaluate(part(X, r), part(X, c))
        return lambda r, c: evaluate(part(X, r), part(Y, c))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("left", "right")}


class _Part(Evaluator):
    """Some members of each side. What is held for rows is shared; the members themselves are taken where needed."""

    def __init__(self, base: Evaluator, rows: Index, columns: Index):
        self.kernel, self.base, self._rows, self._columns = base.kernel, base, rows, columns
        self._same = base.symmetric and rows is columns

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
        return self.base.left.take(self._rows) if "left" in vars(self.base) else self.kernel.points(self.X, self.right)

    @cached_property
    def right(self) -> Points:
        return self.base.right.take(self._columns)


class HeldEvaluator(Evaluator):
    """The values of a matrix that is there: nothing is computed."""

    def __init__(self, K: Any):
        self.K = K

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.left), len(self.right)

    def block(self, rows: Index, columns: Index) -> Any:
        xp = namespace(self.K)
        return xp.matrix_transpose(take(xp.matrix_transpose(take(self.K, rows)), columns))

    def diagonal(self) -> Any:
        return namespace(self.K).linalg.diagonal(self.K)

    def dense(self, n_jobs: int | None = None) -> Any:
        return self.K

    def product(self, V: Array, n_jobs: int | None = None, entries: int | None = None) -> Any:
        return self.K @ V

    @cached_property
    def left(self) -> Points:
        return HeldPoints(self.K, np.arange(self.K.shape[0]))

    @cached_property
    def right(self) -> Points:
        return HeldPoints(self.K, np.arange(self.K.shape[1]))

    def take(self, rows: Index, columns: Index = slice(None)) -> Evaluator:
        return _HeldPart(self, rows, columns)

    def cast(self, dtype: DType) -> Evaluator:
        return self  # rows are written in any precision

    def exact(self, rows: Index, columns: Index) -> Any:
        return self.block(rows, columns)


class _HeldPart(HeldEvaluator):
    """Some rows and columns of a matrix that is held, copied only where they are asked for as a matrix."""

    def __init__(self, base: HeldEvaluator, rows: Index, columns: Index):
        self._part = base, rows, columns
        self.left, self.right = base.left.take(rows), base.right.take(columns)

    @cached_property
    def K(self) -> Any:
        base, rows, columns = self._part
        return base.block(rows, columns)


class HeldPoints(Points):
    """Some rows, or columns, of a matrix that is held."""

    separate = True

    def __init__(self, K: Array, index: np.ndarray):
        self.K, self.index = K, index

    def __len__(self) -> int:
        return len(self.index)

    def take(self, index: Index) -> HeldPoints:
        return HeldPoints(self.K, self.index[index])

    def matrix(self, other: Any) -> Any:
        return self.K[np.ix_(self.index, other.index)]


class WholeEvaluator(HeldEvaluator):
    """Of a function that must see whole collections: it is called once, when the first value is asked for."""

    def __init__(self, kernel: Any, X: Any, Y: Any = None):
        Evaluator.__init__(self, kernel, X, Y)

    @cached_property
    def K(self) -> Any:
        return self._whole()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "K"}


def cast(X: Checked, dtype: DType) -> Any:
    """Floating-point arrays and CSR matrices in another precision; other collections as they are."""
    if is_sparse(X):
        return X if X.dtype == dtype else X.astype(dtype)
    return X.astype(dtype, copy=False) if isinstance(X, np.ndarray) and X.dtype.kind == "f" else X


def _pairs(rows: list[slice], columns: list[slice], symmetric: bool) -> Iterator[tuple[slice, slice]]:
    return ((r, c) for i, r in enumerate(rows) for c in (columns[i:] if symmetric else columns))
