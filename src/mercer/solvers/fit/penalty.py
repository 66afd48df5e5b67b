r"""Any increasing penalty of the norm, along the path of the squared one.

The solution for a penalty Ψ(‖f‖) is of least loss among functions of its norm, and these are the solutions for
(μ/2)‖f‖², μ from ∞ (f = 0) to 0. So v(r) + Ψ(r), with v(r) the least loss at norm r, is minimised over μ: on a grid,
since Ψ need not be convex, and then between its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from ._base import FitSolution

STEPS = 31  # of the grid in log μ
SPAN = 1e10  # between its ends


@dataclass(frozen=True)
class Point:
    """A solution of the path: μ, the norm, the loss, and the value with Ψ."""

    mu: float
    norm: float
    loss: float
    value: float
    solution: FitSolution


def minimise_penalty(
    solve: Callable[[float], FitSolution],
    norm: Callable[[FitSolution], float],
    loss: Callable[[FitSolution], float],
    penalty: Callable[[float], float],
    largest: float,
    at_zero: Callable[[FitSolution], FitSolution],
) -> tuple[Point, list[Point]]:
    """The best point of the path, and all that were tried, from f = 0 on.

    `largest` is a μ for which f is next to 0; `at_zero` makes f = 0 of a solution there.
    """
    tried: list[Point] = []

    def at(exponent: float) -> float:
        mu = float(np.exp(exponent))
        solution = solve(mu)
        r, v = norm(solution), loss(solution)
        tried.append(Point(mu, r, v, v + float(penalty(r)), solution))
        return tried[-1].value

    exponents = np.linspace(np.log(largest), np.log(largest / SPAN), STEPS)
    values = [at(e) for e in exponents]
    zero = at_zero(tried[0].solution)
    tried.insert(0, Point(np.inf, 0.0, loss(zero), loss(zero) + float(penalty(0.0)), zero))
    if not np.all(np.diff([penalty(p.norm) for p in sorted(tried, key=lambda p: p.norm)]) >= -1e-12):
        raise ValueError("penalty: it must not decrease as the norm grows.")
    for k in range(STEPS):
        left, right = values[max(k - 1, 0)], values[min(k + 1, STEPS - 1)]
        if values[k] <= min(left, right):  # a valley of the grid: there may be several
            ends = sorted((exponents[max(k - 1, 0)], exponents[min(k + 1, STEPS - 1)]))
            minimize_scalar(at, bounds=ends, method="bounded", options={"xatol": 1e-7})
    least = min(p.value for p in tried)
    ties = [p for p in tried if p.value <= least + 1e-12 * max(abs(least), 1e-300)]
    return min(ties, key=lambda p: p.norm), tried


def within_ball(
    solve: Callable[[float], FitSolution], norm: Callable[[FitSolution], float], radius: float, largest: float
) -> tuple[float, FitSolution]:
    """μ and the solution of least loss with ‖f‖ ≤ radius."""
    smallest = largest / SPAN
    loosest = solve(smallest)
    if norm(loosest) <= radius:
        return smallest, loosest
    while norm(solve(largest)) > radius:
        largest *= 100
    found: dict[float, FitSolution] = {}

    def excess(exponent: float) -> float:
        found[exponent] = solve(float(np.exp(exponent)))
        return norm(found[exponent]) - radius

    brentq(excess, np.log(smallest), np.log(largest), xtol=1e-12, rtol=1e-14)
    inside = {e: s for e, s in found.items() if norm(s) <= radius}
    best = min(inside)
    return float(np.exp(best)), inside[best]
