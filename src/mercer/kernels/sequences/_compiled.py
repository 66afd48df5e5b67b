"""Compiled sums and minima over all alignments of two series.

Series are stored one after another in the rows of an array, the i-th from ``starts[i]`` to ``starts[i + 1]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._jit import njit
from ...types import Array

STEP = 256 * np.log(2.0)  # numbers are stored as v · 2^(256 e), with v between 2^-128 and 2^128
UP, DOWN, HIGH, LOW = 2.0**256, 2.0**-256, 2.0**128, 2.0**-128
NONE = -(1 << 60)  # the exponent of zero
FAR = 1e300  # stands for infinity, which compiled code must avoid


@njit
def _squared_distance(x: Array, y: Array) -> float:
    total = 0.0
    for k in range(len(x)):
        total += (x[k] - y[k]) ** 2
    return total


@njit
def _at(v: float, exponent: int, e: int) -> float:
    """v · 2^(256 exponent) in units of 2^(256 e), for exponent ≤ e; values smaller by 2^-256 are below rounding."""
    return v if exponent == e else v * DOWN if exponent == e - 1 else 0.0


@njit
def _log_sum(x: Array, y: Array, gamma: float, triangle: int, divisible: bool, work: Any, exponent: Any) -> float:
    """The logarithm of the sum over all alignments, row by row of the table, in numbers of unlimited range."""
    n, m = len(x), len(y)
    if triangle and abs(n - m) >= triangle:
        return -FAR
    value, distance, local = work[0], work[1], work[2]
    value[: m + 1] = 0.0
    exponent[: m + 1] = NONE
    for i in range(n):
        first = max(0, i - triangle + 1) if triangle else 0
        last = min(m, i + triangle) if triangle else m
        for j in range(first, last):
            distance[j] = gamma * _squared_distance(x[i], y[j])
        for j in range(first, last):
            steps = int(min(distance[j], 1e15) / STEP)
            g = np.exp(steps * STEP - distance[j])
            if triangle:
                g *= 1.0 - abs(i - j) / triangle
            if divisible:
                g = g / (2.0 - g) if steps == 0 else 0.5 * g
            distance[j], local[j] = steps, g
        # the cell diagonally above left: before the first row only the corner of the table exists
        corner, corner_exponent = (1.0, 0) if i == 0 else (value[first], exponent[first])
        left, left_exponent = 0.0, NONE
        value[first], exponent[first] = 0.0, NONE
        for j in range(first, last):
            above, above_exponent = value[j + 1], exponent[j + 1]
            e = left_exponent
            if above_exponent == e and corner_exponent == e:
                total = left + above + corner
            else:
                e = max(e, above_exponent, corner_exponent)
                total = _at(left, left_exponent, e) + _at(above, above_exponent, e) + _at(corner, corner_exponent, e)
            corner, corner_exponent = above, above_exponent
            total *= local[j]
            e -= int(distance[j])
            if total >= HIGH:
                total *= DOWN
                e += 1
            elif total < LOW:
                total *= UP
                e -= 1
            left, left_exponent = total, e
            value[j + 1], exponent[j + 1] = total, e
    return np.log(value[m]) + STEP * exponent[m]


@njit
def log_sums(
    A: Array, a: Array, B: Array, b: Array, gamma: float, triangle: int, divisible: bool, diagonal: bool, out: Array
) -> None:
    """out[i, j] = log k(xᵢ, yⱼ); with `diagonal`, only out[i, 0] = log k(xᵢ, yᵢ)."""
    longest = np.max(np.diff(b))
    work, exponent = np.empty((3, longest + 2)), np.empty(longest + 2, dtype=np.int64)
    for i in range(len(a) - 1):
        x = A[a[i] : a[i + 1]]
        for j in range(i if diagonal else 0, i + 1 if diagonal else len(b) - 1):
            y = B[b[j] : b[j + 1]]
            out[i, 0 if diagonal else j] = _log_sum(x, y, gamma, triangle, divisible, work, exponent)


@njit
def _least_cost(x: Array, y: Array, band: int, cost: Any) -> float:
    n, m = len(x), len(y)
    if band >= 0 and abs(n - m) > band:
        return FAR
    cost[: m + 1] = FAR
    cost[0] = 0.0
    for i in range(n):
        first = max(0, i - band) if band >= 0 else 0
        last = min(m, i + band + 1) if band >= 0 else m
        corner = cost[first]
        cost[first] = FAR
        for j in range(first, last):
            above = cost[j + 1]
            cost[j + 1] = min(corner, above, cost[j]) + _squared_distance(x[i], y[j])
            corner = above
    return cost[m]


@njit
def least_costs(A: Array, a: Array, B: Array, b: Array, band: int, out: Array) -> None:
    """out[i, j] = the smallest sum of squared distances over all alignments of two series."""
    cost = np.empty(np.max(np.diff(b)) + 2)
    for i in range(len(a) - 1):
        for j in range(len(b) - 1):
            out[i, j] = _least_cost(A[a[i] : a[i + 1]], B[b[j] : b[j + 1]], band, cost)
