"""Sums, products and tensor products.

They keep a list, so that parameters are indexed (``0__lengthscale``); operators flatten, constructors never do (clone
would raise).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from math import prod
from operator import mul
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp, softmax

from .._array import namespace
from .._errors import where
from ..domains import Domain, intersection
from ..domains import Product as ProductDomain
from ..types import Checked
from ._base import Kernel
from ._definiteness import Definiteness, of_product, of_sum
from ._parts import STATIONARY, inner_examples, require_kernels, times, transposed
from .gaussian import Gaussian


class _Composite(Kernel):
    """Several kernels, with indexed parameter names."""

    def __init__(self, kernels: Sequence[Kernel]):
        self.kernels = kernels

    def validate(self) -> None:
        if not self.kernels:
            raise ValueError(f"{where(self)}: kernels is empty; give at least one kernel.")
        require_kernels(self, "kernels", self.kernels)
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
        return intersection([k.domain for k in self.kernels], self)

    @property
    def tile(self) -> int:  # type: ignore[override]
        return min(k.tile for k in self.kernels)

    @property
    def whole(self) -> bool:  # type: ignore[override]
        return any(k.whole for k in self.kernels)

    def resolve(self, X: Checked) -> Self:
        return type(self)([k.resolve(X) for k in self.kernels])

    def check_values(self, X: Checked, owner: object) -> None:
        if self.domain.vectors:
            for k in self.kernels:
                k.check_values(X, owner)
        super().check_values(X, owner)

    def _nested(self, i: int, gradients: dict[str, Any], factor: Any = None) -> dict[str, Any]:
        return {f"{i}__{name}": G if factor is None else times(factor, G) for name, G in gradients.items()}

    @classmethod
    def examples(cls) -> list[Kernel]:
        return [cls([*inner_examples(), Gaussian(1.5) * 2.0])]


class Sum(_Composite):
    """k₁ + … + k_p. Its space is the sum of the spaces, with the smallest norm over the decompositions of f.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> (Gaussian() + Linear())([[1.0]], [[1.0]])
    array([[2.]])
    """

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        return sum(k.evaluate(X, Y) for k in self.kernels)

    def evaluate_diag(self, X: Checked) -> Any:
        return sum(k.evaluate_diag(X) for k in self.kernels)

    def drift(self, origin: np.ndarray) -> np.ndarray | None:
        slopes = [k.drift(origin) for k in self.kernels]
        return None if any(slope is None for slope in slopes) else np.sum(slopes, axis=0)  # type: ignore[arg-type]

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return of_sum([k.definiteness_in(dimension) for k in self.kernels])

    @property
    def provides(self) -> frozenset[str]:
        return frozenset.intersection(*(k.provides for k in self.kernels)) - {"spectral_sample", "self_convolution"}

    def gradient_x(self, X: Checked, Y: Checked = None) -> Any:
        """∂k(xᵢ, yⱼ)/∂xᵢ, of shape (n, m, d)."""
        self.require("gradient_x")
        return sum(k.gradient_x(X, Y) for k in self.kernels)

    def mixed_xy(self, X: Checked, Y: Checked = None) -> Any:
        """∂²k(xᵢ, yⱼ)/∂xᵢ∂yⱼᵀ, of shape (n, m, d, d)."""
        self.require("mixed_xy")
        return sum(k.mixed_xy(X, Y) for k in self.kernels)

    def gradient_theta(self, X: Checked, Y: Checked = None) -> dict[str, Any]:
        """∂k/∂θ for each parameter."""
        self.require("gradient_theta")
        out: dict[str, Any] = {}
        for i, k in enumerate(self.kernels):
            out |= self._nested(i, k.gradient_theta(X, Y))
        return out

    def feature_map(self, X: Checked) -> Any:
        """The features of the terms, side by side."""
        self.require("feature_map")
        maps = [k.feature_map(X) for k in self.kernels]
        return namespace(*maps).concat(maps, axis=1)

    def feature_count(self, X: Checked) -> int:
        return sum(k.feature_count(X) for k in self.kernels)

    def log_normalizer(self, dimension: int) -> float:
        """log ∫ k(x, y) dy over ℝᵈ."""
        self.require("log_normalizer")
        return float(logsumexp([k.log_normalizer(dimension) for k in self.kernels]))

    def density_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        """n draws of x − y from the density k(x, y) / ∫ k, a mixture."""
        shares = softmax([k.log_normalizer(dimension) for k in self.kernels])
        part = rng.choice(len(shares), size=n, p=shares)
        out = np.empty((n, dimension))
        for i, k in enumerate(self.kernels):
            out[part == i] = k.density_sample(int(np.sum(part == i)), dimension, rng)
        return out

    def dilated(self, factor: float) -> Self:
        """The kernel k(x/h, y/h)."""
        return type(self)([k.dilated(factor) for k in self.kernels])

    def log_dilated(self, X: Checked, Y: Checked, factors: Sequence[float]) -> Iterator[Any]:
        """The matrices log k(xᵢ/h, yⱼ/h) for each factor h, one after the other, from one matrix of distances each."""
        for parts in zip(*(k.log_dilated(X, Y, factors) for k in self.kernels), strict=True):
            yield reduce(namespace(parts[0]).logaddexp, parts)


class Product(_Composite):
    """k₁ · … · k_p (Schur's theorem). Its space is the restriction of the tensor product to the diagonal.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> (Gaussian() * Linear())([[2.0]], [[2.0]])
    array([[4.]])
    """

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        return reduce(mul, (k.evaluate(X, Y) for k in self.kernels))

    def evaluate_diag(self, X: Checked) -> Any:
        return reduce(mul, (k.evaluate_diag(X) for k in self.kernels))

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return of_product([k.definiteness_in(dimension) for k in self.kernels])

    @property
    def provides(self) -> frozenset[str]:
        common = frozenset.intersection(*(k.provides for k in self.kernels)) - STATIONARY
        return common if "gradient_x" in common else common - {"mixed_xy"}

    def _others(self, K: list[Any], *skip: int) -> Any:
        """The product of all matrices but those skipped."""
        return reduce(mul, (M for i, M in enumerate(K) if i not in skip), K[0] * 0 + 1)

    def gradient_x(self, X: Checked, Y: Checked = None) -> Any:
        """∂k(xᵢ, yⱼ)/∂xᵢ, of shape (n, m, d)."""
        self.require("gradient_x")
        K = [k(X, Y) for k in self.kernels]
        return sum(times(self._others(K, i), k.gradient_x(X, Y)) for i, k in enumerate(self.kernels))

    def mixed_xy(self, X: Checked, Y: Checked = None) -> Any:
        """∂²k(xᵢ, yⱼ)/∂xᵢ∂yⱼᵀ, of shape (n, m, d, d)."""
        self.require("mixed_xy")
        Y = X if Y is None else Y
        K = [k(X, Y) for k in self.kernels]
        gx = [k.gradient_x(X, Y) for k in self.kernels]
        gy = [transposed(k.gradient_x(Y, X)) for k in self.kernels]
        total = sum(times(self._others(K, i), k.mixed_xy(X, Y)) for i, k in enumerate(self.kernels))
        for i in range(len(K)):
            for j in range(len(K)):
                if i != j:
                    total = total + times(self._others(K, i, j), gx[i][..., :, None] * gy[j][..., None, :])
        return total

    def gradient_theta(self, X: Checked, Y: Checked = None) -> dict[str, Any]:
        """∂k/∂θ for each parameter."""
        self.require("gradient_theta")
        K = [k(X, Y) for k in self.kernels]
        out: dict[str, Any] = {}
        for i, k in enumerate(self.kernels):
            out |= self._nested(i, k.gradient_theta(X, Y), self._others(K, i))
        return out

    def feature_map(self, X: Checked) -> Any:
        """All products of one feature of each factor."""
        self.require("feature_map")
        Z = self.kernels[0].feature_map(X)
        for k in self.kernels[1:]:
            W = k.feature_map(X)
            Z = namespace(Z).reshape(Z[:, :, None] * W[:, None, :], (Z.shape[0], Z.shape[1] * W.shape[1]))
        return Z

    def feature_count(self, X: Checked) -> int:
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

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        return reduce(mul, (k.evaluate(X[i], None if Y is None else Y[i]) for i, k in enumerate(self.kernels)))

    def evaluate_diag(self, X: Checked) -> Any:
        return reduce(mul, (k.evaluate_diag(X[i]) for i, k in enumerate(self.kernels)))

    def _check_together(self, X: Checked, Y: Checked) -> None:
        for i, k in enumerate(self.kernels):
            k._check_together(X[i], Y[i])

    def resolve(self, X: Checked) -> Self:
        X = self.domain.check(X, self)
        return type(self)([k.resolve(X[i]) for i, k in enumerate(self.kernels)])

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return of_product([k.definiteness for k in self.kernels])
