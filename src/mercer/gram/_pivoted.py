"""Shared code of landmark representations: factors from pivots, and residual traces."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from .._array import doubles, eps, like, namespace
from ..domains import take
from ..evaluation import bind
from ..kernels import Kernel
from ..types import Array, Checked
from .low_rank import LandmarkFeatures, LandmarkGram

ROUNDING = 64  # residuals below this many units of round-off of the largest k(x, x) are noise, not pivots


class PivotedGram(LandmarkGram):
    """K̂ = GGᵀ from r columns of K, as in Nyström; the rows of G at the pivots C are the Cholesky factor of k(C, C).

    Attributes
    ----------
    pivots : array of r indices, in the order of their choice
    residual : the vector k(xᵢ, xᵢ) − K̂ᵢᵢ
    predicted_gain, true_gain : one per pivot, if side information chose it
    """

    predicted_gain: np.ndarray | None = None
    true_gain: np.ndarray | None = None

    def __init__(self, kernel: Kernel, X: Checked, diagonal: Array, pivots: Any, G: Array):
        self.pivots = np.asarray(pivots, dtype=np.int64)
        L = np.tril(doubles(take(G, self.pivots)))
        # if K is 0 there is no pivot: any landmark then serves, with no columns
        T = linalg.solve_triangular(L, np.eye(len(L)), lower=True).T if len(L) else np.zeros((1, 0))
        centres = kernel.domain.take(kernel.domain.centres(X), self.pivots if len(L) else np.zeros(1, dtype=np.int64))
        super().__init__(kernel, X, LandmarkFeatures(kernel, centres, like(T, G)), trace_left(diagonal, G), G)
        self.residual = diagonal - self.diagonal()


def trace_left(diagonal: Array, Z: Array) -> float:
    """tr K − ‖Z‖²: the residual trace of K̂ = ZZᵀ for a matrix with this diagonal, summed in float64."""
    xp = namespace(Z)
    return float(xp.sum(diagonal, dtype=xp.float64)) - float(xp.sum(Z * Z, dtype=xp.float64))


def noise(diagonal: Array) -> float:
    """The largest residual on the diagonal that may be rounding alone."""
    return ROUNDING * eps(diagonal) * float(namespace(diagonal).max(diagonal))


def columns(kernel: Kernel, X: Any, centres: Any, index: Any) -> Any:
    """The columns k(X, xᵢ) of the given samples; `centres` are those of X in the domain."""
    return bind(kernel, X, kernel.domain.take(centres, np.atleast_1d(index))).dense()
