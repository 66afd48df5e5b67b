"""The evaluator: kernel values between two bound collections, computed on demand.

On the host, large matrices and products are computed in tiles that stay in the cache, on threads with one BLAS thread
each; a symmetric matrix needs the upper tiles only. Kernels whose single values are expensive declare a small `tile`.
Other devices take whole blocks of rows.
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
from ..types import Array, Checked, DType, Evaluable, Index
from ._points import TILE as COLUMNS
from ._points import Points

TILE = 1024  # rows and columns: 4 MiB in float32, with temporaries within the last-level cache of a core
SMALL = 1 << 22  # entries below which one call of evaluate is fastest, for kernels whose values are cheap
STRIP = 192  # rows of a quick product
QUICK = 1 << 18  # entries from which the matrix is computed in tiles
DEVICE = 1 << 26  # entries of a block of rows on another device


BACKENDS: list[type[Evaluator]] = []


def backend(cls: type[Evaluator]) -> type[Evaluator]:
    """Register an evaluator: `bind` takes the one that was registered last, of those that suit."""
    BACKENDS.insert(0, cls)
    return cls


def bind(kernel: Evaluable, X: Checked, Y: Checked = None) -> Evaluator:
    """The evaluator of a kernel on checked collections; Y = None means Y = X."""
    return next(cls for cls in BACKENDS if cls.suits(kernel, X))(kernel, X, Y)


@backend
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

    def __init__(self, kernel: Evaluable, X: Any, Y: Any = None):
        self.kernel, self.X, self._given = kernel, X, Y

    @classmethod
    def suits(cls, kernel: Evaluable, X: Checked) -> bool:
        """Whether this class computes the values of a kernel on a collection."""
        return True

    @cached_property
    def Y(self) -> Any:
        """The members that columns belong to; their numbers if samples are given by kernel values alone."""
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
        """K V, without ever holding more than a tile per thread, or `entries` values at a time."""
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
        """K V on the host from `points`, a strip of rows at a time: fast, with the digits of `rows`.

        Rows of a sparse X are made dense beside dense columns.
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

    # ---- rows for solvers that need a few many times

    @cached_property
    def left(self) -> Points:
        """The members of X, held for rows."""
        return self.right if self.symmetric else self.kernel.points(self.X, self.right)

    @cached_property
    def right(self) -> Points:
        """The members of Y, held for columns."""
        return self.kernel.points(self.Y)

    def take(self, rows: Index, columns: Index = slice(None)) -> Evaluator:
        """The evaluator of some members of each; it shares what is held of them."""
        return _Part(self, rows, columns)

    def quick(self, n_jobs: int | None = 1) -> Any:
        """The whole matrix from `points`; the digits do not depend on the number of threads."""
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
            with np.errstate(over="ignore", invalid="ignore"):  # the solver checks the values that it uses
                left.fill(out, places, right, start, stop)

        workers(work, len(right), 512, align=ALIGN if left.separate else COLUMNS)

    # ---- how

    @property
    def _small(self) -> int:
        """Entries below which one call of evaluate is fastest."""
        return SMALL if self.kernel.tile >= TILE else 2 * self.kernel.tile**2

    def _whole(self) -> Any:
        return self.kernel.evaluate(self.X, self._given)

    def _dense(self, n: int, m: int, n_jobs: int | None) -> Any:
        if n * m <= self._small or (self._given is None and not self.symmetric):
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
        """A function from rows and columns to their values; kernels that prepare members do so once."""
        if self.kernel.prepares:
            left, right = self.left, self.right
            return lambda r, c: left.take(r).matrix(right.take(c))
        part, evaluate, X, Y = self.kernel.domain.take, self.kernel.evaluate, self.X, self.Y
        if self.symmetric:
            return lambda r, c: evaluate(part(X, r)) if r == c else evaluate(part(X, r), part(X, c))
        return lambda r, c: evaluate(part(X, r), part(Y, c))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("left", "right")}


@backend
class DeviceEvaluator(Evaluator):
    """Values on another device, which takes whole blocks of rows."""

    @classmethod
    def suits(cls, kernel: Evaluable, X: Checked) -> bool:
        return not on_host(X)

    def product(self, V: Array, n_jobs: int | None = None, entries: int | None = None) -> Any:
        """K V, in blocks of rows with at most `entries` values."""
        n, m = self.shape
        part, size = self.kernel.domain.take, max(1, (entries or DEVICE) // max(m, 1))
        blocks = [self.kernel.evaluate(part(self.X, r), self.Y) @ V for r in slices(n, size)]
        return namespace(V).concat(blocks, axis=0)

    def take(self, rows: Index, columns: Index = slice(None)) -> Evaluator:
        part, same = self.kernel.domain.take, self.symmetric and rows is columns
        return DeviceEvaluator(self.kernel, part(self.X, rows), None if same else part(self.Y, columns))

    def _dense(self, n: int, m: int, n_jobs: int | None) -> Any:
        return self._whole()


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
    """The values of a given matrix: nothing is computed."""

    def __init__(self, K: Any):
        self.K = K

    @property
    def symmetric(self) -> bool:
        return False  # both halves are there

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.left), len(self.right)

    def block(self, rows: Index, columns: Index) -> Any:
        part = take(self.K, rows)
        if isinstance(columns, slice) and columns == slice(None):
            return part
        xp = namespace(self.K)
        return xp.matrix_transpose(take(xp.matrix_transpose(part), columns))

    def diagonal(self) -> Any:
        return namespace(self.K).linalg.diagonal(self.K)

    def dense(self, n_jobs: int | None = None) -> Any:
        return self.K

    def quick(self, n_jobs: int | None = 1) -> Any:
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
    """Some rows and columns of a matrix that is held, copied only if the submatrix is needed."""

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


@backend
class WholeEvaluator(HeldEvaluator):
    """The values of a function of whole collections, which is called once, for the first value."""

    @classmethod
    def suits(cls, kernel: Evaluable, X: Checked) -> bool:
        return kernel.whole

    def __init__(self, kernel: Evaluable, X: Any, Y: Any = None):
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
