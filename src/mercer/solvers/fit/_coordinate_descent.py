"""Compiled coordinate descent for linear machines."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._jit import njit
from ...types import Array

BIG = 1e300
LONG, SHORT = 1.5, 1.3  # steps, relative to those to the minimum, for losses with a kink and for their squares
BLOCK, GROWTH = 10, 20  # passes whose β are averaged, for losses with a kink: at most, and those per pass more
LEAST = 0.15  # of the shrinking threshold: smaller violations wait for a later pass
ONE, TWO, THREE, FOUR = (np.uint64(k) for k in (1, 2, 3, 4))  # mixed with signed integers, numba would make them floats


@njit
def _shrink(z: float, by: float) -> float:
    """z moved towards zero."""
    return z - by if z > by else z + by if z < -by else 0.0


@njit
def descend(
    rows: Any, pieces: Any, epsilon: float, own: float, inverse: float, state: Any, seed: int, aim: float, most: int
) -> None:
    """Minimise ½‖Xᵀβ‖² + (inverse/2)(Σβ)² + Σ(own/2c)β² + ε‖β‖₁ − pᵀβ over a box for each row of `pieces`.

    X is in compressed rows with unsigned indices; `pieces` are p, c and the bounds of the box. `state` is continued by
    a later call: β and w = (Xᵀβ, Σβ); the order of the samples; the number of active ones, the shrinking threshold, and
    the gain below which to compute the certificate, and the passes; objective and duality gap; the work in passes over
    all samples. A machine ends at a gap of aim·objective, or after `most` such passes.
    """
    beta, w, order, course, numbers, passes = state
    target, cost, lower, upper = pieces
    indptr, _, data = rows
    squares = np.zeros(len(indptr) - 1)
    for i in range(len(squares)):
        for t in range(indptr[i], indptr[i + 1]):
            squares[i] += data[t] * data[t]
    for k in range(len(target)):
        if passes[k] == 0 or numbers[k, 1] > aim * numbers[k, 0]:
            machine = (target[k], cost[k], lower[k], upper[k])
            moving = (beta[k], w[k], order[k], course[k], numbers[k])
            left = most - passes[k]
            passes[k] += _descend(rows, squares, machine, epsilon, own, inverse, moving, seed + passes[k], aim, left)


@njit
def _descend(
    rows: Any,
    squares: Array,
    pieces: Any,
    epsilon: float,
    own: float,
    inverse: float,
    state: Any,
    seed: int,
    aim: float,
    most: int,
) -> int:
    """One machine. Returns the work in passes over all samples.

    Hsieh, Chang, Lin, Keerthi, Sundararajan, *A dual coordinate descent method for large-scale linear SVM* (2008),
    algorithm 3, with shrinking: samples whose β is at a bound, with a gradient pointing outwards by more than half of
    the largest violation of the last pass, are skipped until the others are solved. Steps to the interior go past the
    minimum, which saves passes: Cryer, *The solution of a quadratic programming problem using systematic
    overrelaxation* (1971). Any step shorter than twice that to the minimum decreases the objective. The mean β of some
    passes has a smaller gap than the last one, which long steps in random order leave rough.
    """
    (indptr, indices, data), (target, cost, lower, upper) = rows, pieces
    beta, w, order, course, numbers = state
    n, d = len(beta), len(w) - 1
    size, reach, share = int(course[0]), course[1], course[2]
    random = np.uint64(2 * seed + 1)
    curve, stride = own / cost, SHORT if own > 0 else LONG
    diagonal = np.maximum(squares + inverse + curve, 1e-12)  # the β of an empty sample goes to a bound at once
    visits, block, total = 0, 0, np.zeros(n)
    while visits < most * n:
        worst, gain, k = 0.0, 0.0, 0
        least = LEAST * reach if reach < BIG else 0.0
        for s in range(size - 1, 0, -1):
            random = random * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            t = int((random >> np.uint64(32)) * np.uint64(s + 1) >> np.uint64(32))
            order[s], order[t] = order[t], order[s]
        while k < size:
            i = order[k]
            b = beta[i]
            visits += 1
            slope = inverse * w[d] + _value(rows, w, i) - target[i] + curve[i] * b
            right = slope + (epsilon if b >= 0 else -epsilon)
            left = slope + (epsilon if b > 0 else -epsilon)
            violation = max(-right if b < upper[i] else -BIG, left if b > lower[i] else -BIG)
            if violation < -reach:
                size -= 1
                order[k], order[size] = order[size], order[k]
                continue
            k += 1
            worst = max(worst, violation)
            if violation > least:
                z = min(max(_shrink(b - slope / diagonal[i], epsilon / diagonal[i]), lower[i]), upper[i])
                if lower[i] < z and z < upper[i] and (z != 0.0 or epsilon == 0.0):
                    past = min(max(b + stride * (z - b), lower[i]), upper[i])
                    z = past if past * z > 0.0 or epsilon == 0.0 else 0.0
                move = z - b
                beta[i] = z
                gain -= move * (slope + 0.5 * diagonal[i] * move) + epsilon * (abs(z) - abs(b))
                for t in range(indptr[i], indptr[i + 1]):
                    w[indices[t]] += move * data[t]
                w[d] += move
        visits += 1  # so that passes over nothing end
        course[3] += 1
        reach = 0.5 * worst
        numbers[0] += gain  # of the dual objective, which equals the primal one at the optimum
        solved, ended = gain <= share * aim * numbers[0], visits >= most * n
        if own == 0:
            total += beta
            block += 1
            if block < min(BLOCK, 1 + course[3] // GROWTH) and not ended:
                continue
            if solved or ended:
                beta[:] = np.minimum(np.maximum(total / block, lower), upper)
            total[:] = 0.0
            block = 0
        if solved or ended:
            _certify(rows, pieces, epsilon, own, inverse, beta, w, numbers)
            if numbers[1] <= aim * numbers[0]:
                break
        if solved:  # by its gain but not by its gap, which should follow
            size, reach, share = n, BIG, share * min(max(aim * numbers[0] / numbers[1], 0.01), 0.5)
    course[0], course[1], course[2] = size, reach, share
    return -(-visits // n)


@njit
def _value(rows: Any, w: Array, i: int) -> float:
    """xᵢᵀw, in four independent sums."""
    indptr, indices, data = rows
    t, stop = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
    a = b = c = d = 0.0
    while t + FOUR <= stop:
        a += data[t] * w[indices[t]]
        b += data[t + ONE] * w[indices[t + ONE]]
        c += data[t + TWO] * w[indices[t + TWO]]
        d += data[t + THREE] * w[indices[t + THREE]]
        t += FOUR
    while t < stop:
        a += data[t] * w[indices[t]]
        t += ONE
    return (a + b) + (c + d)


@njit
def _certify(
    rows: Any, pieces: Any, epsilon: float, own: float, inverse: float, beta: Array, w: Array, numbers: Array
) -> None:
    """Recompute w from β, with the objective and the duality gap: the sum of losses minus their values at β."""
    (indptr, indices, data), (target, cost, lower, upper) = rows, pieces
    d = len(w) - 1
    w[:] = 0.0
    for i in range(len(beta)):
        if beta[i] != 0.0:
            for t in range(indptr[i], indptr[i + 1]):
                w[indices[t]] += beta[i] * data[t]
            w[d] += beta[i]
    objective = gap = 0.0
    for i in range(len(beta)):
        b, curve = beta[i], own / cost[i]
        f = _value(rows, w, i) + inverse * w[d]
        r = target[i] - f
        inside = _shrink(r, epsilon)
        best = upper[i] if inside > 0 else lower[i] if inside < 0 else 0.0
        if own > 0:
            best = min(max(inside / curve, lower[i]), upper[i])
        loss = best * r - epsilon * abs(best) - 0.5 * curve * best * best
        objective += loss + 0.5 * b * f  # Σ βf = ‖w‖² + inverse·(Σβ)²
        gap += max(loss - (b * r - epsilon * abs(b) - 0.5 * curve * b * b), 0.0)
    numbers[0], numbers[1] = objective, gap


@njit
def descend_features(columns: Any, sign: Array, cost: Array, penalty: Any, state: Any, tol: float, most: int) -> bool:
    """Minimise Σ penalty·|v| + Σ c·max(0, slack)² for slack = 1 − yf, one feature at a time; whether it converged.

    X comes in compressed columns. `state` continues in a later call: v, the slacks, the order of the features, and how
    many of them count, by how much zeros at rest are inside their bounds, and the first violation. It ends when the
    largest violation of a pass over all features is `tol` times that of the first pass, or after `most` passes.

    Yuan, Chang, Hsieh, Lin, *A comparison of optimization methods and software for large-scale L1-regularized linear
    classification* (2010), section 4.1: one Newton step for each feature, shortened until the objective decreases.
    """
    (indptr, indices, data), (v, slack, order, course) = columns, state
    size, reach = int(course[0]), course[1]
    for _ in range(most):
        worst, k = 0.0, 0
        while k < size:
            j = order[k]
            slope = curve = bound = 0.0
            for t in range(indptr[j], indptr[j + 1]):
                i = indices[t]
                square = cost[i] * data[t] * data[t]
                bound += square
                if slack[i] > 0:
                    slope -= 2 * cost[i] * data[t] * sign[i] * slack[i]
                    curve += 2 * square
            left, right, curve = slope - penalty[j], slope + penalty[j], max(curve, 1e-12)
            if v[j] == 0 and left < -reach and right > reach:
                size -= 1
                order[k], order[size] = order[size], order[k]
                continue
            k += 1
            step = _shrink(curve * v[j] - slope, penalty[j]) / curve - v[j]
            if v[j] == 0:
                worst = max(worst, -right, left)
            else:
                worst = max(worst, abs(right if v[j] > 0 else left))
            if abs(step) < 1e-12:
                continue
            promised = slope * step + penalty[j] * (abs(v[j] + step) - abs(v[j]))
            while abs(step) > 1e-300:
                change = penalty[j] * (abs(v[j] + step) - abs(v[j]))
                if slope * step + bound * step * step + change > 0.01 * promised:  # else enough, without a look
                    for t in range(indptr[j], indptr[j + 1]):
                        i = indices[t]
                        before, after = max(slack[i], 0.0), max(slack[i] - sign[i] * data[t] * step, 0.0)
                        change += cost[i] * (after * after - before * before)
                    if change > 0.01 * promised:
                        step, promised = 0.5 * step, 0.5 * promised
                        continue
                v[j] += step
                for t in range(indptr[j], indptr[j + 1]):
                    slack[indices[t]] -= sign[indices[t]] * data[t] * step
                break
        if course[2] == 0:
            course[2] = worst
        reach = worst / len(sign)
        if worst <= tol * course[2]:
            if size == len(order):
                return True
            size, reach = len(order), BIG
    course[0], course[1] = size, reach
    return False
