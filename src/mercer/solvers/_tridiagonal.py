"""Sweeps of the factor L of a tridiagonal T + αI = LDLᵀ over many vectors, the columns of V."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._jit import njit
from .._threads import run, slices
from ..types import Array

BLOCK = 32  # vectors swept together: a copy of them stays in the L2 cache
SHARED = 1 << 22  # entries times alphas above which threads share the vectors
SMALL = 1 << 14  # entries of V up to which NumPy is faster than loading compiled code


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
        out = np.empty((V.shape[1], len(pivots)), V.dtype)
        parts = slices(len(out), len(out) if V.size * len(pivots) < SHARED else max(BLOCK, len(out) // 8))
        run(parts, lambda part: _quadratic(V[:, part], lower, pivots, out[part]))
        return out
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
def _quadratic(V: Array, lower: Array, pivots: Any, out: Array) -> None:
    r, m = V.shape
    held = np.zeros((r, BLOCK), V.dtype)
    x, total = np.empty(BLOCK, V.dtype), np.empty(BLOCK, V.dtype)
    for first in range(0, m, BLOCK):
        width = min(BLOCK, m - first)
        for j in range(r):
            for i in range(width):
                held[j, i] = V[j, first + i]
        for a in range(pivots.shape[0]):
            for i in range(BLOCK):
                x[i] = held[0, i]
                total[i] = x[i] * x[i] / pivots[a, 0]
            for j in range(1, r):
                factor, inverse = lower[a, j - 1], 1 / pivots[a, j]
                for i in range(BLOCK):
                    x[i] = held[j, i] - factor * x[i]
                    total[i] += x[i] * x[i] * inverse
            for i in range(width):
                out[first + i, a] = total[i]
