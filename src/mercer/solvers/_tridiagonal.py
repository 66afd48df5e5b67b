"""Sweeps of the factor L of a tridiagonal T + αI = LDLᵀ over many vectors, which lie in the columns of V."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._jit import njit
from ..types import Array

BLOCK = 64  # vectors that are swept together: their running values stay in registers and the first cache
SMALL = 1 << 14  # entries of V up to which NumPy is done before compiled code would be loaded


def swept(V: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """L⁻¹V, for the subdiagonal `lower` of L."""
    if V.size > SMALL:
        return np.asarray(_swept(V, lower))
    out = V.copy()
    for j in range(1, len(V)):
        out[j] -= lower[j - 1] * out[j - 1]
    return out


def quadratic(V: np.ndarray, lower: np.ndarray, pivots: np.ndarray) -> np.ndarray:
    """vᵀ(T + αI)⁻¹v, of shape (columns of V, A), for factors in the rows of `lower` and `pivots`."""
    if V.size > SMALL:
        return np.asarray(_quadratic(V, lower, pivots))
    x = np.repeat(V[0][:, None], len(pivots), axis=1)
    total = x * x / pivots[:, 0]
    for j in range(1, len(V)):
        x = V[j][:, None] - x * lower[:, j - 1]
        total += x * x / pivots[:, j]
    return total


@njit
def _swept(V: Array, lower: Array) -> Any:
    out = np.empty_like(V)
    out[0] = V[0]
    for j in range(1, V.shape[0]):
        for i in range(V.shape[1]):
            out[j, i] = V[j, i] - lower[j - 1] * out[j - 1, i]
    return out


@njit
def _quadratic(V: Array, lower: Array, pivots: Any) -> Any:
    r, m = V.shape
    A = pivots.shape[0]
    out = np.empty((m, A), V.dtype)
    x, total = np.empty(BLOCK, V.dtype), np.empty(BLOCK, V.dtype)
    for first in range(0, m, BLOCK):
        width = min(BLOCK, m - first)
        for a in range(A):
            for i in range(width):
                x[i] = V[0, first + i]
                total[i] = x[i] * x[i] / pivots[a, 0]
            for j in range(1, r):
                factor, inverse = lower[a, j - 1], 1 / pivots[a, j]
                for i in range(width):
                    x[i] = V[j, first + i] - factor * x[i]
                    total[i] += x[i] * x[i] * inverse
            for i in range(width):
                out[first + i, a] = total[i]
    return out
