"""Compiled parts of a round of `working_set`: the violations, the next working set, its matrix, and the new f."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._jit import njit
from ...losses import FAR
from ...types import Array
from ._smo import gradient
from .rounds import FRESH

BIG = 1e300  # stands for infinity


@njit
def assess(variables: Any, linear: Array, group: Any, groups: int, tol: float, extremes: Any) -> Any:
    """The gap, the objective, and the number of variables that violate a condition by more than `tol`.

    `extremes` are set to f where variables may increase or decrease (∓BIG elsewhere), and its maximum and minimum in
    each group; without groups, f is compared with 0.
    """
    (f, beta, lower, upper), (up, low, top, bottom) = variables, extremes
    top[:], bottom[:] = -BIG, BIG
    objective, gap, violators = 0.0, 0.0, 0
    for i in range(len(f)):
        up[i] = f[i] if beta[i] < upper[i] else -BIG
        low[i] = f[i] if beta[i] > lower[i] else BIG
        g = group[i]
        top[g], bottom[g] = max(top[g], up[i]), min(bottom[g], low[i])
        objective -= 0.5 * beta[i] * (f[i] + linear[i])
    for g in range(len(top)):
        gap = max(gap, top[g] - bottom[g] if groups else max(top[g], -bottom[g]))
        if groups == 0:
            top[g], bottom[g] = 0.0, 0.0
    for i in range(len(f)):
        violators += up[i] - bottom[group[i]] > tol or top[group[i]] - low[i] > tol
    return gap, objective, violators


@njit
def choose(working: Any, born: Any, now: int, size: int, extremes: Any, variables: Any, group: Any, tol: float) -> Any:
    """The next working set, sorted: most of the last one, and the worst violators outside it; `born` is updated."""
    (up, low, top, bottom), (f, beta, lower, upper) = extremes, variables
    inside, violation = np.zeros(len(f), np.bool_), np.empty(len(f))
    inside[working] = True
    want = max(2, int(FRESH * size), size - len(working))
    for i in range(len(f)):
        violation[i] = -BIG if inside[i] else up[i] - bottom[group[i]]
    rising = _largest(violation, want - want // 2, 0.5 * tol)
    inside[rising] = True
    for i in range(len(f)):
        violation[i] = -BIG if inside[i] else top[group[i]] - low[i]
    falling = _largest(violation, want - len(rising), 0.5 * tol)
    inside[falling] = True
    born[rising] = now
    born[falling] = now
    excess = len(working) + len(rising) + len(falling) - size
    if excess > 0:
        # bounded variables that are far from moving leave first, then the oldest
        slack = np.empty(len(working))
        for k in range(len(working)):
            i = working[k]
            middle = 0.5 * (top[group[i]] + bottom[group[i]])
            if beta[i] <= lower[i]:
                slack[k] = middle - f[i]
            elif beta[i] >= upper[i]:
                slack[k] = f[i] - middle
            else:
                slack[k] = -1e9 - born[i]
        inside[working[_largest(slack, excess, -BIG)]] = False
    return np.flatnonzero(inside)


@njit
def _largest(values: Array, most: int, least: float) -> Any:
    """The places of the `most` largest values above `least`, in order; of equal ones, the first."""
    found = np.flatnonzero(values > least)
    if len(found) <= most or most <= 0:
        return found[: max(most, 0)]
    limit = np.partition(values[found], len(found) - most)[len(found) - most]
    ties = most - np.sum(values[found] > limit)
    chosen, count = np.empty(most, np.int64), 0
    for i in found:
        if values[i] > limit or (values[i] == limit and ties > 0):
            ties -= values[i] == limit
            chosen[count] = i
            count += 1
    return chosen[:count]


@njit
def seat(seats: Any, working: Any, n: int) -> Any:
    """Give rows that others have left to the new ones among these (sorted) variables; who is new, and their rows."""
    stays, row = np.zeros(n, np.bool_), np.full(n, -1)
    stays[working] = True
    for k in range(len(seats)):
        if seats[k] >= 0 and stays[seats[k]]:
            row[seats[k]] = k
        else:
            seats[k] = -1
    fresh, free = row[working] < 0, 0
    for i in working[fresh]:
        while free < len(seats) - 1 and seats[free] >= 0:
            free += 1
        seats[free], row[i] = i, free
    return fresh, row[working]


@njit
def gather(
    Q: Array, unit: float, rows: Any, slots: Any, edges: Any, members: Any, cuts: Any, who: Any, start: int, stop: int
) -> None:
    """Q[at[p], at[l]] = unit·k(p, l) for p = who[start … stop] and all l, from the blocks of rows between segments.

    `members` are the (sorted) variables of the working set and their places `at` in Q; those of segment s begin at
    cuts[s], and its variables at edges[s].
    """
    (working, at), parts = members, len(edges) - 1
    for k in range(start, stop):
        p, s = who[k], 0
        while p >= cuts[s + 1]:
            s += 1
        target, i = Q[at[p]], working[p] - edges[s]
        for t in range(parts):
            source = rows[s * parts + t][slots[s * parts + t][i]]
            for m in range(cuts[t], cuts[t + 1]):
                target[at[m]] = unit * source[working[m] - edges[t]]


@njit
def admit(Q: Array, working: Any, at: Any, who: Any, ridge: Array, diagonal: Array, unit: int, wrong: float) -> int:
    """Add the ridge of the new variables to Q; how many of them have a k(x, x) that is wrong relative to `diagonal`."""
    missed = 0
    for p in who:
        i, a = working[p], at[p]
        Q[a, a] += math.ldexp(ridge[i], -unit)
        known = math.ldexp(diagonal[i], -unit)
        missed += abs(Q[a, a] - known) > wrong * abs(known)
    return missed


@njit
def enter(Q: Array, working: Any, at: Any, variables: Any, diagonal: Array, width: int, unit: int) -> Any:
    """f, β, the bounds and the diagonal of the working set in the order of Q, and the exponent of f's unit.

    In units of 2^size for f and 2^(size − unit) for β all numbers are about 1, and the compiled constants fit.
    """
    (f, beta, lower, upper), largest = variables, 0.0
    for i in working:
        largest = max(largest, abs(f[i]))
    size = math.frexp(largest)[1] - 1 if 0.0 < largest < BIG else 0
    limit = math.ldexp(FAR, min(size - unit, 0))  # of bounds: what does not exceed FAR, nor overflow
    slope, x, low, high = np.zeros(width), np.zeros(width), np.zeros(width), np.zeros(width)
    curvature = np.zeros(width, Q.dtype)  # a free row has lower = upper = 0 and cannot move
    for p in range(len(working)):
        i, a = working[p], at[p]
        slope[a], x[a] = math.ldexp(f[i], -size), math.ldexp(beta[i], unit - size)
        low[a] = math.ldexp(max(lower[i], -limit), unit - size)
        high[a] = math.ldexp(min(upper[i], limit), unit - size)
        curvature[a] = math.ldexp(diagonal[i], -unit)
    return slope, x, low, high, curvature, size


@njit
def leave(x: Array, working: Any, at: Any, beta: Array, exponent: int) -> Any:
    """β of the working set from x, in units of 2^exponent; the same bits where it has not moved."""
    after = np.empty(len(working))
    for p in range(len(working)):
        before = beta[working[p]]
        after[p] = before if x[at[p]] == math.ldexp(before, -exponent) else math.ldexp(x[at[p]], exponent)
    return after


@njit
def follow(
    f: Array, rows: Any, slots: Any, edges: Any, working: Any, cuts: Any, change: Array, start: int, stop: int
) -> None:
    """Subtract K times the change of the working set's β from f, at the variables from `start` to `stop`."""
    parts = len(edges) - 1
    places, amount = np.empty(len(working), np.int64), np.empty(len(working))
    for t in range(parts):
        left, right = max(start, edges[t]) - edges[t], min(stop, edges[t + 1]) - edges[t]
        if left >= right:
            continue
        for s in range(parts):
            count, slot = 0, slots[s * parts + t]
            for p in range(cuts[s], cuts[s + 1]):
                if change[p] != 0.0:
                    places[count], amount[count] = slot[working[p] - edges[s]], change[p]
                    count += 1
            part = f[edges[t] : edges[t + 1]]
            gradient(part, rows[s * parts + t], places[:count], amount[:count], left, right)
