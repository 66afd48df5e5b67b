"""Compiled part of `held`: box-constrained problems one after another, each on some samples of one kernel matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._jit import njit
from ...types import Array
from ._smo import LANES, smo, smo_groups, smo_single
from .rounds import IDLE, PATIENCE, ROUNDING

UNSEEN, RUNNING, CONVERGED, PRECISION, MAX_ITER = -1, 0, 1, 2, 3
ROUND = 200  # steps per variable in a round; f is then recomputed


@njit
def solve(
    K: Array, unit: float, index: Any, edges: Any, box: Any, groups: int, ends: Any, state: Any, report: Any
) -> None:
    """Continue the problems that are still running, until about the given number of steps is taken.

    Problem p has the variables edges[p] … edges[p + 1]; `index` says which sample each stands for, and `unit`·K is the
    matrix. `box` has p, the bounds, the ridge and the group of each variable, `ends` the tolerance, the most steps of a
    problem and of this call, `state` β and f. `report` takes of each problem its status, its steps, numbers (gap,
    objective and violators at the start, the same at the end, and the duality gap), offsets, and for the next call how
    many rounds were idle, how many brought nothing, and the least objective and gap so far.
    """
    (linear, lower, upper, ridge, group), (beta, f), (status, steps, numbers, offsets, course) = box, state, report
    tol, most, quota = ends
    sizes = edges[1:] - edges[:-1]
    whole = len(sizes) == 1 and _is_whole(K, unit, index, ridge)
    widest = 0 if whole else -(-sizes.max() // LANES) * LANES
    memory = np.empty(widest**2)  # reused for all problems, since fresh memory is slow
    taken = 0
    for p in range(len(sizes)):
        if status[p] > RUNNING or (taken >= quota and status[p] == RUNNING):
            continue
        part, one, before = slice(edges[p], edges[p + 1]), slice(p, p + 1), steps[p]
        if whole:
            Q = K
        else:
            width = -(-sizes[p] // LANES) * LANES
            Q = memory[: width**2].reshape((width, width))
            _gather(Q, K, unit, index[part], ridge[part])
        mine = linear[part], lower[part], upper[part], ridge[part], group[part]
        left = tol, most, quota - taken
        own = status[one], steps[one], numbers[p], offsets[p], course[p]
        _one(Q, index[part], mine, groups, left, (beta[part], f[part]), own)
        taken += steps[p] - before


@njit
def _gather(Q: Array, K: Array, unit: float, index: Any, ridge: Array) -> None:
    """Q = unit·K between the samples of the variables, plus the ridge, and zeros around it."""
    n = len(index)
    for i in range(n):
        source, target = K[index[i]], Q[i]
        for j in range(n):
            target[j] = unit * source[index[j]]
        target[n:] = 0.0
        target[i] += ridge[i]
    Q[n:] = 0.0


@njit
def _one(Q: Array, index: Any, box: Any, groups: int, ends: Any, state: Any, report: Any) -> None:
    """Rounds of SMO, each starting from f in full precision, until the conditions hold there."""
    (linear, lower, upper, ridge, group), (beta, f), (status, steps, numbers, offsets, course) = box, state, report
    tol, most, quota = ends
    n, width = len(linear), len(Q)
    low, high, x, g, diagonal = np.zeros(width), np.zeros(width), np.zeros(width), np.zeros(width), np.zeros(width)
    of_group = np.zeros(width, np.int64)
    low[:n], high[:n], x[:n], of_group[:n] = lower, upper, beta, group
    for i in range(n):
        diagonal[i] = Q[i, i]
    taken, resumed = 0, status[0] == RUNNING  # the final state of the last call was already checked there
    idle, stalled, least, narrowest = course
    while True:
        _slope(Q, index, linear, x, ridge, g)
        gap, objective = _gap(g, x, low, high, of_group, groups, n, offsets), 0.0
        for i in range(n):
            objective -= 0.5 * x[i] * (g[i] + linear[i])
        if status[0] == UNSEEN:
            numbers[0], numbers[1] = gap, objective
            numbers[2], status[0] = _violators(g, x, low, high, of_group, groups, n, tol), RUNNING
        falls = objective < least - ROUNDING * abs(objective)
        stalled = 0.0 if falls or gap < narrowest else stalled + 1.0
        stalled, resumed = (course[1] if resumed else stalled), False
        least, narrowest = min(objective, least), min(gap, narrowest)
        if gap <= tol:
            status[0] = CONVERGED
        elif idle >= IDLE or stalled > PATIENCE:
            status[0] = PRECISION
        elif steps[0] >= most:
            status[0] = MAX_ITER
        if status[0] != RUNNING or taken >= quota:
            break
        round = min(ROUND * width, most - steps[0], quota - taken)
        if groups == 0:
            count = smo_single(Q, g, x, low, high, diagonal, 0.5 * tol, round)
        elif groups == 1:
            count = smo(Q, g, x, low, high, diagonal, 0.5 * tol, round)
        else:
            count = smo_groups(Q, g, x, low, high, diagonal, of_group, groups, 0.5 * tol, round)
        steps[0] += count
        taken += count
        idle = 0.0 if count else idle + 1.0
    course[0], course[1], course[2], course[3] = idle, stalled, least, narrowest
    beta[:], f[:] = x[:n], g[:n]
    numbers[3], numbers[4], numbers[6] = gap, objective, 0.0
    numbers[5] = _violators(g, x, low, high, of_group, groups, n, tol)
    for i in range(n):
        u = g[i] + ridge[i] * x[i] - (offsets[group[i]] if groups else 0.0)
        best = x[i] if u == 0 else upper[i] if u > 0 else lower[i]
        if ridge[i] > 0:
            best = min(max(u / ridge[i], lower[i]), upper[i])
        numbers[6] += (u - 0.5 * ridge[i] * (best + x[i])) * (best - x[i])


@njit
def _slope(Q: Array, index: Any, linear: Array, x: Array, ridge: Array, g: Array) -> None:
    """g = p − Qx, by the rows of samples with nonzero x; copies of a sample are summed first, to avoid cancellation."""
    n = len(linear)
    total, first = np.zeros(index.max() + 1), np.full(index.max() + 1, -1)
    for i in range(n):
        g[i] = linear[i] - ridge[i] * x[i]
        total[index[i]] += x[i]
        if first[index[i]] < 0:
            first[index[i]] = i
    for i in range(n):
        factor = total[index[i]]
        if first[index[i]] == i and factor != 0.0:
            row = Q[i]
            for j in range(n):
                g[j] -= factor * row[j]
            g[i] += factor * ridge[i]  # only between the variable and itself


@njit
def _is_whole(K: Array, unit: float, index: Any, ridge: Array) -> bool:
    """Whether K itself is the matrix of a problem with all these variables."""
    if unit != 1.0 or len(index) != len(K) or ridge.max() > 0:
        return False
    differing = 0
    for i in range(len(index)):
        differing += index[i] != i
    return differing == 0


@njit
def _violators(g: Array, x: Array, low: Array, high: Array, group: Any, groups: int, n: int, tol: float) -> int:
    """The number of variables that violate their condition against another of their group by more than `tol`."""
    top, bottom = np.full(max(groups, 1), -1e300), np.full(max(groups, 1), 1e300)
    if groups == 0:
        top[0] = bottom[0] = 0.0
    else:
        for i in range(n):
            if x[i] < high[i]:
                top[group[i]] = max(top[group[i]], g[i])
            if x[i] > low[i]:
                bottom[group[i]] = min(bottom[group[i]], g[i])
    count = 0
    for i in range(n):
        rises, falls = x[i] < high[i] and g[i] - bottom[group[i]] > tol, x[i] > low[i] and top[group[i]] - g[i] > tol
        count += rises or falls
    return count


@njit
def _gap(g: Array, x: Array, low: Array, high: Array, group: Any, groups: int, n: int, offsets: Array) -> float:
    """The largest violation, and each group's offset: the mean of g over free variables, or its interval's midpoint."""
    gap = 0.0
    if groups == 0:
        for i in range(n):
            if x[i] < high[i]:
                gap = max(gap, g[i])
            if x[i] > low[i]:
                gap = max(gap, -g[i])
    for c in range(groups):
        top, bottom, total, free = -1e300, 1e300, 0.0, 0
        for i in range(n):
            if group[i] == c:
                grows, falls = x[i] < high[i], x[i] > low[i]
                if grows:
                    top = max(top, g[i])
                if falls:
                    bottom = min(bottom, g[i])
                if grows and falls:
                    total += g[i]
                    free += 1
        gap = max(gap, top - bottom)
        if free:
            offsets[c] = total / free
        elif top > -1e300 and bottom < 1e300:
            offsets[c] = 0.5 * (top + bottom)
        else:
            offsets[c] = top if top > -1e300 else bottom if bottom < 1e300 else 0.0
    return gap
