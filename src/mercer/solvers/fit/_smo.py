"""Compiled inner loops of the working-set solver: sequential minimal optimisation on a small dense block.

Problem: minimise ½βᵀKβ − pᵀβ with lower ≤ β ≤ upper and Σβ fixed over each group, for f = p − Kβ. Pairs are chosen with
second-order information: Fan, Chen, Lin, *Working set selection using second order information for training SVM*
(2005), WSS 2; without an equality, a variable by the exact decrease of the objective, and its best partner (Steinwart,
Hush, Scovel, *Training SVMs without offset*, 2011).

Callers scale K and f to about 1 by powers of two, so that the sentinels and the smallest curvature do not depend on
units. No value can drive an index out of bounds: the loops end for any K and f.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._jit import as_float, as_integer, maximum, minimum, njit, njit_reordered
from ...types import Array

BIG = 1e37  # stands for infinity, in either precision
CHUNK = 128  # values compared at once in the search for a maximum
LANES = 16  # blocks are padded to a multiple of this, with variables that cannot move
RECIPROCAL, TWO = np.int32(0x7EF311C7), np.float32(2)


@njit
def _reciprocal(a: Array) -> Any:
    """1/a within 2 % for a float32 a > 0: a guess from the exponent, and one step of Newton's method."""
    guess: Any = as_float(np.int32(RECIPROCAL - as_integer(a)))
    return guess * (TWO - a * guess)


@njit_reordered
def _find(values: Array, largest: Any) -> int:
    """The first index of `largest`, the maximum of `values`, by vectorised chunks; 0 if no value equals it."""
    whole = len(values) // CHUNK * CHUNK
    for start in range(0, whole, CHUNK):
        best = values[start]
        for t in range(1, CHUNK):
            best = maximum(best, values[start + t])
        if best == largest:
            for t in range(start, start + CHUNK):
                if values[t] == largest:
                    return t
    for t in range(whole, len(values)):
        if values[t] == largest:
            return t
    return 0


@njit_reordered
def smo(K: Array, f: Array, beta: Array, lower: Array, upper: Array, diagonal: Array, tol: float, most: int) -> int:
    """One equality: steps along eᵢ − eⱼ until max{f : β < upper} − min{f : β > lower} ≤ tol.

    Changes β, and f where lower < upper. `up` and `low` contain f where a variable may increase or decrease and ∓big
    elsewhere, which avoids branches; the update of f is fused with the search for i. Gains are approximate, since a
    division would cost more than all else.
    """
    n = len(f)
    kind = K.dtype.type
    big, tiny, zero, two = kind(BIG), kind(1e-12), kind(0), kind(2)
    up, low, gain, half = np.empty(n, K.dtype), np.empty(n, K.dtype), np.empty(n, np.float32), np.empty(n, K.dtype)
    for t in range(n):
        half[t] = diagonal[t] / two
        up[t] = kind(f[t]) if beta[t] < upper[t] else -big
        low[t] = kind(f[t]) if beta[t] > lower[t] else big
    i, j, step, count = 0, 0, zero, 0
    while True:
        Ki, Kj = K[i], K[j]
        largest, least = -big, big
        for t in range(n):
            change = step * (Ki[t] - Kj[t])
            u, v = up[t] - change, low[t] - change
            up[t], low[t] = u, v
            largest, least = maximum(largest, u), minimum(least, v)
        if largest - least <= tol or count >= most:
            break
        i = _find(up, largest)
        Ki, h, best = K[i], half[i], np.float32(-1)
        for t in range(n):
            rise = np.float32(maximum(largest - low[t], zero))
            g = rise * rise * _reciprocal(np.float32(maximum((h + half[t]) - Ki[t], tiny)))
            gain[t] = g
            best = maximum(best, g)
        j = _find(gain, best)
        fi, fj = up[i], low[j]
        curve = two * maximum((h + half[j]) - Ki[j], tiny)
        room_i, room_j = upper[i] - beta[i], beta[j] - lower[j]
        move = min(float(fi - fj) / float(curve), room_i, room_j)
        beta[i] = upper[i] if move == room_i else beta[i] + move
        beta[j] = lower[j] if move == room_j else beta[j] - move
        up[i], low[i] = fi if beta[i] < upper[i] else -big, fi if beta[i] > lower[i] else big
        up[j], low[j] = fj if beta[j] < upper[j] else -big, fj if beta[j] > lower[j] else big
        step = kind(move)
        count += 1
    for t in range(n):
        f[t] = up[t] if beta[t] < upper[t] else low[t] if beta[t] > lower[t] else f[t]
    return count


