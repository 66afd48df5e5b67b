"""Linear machines in the primal, on X itself: Newton's method for piecewise quadratic objectives.

    minimise P = ½‖w‖² + (τ/2)b² + Σᵢ max over β in Bᵢ of { ⟨β, pᵢ − fᵢ⟩ − ε|β| − (γᵢ/2)β² },     f = Xw + b.

The squared losses have γ = 1/2c: P is piecewise quadratic with a continuous gradient, so that Newton's method with an
exact search along each step ends after finitely many (Mangasarian, *A finite Newton method for classification*, 2002;
Chapelle, *Training a support vector machine in the primal*, 2007, section 4). Where the Hessian is too large to form,
products with it are enough (Lin, Weng, Keerthi, *Trust region Newton method for logistic regression*, 2008, section 2).

The losses with a kink have γ = 0. The method of multipliers adds (h/2cᵢ)(β − β₀)², which makes the problem one of the
first kind, and moves β₀ to the β found (Rockafellar, *Augmented Lagrangians and applications of the proximal point
algorithm*, 1976, section 4). Unlike a smoothed loss this leaves no error, and for a quadratic program it ends after
finitely many rounds, whatever h. It also leads the squared losses through hard cases in fewer steps.

With β attaining the maxima at any f, and G = (w − Xᵀβ, τb − Σβ), the duality gap is

    P − D = Σᵢ { what βᵢ leaves of its maximum at fᵢ } + ½‖w − Xᵀβ‖² + (τb − Σβ)²/2τ,

a sum of non-negative terms, which no cancellation blurs. It bounds P − P* and ½‖w − w*‖².

Compiled code goes first, for all machines on the same X in one call: the same method where X is small, and coordinate
descent in the dual where it is sparse and wide. What it leaves above the gap that was asked for, the code here solves.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg, sparse

from ...context import Status, current
from ..solution import Solution
from ._coordinate_descent import descend
from ._finite_newton import solve
from ._newton_equations import Factored, Iterated
from .dual_sets import BIG, Intervals, Simplices
from .linear_map import LinearMap

__all__ = ["Intervals", "LinearMap", "PrimalSolution", "Simplices", "minimise", "minimise_all"]

DIRECT, DIRECT_SPARSE = 3000, 1000  # unknowns, at most, for which the Hessian is formed
WIDTH = 10.0  # the first h, in units of the targets; larger costs a round or two, smaller many steps in hard cases
NARROW = 0.1  # the same for losses with two sides, where samples are more than unknowns: little is left of targets
NARROWING = 0.4  # of h, from round to round
INNER = 0.01  # of the gap: how far a round is solved
ROUND = 200  # steps in a round, at most
PATIENCE = 25  # rounds without halving the gap
FLOOR = 1e-13  # of the objective: no smaller gap is aimed at
ROUNDING = 1e-6  # of the objective: a gap that is good enough where rounding allows no better
NOTHING = 1e-15  # of the objective: a decrease that is none
SMALL = 1 << 27  # products in a Hessian, at most, for machines that compiled code solves together
QUICK = 100  # steps of that code, before the other takes over
LANES = 8  # numbers in a vector of that code
ALIKE = 1e-3  # the least pivot over the largest, for which squares of X are as good as X
PASSES = 600  # of coordinate descent before Newton's method takes over
WORK = 1 << 28  # numbers of X that coordinate descent meets until it asks whether to end


@dataclass(frozen=True)
class PrimalSolution(Solution):
    """A linear machine, its dual β, and how good they are.

    `gap` is the duality gap: the objective exceeds its minimum by no more. Where the intercept is not penalised, what
    rounding leaves of Σβ counts for intercepts that exceed the one found by at most the mean absolute target.
    """

    measure = ("duality gap", "gap")
    weights: np.ndarray  # w, or a column for each class
    intercept: Any
    dual: np.ndarray
    objective: float
    gap: float


def minimise(
    design: LinearMap,
    pieces: Intervals | Simplices,
    tol: float,
    max_iter: int,
    *,
    seed: int = 0,
    report: Callable[[str], None] | None = None,
) -> PrimalSolution:
    """Minimise until the duality gap is at most tol²·P, so that ‖w − w*‖ ≤ tol·√(2P).

    Parameters
    ----------
    design : LinearMap
    pieces : Intervals or Simplices
        The loss.
    tol : float > 0
    max_iter : int
        Steps of Newton's method, and passes of coordinate descent, at most.
    seed : int
        Of the order of coordinate descent; the minimiser is the same for all.
    report : callable, optional
        Takes a line of text after each round.
    """
    if isinstance(pieces, Intervals):
        return minimise_all(design, pieces[None], tol, max_iter, seed=seed, report=report)[0]
    reduced, expand = _reduced(design)
    return _expanded(_Newton(reduced, pieces, max(tol * tol, FLOOR), max_iter, report).run(), expand)


def minimise_all(
    design: LinearMap,
    pieces: Intervals,
    tol: float,
    max_iter: int,
    *,
    seed: int = 0,
    report: Callable[[str], None] | None = None,
) -> list[PrimalSolution]:
    """The same for each row of `pieces`; small machines are solved together, in one compiled call."""
    design, expand = _reduced(design)
    aim, found = max(tol * tol, FLOOR), list[PrimalSolution]()
    size = len(design.penalty)
    if max_iter > 0 and size <= (DIRECT_SPARSE if sparse.issparse(design.X) else DIRECT):
        found = _together(design, pieces, aim, min(max_iter, QUICK))
    elif max_iter > 0 and sparse.issparse(design.X) and not (design.intercept and design.penalty[-1] == 0):
        found = _by_rows(design, pieces, aim, min(max_iter, PASSES), seed)
    for k in range(len(pieces.target)):
        start = found[k] if k < len(found) else None
        if start is not None and report:
            report(f"step {start.n_iter}: objective {start.objective:.10g}, gap {start.gap:.2e}")
        if start is None or not start.converged:
            found[k : k + 1] = [_Newton(design, pieces[k], aim, max_iter, report).run(start)]
    return [_expanded(solution, expand) for solution in found]


def _reduced(design: LinearMap) -> tuple[LinearMap, Callable[[np.ndarray], np.ndarray] | None]:
    """Wide dense samples in coordinates of their span, where w lies, and how w comes from its coordinates.

    With Xᵀ = QR, w = Qv and Xw = Rᵀv. Rᵀ is Cholesky's factor of XXᵀ too, which is much sooner found, and as good where
    its pivots are alike.
    """
    if sparse.issparse(design.X) or design.d <= design.n:
        return design, None
    tau, X = float(design.penalty[-1]) if design.intercept else 0.0, design.X
    with suppress(linalg.LinAlgError):
        L = linalg.cholesky(X @ X.T, lower=True, check_finite=False)
        pivots = np.diagonal(L)
        if pivots.min() > ALIKE * pivots.max():
            reduced = LinearMap(L, design.intercept, tau)
            return reduced, lambda v: X.T @ linalg.solve_triangular(L, v, lower=True, trans=1)
    Q, R = linalg.qr(X.T, mode="economic", check_finite=False)
    return LinearMap(R.T, design.intercept, tau), lambda v: Q @ v


def _expanded(solution: PrimalSolution, expand: Callable[[np.ndarray], np.ndarray] | None) -> PrimalSolution:
    return solution if expand is None else replace(solution, weights=expand(solution.weights))


def _together(design: LinearMap, pieces: Intervals, aim: float, most: int) -> list[PrimalSolution]:
    """Machines after at most so many steps of compiled code: the first ones, or none, where that is not the way."""
    n, d, size, context = design.n, design.d, len(design.penalty), current()
    width = -(-size // LANES) * LANES
    tau = float(design.penalty[-1]) if design.intercept else 1.0
    room = SMALL // (n * width * width)
    if not room or not 1e-12 < tau < 1e12 or context.callbacks is not None:
        return []
    Z, machines = np.zeros((n, width)), len(pieces.target)
    Z[:, :d] = design.X.toarray() if sparse.issparse(design.X) else design.X
    Z[:, d:size] = 1 / np.sqrt(tau)
    two_sided = n > size and pieces.lower[0, 0] < 0 < pieces.upper[0, 0]
    h = 0.0 if pieces.own else (NARROW if two_sided else WIDTH) * pieces.scale
    V, beta, numbers = np.zeros((machines, width)), np.zeros((machines, n)), np.zeros((machines, 2))
    steps, solved = np.zeros(machines, np.int64), 0
    while solved < machines and not context():
        part = slice(solved, solved + room)
        arrays = (a[part] for a in (pieces.target, pieces.cost, pieces.lower, pieces.upper))
        fixed = pieces.epsilon, pieces.own, h, aim, most
        solve(Z, *arrays, *fixed, V[part], beta[part], numbers[part], steps[part])
        solved = min(machines, solved + room)
    V[:, d:size] /= np.sqrt(tau)
    return _solutions(design, aim, V[:solved], beta, numbers, steps)


def _by_rows(design: LinearMap, pieces: Intervals, aim: float, most: int, seed: int) -> list[PrimalSolution]:
    """Machines after at most so many passes of coordinate descent in the dual, as far as it is quick."""
    X, n, d, machines, context = design.X, design.n, design.d, len(pieces.target), current()
    inverse = 1 / float(design.penalty[-1]) if design.intercept else 0.0
    unsigned = (a.view(f"u{a.itemsize}") for a in (X.indptr, X.indices))  # none counts from the end, which takes time
    rows = (*unsigned, X.data)
    parts = pieces.target, pieces.cost, pieces.lower, pieces.upper
    beta, w, numbers = np.zeros((machines, n)), np.zeros((machines, d + 1)), np.zeros((machines, 2))
    order, course = np.tile(np.arange(n), (machines, 1)), np.tile([n, BIG, 0.3], (machines, 1))
    passes, made, chunk = np.zeros(machines, np.int64), 0, max(1, WORK // (machines * (X.nnz + n)))
    state = beta, w, order, course, numbers, passes
    while made < most and not (made and np.all(numbers[:, 1] <= aim * numbers[:, 0])) and not context():
        made = min(most, made + chunk)
        descend(rows, parts, pieces.epsilon, pieces.own, inverse, state, seed, aim, made)
    w[:, d] *= inverse
    return _solutions(design, aim, w if made else w[:0], beta, numbers, passes)


def _solutions(
    design: LinearMap, aim: float, V: np.ndarray, beta: np.ndarray, numbers: np.ndarray, steps: np.ndarray
) -> list[PrimalSolution]:
    """What compiled code has found; nothing, where rounding has left no numbers."""
    if not (np.isfinite(numbers).all() and np.isfinite(V).all()):
        return []
    return [
        PrimalSolution(
            weights=v[: design.d],
            intercept=v[design.d] if design.intercept else np.zeros(()),
            dual=b,
            objective=objective,
            gap=gap,
            n_iter=count,
            status=Status.CONVERGED if gap <= aim * objective else Status.MAX_ITER,
            method="newton",
        )
        for v, b, (objective, gap), count in zip(V, beta, numbers.tolist(), steps.tolist(), strict=False)
    ]


class _Newton:
    """The state of one minimisation: V, f, β and the gradient G, kept together by `refresh`."""

    def __init__(self, design: LinearMap, pieces: Any, aim: float, most: int, report: Any):
        self.design, self.pieces, self.aim, self.most, self.report = design, pieces, aim, most, report
        outputs = pieces.shape[1:]
        size = len(design.penalty) * int(np.prod(outputs))
        direct = size <= (DIRECT_SPARSE if sparse.issparse(design.X) else DIRECT)
        self.equations: Any = (Factored if direct else Iterated)(design, pieces)
        self.V = np.zeros((len(design.penalty), *outputs))
        self.centre = np.zeros(pieces.shape)
        easy = pieces.own and design.n > 4 * design.d
        self.h = 0.0 if easy else WIDTH * (1.0 if pieces.own else pieces.scale)
        self.steps = 0
        self.F, self.G = self.centre, np.zeros_like(self.V)
        self.certify(self.centre)

    def run(self, start: PrimalSolution | None = None) -> PrimalSolution:
        if start is not None:
            self.resume(start)
        best, waited = (self.V, self.beta, self.objective, self.gap), 0
        status, context = Status.PRECISION, current()
        while not self.done() and waited < PATIENCE:
            early = Status.MAX_ITER if self.steps >= self.most else context({"gap": self.gap, "round": self.steps})
            if early:
                status = early
                break
            solved = self.solve_round()
            waited = waited + 1 if self.gap > 0.5 * best[-1] else 0
            if self.gap < best[-1]:
                best = (self.V, self.beta, self.objective, self.gap)
            # rounding hurts most where h is small, and the rounds end for any h
            self.h *= NARROWING if solved else 1 / NARROWING
            self.V, self.centre = (self.V, self.beta) if solved else best[:2]
        V, beta, objective, gap = best
        b = V[-1] if self.design.intercept else np.zeros(V.shape[1:])
        if gap <= (max(ROUNDING, self.aim) if status is Status.PRECISION else self.aim) * objective:
            status = Status.CONVERGED
        parts = V[: self.design.d], b, beta, objective, gap
        return PrimalSolution(*parts, status=status, n_iter=self.steps, method="newton")

    def done(self) -> bool:
        return self.gap <= self.aim * self.objective

    def refresh(self) -> None:
        """f, β and G at V."""
        self.F = self.design.values(self.V)
        self.beta, self.active = self.pieces.respond(self.F, self.h, self.centre)
        self.G = self.design.penalised(self.V) - self.design.moment(self.beta)

    def certify(self, beta: np.ndarray) -> None:
        """Objective and gap at V and β."""
        if self.design.intercept and self.design.penalty[-1] == 0:
            beta = self.pieces.balance(beta)
            self.G = self.design.penalised(self.V) - self.design.moment(beta)
        self.beta = beta
        losses = self.pieces.value(self.pieces.attain(self.F), self.F)
        self.objective = 0.5 * float(np.vdot(self.V, self.design.penalised(self.V))) + float(losses.sum())
        left = float(np.sum(losses - self.pieces.value(beta, self.F)))
        self.gap = max(left, 0.0) + self.design.remainder(self.G, self.V, self.pieces.scale)
        if self.report:
            self.report(f"step {self.steps}: objective {self.objective:.10g}, gap {self.gap:.2e}")

    def resume(self, start: PrimalSolution) -> None:
        """Begin where compiled code has ended."""
        self.V, self.centre = np.append(start.weights, [start.intercept] * self.design.intercept), start.dual
        self.steps, self.F = start.n_iter, self.design.values(self.V)
        self.G = self.design.penalised(self.V) - self.design.moment(self.centre)
        self.certify(self.centre)
        self.h *= float(np.clip(np.sqrt(self.gap / max(self.objective, 1e-300)), 1e-3, 1.0))

    def solve_round(self) -> bool:
        """Newton's method with the present centre, until G adds little to the gap; whether it came so far."""
        self.refresh()
        goal = INNER * (self.gap if self.h else self.aim * self.objective)
        left, idle = self.design.remainder(self.G, self.V, self.pieces.scale), 0
        for _ in range(min(ROUND, self.most - self.steps)):
            decrease = self.step(float(np.clip(0.3 * np.sqrt(goal / max(left, goal)), 1e-4, 0.1)))
            before, left = left, self.design.remainder(self.G, self.V, self.pieces.scale)
            idle = 0 if left < 0.5 * before else idle + 1
            if left <= goal or decrease <= 0 or (idle > 3 and decrease < NOTHING * self.objective):
                break
        self.certify(self.beta)
        return left <= goal

    def step(self, accuracy: float) -> float:
        """One step. Returns the decrease that it promised, 0 where rounding leaves none."""
        design, pieces, h = self.design, self.pieces, self.h + self.pieces.own
        try:
            S = self.equations(self.G, self.active, h, accuracy)
        except linalg.LinAlgError:
            return 0.0
        start = float(np.vdot(self.G, S))
        if not start < 0:
            return 0.0
        D = design.values(S)
        PS = design.penalised(S)
        linear, square = float(np.vdot(self.V, PS)), float(np.vdot(S, PS))

        def slope(t: float) -> tuple[float, float]:
            beta, active = pieces.respond(self.F + t * D, self.h, self.centre)
            curvature = float(np.vdot(D, pieces.vary(active, D, pieces.cost / h)))
            return linear + t * square - float(np.vdot(beta, D)), square + curvature

        self.V = self.V + search(slope, start) * S
        self.steps += 1
        self.refresh()
        return -start


def search(slope: Callable[[float], tuple[float, float]], start: float) -> float:
    """The t > 0 where a convex function's slope vanishes (to 1 % of its value at 0): Newton's method in a bracket."""
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(50):
        value, curvature = slope(t)
        if abs(value) <= 0.01 * abs(start):
            break
        low, high = (t, high) if value < 0 else (low, t)
        guess = t - value / curvature if curvature > 0 else low
        t = guess if low < guess < high else 2 * t if np.isinf(high) else 0.5 * (low + high)
    return t
