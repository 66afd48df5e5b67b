"""Functions of a kernel's values: c·k, kⁿ, exp(k) and power series."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf, log
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from .._array import host, namespace
from .._errors import NOT_NEGATIVE, NUMBER, check_number
from ..evaluation import Pairs
from ..types import Array, Checked, Namespace
from ._base import Kernel
from ._definiteness import PD, UNKNOWN, Definiteness, of_exponential, of_scaled
from ._parts import Unary, inner_examples
from .derivatives import Chained, Link


class Outer(Chained, Unary):
    """g(k(x, y)) for a function g with the derivatives g′ and g″."""

    def outer(self, t: Array, xp: Namespace, order: int) -> Any:
        """The derivative of the given order (0, 1, 2) of g at t."""
        raise NotImplementedError

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        t = self.kernel.evaluate(X, Y)
        return self.outer(t, namespace(t), 0)

    def against(self, Y: Checked) -> Callable[[Any], Any]:
        values = self.kernel.against(Y)

        def of_values(X: Any) -> Any:
            t = values(X)
            return self.outer(t, namespace(t), 0)

        return of_values

    def evaluate_diag(self, X: Checked) -> Any:
        t = self.kernel.evaluate_diag(X)
        return self.outer(t, namespace(t), 0)

    def formula(self, pairs: Pairs) -> Any:
        return self.outer(pairs(self.kernel), pairs.xp, 0)

    @property
    def provides(self) -> frozenset[str]:
        return self.kernel.provides & {"gradient_x", "mixed_xy", "gradient_theta"}

    def links(self, X: Checked, Y: Checked, K: Array = None) -> Sequence[Link]:
        link = Link("kernel__", self.kernel, X, Y)
        link.weight = self.outer(link.values, namespace(link.values), 1)
        return [link]

    def bends(self, links: Sequence[Link]) -> list[tuple[int, int, Any]]:
        t = links[0].values
        return [(0, 0, self.outer(t, namespace(t), 2))]


class Scaled(Outer):
    """c · k.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> (3 * Linear())([[1.0]], [[2.0]])
    array([[6.]])
    """

    own = ("scale",)
    rules = {"scale": NUMBER}

    def __init__(self, kernel: Kernel, scale: float = 1.0):
        self.kernel, self.scale = kernel, scale

    def outer(self, t: Array, xp: Namespace, order: int) -> Any:
        if order == 0:
            return float(self.scale) * t
        return xp.full_like(t, self.scale if order == 1 else 0.0)

    def links(self, X: Checked, Y: Checked, K: Array = None) -> Sequence[Link]:
        known = None if K is None or self.scale == 0 else K / float(self.scale)
        return [Link("kernel__", self.kernel, X, Y, float(self.scale), known)]

    def bends(self, links: Sequence[Link]) -> list[tuple[int, int, Any]]:
        return []

    def d_own(self, name: str, links: Sequence[Link]) -> Any:
        return links[0].values

    def drift(self, origin: np.ndarray) -> np.ndarray | None:
        slope = self.kernel.drift(origin)
        return None if slope is None else float(self.scale) * slope

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return of_scaled(self.kernel.definiteness_in(dimension), self.scale)

    @property
    def provides(self) -> frozenset[str]:
        kept = ["feature_map"] * (self.scale >= 0) + ["log_normalizer"] * (self.scale > 0)
        return super().provides | self.kernel.provides.intersection(kept)

    def features(self, X: Checked) -> Any:
        return float(self.scale) ** 0.5 * self.kernel.feature_map(X)

    def feature_count(self, X: Checked) -> int:
        return self.kernel.feature_count(X)

    def log_normalizer(self, dimension: int) -> float:
        self.require("log_normalizer")
        return log(self.scale) + self.kernel.log_normalizer(dimension)

    def density_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        return self.kernel.density_sample(n, dimension, rng)

    def dilated(self, factor: float) -> Self:
        return type(self)(self.kernel.dilated(factor), self.scale)

    def log_dilated(self, X: Checked, Y: Checked, factors: Iterable[float]) -> Iterator[Any]:
        return (L + log(self.scale) for L in self.kernel.log_dilated(X, Y, factors))

    def log_against(self, Y: Checked) -> Callable[[Any], Any]:
        values = self.kernel.log_against(Y)
        return lambda X: values(X) + log(self.scale)

    @classmethod
    def examples(cls) -> list[Kernel]:
        return [k * 2.5 for k in inner_examples()]


class PowerOf(Outer):
    """kⁿ. Positive definite for k PD and integer n ≥ 0; for other exponents ≥ 0 nothing is proven.

    Examples
    --------
    >>> from mercer.kernels import Affine
    >>> (Affine() ** 2)([[1.0]], [[2.0]])
    array([[9.]])
    """

    rules = {"exponent": NOT_NEGATIVE}

    def __init__(self, kernel: Kernel, exponent: float = 1):
        self.kernel, self.exponent = kernel, exponent

    def outer(self, t: Array, xp: Namespace, order: int) -> Any:
        n = int(self.exponent) if float(self.exponent).is_integer() else float(self.exponent)
        if not isinstance(n, Integral) and bool(xp.any(t < 0)):
            raise ValueError(
                f"PowerOf: exponent = {n} is not an integer, but the kernel takes negative values on these data."
            )
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
        return [k**n for k in inner_examples() for n in (2, 3)]


class Exp(Outer):
    """exp(k). Positive definite for k PD, and for k CPD(1) by Schoenberg's theorem.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian, Power
    >>> X = [[0.0], [1.0], [2.5]]
    >>> bool(np.allclose((0.5 * Power(2.0)).exp()(X), Gaussian()(X)))
    True
    """

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def outer(self, t: Array, xp: Namespace, order: int) -> Any:
        return xp.exp(t)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return of_exponential(self.kernel.definiteness_in(dimension))


class Series(Outer):
    """Σₙ aₙ kⁿ with aₙ ≥ 0: positive definite if k is and the series converges.

    Parameters
    ----------
    kernel : Kernel
    coefficients : sequence of float >= 0
        a₀, a₁, …
    radius : float > 0
        Radius of convergence of the full series that starts with these coefficients; |k| ≥ radius is an error.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Linear().series([1, 1, 0.5])([[1.0]], [[2.0]])
    array([[5.]])
    """

    def __init__(self, kernel: Kernel, coefficients: Sequence[float] = (0.0, 1.0), radius: float = inf):
        self.kernel, self.coefficients, self.radius = kernel, coefficients, radius

    def validate(self) -> None:
        super().validate()
        if len(self.coefficients) == 0:
            raise ValueError("Series: coefficients is empty; give a₀, a₁, …")
        for n, a in enumerate(self.coefficients):
            check_number(self, f"coefficients[{n}]", a, at_least=0)
        if not isinstance(self.radius, Real) or self.radius != inf:
            check_number(self, "radius", self.radius, above=0)

    def outer(self, t: Array, xp: Namespace, order: int) -> Any:
        largest = float(host(xp.max(xp.abs(t))))
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
        return [k.series([0.5, 1.0, 0.0, 0.25]) for k in inner_examples()]
