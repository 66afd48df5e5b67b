"""Compiled coordinate descent for linear machines."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._jit import njit
from ...types import Array

BIG = 1e300


@njit
def _shrink(z: float, by: float) -> float:
    """z moved towards zero."""
    return z - by if z > by else z + by if z < -by else 0.0


@njit
def descend(
    indptr: Any,
    indices: Any,
    data: Any,
    target: Any,
    epsilon: float,
    lower: Any,
    upper: Any,
    own: Any,
    inverse: float,
    diagonal: Any,
    beta: Any,
    w: Any,
    seed: int,
    tol: float,
    most: int,
) -> int:
    """Minimise ½‖Xᵀβ‖² + (inverse/2)(Σβ)² + Σ(own/2)β² + ε‖β‖₁ − pᵀβ over a box, one β at a time, to a violation ≤ tol.

    w holds (Xᵀβ, Σβ) and moves with β. Hsieh, Chang, Lin, Keerthi, Sundararajan, *A dual coordinate descent method for
    large-scale linear SVM* (2008), algorithm 3: samples whose β is at an end, and would stay there by more than the
    largest violation of the last pass, rest until the others are solved. Returns the passes made.
    """
    n, d = len(beta), len(w) - 1
    order = np.arange(n)
    size, reach = n, BIG
    state = np.uint64(2 * seed + 1)
    for passes in range(1, most + 1):
        worst, k = 0.0, 0
        for s in range(size - 1, 0, -1):
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            t = int(state >> np.uint64(33)) % (s + 1)
            order[s], order[t] = order[t], order[s]
        while k < size:
            i = order[k]
            f = inverse * w[d]
            for t in range(indptr[i], indptr[i + 1]):
                f += data[t] * w[indices[t]]
            b = beta[i]
            slope = f - target[i] + own[i] * b
            right = slope + (epsilon if b >= 0 else -epsilon)
            left = slope + (epsilon if b > 0 else -epsilon)
            violation = max(-right if b < upper[i] else -BIG, left if b > lower[i] else -BIG)
            if violation < -reach:
                size -= 1
                order[k], order[size] = order[size], order[k]
                continue
            k += 1
            if violation > 0:
                worst = max(worst, violation)
                z = min(max(_shrink(b - slope / diagonal[i], epsilon / diagonal[i]), lower[i]), upper[i])
                move = z - b
                beta[i] = z
                for t in range(indptr[i], indptr[i + 1]):
                    w[indices[t]] += move * data[t]
                w[d] += move
        if worst <= tol:
            if size == n:
                return passes
            size, reach = n, BIG
        else:
            reach = worst
    return most


@njit
def lasso(H: Array, g: Array, penalty: Any, v: Array, tol: float, most: int) -> None:
    """Minimise ½δᵀHδ + gᵀδ + Σ penalty·|v + δ|, one entry at a time. v becomes v + δ, and g the gradient there.

    Friedman, Hastie, Tibshirani, *Regularization paths for generalized linear models via coordinate descent* (2010),
    section 2.2.
    """
    for _ in range(most):
        worst = 0.0
        for j in range(len(v)):
            curve = H[j, j]
            if curve <= 0:  # no active sample has this feature
                v[j] = 0.0 if penalty[j] > 0 else v[j]
                continue
            move = _shrink(curve * v[j] - g[j], penalty[j]) / curve - v[j]
            if move != 0:
                v[j] += move
                for k in range(len(v)):
                    g[k] += H[j, k] * move
                worst = max(worst, abs(move) * curve)
        if worst <= tol:
            break


@njit
def lasso_columns(
    indptr: Any, indices: Any, data: Any, diagonal: Any, g: Any, penalty: Any, v: Any, u: Any, tol: float, most: int
) -> None:
    """The same for H = YᵀY with Y in compressed columns, which is cheaper than H where Y is sparse; u becomes Yδ."""
    for _ in range(most):
        worst = 0.0
        for j in range(len(v)):
            curve = diagonal[j]
            if curve <= 0:  # no active sample has this feature
                v[j] = 0.0 if penalty[j] > 0 else v[j]
                continue
            slope = g[j]
            for t in range(indptr[j], indptr[j + 1]):
                slope += data[t] * u[indices[t]]
            move = _shrink(curve * v[j] - slope, penalty[j]) / curve - v[j]
            if move != 0:
                v[j] += move
                for t in range(indptr[j], indptr[j + 1]):
                    u[indices[t]] += data[t] * move
                worst = max(worst, abs(move) * curve)
        if worst <= tol:
            break
