"""Compiled minimisation of quadratic models with an ℓ₁ penalty."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._jit import njit
from ...types import Array
from ._coordinate_descent import _shrink
from ._finite_newton import _solve


@njit
def lasso(H: Array, g: Array, penalty: Any, v: Array, tol: float, most: int) -> None:
    """Minimise ½δᵀHδ + gᵀδ + Σ penalty·|v + δ|, one entry at a time. v becomes v + δ, and g the gradient there."""
    # Friedman, Hastie, Tibshirani, *Regularization paths for generalized linear models via coordinate descent* (2010),
    # section 2.2.
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
def lasso_columns(Y: Any, g: Any, penalty: Any, v: Any, u: Any, tol: float, most: int) -> None:
    """`lasso` for H = YᵀY with Y in compressed columns, which is cheaper than H if Y is sparse; u becomes Yδ."""
    indptr, indices, data = Y
    diagonal = np.zeros(len(v))
    for j in range(len(v)):
        for t in range(indptr[j], indptr[j + 1]):
            diagonal[j] += data[t] * data[t]
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


@njit
def scaled_columns(columns: Any, root: Array, chosen: Any) -> Any:
    """Chosen columns with rows times `root`, without those where it is zero."""
    indptr, indices, data = columns
    starts, size = np.zeros(len(chosen) + 1, np.int64), 0
    for j in chosen:
        size += indptr[j + 1] - indptr[j]
    rows, values, m = np.empty(size, np.int64), np.empty(size), 0
    for k in range(len(chosen)):
        for t in range(indptr[chosen[k]], indptr[chosen[k] + 1]):
            i = indices[t]
            if root[i] > 0:
                rows[m], values[m] = i, root[i] * data[t]
                m += 1
        starts[k + 1] = m
    return starts, rows[:m], values[:m]


@njit
def lasso_exactly(H: Array, g: Array, penalty: Any, v: Array, tol: float, sweeps: int, rounds: int) -> None:
    """`lasso`, with a joint step for the nonzero entries after some sweeps, to a violation of at most `tol`."""
    for _ in range(rounds):
        lasso(H, g, penalty, v, tol, sweeps)
        if not _along_signs(H, g, penalty, v):
            return
        worst = 0.0
        for j in range(len(v)):
            if v[j] == 0.0:
                worst = max(worst, abs(g[j]) - penalty[j])
            else:
                worst = max(worst, abs(g[j] + (penalty[j] if v[j] > 0 else -penalty[j])))
        if worst <= tol:
            return


@njit
def _along_signs(H: Array, g: Array, penalty: Any, v: Array) -> bool:
    """`l1.along_signs` for positive definite H; False, with v as it was, if rounding makes H indefinite."""
    used, m = np.empty(len(v), np.int64), 0
    for j in range(len(v)):
        if (v[j] != 0.0 or penalty[j] == 0.0) and H[j, j] > 0:
            used[m] = j
            m += 1
    A, goal = np.empty((m, m)), np.empty(m)
    for a in range(m):
        j = used[a]
        for b in range(a, m):
            A[a, b] = H[j, used[b]]
        goal[a] = (penalty[j] if v[j] < 0 else -penalty[j]) - g[j]
    if not _solve(A, goal):
        return False
    walk(A, goal, used[:m], H, g, penalty, v)
    return True


@njit
def walk(U: Array, step: Array, used: Any, H: Array, g: Array, penalty: Any, v: Array) -> None:
    """Move the used entries of v by `step`, to the minimum with these signs, as in `l1.along_signs`; H = UᵀU there.

    With entries D held at 0, H⁻¹ becomes H⁻¹ − Σ qqᵀ/q_k over the k in D, with q column k of the inverse before k.
    """
    m = len(used)
    goal, x, held = step.copy(), np.empty(m), np.zeros(m, np.bool_)
    for a in range(m):
        x[a] = v[used[a]]
        goal[a] += x[a]
    Q, dropped = np.empty((m, m)), np.empty(m, np.int64)
    for count in range(m + 1):
        t, first = 1.0, -1
        for a in range(m):
            if not held[a] and penalty[used[a]] > 0 and x[a] * goal[a] < 0 and x[a] / (x[a] - goal[a]) < t:
                t, first = x[a] / (x[a] - goal[a]), a
        for a in range(m):
            x[a] += t * (goal[a] - x[a])
        if first < 0:
            break
        held[first], dropped[count] = True, first
        q = Q[count]
        _column_of_inverse(U, first, q)
        for b in range(count):
            share = Q[b, first] / Q[b, dropped[b]]
            for a in range(m):
                q[a] -= share * Q[b, a]
        share = goal[first] / q[first]
        for a in range(m):
            goal[a] -= share * q[a]
        for b in range(count + 1):
            x[dropped[b]] = goal[dropped[b]] = 0.0
    for a in range(m):
        move = x[a] - v[used[a]]
        v[used[a]] = x[a]
        for k in range(len(v)):
            g[k] += H[used[a], k] * move


@njit
def _column_of_inverse(U: Array, k: int, q: Array) -> None:
    """Column k of (UᵀU)⁻¹."""
    m = len(q)
    q[:] = 0.0
    q[k] = 1.0
    for i in range(k, m):
        q[i] /= U[i, i]
        for j in range(i + 1, m):
            q[j] -= U[i, j] * q[i]
    for i in range(m - 1, -1, -1):
        total = q[i]
        for j in range(i + 1, m):
            total -= U[i, j] * q[j]
        q[i] = total / U[i, i]
