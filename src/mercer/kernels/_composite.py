"""Sums, products and tensor products.

Each keeps a list of kernels with indexed parameters (``0__lengthscale``). Operators flatten; constructors never do, or
clone would raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import permutations
from math import prod
from operator import mul
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp, softmax

from .._array import namespace
from .._errors import where
from ..domains import Domain, intersection
from ..domains import Product as ProductDomain
from ..evaluation import Pairs
from ..types import Array, Checked
from ._base import Kernel
from ._definiteness import Definiteness, of_product, of_sum
from ._parts import STATIONARY, column_products, inner_examples, require_kernels
from .derivatives import Chained, Link
from .gaussian import Gaussian


class _Composite(Chained):
    """Several kernels with indexed parameter names."""

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

    @classmethod
    def examples(cls) -> list[Kernel]:
        return [cls([*inner_examples(), Gaussian(1.5) * 2.0])]


class Sum(_Composite):
    """k₁ + … + k_p. Its space is the sum of the spaces, with the smallest norm over all decompositions of f.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> (Gaussian() + Linear())([[1.0]], [[1.0]])
    array([[2.]])
    """

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        return sum(k.evaluate(X, Y) for k in self.kernels)

    def against(self, Y: Checked) -> Callable[[Any], Any]:
        parts = [k.against(Y) for k in self.kernels]
        return lambda X: sum(part(X) for part in parts)

    def evaluate_diag(self, X: Checked) -> Any:
        return sum(k.evaluate_diag(X) for k in self.kernels)

    def formula(self, pairs: Pairs) -> Any:
        return sum(map(pairs, self.kernels))

    def drift(self, origin: np.ndarray) -> np.ndarray | None:
        slopes = [k.drift(origin) for k in self.kernels]
        return None if any(slope is None for slope in slopes) else np.sum(slopes, axis=0)  # type: ignore[arg-type]

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return of_sum([k.definiteness_in(dimension) for k in self.kernels])

    @property
    def provides(self) -> frozenset[str]:
        return frozenset.intersection(*(k.provides for k in self.kernels)) - {"spectral_sample", "self_convolution"}

    def links(self, X: Checked, Y: Checked, K: Array = None) -> Sequence[Link]:
        return [Link(f"{i}__", k, X, Y) for i, k in enumerate(self.kernels)]

    def features(self, X: Checked) -> Any:
        maps = [k.feature_map(X) for k in self.kernels]
        return namespace(*maps).concat(maps, axis=1)

    def feature_count(self, X: Checked) -> int:
        return sum(k.feature_count(X) for k in self.kernels)

    def log_normalizer(self, dimension: int) -> float:
        self.require("log_normalizer")
        return float(logsumexp([k.log_normalizer(dimension) for k in self.kernels]))

    def density_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        shares = softmax([k.log_normalizer(dimension) for k in self.kernels])
        part = rng.choice(len(shares), size=n, p=shares)
        out = np.empty((n, dimension))
        for i, k in enumerate(self.kernels):
            out[part == i] = k.density_sample(int(np.sum(part == i)), dimension, rng)
        return out

    def dilated(self, factor: float) -> Self:
        return type(self)([k.dilated(factor) for k in self.kernels])

    def log_dilated(self, X: Checked, Y: Checked, factors: Iterable[float]) -> Iterator[Any]:
        for parts in zip(*(k.log_dilated(X, Y, factors) for k in self.kernels), strict=True):
            yield reduce(namespace(parts[0]).logaddexp, parts)


class _OfFactors(_Composite):
    """A product of kernels, each on its own collections from `_each`."""

    def _each(self, X: Checked) -> Sequence[Any]:
        return [X] * len(self.kernels)

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        pairs = zip(self.kernels, self._each(X), self._each(Y), strict=True)
        return reduce(mul, (k.evaluate(A, B) for k, A, B in pairs))

    def against(self, Y: Checked) -> Callable[[Any], Any]:
        parts = [k.against(B) for k, B in zip(self.kernels, self._each(Y), strict=True)]
        return lambda X: reduce(mul, (part(A) for part, A in zip(parts, self._each(X), strict=True)))

    def evaluate_diag(self, X: Checked) -> Any:
        return reduce(mul, (k.evaluate_diag(A) for k, A in zip(self.kernels, self._each(X), strict=True)))

    def links(self, X: Checked, Y: Checked, K: Array = None) -> Sequence[Link]:
        pairs = zip(self.kernels, self._each(X), self._each(Y), strict=True)
        links = [Link(f"{i}__", k, A, B) for i, (k, A, B) in enumerate(pairs)]
        for i, link in enumerate(links):
            link.weight = _others(links, i)
        return links

    def bends(self, links: Sequence[Link]) -> list[tuple[int, int, Any]]:
        return [(i, j, _others(links, i, j)) for i, j in permutations(range(len(links)), 2)]


def _others(links: Sequence[Link], *skip: int) -> Any:
    """The product of the values of all factors except the skipped ones; None if none is left."""
    kept = [link.values for i, link in enumerate(links) if i not in skip]
    return reduce(mul, kept) if kept else None


class Product(_OfFactors):
    """k₁ · … · k_p (Schur's theorem). Its space is the restriction of the tensor product to the diagonal.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> (Gaussian() * Linear())([[2.0]], [[2.0]])
    array([[4.]])
    """

    def formula(self, pairs: Pairs) -> Any:
        return reduce(mul, map(pairs, self.kernels))

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return of_product([k.definiteness_in(dimension) for k in self.kernels])

    @property
    def provides(self) -> frozenset[str]:
        common = frozenset.intersection(*(k.provides for k in self.kernels)) - STATIONARY
        return common if "gradient_x" in common else common - {"mixed_xy"}

    def features(self, X: Checked) -> Any:
        return column_products([k.feature_map(X) for k in self.kernels])

    def feature_count(self, X: Checked) -> int:
        return prod(k.feature_count(X) for k in self.kernels)


class Tensor(_OfFactors):
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

    def _each(self, X: Checked) -> Sequence[Any]:
        return [None] * len(self.kernels) if X is None else list(X)

    def _check_together(self, X: Checked, Y: Checked) -> None:
        for i, k in enumerate(self.kernels):
            k._check_together(X[i], Y[i])

    def resolve(self, X: Checked) -> Self:
        X = self.domain.check(X, self)
        return type(self)([k.resolve(X[i]) for i, k in enumerate(self.kernels)])

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return of_product([k.definiteness for k in self.kernels])
