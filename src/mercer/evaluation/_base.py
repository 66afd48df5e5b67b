"""Evaluators: kernel values between two bound collections, computed on demand.

`Evaluator` asks the kernel for whole blocks of rows, in any array library and on any device. On the host,
`HostEvaluator` takes its place (`_host`). A matrix that exists already needs no kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import isqrt
from typing import Any, TypeAlias

import numpy as np

from .._array import host, is_array, is_sparse, namespace
from .._errors import fitting_memory
from .._threads import Workers, slices
from ..domains import take
from ..types import Array, Checked, DType, Evaluable, Index
from ._points import TILE as COLUMNS
from ._points import Points

BLOCK = 1 << 26  # entries of a block of rows
RowsOf: TypeAlias = "tuple[Evaluator, np.ndarray, np.ndarray, np.ndarray]"


BACKENDS: list[type[Evaluator]] = []


def backend(cls: type[Evaluator]) -> type[Evaluator]:
    """Register an evaluator; `bind` uses the last registered one that suits."""
    if not (isinstance(cls, type) and issubclass(cls, Evaluator)):
        raise TypeError(f"backend: {cls!r} must be a subclass of mercer.evaluation.Evaluator.")
    BACKENDS.insert(0, cls)
    return cls


def bind(kernel: Evaluable, X: Checked, Y: Checked = None) -> Evaluator:
    """The evaluator of a kernel on checked collections; Y = None means Y = X."""
    return next(cls for cls in BACKENDS if cls.suits(kernel, X))(kernel, X, Y)


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
        """Whether this class can compute the values of a kernel on a collection."""
        return True

    @cached_property
    def Y(self) -> Any:
        """The members of the columns; their indices if samples are given only by kernel values."""
        return self.kernel.domain.centres(self.X) if self._given is None else self._given

    @property
    def symmetric(self) -> bool:
        """Whether rows and columns are the same members."""
        return self._given is None and self.Y is self.X

    @property
    def shape(self) -> tuple[int, int]:
        """The sizes of X and Y."""
        n = self.kernel.domain.size(self.X)
        return n, n if self._given is None else self.kernel.domain.size(self._given)

    @property
    def batch(self) -> int:
        """The number of rows at once beyond which a row becomes no cheaper."""
        return 512

    @property
    def separate(self) -> bool:
        """Whether a row is bitwise the same whatever rows are computed with it."""
        return False

    @cached_property
    def like(self) -> Any:
        """A (1, 1) array in the library, type and device of the values."""
        return self.block(slice(0, 1), slice(0, 1))

    # ---- values

    def block(self, rows: Index, columns: Index) -> Any:
        """The values of the given rows and columns (slices or integer arrays)."""
        if is_all(rows) and is_all(columns):
            return self.kernel.evaluate(self.X, self._given)
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
        """K V, in blocks with at most `entries` values: square ones, so that few hold pairs of a member with itself."""
        n, m = self.shape
        entries = entries or BLOCK
        columns = slices(m, max(1, isqrt(entries)))
        rows = slices(n, max(1, entries // max(1, min(m, isqrt(entries)))))
        if len(columns) == 1:
            return namespace(V).concat([self.block(r, slice(None)) @ V for r in rows], axis=0)
        return namespace(V).concat([sum(self.block(r, c) @ V[c, ...] for c in columns) for r in rows], axis=0)

    def quick_product(self, V: Array, n_jobs: int | None = None) -> Any:
        """K V as fast as possible: values for close pairs may be less accurate than those of `block`."""
        return self.product(V, n_jobs)

    # ---- for solvers that ask for a few rows many times

    def take(self, rows: Index, columns: Index = slice(None)) -> Evaluator:
        """The evaluator of some members of each collection; prepared data are shared."""
        part, same = self.kernel.domain.take, self.symmetric and rows is columns
        return type(self)(self.kernel, part(self.X, rows), None if same else part(self.Y, columns))

    @cached_property
    def left(self) -> Points:
        """The members of X, prepared for rows."""
        return self.right if self.symmetric else self.kernel.points(self.X, self.right)

    @cached_property
    def right(self) -> Points:
        """The members of Y, prepared for columns."""
        return self.kernel.points(self.Y)

    def tile(self, rows: Index, columns: Index = slice(None)) -> Any:
        """The values of the given rows and columns as in `rows`, on this thread."""
        right = self.right if is_all(columns) else self.right.take(columns)
        if self.symmetric or "left" in vars(self):
            return self.left.take(rows).matrix(right)
        return self.kernel.points(self.kernel.domain.take(self.X, rows), right).matrix(right)

    def quick(self, n_jobs: int | None = 1) -> Any:
        """The whole matrix as in `rows`; bitwise independent of the number of threads."""
        return self.dense(n_jobs)

    def cast(self, dtype: DType) -> Evaluator:
        """The same in another precision, where the collections are arrays."""
        X = cast(self.X, dtype)
        return self if X is self.X else bind(self.kernel, X, None if self.symmetric else cast(self.Y, dtype))

    def exact(self, rows: Index, columns: Index) -> Any:
        """The values of the given rows and columns as in `rows`, in double precision."""
        part = self.kernel.domain.take
        members = part(self.X, rows), part(self.Y, columns)
        return bind(self.kernel, *(cast(Z, np.float64) for Z in members)).quick()

    def rows(self, index: np.ndarray, out: np.ndarray, places: np.ndarray, workers: Workers) -> None:
        """out[places[i], :] = row index[i].

        Evaluators on the host compute them from `points`: fast, but less accurate for close pairs than `block`.
        """
        self.fill([(self, index, out, places)], workers)

    def fill(self, parts: Sequence[RowsOf], workers: Workers) -> None:
        """The same for rows of several evaluators (evaluator, index, out, places) over the columns of this one."""

        def work(start: int, stop: int) -> None:
            for left in range(start, stop, COLUMNS):
                columns = slice(left, min(stop, left + COLUMNS))
                for evaluator, index, out, places in parts:
                    out[places, columns] = evaluator._between(index, self, columns)

        workers(work, self.shape[1], COLUMNS, align=COLUMNS)

    def _between(self, rows: np.ndarray, other: Any, columns: slice) -> Any:
        part = self.kernel.domain.take
        return host(bind(self.kernel, part(self.X, rows), part(other.Y, columns)).dense(1))

    def _dense(self, n: int, m: int, n_jobs: int | None) -> Any:
        return self.block(slice(None), slice(None))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("left", "right")}


backend(Evaluator)


class HeldEvaluator(Evaluator):
    """The values of a given matrix, or of some of its rows and columns: nothing is computed."""

    def __init__(self, K: Any, rows: np.ndarray | None = None, columns: np.ndarray | None = None):
        self.given, self._rows, self._columns = K, rows, columns

    @cached_property
    def K(self) -> Any:
        """The matrix; a part is copied only if it is needed."""
        return self.given if self._rows is None else _part(self.given, self._rows, self._columns)

    @property
    def symmetric(self) -> bool:
        return False  # both halves are there

    @property
    def shape(self) -> tuple[int, int]:
        n, m = self.given.shape
        return (n, m) if self._rows is None else (len(self._rows), len(self._columns))  # type: ignore[arg-type]

    @property
    def separate(self) -> bool:
        return True

    def block(self, rows: Index, columns: Index) -> Any:
        return _part(self.K, rows, columns)

    def diagonal(self) -> Any:
        return namespace(self.K).linalg.diagonal(self.K)

    def dense(self, n_jobs: int | None = None) -> Any:
        return self.K

    def tile(self, rows: Index, columns: Index = slice(None)) -> Any:
        return self.block(rows, columns)

    def product(self, V: Array, n_jobs: int | None = None, entries: int | None = None) -> Any:
        return self.K @ V

    def take(self, rows: Index, columns: Index = slice(None)) -> Evaluator:
        own = self._numbers()
        return HeldEvaluator(self.given, own[0][rows], own[1][columns])

    def cast(self, dtype: DType) -> Evaluator:
        return self  # rows are written in any precision

    def exact(self, rows: Index, columns: Index) -> Any:
        return self.block(rows, columns)

    def _between(self, rows: np.ndarray, other: Any, columns: slice) -> Any:
        return self.given[np.ix_(self._numbers()[0][rows], other._numbers()[1][columns])]

    def _numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Which rows and columns of the given matrix these are."""
        n, m = self.given.shape
        return (np.arange(n), np.arange(m)) if self._rows is None else (self._rows, self._columns)  # type: ignore[return-value]


