"""Compiled parts of a round of `working_set`: the violations, the next working set, and its rows in the matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._jit import njit
from ...types import Array
from .rounds import FRESH

BIG = 1e300  # stands for infinity


@njit
def extremes(
    f: Array, beta: Array, lower: Array, upper: Array, group: Any, up: Array, low: Array, top: Array, bottom: Array
) -> None:
    """Set `up` and `low` to f where variables may increase or decrease, `top` and `bottom` to those of each group."""
    top[:], bottom[:] = -BIG, BIG
    for i in range(len(f)):
        up[i] = f[i] if beta[i] < upper[i] else -BIG
        low[i] = f[i] if beta[i] > lower[i] else BIG
        g = group[i]
        top[g], bottom[g] = max(top[g], up[i]), min(bottom[g], low[i])


@njit
def violators(up: Array, low: Array, top: Array, bottom: Array, group: Any, tol: float) -> int:
    """The number of variables that violate their condition against another of their group by more than `tol`."""
    count = 0
    for i in range(len(up)):
        count += up[i] - bottom[group[i]] > tol or top[group[i]] - low[i] > tol
    return count


@njit
def choose(working: Any, born: Any, now: int, size: int, state: Any, variables: Any, group: Any, tol: float) -> Any:
    """The next working set, sorted: most of the last one, and the worst violators outside it; `born` is updated."""
    (up, low, top, bottom), (f, beta, lower, upper) = state, variables
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
