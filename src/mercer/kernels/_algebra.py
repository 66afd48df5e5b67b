"""Kernels from kernels: sums, products, powers, exponentials, series, normalisation, warps, restrictions, tensors.

Composites keep a list, so that parameters are indexed (``0__lengthscale``); `add` and `multiply` flatten, constructors
never do (clone would raise). Definiteness is derived by the rules of `_definiteness`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from numbers import Integral, Real
from operator import mul
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from .._array import host, is_array, is_sparse, like, namespace
from .._errors import check_number, where
from ..domains import Anything, Categories, Domain, Vectors
from ..domains import Product as ProductDomain
from ._base import Kernel
from ._definiteness import PD, UNKNOWN, Definiteness, of_exponential, of_product, of_scaled, of_sum
from .constant import Constant
from .gaussian import Gaussian
from .linear import Affine


def add(left: Kernel, right: Any) -> Kernel:
    """left + right, where a number c stands for the constant kernel c."""
    if isinstance(right, Real):
        return left if right == 0 else add(left, Constant(float(right)))
    if not isinstance(right, Kernel):
        return NotImplemented
    return Sum([*_terms(Sum, left), *_terms(Sum, right)])


def multiply(left: Kernel, right: Any) -> Kernel:
    """left * right for a kernel or a number."""
    if isinstance(right, Real):
        return Scaled(left, float(right))
    if not isinstance(right, Kernel):
        return NotImplemented
    return Product([*_terms(Product, left), *_terms(Product, right)])


def tensor(left: Kernel, right: Kernel) -> Kernel:
    """left @ right on pairs."""
    if not isinstance(right, Kernel):
        return NotImplemented
    return Tensor([*_terms(Tensor, left), *_terms(Tensor, right)])


def _terms(cls: type, kernel: Kernel) -> list[Kernel]:
    return list(kernel.kernels) if type(kernel) is cls else [kernel]  # type: ignore[attr-defined]


def _transposed(G: Any) -> Any:
    """The derivative in y from the derivative in x of the exchanged arguments: (m, n, d) → (n, m, d)."""
    return namespace(G).permute_dims(G, (1, 0, 2))


class _Composite(Kernel):
    """Several kernels, with indexed parameter names."""

    def __init__(self, kernels: Sequence[Kernel]):
        self.kernels = kernels

    def validate(self) -> None:
        if not self.kernels:
            raise ValueError(f"{where(self)}: kernels is empty; give at least one kernel.")
        for k in self.kernels:
            k.validate()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        params: dict[str, Any] = {"kernels": self.kernels}
        if deep:
            for i, k in enumerate(self.kernels):
                params[str(i)] = k
                params.update({f"{i}__{name}": value for name, value in k.get_params().items()})
        return params

    def set_params(self, **params: Any) -> Self:
        kernels = list(params.pop("kernels", self.kernels))
        for key in [p for p in params if p.isdigit()]:
            kernels[int(key)] = params.pop(key)
        self.kernels = kernels
        return super().set_params(**params)

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        return join_domains([k.domain for k in self.kernels], self)

    def resolve(self, X: Any) -> Self:
        return type(self)([k.resolve(X) for k in self.kernels])

    def _nested(self, i: int, gradients: dict[str, Any], factor: Any = None) -> dict[str, Any]:
        return {f"{i}__{name}": G if factor is None else _times(factor, G) for name, G in gradients.items()}

    @classmethod
    def examples(cls) -> list[Kernel]:
        return [cls([*_inner(), 2.0 * Gaussian(1.5)])]


def _times(factor: Any, G: Any) -> Any:
    """factor (n, m) times G (n, m, …)."""
    return namespace(G).reshape(factor, tuple(factor.shape) + (1,) * (G.ndim - 2)) * G


def join_domains(domains: Sequence[Domain], owner: object) -> Domain:
    """The set on which all of several kernels are defined."""
    real = [d for d in domains if not isinstance(d, Anything)]
    if not real:
        return domains[0]
    if all(isinstance(d, Vectors) for d in real):
        vectors: list[Vectors] = real  # type: ignore[assignment]
        columns = {d.columns for d in vectors if d.columns is not None}
        if len(columns) > 1:
            raise TypeError(f"{where(owner)}: its kernels need different numbers of columns: {sorted(columns)}.")
        lower = [d.lower for d in vectors if d.lower is not None]
        upper = [d.upper for d in vectors if d.upper is not None]
        return Vectors(
            max(lower) if lower else None,
            min(upper) if upper else None,
            all(d.sparse for d in vectors),
            columns.pop() if columns else None,
        )
    if any(d != real[0] for d in real):
        raise TypeError(f"{where(owner)}: its kernels live on different domains, {real[0]!r} and {real[-1]!r}; use k1 @ k2 for pairs.")
    return real[0]


class Sum(_Composite):
    """k₁ + … + k_p. Its space is the sum of the spaces, with the smallest norm over the decompositions of f.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> (Gaussian() + Linear())([[1.0]], [[1.0]])
    array([[2.]])
    """

    def evaluate(self, X: Any, Y: Any = None) -> Any:
        return sum(k.evaluate(X, Y) for k in self.kernels)

    def evaluate_diag(self, X: Any) -> Any:
        return sum(k.evaluate_diag(X) for k in self.kernels)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return of_sum([k.definiteness_in(dimension) for k in self.kernels])

    @property
    def provides(self) -> frozenset[str]:
        return frozenset.intersection(*(k.provides for k in self.kernels)) - {"spectral_sample"}

    def gradient_x(self, X: Any, Y: Any = None) -> Any:
        """∂k(xᵢ, yⱼ)/∂xᵢ, of shape (n, m, d)."""
        self.require("gradient_x")
        return sum(k.gradient_x(X, Y) for k in self.kernels)

    def mixed_xy(self, X: Any, Y: Any = None) -> Any:
        """∂²k(xᵢ, yⱼ)/∂xᵢ∂yⱼᵀ, of shape (n, m, d, d)."""
        self.require("mixed_xy")
        return sum(k.mixed_xy(X, Y) for k in self.kernels)

    def gradient_theta(self, X: Any, Y: Any = None) -> dict[str, Any]:
        """∂k/∂θ for each parameter."""
        self.require("gradient_theta")
        out: dict[str, Any] = {}
        for i, k in enumerate(self.kernels):
            out |= self._nested(i, k.gradient_theta(X, Y))
        return out

    def feature_map(self, X: Any) -> Any:
        """The features of the terms, side by side."""
        self.require("feature_map")
        maps = [k.feature_map(X) for k in self.kernels]
        return namespace(*maps).concat(maps, axis=1)

    def feature_count(self, X: Any) -> int:
        return sum(k.feature_count(X) for k in self.kernels)


class Product(_Composite):
    """k₁ · … · k_p (Schur's theorem). Its space is the restriction of the tensor product to the diagonal.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> (Gaussian() * Linear())([[2.0]], [[2.0]])
    array([[4.]])
    """

    def evaluate(self, X: Any, Y: Any = None) -> Any:
        return reduce(mul, (k.evaluate(X, Y) for k in self.kernels))

    def evaluate_diag(self, X: Any) -> Any:
        return reduce(mul, (k.evaluate_diag(X) for k in self.kernels))

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return of_product([k.definiteness_in(dimension) for k in self.kernels])

    @property
    def provides(self) -> frozenset[str]:
        common = frozenset.intersection(*(k.provides for k in self.kernels)) - {"spectral_sample"}
        return common if "gradient_x" in common else common - {"mixed_xy"}

    def _others(self, K: list[Any], *skip: int) -> Any:
        """The product of all matrices but those skipped."""
        return reduce(mul, (M for i, M in enumerate(K) if i not in skip), K[0] * 0 + 1)

    def gradient_x(self, X: Any, Y: Any = None) -> Any:
        """∂k(xᵢ, yⱼ)/∂xᵢ, of shape (n, m, d)."""
        self.require("gradient_x")
        K = [k(X, Y) for k in self.kernels]
        return sum(_times(self._others(K, i), k.gradient_x(X, Y)) for i, k in enumerate(self.kernels))

    def mixed_xy(self, X: Any, Y: Any = None) -> Any:
        """∂²k(xᵢ, yⱼ)/∂xᵢ∂yⱼᵀ, of shape (n, m, d, d)."""
        self.require("mixed_xy")
        Y = X if Y is None else Y
        K = [k(X, Y) for k in self.kernels]
        gx = [k.gradient_x(X, Y) for k in self.kernels]
        gy = [_transposed(k.gradient_x(Y, X)) for k in self.kernels]
        total = sum(_times(self._others(K, i), k.mixed_xy(X, Y)) for i, k in enumerate(self.kernels))
        for i in range(len(K)):
            for j in range(len(K)):
                if i != j:
                    total = total + _times(self._others(K, i, j), gx[i][..., :, None] * gy[j][..., None, :])
        return total

    def gradient_theta(self, X: Any, Y: Any = None) -> dict[str, Any]:
        """∂k/∂θ for each parameter."""
        self.require("gradient_theta")
        K = [k(X, Y) for k in self.kernels]
        out: dict[str, Any] = {}
        for i, k in enumerate(self.kernels):
            out |= self._nested(i, k.gradient_theta(X, Y), self._others(K, i))
        return out

    def feature_map(self, X: Any) -> Any:
        """All products of one feature of each factor."""
        self.require("feature_map")
        Z = self.kernels[0].feature_map(X)
        for k in self.kernels[1:]:
            W = k.feature_map(X)
            Z = namespace(Z).reshape(Z[:, :, None] * W[:, None, :], (Z.shape[0], Z.shape[1] * W.shape[1]))
        return Z

    def feature_count(self, X: Any) -> int:
        return prod(k.feature_count(X) for k in self.kernels)


class Tensor(_Composite):
    """k((x₁, x₂), (y₁, y₂)) = k₁(x₁, y₁) · k₂(x₂, y₂) on pairs: the tensor product of the spaces.

    A collection of pairs is a tuple ``(X1, X2)`` of equally long collections, or a list of tuples.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> (Gaussian() @ Linear())(([[0.0]], [[3.0]]))
    array([[9.]])
    """

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        return ProductDomain([k.domain for k in self.kernels])

    def evaluate(self, X: Any, Y: Any = None) -> Any:
        return reduce(mul, (k.evaluate(X[i], None if Y is None else Y[i]) for i, k in enumerate(self.kernels)))

    def evaluate_diag(self, X: Any) -> Any:
        return reduce(mul, (k.evaluate_diag(X[i]) for i, k in enumerate(self.kernels)))

    def _check_together(self, X: Any, Y: Any) -> None:
        for i, k in enumerate(self.kernels):
            k._check_together(X[i], Y[i])

    def resolve(self, X: Any) -> Self:
        X = self.domain.check(X, self)
        return type(self)([k.resolve(X[i]) for i, k in enumerate(self.kernels)])

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return of_product([k.definiteness for k in self.kernels])


class _Unary(Kernel):
    """A kernel made from one other."""

    kernel: Kernel

    def validate(self) -> None:
        self.kernel.validate()

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        return self.kernel.domain

    def _check_together(self, X: Any, Y: Any) -> None:
        self.kernel._check_together(X, Y)

    def resolve(self, X: Any) -> Self:
        copy = clone(self)
        copy.kernel = self.kernel.resolve(X)
        return copy

    @classmethod
    def examples(cls) -> list[Kernel]:
        return [cls(k) for k in _inner()]  # type: ignore[call-arg]


def _inner() -> list[Kernel]:
    """The kernels on which the law tests try each operation."""
    return [Gaussian(0.7), Affine(0.5)]


class _Outer(_Unary):
    """g(k(x, y)) for a function g with derivatives g′ and g″; derivatives follow by the chain rule."""

    def outer(self, t: Any, xp: Any, order: int) -> Any:
        """The derivative of the given order (0, 1, 2) of g at t."""
        raise NotImplementedError

    def evaluate(self, X: Any, Y: Any = None) -> Any:
        t = self.kernel.evaluate(X, Y)
        return self.outer(t, namespace(t), 0)

    def evaluate_diag(self, X: Any) -> Any:
        t = self.kernel.evaluate_diag(X)
        return self.outer(t, namespace(t), 0)

    @property
    def provides(self) -> frozenset[str]:
        return self.kernel.provides & {"gradient_x", "mixed_xy", "gradient_theta"}

    def _outer_of(self, X: Any, Y: Any, order: int) -> Any:
        t = self.kernel(X, Y)
        return self.outer(t, namespace(t), order)

    def gradient_x(self, X: Any, Y: Any = None) -> Any:
        """∂k(xᵢ, yⱼ)/∂xᵢ, of shape (n, m, d)."""
        self.require("gradient_x")
        return _times(self._outer_of(X, Y, 1), self.kernel.gradient_x(X, Y))

    def mixed_xy(self, X: Any, Y: Any = None) -> Any:
        """∂²k(xᵢ, yⱼ)/∂xᵢ∂yⱼᵀ, of shape (n, m, d, d)."""
        self.require("mixed_xy")
        Y = X if Y is None else Y
        gx, gy = self.kernel.gradient_x(X, Y), _transposed(self.kernel.gradient_x(Y, X))
        curved = _times(self._outer_of(X, Y, 2), gx[..., :, None] * gy[..., None, :])
        return _times(self._outer_of(X, Y, 1), self.kernel.mixed_xy(X, Y)) + curved

    def gradient_theta(self, X: Any, Y: Any = None) -> dict[str, Any]:
        """∂k/∂θ for each parameter of the inner kernel."""
        self.require("gradient_theta")
        slope = self._outer_of(X, Y, 1)
        return {f"kernel__{name}": _times(slope, G) for name, G in self.kernel.gradient_theta(X, Y).items()}


class Scaled(_Outer):
    """c · k.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (3 * Linear())([[1.0]], [[2.0]])
    array([[6.]])
    """

    def __init__(self, kernel: Kernel, scale: float = 1.0):
        self.kernel, self.scale = kernel, scale

    def validate(self) -> None:
        self.kernel.validate()
        check_number(self, "scale", self.scale)

    def outer(self, t: Any, xp: Any, order: int) -> Any:
        if order == 0:
            return self.scale * t
        return xp.full_like(t, self.scale if order == 1 else 0.0)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return of_scaled(self.kernel.definiteness_in(dimension), self.scale)

    @property
    def provides(self) -> frozenset[str]:
        return super().provides | (self.kernel.provides & {"feature_map"} if self.scale >= 0 else frozenset())

    def gradient_theta(self, X: Any, Y: Any = None) -> dict[str, Any]:
        """∂k/∂θ, ∂k/∂scale included."""
        return {"scale": self.kernel(X, Y), **super().gradient_theta(X, Y)}

    def feature_map(self, X: Any) -> Any:
        """√c φ(x)."""
        self.require("feature_map")
        return self.scale**0.5 * self.kernel.feature_map(X)

    def feature_count(self, X: Any) -> int:
        return self.kernel.feature_count(X)

    @classmethod
    def examples(cls) -> list[Kernel]:
        return [2.5 * k for k in _inner()]


class PowerOf(_Outer):
    """kⁿ. Positive definite for k PD and an integer n ≥ 0; other exponents are allowed, without proof.

    Examples
    --------
    >>> from mercer.kernels import Affine
    >>> (Affine() ** 2)([[1.0]], [[2.0]])
    array([[9.]])
    """

    def __init__(self, kernel: Kernel, exponent: float = 1):
        self.kernel, self.exponent = kernel, exponent

    def validate(self) -> None:
        self.kernel.validate()
        check_number(self, "exponent", self.exponent, at_least=0)

    def outer(self, t: Any, xp: Any, order: int) -> Any:
        n = self.exponent
        if not isinstance(n, Integral) and bool(xp.any(t < 0)):
            raise ValueError(f"PowerOf: exponent = {n} is not an integer, but the kernel takes negative values on these data.")
        if order == 0:
            return t**n
        if order == 1:
            return n * t ** (n - 1) if n != 0 else xp.zeros_like(t)
        return n * (n - 1) * t ** (n - 2) if n not in (0, 1) else xp.zeros_like(t)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        inner = self.kernel.definiteness_in(dimension)
        if self.exponent == 0:
            return PD
        if self.exponent == 1:
            return inner
        return inner if inner.is_pd and float(self.exponent).is_integer() else UNKNOWN

    @classmethod
    def examples(cls) -> list[Kernel]:
        return [k**n for k in _inner() for n in (2, 3)]


class Exp(_Outer):
    """exp(k). Positive definite for k PD, and for k CPD(1) by Schoenberg's theorem.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Power
    >>> X = [[0.0], [1.0], [2.5]]
    >>> bool(np.allclose((0.5 * Power(2.0)).exp()(X), Gaussian()(X)))
    True
    """

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def outer(self, t: Any, xp: Any, order: int) -> Any:
        return xp.exp(t)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return of_exponential(self.kernel.definiteness_in(dimension))


class Series(_Outer):
    """Σₙ aₙ kⁿ with aₙ ≥ 0: positive definite where the series converges.

    Parameters
    ----------
    kernel : Kernel
    coefficients : sequence of float >= 0
        a₀, a₁, …
    radius : float > 0
        Radius of convergence of the full series that the coefficients begin; |k| ≥ radius on the data is an error.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().series([1, 1, 0.5])([[1.0]], [[2.0]])
    array([[5.]])
    """

    def __init__(self, kernel: Kernel, coefficients: Sequence[float] = (0.0, 1.0), radius: float = float("inf")):
        self.kernel, self.coefficients, self.radius = kernel, coefficients, radius

    def validate(self) -> None:
        self.kernel.validate()
        if len(self.coefficients) == 0:
            raise ValueError("Series: coefficients is empty; give a₀, a₁, …")
        for n, a in enumerate(self.coefficients):
            check_number(self, f"coefficients[{n}]", a, at_least=0)
        if not self.radius > 0:
            raise ValueError(f"Series: radius = {self.radius!r} must be > 0.")

    def outer(self, t: Any, xp: Any, order: int) -> Any:
        largest = float(xp.max(xp.abs(t)))
        if largest >= self.radius:
            raise ValueError(
                f"Series: |k| reaches {largest:g} on these data, outside the radius of convergence {self.radius:g}; "
                "normalise or scale the kernel first."
            )
        a = [float(c) for c in self.coefficients]
        for _ in range(order):
            a = [n * c for n, c in enumerate(a)][1:] or [0.0]
        value = xp.full_like(t, a[-1])
        for c in reversed(a[:-1]):
            value = value * t + c
        return value

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        inner = self.kernel.definiteness_in(dimension)
        if not inner.is_pd:
            return UNKNOWN
        return inner if any(a > 0 for a in self.coefficients[1:]) else PD

    @classmethod
    def examples(cls) -> list[Kernel]:
        return [k.series([0.5, 1.0, 0.0, 0.25]) for k in _inner()]


class Normalized(_Unary):
    """k(x, y) / √(k(x, x) k(y, y)): feature vectors of length one.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().normalized()([[3.0]], [[-2.0]])
    array([[-1.]])
    """

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def _root(self, X: Any) -> Any:
        v = self.kernel.evaluate_diag(X)
        xp = namespace(v)
        if not bool(xp.all(v > 0)):
            i = int(xp.argmin(v))
            raise ValueError(
                f"Normalized: k(x, x) = {float(v[i]):g} at sample {i}; normalisation needs k(x, x) > 0: drop the sample or add a constant."
            )
        return xp.sqrt(v)

    def evaluate(self, X: Any, Y: Any = None) -> Any:
        a = self._root(X)
        b = a if Y is None else self._root(Y)
        return self.kernel.evaluate(X, Y) / (a[:, None] * b[None, :])

    def evaluate_diag(self, X: Any) -> Any:
        a = self._root(X)
        return namespace(a).ones_like(a)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        inner = self.kernel.definiteness_in(dimension)
        return inner if inner.is_pd else UNKNOWN


class Warped(_Unary):
    """k(f(x), f(y)); f maps a whole collection to one of the kernel's domain.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().warp(np.sqrt)([[4.0]], [[9.0]])
    array([[6.]])
    """

    def __init__(self, kernel: Kernel, function: Any):
        self.kernel, self.function = kernel, function

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        return Anything()

    def check_arguments(self, X: Any, Y: Any = None) -> tuple[Any, Any]:
        self.validate()
        if not callable(self.function):
            raise TypeError(f"Warped: function = {self.function!r} must be callable.")
        X, Y = (None if Z is None else self._array_or_sequence(Z, name) for Z, name in ((X, "X"), (Y, "Y")))
        return X, Y

    def _array_or_sequence(self, X: Any, name: str) -> Any:
        if isinstance(X, list) and X and isinstance(X[0], (list, tuple)):
            X = np.asarray(X)
        return self.domain.check(X, self, name)

    def _image(self, X: Any) -> Any:
        return self.kernel.domain.check(self.function(X), self.kernel, "f(X)")

    def evaluate(self, X: Any, Y: Any = None) -> Any:
        return self.kernel.evaluate(self._image(X), None if Y is None else self._image(Y))

    def evaluate_diag(self, X: Any) -> Any:
        return self.kernel.evaluate_diag(self._image(X))

    def resolve(self, X: Any) -> Self:
        return super().resolve(self._image(self._array_or_sequence(X, "X")))

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        inner = self.kernel.definiteness
        return inner.not_strict() if inner.is_cpd and inner.order <= 1 else UNKNOWN

    @classmethod
    def examples(cls) -> list[Kernel]:
        return [cls(k, np.tanh) for k in _inner()]


class Restricted(_Unary):
    """k on some columns: ``k.on(0)``, ``k.on([0, 2])``, ``k.on(slice(3))``.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().on([1])([[5.0, 2.0]], [[7.0, 3.0]])
    array([[6.]])
    """

    def __init__(self, kernel: Kernel, columns: Any = 0):
        self.kernel, self.columns = kernel, columns

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        inner = self.kernel.domain
        return inner if isinstance(inner, Categories) else Vectors(sparse=getattr(inner, "sparse", False))

    def indices(self, width: int) -> np.ndarray:
        """The columns as an array of indices into `width` columns."""
        everything = np.arange(width)
        try:
            chosen = np.atleast_1d(everything[self.columns if isinstance(self.columns, (slice, Integral)) else list(self.columns)])
        except (IndexError, TypeError):
            raise ValueError(f"Restricted: columns = {self.columns!r} do not index the {width} columns of X.") from None
        if len(chosen) == 0:
            raise ValueError(f"Restricted: columns = {self.columns!r} selects no column.")
        return chosen

    def _part(self, X: Any) -> Any:
        index = self.indices(X.shape[1])
        if is_sparse(X):
            return self.kernel.domain.check(X[:, index], self.kernel, "X")
        xp = namespace(X)
        return self.kernel.domain.check(xp.take(X, like(index, X, dtype=xp.int64), axis=1), self.kernel, "X")

    def evaluate(self, X: Any, Y: Any = None) -> Any:
        return self.kernel.evaluate(self._part(X), None if Y is None else self._part(Y))

    def evaluate_diag(self, X: Any) -> Any:
        return self.kernel.evaluate_diag(self._part(X))

    def resolve(self, X: Any) -> Self:
        return super().resolve(self._part(self.domain.check(X, self)))

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        inside = None
        if dimension is not None:
            inside = len(self.indices(dimension))
        elif not isinstance(self.columns, slice):
            inside = 1 if isinstance(self.columns, Integral) else len(self.columns)
        return self.kernel.definiteness_in(inside).not_strict()

    @property
    def provides(self) -> frozenset[str]:
        return self.kernel.provides - {"spectral_sample"}

    def gradient_x(self, X: Any, Y: Any = None) -> Any:
        """∂k(xᵢ, yⱼ)/∂xᵢ, of shape (n, m, d), zero in the other columns."""
        self.require("gradient_x")
        X, Y = self.check_arguments(X, Y)
        G = self.kernel.gradient_x(self._part(X), None if Y is None else self._part(Y))
        return namespace(G).matmul(G, self._selector(X))

    def mixed_xy(self, X: Any, Y: Any = None) -> Any:
        """∂²k(xᵢ, yⱼ)/∂xᵢ∂yⱼᵀ, of shape (n, m, d, d), zero in the other columns."""
        self.require("mixed_xy")
        X, Y = self.check_arguments(X, Y)
        G = self.kernel.mixed_xy(self._part(X), None if Y is None else self._part(Y))
        xp, S = namespace(G), self._selector(X)
        return xp.matmul(xp.matrix_transpose(S), xp.matmul(G, S))

    def _selector(self, X: Any) -> Any:
        return like(np.eye(X.shape[1])[self.indices(X.shape[1])], X)

    def gradient_theta(self, X: Any, Y: Any = None) -> dict[str, Any]:
        """∂k/∂θ for each parameter of the inner kernel."""
        self.require("gradient_theta")
        X, Y = self.check_arguments(X, Y)
        inner = self.kernel.gradient_theta(self._part(X), None if Y is None else self._part(Y))
        return {f"kernel__{name}": G for name, G in inner.items()}

    def feature_map(self, X: Any) -> Any:
        """φ of the chosen columns."""
        self.require("feature_map")
        X, _ = self.check_arguments(X)
        return self.kernel.feature_map(self._part(X))

    def feature_count(self, X: Any) -> int:
        return self.kernel.feature_count(self._part(X))

    @classmethod
    def examples(cls) -> list[Kernel]:
        return [cls(k, [2, 0]) for k in _inner()]


class CenteredAt(_Unary):
    """k with the (weighted) mean feature vector of a sample X subtracted: ⟨φ(x) − μ, φ(y) − μ⟩.

    Positive definite for k PD and for k CPD(1).

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().centered([[1.0], [3.0]])([[2.0]], [[5.0]])
    array([[0.]])
    """

    def __init__(self, kernel: Kernel, X: Any, weights: Any = None):
        self.kernel, self.X, self.weights = kernel, X, weights

    def _mean(self, A: Any) -> tuple[Any, Any, Any]:
        X = self.kernel.domain.check(self.X, self, "sample")
        X = like(X, A) if is_array(X) and is_array(A) else X
        K = self.kernel.evaluate(A, X)
        w = np.ones(K.shape[1]) if self.weights is None else host(self.weights)
        if w.shape != (K.shape[1],) or not np.all(np.isfinite(w)) or w.sum() <= 0:
            raise ValueError(f"CenteredAt: weights must be {K.shape[1]} finite numbers with a positive sum.")
        w = like(w / w.sum(), K)
        return K @ w, X, w

    def evaluate(self, X: Any, Y: Any = None) -> Any:
        a, sample, w = self._mean(X)
        b = a if Y is None else self._mean(Y)[0]
        xp = namespace(a)
        total = xp.sum(w * (self.kernel.evaluate(sample) @ w))
        return self.kernel.evaluate(X, Y) - a[:, None] - b[None, :] + total

    def evaluate_diag(self, X: Any) -> Any:
        a, sample, w = self._mean(X)
        return self.kernel.evaluate_diag(X) - 2 * a + namespace(a).sum(w * (self.kernel.evaluate(sample) @ w))

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        inner = self.kernel.definiteness_in(dimension)
        return PD if inner.is_cpd and inner.order <= 1 else UNKNOWN

    @classmethod
    def examples(cls) -> list[Kernel]:
        X = np.random.default_rng(5).normal(size=(6, 3))
        return [cls(k, X) for k in _inner()]


ALGEBRA = (Sum, Product, Tensor, Scaled, PowerOf, Exp, Series, Normalized, Warped, Restricted, CenteredAt)
