"""Compiled Newton's method for linear machines on the same dense samples: the algorithm of `primal`, without its calls.

Rows z of Z are samples with a last feature for the intercept, so that P = ½‖v‖² + losses, zero-padded to whole lanes.
Sparse samples are in `rows` instead, and Z is empty: as for `_coordinate_descent`, but with sorted indices, and with
the index and value of the feature for the intercept. Their Hessians have an upper triangle only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._jit import njit_reordered
from ...types import Array
from ._coordinate_descent import _value

NARROWING = 0.4  # factor of h from round to round
INNER = 0.1  # accuracy of a round with h > 0, relative to the gap
ROUND = 30  # maximum number of steps in a round
PATIENCE = 4  # rounds without halving the gap before giving up
BLOCK = 256  # rows in a product
SEARCH = 50  # maximum number of trials along a step


@njit_reordered
def solve(
    Z: Array,
    rows: Any,
    target: Array,
    cost: Array,
    lower: Array,
    upper: Array,
    epsilon: float,
    own: float,
    h: float,
    aim: float,
    most: int,
    alike: bool,
    V: Array,
    beta: Array,
    numbers: Array,
    steps: Any,
) -> None:
    """Minimise for each row of targets from its V, to a gap of aim·P or as far as `most` steps and rounding allow.

    V and β become the best found, `numbers` their objective and gap. Machines with `alike` costs share their start: all
    samples active.
    """
    n, width = target.shape[1], V.shape[1]
    H, whole, Y = np.zeros((width, width)), np.zeros((width, width)), np.empty((max(width, BLOCK), width))
    counted, active = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    if alike:
        _add(Z, rows, cost[0], ~counted, 1.0, whole, Y)
    for k in range(len(target)):
        counted[:] = alike
        H[:] = whole
        work = (H, Y, counted, active)
        pieces = (target[k], cost[k], lower[k], upper[k])
        steps[k] = _machine(Z, rows, pieces, epsilon, own, h, aim, most, V[k], beta[k], numbers[k], work)


@njit_reordered
def _machine(
    Z: Array,
    rows: Any,
    pieces: Any,
    epsilon: float,
    own: float,
    h: float,
    aim: float,
    most: int,
    V: Array,
    beta: Array,
    numbers: Array,
    work: Any,
) -> int:
    """Rounds of the method of multipliers, or for h = 0 plain Newton's method; return the number of steps."""
    n, width = len(beta), len(V)
    target, cost, lower, upper = pieces
    active = work[3]
    v, F, G, D, S = V.copy(), np.empty(n), np.empty(width), np.empty(n), np.empty(width)
    b, pull, gain = np.zeros(n), target.copy(), cost / (own + h)
    moving = (pull, gain, lower, upper, epsilon)
    steps, waited, solved = 0, -1, True
    while True:
        _values(Z, rows, v, F)
        _respond(moving, F, b, active)
        _gradient(Z, rows, v, b, G)
        objective, gap = _certificate(pieces, epsilon, own, F, b, v, G)
        waited = 0 if waited < 0 or gap <= 0.5 * numbers[1] else waited + 1
        if steps == 0 or gap < numbers[1]:
            numbers[0], numbers[1] = objective, gap
            V[:], beta[:] = v, b
        if numbers[1] <= aim * numbers[0] or waited > PATIENCE or steps >= most:
            return steps
        if steps > 0 and h > 0:
            h *= NARROWING if solved else 1 / NARROWING
            v[:] = V
            for i in range(n):
                pull[i], gain[i] = target[i] + beta[i] * (h / cost[i]), cost[i] / (own + h)
            _values(Z, rows, v, F)
            _respond(moving, F, b, active)
            _gradient(Z, rows, v, b, G)
        goal = INNER * numbers[1] if h > 0 else 0.5 * aim * numbers[0]
        solved = False
        for _ in range(min(ROUND, most - steps)):
            _direction(Z, rows, cost, own + h, G, S, work)
            steps += 1
            start = _dot(G, S)
            if not start < 0:
                break
            _values(Z, rows, S, D)
            t = _search(moving, F, D, _dot(v, S), _dot(S, S), start)
            for j in range(width):
                v[j] += t * S[j]
            for i in range(n):
                F[i] += t * D[i]
            _respond(moving, F, b, active)
            _gradient(Z, rows, v, b, G)
            if 0.5 * _dot(G, G) <= goal:
                solved = True
                break


