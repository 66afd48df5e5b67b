"""Compiled part of `many`: the machines of all pairs of classes for increasing C, on one kernel matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._jit import njit
from ...types import Array
from ._smo import LANES, gradient, smo

STEPS = 1 << 14  # of one call of SMO; requests to stop are checked between calls
FAR = 0.3  # fraction of the way to the next C above which the whole way is taken


@njit
def solve(
    K: Array,
    unit: float,
    order: Any,
    edges: Any,
    weight: Array,
    strengths: Any,
    tol: float,
    most: int,
    stop: Any,
    scratch: Array,
    coefficients: Array,
    offsets: Array,
    gaps: Any,
    steps: Any,
) -> None:
    """All pairs for all C on unit·K, into the last four, until `stop[0]` is nonzero; samples are sorted by class."""
    count = len(order)
    S, memory = scratch[: count * count].reshape((count, count)), scratch[count * count :]
    for i in range(count):
        source, target = K[order[i]], S[i]
        for j in range(len(order)):
            target[j] = unit * source[order[j]]
    pair, classes = 0, len(edges) - 1
    for a in range(classes - 1):
        for b in range(a + 1, classes):
            A, B = slice(edges[a], edges[a + 1]), slice(edges[b], edges[b + 1])
            first, n = edges[a + 1] - edges[a], edges[a + 1] - edges[a] + edges[b + 1] - edges[b]
            width = -(-n // LANES) * LANES
            Q = memory[: width**2].reshape((width, width))
            Q[:first, :first], Q[:first, first:n], Q[:n, n:] = S[A, A], S[A, B], 0.0
            Q[first:n, :first], Q[first:n, first:n], Q[n:] = S[B, A], S[B, B], 0.0
            bound = np.concatenate((weight[A], -weight[B]))
            parts = coefficients[:, b - 1, A], coefficients[:, a, B]
            report = offsets[:, pair], gaps[:, pair], steps[:, pair]
            _path(Q, first, bound, strengths, tol, most, stop, parts, report)
            if stop[0] != 0:
                return
            pair += 1


@njit
def _path(
    Q: Array, first: int, bound: Any, strengths: Any, tol: float, most: int, stop: Any, parts: Any, report: Any
) -> None:
    """One pair for increasing C: β between zero and C times `bound`, with f = y − Kβ updated along."""
    n, width = len(bound), len(Q)
    diagonal, lower, upper = np.ones(width), np.zeros(width), np.zeros(width)
    beta, last, f = np.zeros(width), np.zeros(width), np.zeros(width)
    f[:first], f[first:n] = 1.0, -1.0
    for i in range(n):
        diagonal[i] = Q[i, i]
    for k in range(len(strengths)):
        upper[:first], lower[first:n] = strengths[k] * bound[:first], strengths[k] * bound[first:]
        gap, offset = _gap(f, beta, lower, upper, n)
        if k > 0 and gap > tol:
            _stretch(beta, last, f, first, n, strengths[k] / strengths[k - 1], lower, upper)
            _follow(Q, beta, last, f, n)
            gap, offset = _gap(f, beta, lower, upper, n)
        taken, count = 0, 1
        while gap > tol and count > 0 and taken < most and stop[0] == 0:
            count = smo(Q, f, beta, lower, upper, diagonal, tol, STEPS)
            taken += count
            _follow(Q, beta, last, f, n)
            gap, offset = _gap(f, beta, lower, upper, n)
        parts[0][k], parts[1][k] = beta[:first], beta[first:n]
        report[0][k], report[1][k], report[2][k] = offset, gap, taken


@njit
def _stretch(beta: Array, last: Any, f: Array, first: int, n: int, ratio: float, lower: Array, upper: Array) -> None:
    """Scale β and f by the s ≤ ratio that minimises s²βᵀKβ/2 − s yᵀβ, or by the ratio itself if s is close to it.

    With the ratio, all variables at a bound stay at one, which saves more steps than the best factor.
    """
    linear = squared = 0.0
    for i in range(n):
        y = 1.0 if i < first else -1.0
        linear += y * beta[i]
        squared += beta[i] * (y - f[i])
    best = linear / squared if squared > 0 else 1.0
    scale = ratio if best > 1.0 + FAR * (ratio - 1.0) else best
    for i in range(n):
        y = 1.0 if i < first else -1.0
        end = upper[i] if i < first else lower[i]
        f[i], last[i] = y - scale * (y - f[i]), scale * beta[i]
        # after scaling, a variable may miss its new bound by rounding, and would count as free
        beta[i] = end if abs(last[i]) >= (1.0 - 1e-14) * abs(end) else last[i]


@njit
def _follow(Q: Array, beta: Array, last: Any, f: Array, n: int) -> None:
    """Update f = y − Kβ from its value at `last`, which becomes β."""
    rows, change = np.empty(n, np.int64), np.empty(n)
    count = 0
    for j in range(n):
        if beta[j] != last[j]:
            rows[count], change[count] = j, beta[j] - last[j]
            last[j] = beta[j]
            count += 1
    gradient(f, Q, rows[:count], change[:count], 0, n)


@njit
def _gap(f: Array, beta: Array, lower: Array, upper: Array, n: int) -> Any:
    """LIBSVM's criterion, and the offset: the mean of f over free variables, or else the midpoint of its interval."""
    top, bottom, total, free = -1e300, 1e300, 0.0, 0
    for i in range(n):
        grows, falls = beta[i] < upper[i], beta[i] > lower[i]
        if grows:
            top = max(top, f[i])
        if falls:
            bottom = min(bottom, f[i])
        if grows and falls:
            total += f[i]
            free += 1
    return top - bottom, total / free if free else 0.5 * (top + bottom)