@njit
def smo_groups(
    K: Array,
    f: Array,
    beta: Array,
    lower: Array,
    upper: Array,
    diagonal: Array,
    group: Any,
    groups: int,
    tol: float,
    most: int,
) -> int:
    """One equality per group: each step takes the group with the largest violation."""
    n = len(f)
    g = f.astype(np.float64)
    top, bottom, at = np.empty(groups), np.empty(groups), np.empty(groups, np.int64)
    count = 0
    while count < most:
        top[:], bottom[:], at[:] = -BIG, BIG, -1
        for t in range(n):
            c, value = group[t], g[t]
            if value > top[c] and beta[t] < upper[t]:
                top[c], at[c] = value, t
            if value < bottom[c] and beta[t] > lower[t]:
                bottom[c] = value
        chosen, worst, i = -1, tol, -1
        for c in range(groups):
            if at[c] >= 0 and top[c] - bottom[c] > worst:
                chosen, worst, i = c, top[c] - bottom[c], at[c]
        if chosen < 0:
            break
        Ki, j, best = K[i], -1, -1.0
        for t in range(n):
            if group[t] == chosen and beta[t] > lower[t] and g[t] < g[i]:
                curve = max(float(diagonal[i] + diagonal[t]) - 2.0 * Ki[t], 1e-12)
                value = (g[i] - g[t]) ** 2 / curve
                if value > best:
                    best, j = value, t
        if j < 0:
            break
        curve = max(float(diagonal[i] + diagonal[j]) - 2.0 * Ki[j], 1e-12)
        room_i, room_j = upper[i] - beta[i], beta[j] - lower[j]
        move = min((g[i] - g[j]) / curve, room_i, room_j)
        beta[i] = upper[i] if move == room_i else beta[i] + move
        beta[j] = lower[j] if move == room_j else beta[j] - move
        Kj = K[j]
        for t in range(n):
            g[t] -= move * (Ki[t] - Kj[t])
        count += 1
    return count


@njit
def _pair(
    g: Array, h: Any, a: Array, b: Array, c: Array, left: Array, right: Array, low: Any, high: Any
) -> tuple[Any, Any]:
    """The (x, y) within left ≤ x ≤ right and low ≤ y ≤ high that maximises gx + hy − ½(ax² + 2bxy + cy²)."""
    det = a * c - b * b
    if det > 1e-12 * a * c:
        x, y = (c * g - b * h) / det, (a * h - b * g) / det
        if left <= x <= right and low <= y <= high:
            return x, y
    best, at, to = 0.0, 0.0, 0.0
    for side in range(4):  # on one of the edges
        if side < 2:
            x = left if side == 0 else right
            y = min(max((h - b * x) / c, low), high)
        else:
            y = low if side == 2 else high
            x = min(max((g - b * y) / a, left), right)
        if abs(x) < BIG and abs(y) < BIG:
            gain = g * x + h * y - 0.5 * (a * x * x + 2.0 * b * x * y + c * y * y)
            if gain > best:
                best, at, to = gain, x, y
    return at, to


