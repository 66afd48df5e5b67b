"""Compiled inner loops of the multiclass solver: exact steps of one sample's coefficients on a small dense block.

Arrays have a row for each class and a column for each sample, so that every pass over the samples is contiguous.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._jit import maximum, minimum, njit, njit_reordered
from ...types import Array
from ._smo import BIG


@njit
def nearest(v: Array, lower: Array, upper: Array, loose: Any, out: Array) -> None:
    """The point of {lower ≤ b ≤ upper, Σb = 0} nearest to v: v − θ clipped to the bounds."""
    # Without bounds θ is a mean. If the total excess over upper bounds is larger than the total shortfall below lower
    # ones, θ will fall, and entries above their bounds stay above: they are fixed, and the rest is repeated (or vice
    # versa). Exact after at most one round per entry. Bitran, Hax, *Disaggregation and resource allocation using convex
    # knapsack problems with bounded variables* (1981). `loose` is workspace for one flag per entry.
    theta, fixed = 0.0, 0.0
    loose[:] = True
    for _ in range(len(v)):
        total, count = fixed, 0
        for m in range(len(v)):
            if loose[m]:
                total += v[m]
                count += 1
        if count == 0:
            break
        theta, over, under = total / count, 0.0, 0.0
        for m in range(len(v)):
            if loose[m]:
                over += max(v[m] - theta - upper[m], 0.0)
                under += max(lower[m] - v[m] + theta, 0.0)
        if over == under:
            break
        for m in range(len(v)):
            if loose[m] and (v[m] - theta >= upper[m] if over > under else v[m] - theta <= lower[m]):
                out[m] = upper[m] if over > under else lower[m]
                fixed += out[m]
                loose[m] = False
    for m in range(len(v)):
        if loose[m]:
            out[m] = min(max(v[m] - theta, lower[m]), upper[m])


@njit
def project(beta: Array, lower: Array, upper: Array) -> None:
    """Project each sample's coefficients onto its constraints."""
    # coefficients that satisfy them up to rounding are not changed, so that none leaves its bound by rounding
    k, n = beta.shape
    v, low, high, new, loose = np.empty(k), np.empty(k), np.empty(k), np.empty(k), np.empty(k, np.bool_)
    for i in range(n):
        v[:], low[:], high[:] = beta[:, i], lower[:, i], upper[:, i]
        if abs(v.sum()) > 1e-12 * np.abs(v).sum() or (v < low).any() or (v > high).any():
            nearest(v, low, high, loose, new)
            beta[:, i] = new


@njit_reordered
def descend(K: Array, f: Array, beta: Array, lower: Array, upper: Array, tol: float, most: int) -> int:
    """Steps of the worst sample until max{f : β < upper} − min{f : β > lower} ≤ tol for each. Changes β."""
    # For one sample the objective is ½Kᵢᵢ‖Δ‖² − fᵢ·Δ, whose constrained minimum is the feasible point nearest to βᵢ +
    # fᵢ/Kᵢᵢ. `up` and `low` contain f where a coefficient may increase or decrease and ∓big elsewhere, which avoids
    # branches. The search for the worst sample triples the cost of a step, but cyclic order would need ten times the
    # steps.
    k, q = f.shape
    kind = K.dtype.type
    big = kind(BIG)
    up, low = np.empty((k, q), K.dtype), np.empty((k, q), K.dtype)
    for m in range(k):
        for t in range(q):
            up[m, t] = kind(f[m, t]) if beta[m, t] < upper[m, t] else -big
            low[m, t] = kind(f[m, t]) if beta[m, t] > lower[m, t] else big
    gap, bottom = np.empty(q, K.dtype), np.empty(q, K.dtype)
    g, v, below, above, new = np.empty(k), np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    loose = np.empty(k, np.bool_)
    count = 0
    while count < most:
        gap[:], bottom[:] = up[0], low[0]
        for m in range(1, k):
            u, w = up[m], low[m]
            for t in range(q):
                gap[t], bottom[t] = maximum(gap[t], u[t]), minimum(bottom[t], w[t])
        worst = -big
        for t in range(q):
            gap[t] -= bottom[t]
            worst = maximum(worst, gap[t])
        if worst <= tol:
            break
        i = 0
        for t in range(q):
            if gap[t] == worst:
                i = t
                break
        room, top, least = 0.0, -BIG, BIG
        for m in range(k):
            below[m], above[m] = lower[m, i], upper[m, i]
            g[m] = up[m, i] if beta[m, i] < above[m] else low[m, i]
            room, top, least = max(room, above[m] - below[m]), max(top, g[m]), min(least, g[m])
        # almost no curvature: go far enough that the bounds decide, but not so far that they are lost in rounding
        curve = max(float(K[i, i]), 1e-4 * (top - least) / room)
        for m in range(k):
            v[m] = beta[m, i] + g[m] / curve
        nearest(v, below, above, loose, new)
        Ki, still = K[i], True
        for m in range(k):
            step = kind(new[m] - beta[m, i])
            if new[m] != beta[m, i]:
                still = False
                beta[m, i] = new[m]
                up[m, i] = kind(g[m]) if new[m] < above[m] else -big
                low[m, i] = kind(g[m]) if new[m] > below[m] else big
                u, w = up[m], low[m]
                for t in range(q):
                    change = step * Ki[t]
                    u[t] -= change
                    w[t] -= change
        if still:  # the violation is due to rounding
            break
        count += 1
    return count