@njit_reordered
def _dot(a: Array, b: Array) -> float:
    total = 0.0
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@njit_reordered
def _response(r: float, gain: float, lower: float, upper: float, epsilon: float) -> float:
    """The β that maximises βr − ε|β| − β²/(2·gain)."""
    inside = r - min(max(r, -epsilon), epsilon)
    return min(max(inside * gain, lower), upper)


@njit_reordered
def _respond(moving: Any, F: Array, beta: Array, active: Any) -> None:
    """β at f, and the samples where it varies."""
    pull, gain, lower, upper, epsilon = moving
    for i in range(len(F)):
        b = _response(pull[i] - F[i], gain[i], lower[i], upper[i], epsilon)
        beta[i], active[i] = b, lower[i] < b and b < upper[i] and b != 0.0


@njit_reordered
def _values(Z: Array, rows: Any, v: Array, F: Array) -> None:
    """F = Zv."""
    if len(Z):
        for i in range(len(F)):
            F[i] = _dot(Z[i], v)
    else:
        sparse, last, one = rows
        for i in range(len(F)):
            F[i] = _value(sparse, v, i) + one * v[last]


@njit_reordered
def _gradient(Z: Array, rows: Any, v: Array, beta: Array, G: Array) -> None:
    """G = v − Zᵀβ."""
    if len(Z):
        G[:] = v - np.dot(beta, Z)
    else:
        (indptr, indices, data), last, one = rows
        G[:] = v
        for i in range(len(beta)):
            if beta[i] != 0.0:
                for t in range(indptr[i], indptr[i + 1]):
                    G[indices[t]] -= beta[i] * data[t]
                G[last] -= beta[i] * one


@njit_reordered
def _certificate(
    pieces: Any, epsilon: float, own: float, F: Array, beta: Array, v: Array, G: Array
) -> tuple[float, float]:
    """Objective and duality gap: the losses minus their values at β, plus ½‖G‖²."""
    target, cost, lower, upper = pieces
    objective, gap = 0.5 * _dot(v, v), 0.5 * _dot(G, G)
    for i in range(len(F)):
        r, c, curve = target[i] - F[i], cost[i], 0.5 * own / cost[i]
        if own > 0:
            best = _response(r, c / own, lower[i], upper[i], epsilon)
        else:
            best = upper[i] if r > epsilon else lower[i] if r < -epsilon else 0.0
        loss = best * r - epsilon * abs(best) - curve * best * best
        objective += loss
        gap += max(loss - (beta[i] * r - epsilon * abs(beta[i]) - curve * beta[i] * beta[i]), 0.0)
    return objective, gap


@njit_reordered
def _search(moving: Any, F: Array, D: Array, linear: float, square: float, start: float) -> float:
    """The t > 0 where the slope along a step vanishes, as in `primal.search`."""
    pull, gain, lower, upper, epsilon = moving
    low, high, t = 0.0, -1.0, 1.0
    for _ in range(SEARCH):
        slope, curvature = linear + t * square, square
        for i in range(len(F)):
            b = _response(pull[i] - F[i] - t * D[i], gain[i], lower[i], upper[i], epsilon)
            slope -= b * D[i]
            curvature += gain[i] * D[i] * D[i] if lower[i] < b and b < upper[i] and b != 0.0 else 0.0
        if abs(slope) <= 0.01 * abs(start):
            break
        if slope < 0:
            low = t
        else:
            high = t
        guess = t - slope / curvature if curvature > 0 else low
        if low < guess and (high < 0 or guess < high):
            t = guess
        else:
            t = 2 * t if high < 0 else 0.5 * (low + high)
    return t