@backend
class WholeEvaluator(HeldEvaluator):
    """The values of a function of whole collections, which is called once, for the first value."""

    @classmethod
    def suits(cls, kernel: Evaluable, X: Checked) -> bool:
        return kernel.whole

    def __init__(self, kernel: Evaluable, X: Any, Y: Any = None):
        Evaluator.__init__(self, kernel, X, Y)
        self._rows = self._columns = None

    @cached_property
    def given(self) -> Any:
        return self.kernel.evaluate(self.X, self._given)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in ("K", "given")}


def is_all(index: Index) -> bool:
    """Whether an index selects everything."""
    return isinstance(index, slice) and index == slice(None)


def _part(K: Any, rows: Index, columns: Index) -> Any:
    part = take(K, rows)
    if is_all(columns):
        return part
    xp = namespace(K)
    return xp.matrix_transpose(take(xp.matrix_transpose(part), columns))


def cast(X: Checked, dtype: DType) -> Any:
    """Floating-point arrays and CSR matrices in another precision; other collections unchanged."""
    if is_sparse(X):
        return X if X.dtype == dtype else X.astype(dtype)
    if isinstance(X, np.ndarray):
        return X.astype(dtype, copy=False) if X.dtype.kind == "f" else X
    if not is_array(X) or not namespace(X).isdtype(X.dtype, "real floating"):
        return X
    xp = namespace(X)
    return xp.astype(X, getattr(xp, np.dtype(dtype).name), copy=False)
