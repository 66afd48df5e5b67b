"""Kernels on changed arguments or features: normalised, warped, restricted to columns, centred."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from .._array import host, is_sparse, like, namespace
from ..domains import Anything, Domain, Vectors, take
from ..evaluation import Pairs, Points, bind
from ..types import Array, Checked, Evaluable, Index
from ._base import Kernel
from ._definiteness import PD, UNKNOWN, Definiteness
from ._parts import STATIONARY, Unary, in_type_of, inner_examples
from .derivatives import Chained, Link


class Normalized(Unary):
    """k(x, y) / √(k(x, x) k(y, y)): feature vectors scaled to length one. Zero vectors stay zero.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().normalized()([[3.0]], [[-2.0], [0.0]])
    array([[-1.,  0.]])
    """

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def _inverse_root(self, X: Checked) -> Any:
        v = self.kernel.evaluate_diag(X)
        xp = namespace(v)
        if not bool(xp.all(v >= 0)):
            i = int(xp.argmin(v))
            raise ValueError(
                f"Normalized: k(x, x) = {float(v[i]):g} at sample {i} must be >= 0; drop it, or add a constant."
            )
        zero = v == 0
        return xp.where(zero, v, 1 / xp.sqrt(xp.where(zero, xp.ones_like(v), v)))

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        a = self._inverse_root(X)
        b = a if Y is None else self._inverse_root(Y)
        return self.kernel.evaluate(X, Y) * (a[:, None] * b[None, :])

    def against(self, Y: Checked) -> Callable[[Any], Any]:
        values, b = self.kernel.against(Y), self._inverse_root(Y)
        return lambda X: values(X) * (self._inverse_root(X)[:, None] * b[None, :])

    def evaluate_diag(self, X: Checked) -> Any:
        a = self._inverse_root(X)
        return namespace(a).astype(a > 0, a.dtype)

    @property
    def prepares(self) -> bool:  # type: ignore[override]
        return self.kernel.prepares

    def points(self, X: Checked, beside: Any = None) -> Points:
        inner = self.kernel.points(X, None if beside is None else beside.inner)
        return NormalizedPoints(self, X, inner, self._inverse_root(X))


class NormalizedPoints(Points):
    """A collection with the inverse norms of its feature vectors."""

    def __init__(self, kernel: Evaluable, X: Checked, inner: Points, inverse_root: Any):
        super().__init__(kernel, X)
        self.inner, self.inverse_root, self.batch, self.separate = inner, inverse_root, inner.batch, inner.separate

    def take(self, index: Index) -> NormalizedPoints:
        X, root = self.kernel.domain.take(self.X, index), take(self.inverse_root, index)
        return NormalizedPoints(self.kernel, X, self.inner.take(index), root)

    def matrix(self, other: Points) -> Any:
        a, b = self.inverse_root, other.inverse_root  # type: ignore[attr-defined]
        return self.inner.matrix(other.inner) * (a[:, None] * b[None, :])  # type: ignore[attr-defined]


class Mapped(Chained, Unary):
    """k(g(x), g(y)); a subclass implements `image`, g of a checked collection."""

    def image(self, X: Checked) -> Any:
        """The collection that the inner kernel sees."""
        raise NotImplementedError

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        return self.kernel.evaluate(self.image(X), None if Y is None else self.image(Y))

    def against(self, Y: Checked) -> Callable[[Any], Any]:
        values = self.kernel.against(self.image(Y))
        return lambda X: values(self.image(X))

    def evaluate_diag(self, X: Checked) -> Any:
        return self.kernel.evaluate_diag(self.image(X))

    def formula(self, pairs: Pairs) -> Any:
        return pairs.mapped(self.image)(self.kernel)

    def resolve(self, X: Checked) -> Self:
        return super().resolve(self.image(self.domain.check(X, self)))

    def links(self, X: Checked, Y: Checked, K: Array = None) -> list[Link]:
        return [Link("kernel__", self.kernel, self.image(X), self.image(Y), None, K)]

    @property
    def provides(self) -> frozenset[str]:
        return self.kernel.provides - STATIONARY

    def features(self, X: Checked) -> Any:
        return self.kernel.feature_map(self.image(X))

    def feature_count(self, X: Checked) -> int:
        return self.kernel.feature_count(self.image(X))


class Warped(Mapped):
    """k(f(x), f(y)); f maps a whole collection to one in the kernel's domain.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().warp(np.sqrt)([[4.0]], [[9.0]])
    array([[6.]])
    """

    def __init__(self, kernel: Kernel, function: Callable[[Any], Any]):
        self.kernel, self.function = kernel, function

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        return Anything()

    def check_arguments(self, X: Checked, Y: Checked = None) -> tuple[Any, Any]:
        self.validate()
        if not callable(self.function):
            raise TypeError(f"Warped: function = {self.function!r} must be callable.")
        X, Y = (None if Z is None else self._array_or_sequence(Z, name) for Z, name in ((X, "X"), (Y, "Y")))
        return X, Y

    def _array_or_sequence(self, X: Checked, name: str) -> Any:
        if isinstance(X, list) and X and isinstance(X[0], (list, tuple)):
            X = np.asarray(X)
        return self.domain.check(X, self, name)

    def image(self, X: Checked) -> Any:
        image = self.kernel.domain.check(self.function(X), self.kernel, "f(X)")
        n, found = self.domain.size(X), self.kernel.domain.size(image)
        if found != n:
            raise ValueError(f"Warped: function returned {found} samples for {n}; it must return one for each.")
        return image

    def resolve(self, X: Checked) -> Self:
        return super().resolve(self._array_or_sequence(X, "X"))

    @property
    def provides(self) -> frozenset[str]:
        return frozenset()  # the derivatives of f are unknown

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        inner = self.kernel.definiteness
        return inner.not_strict() if inner.is_cpd and inner.order <= 1 else UNKNOWN

    @classmethod
    def examples(cls) -> list[Kernel]:
        return [cls(k, _tanh) for k in inner_examples()]


def _tanh(X: Checked) -> Any:
    return namespace(X).tanh(X)


class Restricted(Mapped):
    """k on some columns: ``k.on(0)``, ``k.on([0, 2])``, ``k.on(slice(3))``.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().on([1])([[5.0, 2.0]], [[7.0, 3.0]])
    array([[6.]])
    """

    def __init__(self, kernel: Kernel, columns: Index = 0):
        self.kernel, self.columns = kernel, columns

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        inner = self.kernel.domain
        return inner if inner.labels else Vectors(sparse=inner.sparse)

    def indices(self, width: int) -> np.ndarray:
        """The columns as an array of indices into `width` columns."""
        everything = np.arange(width)
        try:
            chosen = np.atleast_1d(
                everything[self.columns if isinstance(self.columns, (slice, Integral)) else list(self.columns)]
            )
        except (IndexError, TypeError):
            raise ValueError(f"Restricted: columns = {self.columns!r} do not index the {width} columns of X.") from None
        if len(chosen) == 0:
            raise ValueError(f"Restricted: columns = {self.columns!r} selects no column.")
        return chosen

    def image(self, X: Checked) -> Any:
        index = self.indices(X.shape[1])
        xp = namespace(X)
        part = X[:, index] if is_sparse(X) else xp.take(X, like(index, X, dtype=xp.int64), axis=1)
        return self.kernel.domain.check(part, self.kernel, "X")

    def drift(self, origin: np.ndarray) -> np.ndarray | None:
        chosen = self.indices(len(origin))
        slope = self.kernel.drift(origin[chosen])
        return None if slope is None else slope @ np.eye(len(origin), dtype=origin.dtype)[chosen]

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        inside, distinct = None, True
        if dimension is not None:
            chosen = self.indices(dimension)
            inside, distinct = len(chosen), len(set(chosen.tolist())) == len(chosen)
        elif not isinstance(self.columns, slice):
            chosen = np.atleast_1d(self.columns)
            inside = int(chosen.sum()) if chosen.dtype.kind == "b" else len(chosen)
            distinct = inside == 1 or chosen.dtype.kind == "b" or (chosen.min() >= 0 and len(set(chosen)) == inside)
        claim = self.kernel.definiteness_in(inside).not_strict()
        # repeated columns reach only part of the space, perhaps not the points that make k indefinite
        return claim if distinct or claim.is_cpd else UNKNOWN

    def d_x(self, X: Checked, Y: Checked) -> Any:
        return namespace(X).matmul(super().d_x(X, Y), self._selector(X))  # zero in the other columns

    def d_xy(self, X: Checked, Y: Checked) -> Any:
        xp, S = namespace(X), self._selector(X)
        return xp.matmul(xp.matrix_transpose(S), xp.matmul(super().d_xy(X, Y), S))

    def _selector(self, X: Checked) -> Any:
        return like(np.eye(X.shape[1])[self.indices(X.shape[1])], X)

    @classmethod
    def examples(cls) -> list[Kernel]:
        return [cls(k, [2, 0]) for k in inner_examples()]


class Translated(Mapped):
    """k(x − o, y − o): k with its origin moved to o, as by `Kernel.about`.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Translated(Linear(), np.array([1.0, 1.0]))([[2.0, 3.0]])
    array([[5.]])
    """

    def __init__(self, kernel: Kernel, origin: Any):
        self.kernel, self.origin = kernel, origin

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        return Vectors(sparse=self.kernel.domain.sparse)

    @property
    def at_zero(self) -> Kernel:
        return self.kernel

    def relative(self, X: Checked) -> Any:
        X = X.toarray() if is_sparse(X) else X
        return X - like(self.origin, X)

    image = relative

    def drift(self, origin: np.ndarray) -> np.ndarray | None:
        return self.kernel.drift(origin)

    def missing_constant(self, points: Checked, coefficients: Array) -> Any:
        """Σ aᵢk(x, xᵢ) − Σ aᵢk(x − o, xᵢ − o), one number per column of coefficients."""
        slope = like(self.kernel.drift(host(self.origin)), coefficients)
        return slope @ (namespace(coefficients).matrix_transpose(self.relative(points)) @ coefficients)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return self.kernel.definiteness_in(dimension)

    @classmethod
    def examples(cls) -> list[Kernel]:
        return [cls(k, np.array([0.5, -0.25, 0.125])) for k in inner_examples()]


class CenteredAt(Unary):
    """k with the (weighted) mean feature vector of a sample X subtracted: ⟨φ(x) − μ, φ(y) − μ⟩.

    Positive definite for k PD or CPD(1). Each block of a matrix needs the values of k between its points and the
    sample; for the matrix of the sample itself, use `mercer.gram.Centered`, which costs no more than the matrix.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().centered([[1.0], [3.0]])([[2.0]], [[5.0]])
    array([[0.]])
    """

    def __init__(self, kernel: Kernel, X: Checked, weights: Array = None):
        self.kernel, self.X, self.weights = kernel, X, weights

    def _mean(self, A: Array) -> tuple[Any, Any, Any]:
        X = self.kernel.domain.check(self.X, self, "sample")
        X = in_type_of(A, X)
        K = self.kernel.evaluate(A, X)
        w = np.ones(K.shape[1]) if self.weights is None else host(self.weights)
        if w.shape != (K.shape[1],) or not np.all(np.isfinite(w)) or w.sum() <= 0:
            raise ValueError(f"CenteredAt: weights must be {K.shape[1]} finite numbers with a positive sum.")
        w = like(w / w.sum(), K)
        return K @ w, X, w

    def _squared_norm(self, sample: Any, w: Array) -> float:
        """‖μ‖², computed once for all tiles of a large matrix."""
        known: Any = getattr(self, "_known", (None,) * 5)
        X, weights, kernel, dtype, total = known
        if X is not self.X or weights is not self.weights or kernel != self.kernel or dtype != str(w.dtype):
            total = float(namespace(w).sum(w * bind(self.kernel, sample).product(w)))
            self._known = self.X, self.weights, clone(self.kernel), str(w.dtype), total
        return total

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        a, sample, w = self._mean(X)
        b = a if Y is None else self._mean(Y)[0]
        return self.kernel.evaluate(X, Y) - a[:, None] - b[None, :] + self._squared_norm(sample, w)

    def evaluate_diag(self, X: Checked) -> Any:
        a, sample, w = self._mean(X)
        return self.kernel.evaluate_diag(X) - 2 * a + self._squared_norm(sample, w)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        inner = self.kernel.definiteness_in(dimension)
        return PD if inner.is_cpd and inner.order <= 1 else UNKNOWN

    @classmethod
    def examples(cls) -> list[Kernel]:
        X = np.random.default_rng(5).normal(size=(6, 3))
        return [cls(k, X) for k in inner_examples()]
