"""Compiled part of `many`: the machines of all pairs of classes for increasing C, on one kernel matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._jit import maximum, minimum, njit, njit_reordered
from ...types import Array
from ._smo import LANES, smo

STEPS = 1 << 14  # of one call of SMO; requests to stop are noticed between calls
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


@njit_reordered
def _path(
    Q: Array, first: int, bound: Any, strengths: Any, tol: float, most: int, stop: Any, parts: Any, report: Any
) -> None:
    """One pair for increasing C: β between zero and C times `bound`, with f = y − Kβ updated along."""
    n, width = len(bound), len(Q)
    diagonal, reach, y = np.ones(width), np.zeros(width), np.zeros(width)
    lower, upper, beta, f = np.zeros(width), np.zeros(width), np.zeros(width), np.zeros(width)
    reach[:n], y[:first], y[first:n] = bound, 1.0, -1.0
    f[:] = y
    for i in range(n):
        diagonal[i] = Q[i, i]
    for k in range(len(strengths)):
        for i in range(width):
            upper[i], lower[i] = maximum(strengths[k] * reach[i], 0.0), minimum(strengths[k] * reach[i], 0.0)
        gap, offset = _gap(f, beta, lower, upper)
        taken = 0
        if gap > tol:
            if k > 0:
                _stretch(beta, f, y, strengths[k] / strengths[k - 1], lower, upper)
            count = STEPS
            while count == STEPS and taken < most and stop[0] == 0:
                count = smo(Q, f, beta, lower, upper, diagonal, tol, min(STEPS, most - taken))
                taken += count
            gap, offset = _gap(f, beta, lower, upper)
        parts[0][k], parts[1][k] = beta[:first], beta[first:n]
        report[0][k], report[1][k], report[2][k] = offset, gap, taken


@njit_reordered
def _stretch(beta: Array, f: Array, y: Array, ratio: float, lower: Array, upper: Array) -> None:
    """Scale β and f by the s ≤ ratio that minimises s²βᵀKβ/2 − s yᵀβ, or by the ratio itself if s is close to it.

    With the ratio, all variables at a bound stay at one, which saves more steps than the best factor.
    """
    linear = squared = 0.0
    for i in range(len(beta)):
        linear += y[i] * beta[i]
        squared += beta[i] * (y[i] - f[i])
    best = linear / squared if squared > 0 else 1.0
    scale = ratio if best > 1.0 + FAR * (ratio - 1.0) else best
    for i in range(len(beta)):
        f[i] = y[i] - scale * (y[i] - f[i])
        # a variable may miss its new bound by rounding, and would count as free
        x, inside = scale * beta[i], 1.0 - 1e-14
        beta[i] = upper[i] if x > inside * upper[i] else lower[i] if x < inside * lower[i] else x


@njit_reordered
def _gap(f: Array, beta: Array, lower: Array, upper: Array) -> Any:
    """LIBSVM's criterion, and the offset: the mean of f over free variables, or else the midpoint of its interval."""
    top, bottom, total, free = -1e300, 1e300, 0.0, 0.0
    for i in range(len(f)):
        high = f[i] if beta[i] < upper[i] else -1e300
        low = f[i] if beta[i] > lower[i] else 1e300
        top, bottom = maximum(top, high), minimum(bottom, low)
        both = high == low
        total += high if both else 0.0
        free += 1.0 if both else 0.0
    return top - bottom, total / free if free > 0 else 0.5 * (top + bottom)
