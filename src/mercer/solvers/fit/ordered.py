r"""Several fit problems on the same points, solved jointly under f₁ ≤ f₂ ≤ … ≤ f_q: non-crossing quantiles.

.. math:: \min\; \sum_j \Big( \sum_i w_i \ell_j(y_i, f_{ij}) + \tfrac{\alpha}{2} \|f_j\|^2 \Big),
          \qquad f_{j+1}(x_i) \ge f_j(x_i) \text{ at all points}

The losses have a `box`: with box-constrained variables β for copies of the samples, and multipliers λ ≥ 0 of the order,
:math:`\alpha a_j = \sum \beta_j + \lambda_{j-1} - \lambda_j`. The solver is a primal-dual interior-point method with
Newton steps in the coordinates of f = Zu + Hc, ‖f‖ = ‖u‖: a system of q blocks, coupled to their neighbours by λ.

Takeuchi, Le, Sears, Smola, *Nonparametric quantile estimation* (2006); Mehrotra, *On the implementation of a
primal-dual interior point method* (1992), for the choice of the barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from ...context import Status, current
from ...losses import FAR, Loss
from ._base import FitProblem, FitSolution, finish
from .eigenbasis import Eigenbasis


def ordered(
    problem: FitProblem,
    losses: Sequence[Loss],
    tol: float = 1e-8,
    max_iter: int = 200,
) -> list[FitSolution]:
    """The solutions for `losses`, which must be in the order of their minimisers.

    Stops when the duality gap is tol times the objective and no pair crosses by more than tol times the range of y; the
    `gap` of each solution is the joint gap. Points of weight 0 affect only the order.
    """
    state, w = _State(problem, losses), problem.weight
    status, context = Status.MAX_ITER, current()
    for k in range(max_iter):
        F = state.values()
        value = sum(float(loss.total(problem.y, F[:, j], w)) for j, loss in enumerate(losses)) + state.penalty()
        crossing = float(np.max(F[:, :-1] - F[:, 1:], initial=0.0))
        gap, small = state.complementarity(), tol * max(value, tol * state.scale * state.unit * state.count)
        if gap <= small and crossing <= tol * state.scale and state.is_balanced(tol, small, gap):
            status = Status.CONVERGED
            break
        if reason := context({"gap": gap, "round": k}):
            status = reason
            break
        if not state.step(F):
            status = Status.PRECISION
            break
    a = np.stack([problem.projected(column) for column in state.spread(state.v).T / problem.alpha])
    gap, solutions = -state.dual(a), []
    for j, loss in enumerate(losses):
        u, b = state.x[: state.rank, j], state.x[state.rank :, j]
        # equal up to rounding: the first satisfy the bounds, but lose accuracy for a tiny alpha
        forms = a[j], state.at.coefficients(u)
        own = replace(problem, loss=loss)
        first, other = (finish(own, a, state.at.free(a, b), status, k + 1, "ordered") for a in forms)
        solutions.append(first if first.objective <= (1 + tol) * other.objective else other)
        gap += solutions[-1].objective
    return [replace(solution, gap=gap) for solution in solutions]


class _State:
    """x = (u, c), the variables v = (β, λ), and the multipliers of their bounds."""

    def __init__(self, problem: FitProblem, losses: Sequence[Loss]):
        self.at = at = Eigenbasis(problem)
        used = np.flatnonzero(problem.weight > 0)
        self.problem, self.A, self.rank, self.q = problem, at.design, len(at.values), len(losses)
        self.p, lower, upper, self.ridge, self.rows, self.levels = _variables(problem, losses, used)
        self.order = np.arange(len(self.p)) >= len(self.p) - problem.gram.n * (self.q - 1)  # marks λ
        self.lower, self.upper, self.low, self.high = lower, upper, lower > -FAR, upper < FAR
        self.scale, self.count = problem.spread, len(used)
        both = self.low & self.high
        # scale of the variables: the width of their bounds, in units of weights times derivatives of the loss
        self.unit = float(np.mean((upper - lower)[both])) if both.any() else float(np.mean(problem.weight[used]))
        inside = np.where(self.low, lower + self.unit, upper - self.unit)
        self.v = np.where(both, 0.5 * (lower + upper), inside)
        self.zl, self.zh = self.scale * self.low, self.scale * self.high
        self.x = np.zeros((self.A.shape[1], self.q))
        self.damping = np.where(np.arange(self.A.shape[1]) < self.rank, problem.alpha, 0.0)

    def values(self) -> np.ndarray:
        """F: f at the points, one column per level."""
        return self.A @ self.x

    def penalty(self) -> float:
        return 0.5 * self.problem.alpha * float(np.sum(self.x[: self.rank] ** 2))

    def spread(self, v: np.ndarray) -> np.ndarray:
        """Mv: the sum of the variables at each point and level."""
        out = np.zeros((self.problem.gram.n, self.q))
        np.add.at(out, (self.rows, self.levels), v)
        np.add.at(out, (self.rows[self.order], self.levels[self.order] - 1), -v[self.order])
        return out

    def gather(self, F: np.ndarray) -> np.ndarray:
        """MᵀF."""
        values = F[self.rows, self.levels]
        values[self.order] -= F[self.rows[self.order], self.levels[self.order] - 1]
        return values

    def balance(self) -> np.ndarray:
        """The residual of stationarity in x."""
        return self.A.T @ self.spread(self.v) - self.damping[:, None] * self.x

    def is_balanced(self, tol: float, small: float, gap: float) -> bool:
        """Whether this residual is negligible relative to the total pull on one side and to the objective."""
        balance = self.balance()
        relative = float(np.abs(balance).max()) / (self.unit * float(self.A.sizes().max()))
        return relative <= tol and (abs(float(np.sum(self.x * balance))) <= small or gap <= 1e-4 * small)

    def complementarity(self) -> float:
        return float(self.zl @ np.where(self.low, self.v - self.lower, 0.0)) + float(
            self.zh @ np.where(self.high, self.upper - self.v, 0.0)
        )

    def step(self, F: np.ndarray) -> bool:
        """Predictor, which determines the centring, and corrector; return whether there was a step."""
        try:
            with np.errstate(all="ignore"):
                moved = self.ahead(F)
        except (np.linalg.LinAlgError, ValueError):  # the system is no longer definite, or not finite
            return False
        if not all(np.isfinite(part).all() for part in moved):
            return False
        self.x, self.v, self.zl, self.zh = moved
        return True

    def ahead(self, F: np.ndarray) -> tuple[np.ndarray, ...]:
        """x, v and the multipliers after a step."""
        sl, sh = np.where(self.low, self.v - self.lower, 1.0), np.where(self.high, self.upper - self.v, 1.0)
        rest, balance = self.p - self.gather(F) - self.ridge * self.v - self.zh + self.zl, self.balance()
        theta = self.ridge + self.zl / sl + self.zh / sh
        solve = self.system(theta)

        def towards(low: Any, high: Any) -> tuple[np.ndarray, ...]:
            """The Newton step that aims at these products of distances from bounds and multipliers."""
            rho = (rest - self.zl + self.zh + low / sl - high / sh) / theta
            pull = balance + self.A.T @ self.spread(rho)
            dx = solve(pull)
            dv = rho - self.gather(self.A @ dx) / theta
            dl, dh = (low - self.zl * dv) / sl - self.zl, (high + self.zh * dv) / sh - self.zh
            return dx, dv, dl * self.low, dh * self.high

        def longest(dv: np.ndarray, dl: np.ndarray, dh: np.ndarray) -> float:
            pairs = (sl, dv * self.low), (sh, -dv * self.high), (self.zl, dl), (self.zh, dh)
            return min(float(np.min(-s[d < 0] / d[d < 0], initial=1.0)) for s, d in pairs)

        _, dv, dl, dh = towards(0.0, 0.0)
        t = longest(dv, dl, dh)
        count, now = int(self.low.sum() + self.high.sum()), self.complementarity()
        ahead = (sl + t * dv) @ ((self.zl + t * dl) * self.low) + (sh - t * dv) @ ((self.zh + t * dh) * self.high)
        centre = now / count * float(ahead / now) ** 3
        dx, dv, dl, dh = towards((centre - dv * dl) * self.low, (centre + dv * dh) * self.high)
        t = min(1.0, 0.995 * longest(dv, dl, dh))
        return self.x + t * dx, self.v + t * dv, self.zl + t * dl, self.zh + t * dh

    def system(self, theta: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """A solver of (AᵀMΘ⁻¹MᵀA + α on u) x = b: a block for each level, and −AᵀΘ⁻¹A of λ between neighbours."""
        # factorised block by block, since only neighbours are coupled
        n = self.A.shape[0]
        weights = np.zeros((n, self.q))
        np.add.at(weights, (self.rows, self.levels), 1 / theta)
        np.add.at(weights, (self.rows[self.order], self.levels[self.order] - 1), 1 / theta[self.order])
        between = (1 / theta[self.order]).reshape(self.q - 1, n)
        factors: list[Any] = []
        links: list[np.ndarray] = []  # Lⱼ⁻¹ times the block to the right of the diagonal
        for j in range(self.q):
            S = self.A.squares(weights[:, j]) + np.diag(self.damping)
            # levels that touch everywhere coincide in this precision; a zero free function has no curvature
            rounding = 1e-13 * np.where(np.diagonal(S) > 0, np.diagonal(S), 1.0)
            if j:
                links.append(solve_triangular(factors[-1], -self.A.squares(between[j - 1]), lower=True))
                S -= links[-1].T @ links[-1]
            try:
                factors.append(cholesky(S, lower=True))
            except np.linalg.LinAlgError:
                factors.append(cholesky(S + np.diag(rounding), lower=True))

        def solve(b: np.ndarray) -> np.ndarray:
            x = b.copy()
            for j, L in enumerate(factors):
                x[:, j] = solve_triangular(L, x[:, j] - (links[j - 1].T @ x[:, j - 1] if j else 0.0), lower=True)
            for j in reversed(range(self.q)):
                after = links[j] @ x[:, j + 1] if j < self.q - 1 else 0.0
                x[:, j] = solve_triangular(factors[j], x[:, j] - after, lower=True, trans="T")
            return x

        return solve

    def dual(self, coefficients: np.ndarray) -> float:
        """pᵀv − ½vᵀRv − (α/2)Σ‖f_j‖², a lower bound of the objective at feasible points."""
        norms = sum(float(a @ np.asarray(self.problem.gram @ a)) for a in coefficients)
        return float(self.p @ self.v) - 0.5 * float(self.ridge @ self.v**2) - 0.5 * self.problem.alpha * norms


def _variables(problem: FitProblem, losses: Sequence[Loss], used: np.ndarray) -> tuple[np.ndarray, ...]:
    """p, the bounds, the ridge, the point and the level of all β, followed by those of all λ."""
    parts: list[tuple[np.ndarray, ...]] = []
    n = problem.gram.n
    for j, loss in enumerate(losses):
        for linear, low, high, ridge in loss.box(problem.y[used], problem.weight[used]):
            level = np.full(len(used), j)
            parts.append((linear, low, high, np.zeros(len(used)) if ridge is None else ridge, used, level))
    zero = np.zeros(n)
    for j in range(1, len(losses)):  # λ of the pair (j − 1, j) is added to the upper and subtracted from the lower
        parts.append((zero, zero, np.full(n, FAR), zero, np.arange(n), np.full(n, j)))
    return tuple(np.concatenate([part[k] for part in parts]) for k in range(6))