@njit_reordered
def _direction(Z: Array, rows: Any, cost: Array, softness: float, G: Array, S: Array, work: Any) -> None:
    """S = −(I + Σ (c/softness) z zᵀ)⁻¹G over the active samples, using their Gram matrix if they are few."""
    H, Y, counted, active = work
    n, width = len(cost), len(G)
    m = changed = 0
    for i in range(n):
        m += active[i]
        changed += active[i] != counted[i]
    if 2 * m <= width:
        chosen, _ = _gather(Z, rows, cost, active, 0, Y)
        A = np.dot(chosen, chosen.T) / softness
        q = np.dot(chosen, G) / softness
        for a in range(m):
            A[a, a] += 1.0
        _solve(A, q)
        S[:] = np.dot(chosen.T, q) - G
        return
    if changed > m:
        H[:] = 0.0
        counted[:] = False
    _add(Z, rows, cost, active > counted, 1.0, H, Y)
    _add(Z, rows, cost, counted > active, -1.0, H, Y)
    counted[:] = active
    L = H / softness
    for j in range(width):
        L[j, j] += 1.0
        S[j] = -G[j]
    _solve(L, S)


@njit_reordered
def _add(Z: Array, rows: Any, cost: Array, chosen: Any, sign: float, H: Array, Y: Array) -> None:
    """Add ± Σ c z zᵀ over chosen samples to H."""
    if len(Z):
        start = 0
        while start < len(cost):
            part, start = _gather(Z, rows, cost, chosen, start, Y)
            if len(part):
                H += sign * np.dot(part.T, part)
    else:
        (indptr, indices, data), last, one = rows
        for i in range(len(cost)):
            if chosen[i]:
                c, end = sign * cost[i], indptr[i + 1]
                for s in range(indptr[i], end):
                    row, x = H[indices[s]], c * data[s]
                    for t in range(s, end):
                        row[indices[t]] += x * data[t]
                    row[last] += x * one
                H[last, last] += c * one * one


@njit_reordered
def _gather(Z: Array, rows: Any, cost: Array, chosen: Any, start: int, Y: Array) -> Any:
    """Chosen rows of Z from `start`, times √c, as many as fit in Y; return where the next ones begin."""
    (indptr, indices, data), last, one = rows
    m, i = 0, start
    while i < len(cost) and m < len(Y):
        if chosen[i]:
            root = np.sqrt(cost[i])
            if len(Z):
                for j in range(Z.shape[1]):
                    Y[m, j] = root * Z[i, j]
            else:
                Y[m] = 0.0
                for t in range(indptr[i], indptr[i + 1]):
                    Y[m, indices[t]] = root * data[t]
                Y[m, last] += root * one
            m += 1
        i += 1
    return Y[:m], i


@njit_reordered
def _solve(A: Array, q: Array) -> bool:
    """Overwrite q with A⁻¹q, and the upper triangle of A, the only part read, with its factor; False if A has none."""
    m = len(q)
    for start in range(0, m, 4):  # four rows at a time
        end = min(start + 4, m)
        for j in range(start, end):
            row = A[j]
            for i in range(start, j):
                factor, above = A[i, j], A[i]
                for k in range(j, m):
                    row[k] -= factor * above[k]
                q[j] -= factor * q[i]
            if not A[j, j] > 0:
                return False
            root = 1 / np.sqrt(A[j, j])
            for k in range(j, m):
                row[k] *= root
            q[j] *= root
        if end < m:
            r, s, t, u = A[start], A[start + 1], A[start + 2], A[start + 3]
            for i in range(end, m):
                row, a, b, c, d = A[i], r[i], s[i], t[i], u[i]
                for k in range(i, m):
                    row[k] -= a * r[k] + b * s[k] + c * t[k] + d * u[k]
                q[i] -= a * q[start] + b * q[start + 1] + c * q[start + 2] + d * q[start + 3]
    for j in range(m - 1, -1, -1):
        total = q[j]
        for k in range(j + 1, m):
            total -= A[j, k] * q[k]
        q[j] = total / A[j, j]
    return True
