r"""Any increasing penalty on the norm, along the path of the squared one.

The solution for a penalty Ψ(‖f‖) has the smallest loss among functions of its norm, and these are the solutions for
(μ/2)‖f‖², μ from ∞ (f = 0) to 0. So J(r) = v(r) + Ψ(r), with v(r) the smallest loss within norm r, is minimised over μ.

For a convex loss v is convex, with slope −μr at a solution of norm r. Its tangents at two neighbours, and Ψ between
them, which is non-decreasing and cheap, bound J from below. Where the bound is below the best value found, another
solution is computed, so that no local minimum is missed, however narrow. Near each of the best points, the minimum is
the root of Ψ′(r) = μr where Ψ is smooth, and is found by a search on values where Ψ has a kink or jump.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq

from ._base import FitSolution

RATIO = 10 ** (1 / 3)  # between neighbours of the grid in μ
SPAN = 1e16  # maximum ratio of its ends
NOTHING = 1e-9  # relative to the objective: a loss below this is not lowered further
CERTAIN = 1e-6  # relative to the objective: how far below the best value an undiscovered minimum may be
EQUAL = 1e-8  # relative to the objective: values closer than this count as equal
NARROW = 1e-10  # tolerance in log μ of a search on values
STEP = 6e-6  # relative step in r for differences of Ψ: the cube root of the rounding error


@dataclass(frozen=True)
class Point:
    """A solution on the path: μ, the norm, the loss, the objective with Ψ, and its slope in the norm."""

    mu: float
    norm: float
    loss: float
    value: float
    slope: float
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
    """The best point of the path, and all points tried, starting from f = 0.

    `largest` is a μ for which f is nearly 0; `at_zero` turns a solution there into f = 0. `floor` is a lower bound of
    the loss. If the loss is not convex, the points are stationary, and the best of those found is returned.
    """
    path = _Path(solve, norm, loss, penalty)
    first = path.at(largest)
    zero = at_zero(first.solution)
    path.tried.append(Point(np.inf, 0.0, loss(zero), loss(zero) + float(penalty(0.0)), -np.inf, zero))
    last = first
    while last.mu > largest / SPAN:
        best = path.best().value
        if floor + float(penalty(last.norm)) >= best:  # larger norms cannot be better
            break
        if last.loss - floor <= NOTHING * abs(best) and last.slope >= 0:
            break
        last = path.at(last.mu / RATIO)
    path.check()
    path.look_between()
    found = [path.polished(*three) for three in path.valleys()]
    least = min(p.value for p in found)
    ties = [p for p in found if p.value <= least + EQUAL * abs(least)]
    return min(ties, key=lambda p: p.norm), path.sorted()


@dataclass
class _Path:
    """The solutions for (μ/2)‖f‖² computed so far."""

    solve: Callable[[float], FitSolution]
    norm: Callable[[FitSolution], float]
    loss: Callable[[FitSolution], float]
    penalty: Callable[[float], float]
    tried: list[Point] = field(default_factory=list)

    def at(self, mu: float) -> Point:
        solution = self.solve(mu)
        r, v = self.norm(solution), self.loss(solution)
        rise = float(self.penalty(r * (1 + STEP))) - float(self.penalty(r * (1 - STEP)))
        slope = rise / (2 * STEP * r) - mu * r if r > 0 else -np.inf
        self.tried.append(Point(mu, r, v, v + float(self.penalty(r)), slope, solution))
        return self.tried[-1]

    def best(self) -> Point:
        return min(self.tried, key=lambda p: (p.value, p.norm))

    def sorted(self) -> list[Point]:
        return sorted(self.tried, key=lambda p: -p.mu)

    def check(self) -> None:
        """Raise if Ψ decreases, at the norms of the path or beyond."""
        norms = np.array([p.norm for p in self.tried])
        norms = np.sort([*norms, *((norms.max() or 1.0) * np.geomspace(1e-6, 10, 200))])
        if not all(
            b >= a or b >= a - 1e-12 * abs(a) for a, b in pairwise(float(self.penalty(float(r))) for r in norms)
        ):
            raise ValueError("penalty: it must not decrease as the norm grows.")

    def look_between(self, most: int = 100) -> None:
        """Add solutions until no minimum between neighbours can be much lower than the best."""
        for _ in range(most):
            best = self.best().value
            cells = [(self.bound(p, q), p, q) for p, q in pairwise(self.sorted()) if np.log(p.mu / q.mu) > CERTAIN]
            bound, p, q = min(cells, key=lambda cell: cell[0], default=(np.inf, None, None))
            if p is None or q is None or bound >= best - CERTAIN * abs(best):
                break
            self.at(np.sqrt(p.mu * q.mu) if np.isfinite(p.mu) else 10 * q.mu)

    def bound(self, p: Point, q: Point) -> float:
        """A lower bound of J between two neighbours."""
        r = np.linspace(p.norm, q.norm, 65)
        tangent = q.loss + q.mu * q.norm * (q.norm - r)
        if p.norm > 0:
            tangent = np.maximum(tangent, p.loss - p.mu * p.norm * (r - p.norm))
        rise = np.array([float(self.penalty(float(s))) for s in r[:-1]])
        return float(np.min(tangent[1:] + rise))

    def valleys(self) -> list[tuple[Point, Point, Point]]:
        """Points as good as the best and no worse than their neighbours, together with these neighbours."""
        points = self.sorted()
        best = self.best().value
        threes = zip([points[0], *points[:-1]], points, [*points[1:], points[-1]], strict=True)
        good = best + CERTAIN * abs(best)
        return [(a, p, b) for a, p, b in threes if p.value <= min(a.value, b.value, good)]

    def polished(self, before: Point, point: Point, after: Point) -> Point:
        """The minimum between the neighbours of a point that is no worse than they are."""
        if not np.isfinite(point.mu):
            return point
        before = before if np.isfinite(before.mu) else point
        if before.slope < 0 < after.slope and np.isfinite(after.slope):
            ends = np.log(after.mu), np.log(before.mu)
            found = self.at(float(np.exp(brentq(lambda e: self.at(np.exp(e)).slope, *ends, xtol=1e-14, rtol=1e-14))))
            if found.value <= point.value + EQUAL * abs(point.value):
                return found
        low, middle, high = (float(np.log(p.mu)) for p in (after, point, before))
        while high - low > NARROW:
            left = middle - low > high - middle
            e = middle - 0.382 * (middle - low) if left else middle + 0.382 * (high - middle)
            new = self.at(float(np.exp(e)))
            if (new.value, new.norm) < (point.value, point.norm):
                low, middle, high, point = (low, e, middle, new) if left else (middle, e, high, new)
            else:
                low, high = (e, high) if left else (low, e)
        return point


def within_ball(
    solve: Callable[[float], FitSolution], norm: Callable[[FitSolution], float], radius: float, largest: float
) -> tuple[float, FitSolution]:
    """μ and the solution of smallest loss with ‖f‖ ≤ radius.

    If the constraint is not active up to rounding, μ is only as small as needed to establish this.
    """
    while norm(solve(largest)) > radius:
        largest *= 100
    outside, mu = largest, largest
    first = inside = solve(mu)
    while norm(inside) <= radius:
        gain = mu * norm(inside) * (radius - norm(inside))  # by the tangent of v at this norm
        if mu <= largest / SPAN or (mu < largest and gain <= 1e-14 * abs(first.objective)):
            return mu, inside
        outside, mu = mu, mu / 10
        inside = solve(mu)
    found: dict[float, FitSolution] = {}

    def excess(exponent: float) -> float:
        found[exponent] = solve(float(np.exp(exponent)))
        return norm(found[exponent]) - radius

    brentq(excess, np.log(mu), np.log(outside), xtol=1e-14, rtol=1e-14)
    within = {e: s for e, s in found.items() if norm(s) <= radius}
    best = min(within)
    return float(np.exp(best)), within[best]
