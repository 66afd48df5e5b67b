r"""Any increasing penalty of the norm, along the path of the squared one.

The solution for a penalty Ψ(‖f‖) is of least loss among functions of its norm, and these are the solutions for
(μ/2)‖f‖², μ from ∞ (f = 0) to 0. So v(r) + Ψ(r), with v(r) the least loss at norm r, is minimised over μ: on a grid,
since Ψ need not be convex, and then between its neighbours. Where no loss is below `floor`, the grid ends at the first
r with floor + Ψ(r) above what was found: larger norms cannot be better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from ._base import FitSolution

RATIO = 10 ** (1 / 3)  # between neighbours of the grid in μ
SPAN = 1e16  # between its ends, at most
WITHIN = 1e10  # the same for a ball, beyond which it is called loose
NOTHING = 1e-9  # of the objective: a loss that is not worth lowering


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
    floor: float = 0.0,
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

    exponents = [np.log(largest)]
    values = [at(exponents[0])]
    zero = at_zero(tried[0].solution)
    tried.insert(0, Point(np.inf, 0.0, loss(zero), loss(zero) + float(penalty(0.0)), zero))
    while exponents[-1] > np.log(largest / SPAN):
        last, best = tried[-1], min(p.value for p in tried)
        if floor + last.value - last.loss >= best or last.loss - floor <= NOTHING * abs(best):
            break
        exponents.append(exponents[-1] - np.log(RATIO))
        values.append(at(exponents[-1]))
    norms = np.array([p.norm for p in tried])
    beyond = (norms.max() or 1.0) * np.geomspace(1e-6, 1e3, 200)
    if not np.all(np.diff([penalty(float(r)) for r in np.sort([*norms, *beyond])]) >= -1e-12):
        raise ValueError("penalty: it must not decrease as the norm grows.")
    for k, value in enumerate(values):
        before, after = max(k - 1, 0), min(k + 1, len(values) - 1)
        if before < after and value <= min(values[before], values[after]):  # a valley: there may be several
            ends = sorted((exponents[before], exponents[after]))
            minimize_scalar(at, bounds=ends, method="bounded", options={"xatol": 1e-7})
    least = min(p.value for p in tried)
    ties = [p for p in tried if p.value <= least + 1e-12 * max(abs(least), 1e-300)]
    return min(ties, key=lambda p: p.norm), tried


def within_ball(
    solve: Callable[[float], FitSolution], norm: Callable[[FitSolution], float], radius: float, largest: float
) -> tuple[float, FitSolution]:
    """μ and the solution of least loss with ‖f‖ ≤ radius."""
    while norm(solve(largest)) > radius:
        largest *= 100
    smallest, loosest = largest, None
    while loosest is None or norm(loosest) <= radius:
        if smallest <= largest / WITHIN:
            return smallest, loosest or solve(smallest)
        smallest /= 10
        loosest = solve(smallest)
    found: dict[float, FitSolution] = {}

    def excess(exponent: float) -> float:
        found[exponent] = solve(float(np.exp(exponent)))
        return norm(found[exponent]) - radius

    brentq(excess, np.log(smallest), np.log(10 * smallest), xtol=1e-12, rtol=1e-14)
    inside = {e: s for e, s in found.items() if norm(s) <= radius}
    best = min(inside)
    return float(np.exp(best)), inside[best]
