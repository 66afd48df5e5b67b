"""K̃ = HKHᵀ with H = I − 1wᵀ: the Gram matrix of centred feature vectors, structured like the Gram it wraps."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from .._array import host, like, namespace
from .._threads import slices
from ..domains import take
from ..evaluation import Evaluator, HeldEvaluator
from ..kernels import Kernel
from ..types import Array, Checked, Index
from ._base import Cross, Gram, Representation

STRIP = 32  # rows that stay in cache while they are centred


class CenteredGram(Gram):
    """⟨φ(xᵢ) − μ, φ(xⱼ) − μ⟩ with μ = Σ wᵢ φ(xᵢ), equal weights by default; stored as the Gram it wraps."""

    def __init__(self, base: Gram, weights: Array = None):
        self.base = base
        self.kernel, self.X, self.centres = base.kernel, base.X, base.centres
        self.provides = base.provides
        self.trace_error, self.choice = base.trace_error, base.choice
        w = np.full(base.n, 1.0 / base.n) if weights is None else host(weights) / host(weights).sum()
        self.weights = like(w, base.like)
        self.means = base @ self.weights  # ⟨φ(xᵢ), μ⟩
        self.total = namespace(self.means).sum(self.weights * self.means)  # ‖μ‖²

    def __matmul__(self, V: Array) -> Any:
        return self._centre_rows(self.base @ self._remove_total(V))

    def on_vectors(self) -> Callable[[np.ndarray], np.ndarray]:
        product, w = self.base.on_vectors(), self.weights

        def centred(v: np.ndarray) -> np.ndarray:
            u = product(v - v.sum() * w)
            u -= w @ u
            return u

        return centred

    def _remove_total(self, V: Array) -> Any:
        """Hᵀ V: subtract w·(column sum)."""
        xp = namespace(V)
        total = xp.sum(V, axis=0)
        return V - (self.weights * total if V.ndim == 1 else self.weights[:, None] * total[None, :])

    def _centre_rows(self, F: Array) -> Any:
        """H F: subtract the weighted mean of each column."""
        mean = namespace(F).matrix_transpose(F) @ self.weights if F.ndim == 2 else namespace(F).sum(F * self.weights)
        return F - mean

    @cached_property
    def evaluator(self) -> Evaluator:
        return HeldEvaluator(self.dense())

    @property
    def like(self) -> Any:
        return self.base.like

    def diagonal(self) -> Any:
        return self.base.diagonal() - 2 * self.means + self.total

    def magnitude(self) -> float:
        return self.base.magnitude()

    def block(self, rows: Index, columns: Index) -> Any:
        return (
            self.base.block(rows, columns)
            - take(self.means, rows)[:, None]
            - take(self.means, columns)[None, :]
            + self.total
        )

    def cross(self, X_new: Checked) -> CenteredCross:
        return CenteredCross(self, self.base.cross(X_new))

    def dense(self) -> Any:
        K, means = self.base.dense(), self.means
        if not isinstance(K, np.ndarray):
            return K - means[:, None] - means[None, :] + self.total
        out = np.empty_like(K)
        for r in slices(self.n, STRIP):
            strip = np.subtract(K[r], means[r, None], out=out[r])
            strip -= means
            strip += self.total
        return out

    def factor(self) -> Any:
        return self._centre_rows(self.base.factor())

    def sketch(self, rank: int) -> Any:
        Z = self.base.sketch(rank)
        return None if Z is None else self._centre_rows(Z)

    def expansion(self, coefficients: Array) -> tuple[Kernel, Any, Any]:
        """Σ aᵢ (k̂(·, xᵢ) − μ) in the uncentred space; `cross` gives its values minus their mean on the sample."""
        return self.base.expansion(self._remove_total(coefficients))

    def offset(self, coefficients: Array) -> Any:
        """The mean on the sample of the function from `expansion`."""
        U = self._remove_total(coefficients)
        xp = namespace(U)
        if "factor" in self.provides:  # the rounding errors are those of the function's vector ZᵀU, so they cancel
            Z = self.base.factor()
            return (self.weights @ Z) @ (xp.matrix_transpose(Z) @ U)
        return xp.sum(U * (self.means if U.ndim == 1 else self.means[:, None]), axis=0)


class CenteredCross(Cross):
    """⟨φ(x) − μ, φ(xⱼ) − μ⟩ for new x, as an operator."""

    def __init__(self, gram: CenteredGram, base: Cross):
        self.gram, self.base = gram, base

    def __matmul__(self, V: Array) -> Any:
        return self.base @ self.gram._remove_total(V) - self.gram.offset(V)

    def dense(self) -> Any:
        K = self.base.dense()
        return K - (K @ self.gram.weights)[:, None] - self.gram.means[None, :] + self.gram.total


class Centered(Representation):
    """Centre the feature vectors of another representation.

    Parameters
    ----------
    representation : Representation or name
        For the uncentred matrix.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> X = np.array([[1.0], [3.0]])
    >>> Centered("dense").build(Linear(), X, np.random.default_rng(0)).dense()
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    centers = True

    def __init__(self, representation: Representation | str = "auto"):
        self.representation = representation

    def _build(self, kernel: Kernel, X: Checked, rng: np.random.Generator) -> CenteredGram:
        from .auto import as_representation

        return CenteredGram(as_representation(self.representation)._build(kernel, X, rng))
