"""Σ cᵢ Kᵢ from existing Gram operators, built many times when a kernel combination is learned."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

from .._array import host, namespace
from ..domains import take
from ..kernels import Kernel
from ..types import Array, Checked
from ._base import Gram, Representation
from .dense import DenseGram
from .given import refuse_other_sample
from .low_rank import FeatureGram, LowRankGram


class Combined(Representation):
    """The Gram operator of Σ cᵢ kᵢ from those of the kᵢ on the same sample, without evaluating a kernel.

    Factors are placed side by side; otherwise the matrix is stored. Kernels with c = 0 are left out. `near` are the
    operators about the sample mean, for a combination about that mean (`Kernel.about`). `grams_` are the operators
    combined last, and `expanded_` the coefficients, on the whole sample, of the last function.

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Constant, Linear
    >>> X = np.array([[1.0], [2.0]])
    >>> parts = [Dense().build(k, X) for k in (Linear(), Constant(1.0))]
    >>> Combined(parts, [2.0, 0.5]).build(2 * Linear() + 0.5, X).dense()
    array([[2.5, 4.5],
           [4.5, 8.5]])
    """

    expanded_: Any
    grams_: Sequence[Gram]

    def __init__(self, grams: Sequence[Gram], coefficients: Sequence[float], near: Sequence[Gram] | None = None):
        self.grams, self.coefficients, self.near = grams, coefficients, near

    def _build(self, kernel: Kernel, X: Checked, rng: np.random.Generator) -> Gram:
        refuse_other_sample(X, self.grams[0])
        self.grams_ = self.grams
        if kernel.at_zero is not kernel:
            kernel, self.grams_ = (kernel.at_zero, self.grams) if self.near is None else (kernel, self.near)
        parts = [(gram, float(c)) for gram, c in zip(self.grams_, self.coefficients, strict=True) if c > 0]
        if not all("factor" in gram.provides for gram, _ in parts):
            return _Matrix(self, kernel, X, sum(c * gram.dense() for gram, c in parts))
        roots = [sqrt(c) for _, c in parts]
        factors = [root * gram.factor() for (gram, _), root in zip(parts, roots, strict=True)]
        Z = namespace(*factors).concat(factors, axis=1)
        if all(gram.own_features for gram, _ in parts):
            return _Exact(self, kernel, X, kernel.feature_map, 0.0, Z)
        features = SideBySide([gram.features for gram, _ in parts], roots)  # type: ignore[attr-defined]
        return _Factor(self, kernel, X, features, sum(c * gram.trace_error for gram, c in parts), Z)


class SideBySide:
    """φ(x) = (√c₁ φ₁(x), …, √c_m φ_m(x))."""

    def __init__(self, features: Sequence[Any], roots: Sequence[float]):
        self.features, self.roots = features, roots

    def __call__(self, X: Checked) -> Any:
        parts = [root * phi(X) for root, phi in zip(self.roots, self.features, strict=True)]
        return namespace(*parts).concat(parts, axis=1)


class _Matrix(DenseGram):
    """The combined matrix; its functions keep only the points they use."""

    def __init__(self, owner: Combined, kernel: Kernel, X: Checked, K: Array):
        super().__init__(kernel, X, K)
        self.owner = owner

    def expansion(self, coefficients: Array) -> tuple[Kernel, Any, Any]:
        self.owner.expanded_ = coefficients
        used = np.flatnonzero(host(coefficients).reshape(self.n, -1).any(axis=1))
        if not 0 < len(used) < self.n:
            return super().expansion(coefficients)
        return self.kernel, self.kernel.domain.take(self.centres, used), take(coefficients, used)


class _Factor(LowRankGram):
    """The factors side by side."""

    def __init__(self, owner: Combined, *rest: Any):
        super().__init__(*rest)
        self.owner = owner

    def expansion(self, coefficients: Array) -> tuple[Kernel, Any, Any]:
        self.owner.expanded_ = coefficients
        return super().expansion(coefficients)


class _Exact(_Factor, FeatureGram):
    """Exact features side by side."""
