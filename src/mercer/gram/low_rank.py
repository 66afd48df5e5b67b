"""K ≈ ZZᵀ with a thin Z = φ(X): products, solves and predictions cost O(nr)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._array import doubles, like, namespace
from .._errors import where
from ..evaluation import Evaluator, bind
from ..kernels import Kernel, Linear
from ..kernels.features import Features
from ..types import Array, Checked
from ._base import Cross, Gram, Representation


class LowRankGram(Gram):
    """K̂ = ZZᵀ; the rows of Z are features φ(xᵢ), also defined for new points.

    `features` is φ, a picklable function from m points to an (m, r) array; `trace_error` is tr(K − K̂).
    """

    provides = frozenset({"factor"})

    def __init__(self, kernel: Kernel, X: Checked, features: Any, trace_error: float, Z: Array = None):
        super().__init__(kernel, X)
        self.features, self.trace_error = features, trace_error
        self.Z = features(X) if Z is None else Z

    @cached_property
    def evaluator(self) -> Evaluator:
        return bind(Linear(), self.Z)

    @property
    def rank(self) -> int:
        """The number of columns of Z."""
        return int(self.Z.shape[1])

    def __matmul__(self, V: Array) -> Any:
        return self.Z @ (namespace(self.Z).matrix_transpose(self.Z) @ V)

    def cross(self, X_new: Checked) -> LowRankCross:
        return LowRankCross(self.features(X_new), self.Z)

    def factor(self) -> Any:
        return self.Z

    def expansion(self, coefficients: Array) -> tuple[Kernel, Any, Any]:
        return Features(self.features), self.centres, coefficients


class LowRankCross(Cross):
    """φ(X_new) Zᵀ as an operator."""

    def __init__(self, A: Array, Z: Array):
        self.A, self.Z = A, Z

    def __matmul__(self, V: Array) -> Any:
        return self.A @ (namespace(self.Z).matrix_transpose(self.Z) @ V)

    def dense(self) -> Any:
        return self.A @ namespace(self.Z).matrix_transpose(self.Z)


class LandmarkFeatures:
    """φ(x) = Tᵀk(C, x) for landmarks C: the features of Nyström and Cholesky approximations.

    TTᵀ is the (pseudo-)inverse of k(C, C), so that ⟨φ(x), φ(y)⟩ is the inner product of k(x, ·) and k(y, ·) projected
    onto the span of the landmarks' functions.
    """

    def __init__(self, kernel: Kernel, centres: Array, T: Array):
        self.kernel, self.centres, self.T = kernel, centres, T

    def __call__(self, X: Checked) -> Any:
        return bind(self.kernel, X, self.centres).dense() @ self.T


class LandmarkGram(LowRankGram):
    """A low-rank Gram on landmarks: its functions are expansions of the kernel on the landmarks only."""

    features: LandmarkFeatures

    def expansion(self, coefficients: Array) -> tuple[Kernel, Any, Any]:
        weights = namespace(self.Z).matrix_transpose(self.Z) @ coefficients
        return self.kernel, self.features.centres, self.features.T @ weights


class FeatureGram(LowRankGram):
    """The kernel's own features, without approximation: its functions lie in the kernel's own space."""

    own_features = True
    expansion = Gram.expansion


class LowRank(Representation):
    """The exact factor of a kernel with an explicit feature map (Linear, Polynomial, Fourier, …): K = φ(X)φ(X)ᵀ.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> gram = LowRank().build(Linear(), np.array([[1.0], [2.0]]), np.random.default_rng(0))
    >>> gram.rank, gram.trace_error
    (1, 0.0)
    """

    def _build(self, kernel: Kernel, X: Checked, rng: np.random.Generator) -> FeatureGram:
        if "feature_map" not in kernel.provides:
            raise TypeError(
                f"{where(self)} needs a kernel with an explicit feature_map; {where(kernel)} has none. "
                "Try Nystrom, IncompleteCholesky or RandomFeatures."
            )
        return FeatureGram(kernel, X, kernel.feature_map, 0.0)


def inverse_root(K: Array, drop: float) -> Any:
    """T with TTᵀ the pseudo-inverse of a small positive semi-definite K, without eigenvalues up to drop·λ₁."""
    values, vectors = np.linalg.eigh(doubles(K))
    keep = values > drop * values[-1]
    return like(vectors[:, keep] / np.sqrt(values[keep]), K)