@njit
def smo_single(
    K: Array, f: Array, beta: Array, lower: Array, upper: Array, diagonal: Array, tol: float, most: int
) -> int:
    """No equality: exact steps of two variables, the one that lowers the objective most, and its best partner.

    Steps of a single variable would zigzag if rows are similar, in a number proportional to the width of the bounds.
    """
    n = len(f)
    g = f.astype(np.float64)
    count = 0
    while count < most:
        i, best, step, violation = -1, 0.0, 0.0, 0.0
        for t in range(n):
            if g[t] > 0 and beta[t] < upper[t]:
                violation = max(violation, g[t])
            elif g[t] < 0 and beta[t] > lower[t]:
                violation = max(violation, -g[t])
            else:
                continue
            curve = max(float(diagonal[t]), 1e-12)
            move = min(max(g[t] / curve, lower[t] - beta[t]), upper[t] - beta[t])
            decrease = move * (g[t] - 0.5 * curve * move)
            if decrease > best:
                i, best, step = t, decrease, move
        if violation <= tol or i < 0:
            break
        Ki, a, j, largest = K[i], max(float(diagonal[i]), 1e-12), -1, 0.0
        for t in range(n):
            b, c = float(Ki[t]), max(float(diagonal[t]), 1e-12)
            other = a * g[t] - b * g[i]  # the unbounded step of t, times the determinant
            if t != i and ((other > 0 and beta[t] < upper[t]) or (other < 0 and beta[t] > lower[t])):
                gain = other * other / max(a * c - b * b, 1e-12 * a * c)
                if gain > largest:
                    largest, j = gain, t
        beside = 0.0
        if j >= 0:
            room = lower[i] - beta[i], upper[i] - beta[i], lower[j] - beta[j], upper[j] - beta[j]
            x, y = _pair(g[i], g[j], a, float(Ki[j]), max(float(diagonal[j]), 1e-12), *room)
            if x != 0.0 or y != 0.0:
                step, beside = x, y
        beta[i] = min(max(beta[i] + step, lower[i]), upper[i])
        if beside == 0.0:
            for t in range(n):
                g[t] -= step * Ki[t]
        else:
            beta[j] = min(max(beta[j] + beside, lower[j]), upper[j])
            Kj = K[j]
            for t in range(n):
                g[t] -= step * Ki[t] + beside * Kj[t]
        count += 1
    return count


@njit
def gradient(f: Any, rows: Any, slots: Any, change: Any, start: int, stop: int) -> None:
    """f −= Σₖ changeₖ rows[slotsₖ] on the columns start … stop, in float64, eight rows at a time."""
    m = len(slots)
    for left in range(start, stop, 8192):
        right = min(stop, left + 8192)
        g = f[left:right]
        k = 0
        while k + 8 <= m:
            a, b = rows[slots[k], left:right], rows[slots[k + 1], left:right]
            c, d = rows[slots[k + 2], left:right], rows[slots[k + 3], left:right]
            p, q = rows[slots[k + 4], left:right], rows[slots[k + 5], left:right]
            r, s = rows[slots[k + 6], left:right], rows[slots[k + 7], left:right]
            ca, cb, cc, cd = change[k], change[k + 1], change[k + 2], change[k + 3]
            cp, cq, cr, cs = change[k + 4], change[k + 5], change[k + 6], change[k + 7]
            for t in range(right - left):
                first, second = (ca * a[t] + cb * b[t]) + (cc * c[t] + cd * d[t]), cp * p[t] + cq * q[t]
                g[t] -= first + (second + (cr * r[t] + cs * s[t]))
            k += 8
        while k < m:
            a, ca = rows[slots[k], left:right], change[k]
            for t in range(right - left):
                g[t] -= ca * a[t]
            k += 1


@njit
def mirror(Q: Any, rows: Any, fresh: Any, start: int, stop: int) -> None:
    """Q[c, rows] = Q[rows, c] for the columns start … stop, by blocks of rows: the matrix is symmetric.

    Of two `fresh` rows, the later is set equal to the earlier, so that no entry is both read and written.
    """
    for first in range(0, len(rows), 16):
        last = min(len(rows), first + 16)
        for c in range(start, stop):
            for r in range(first, last):
                if rows[r] < c or not fresh[c]:
                    Q[c, rows[r]] = Q[rows[r], c]


@njit_reordered
def total(Q: Array, rows: Any, width: int) -> float:
    """The sum of some rows: it is finite only if all their values are."""
    out = 0.0
    for r in rows:
        row = Q[r]
        for t in range(width):
            out += row[t]
    return out
