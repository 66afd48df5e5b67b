"""Linear machines in the primal, on X itself: Newton's method for piecewise quadratic objectives.

    minimise P = ½‖w‖² + (τ/2)b² + Σᵢ max over β in Bᵢ of { ⟨β, pᵢ − fᵢ⟩ − ε|β| − (γᵢ/2)β² },     f = Xw + b.

The squared losses have γ = 1/2c: P is piecewise quadratic with a continuous gradient, so Newton's method with an exact
line search ends after finitely many steps (Mangasarian, *A finite Newton method for classification*, 2002; Chapelle,
*Training a support vector machine in the primal*, 2007, section 4). If the Hessian is too large to form, products with
it suffice (Lin, Weng, Keerthi, *Trust region Newton method for logistic regression*, 2008, section 2).

The losses with a kink have γ = 0. The method of multipliers adds (h/2cᵢ)(β − β₀)², which gives a problem of the first
kind, and moves β₀ to the β found (Rockafellar, *Augmented Lagrangians and applications of the proximal point
algorithm*, 1976, section 4). Unlike a smoothed loss this leaves no error, and for a quadratic program it ends after
finitely many rounds, for any h. In hard cases it also saves steps for the squared losses.

With β attaining the maxima at any f, and G = (w − Xᵀβ, τb − Σβ), the duality gap is

    P − D = Σᵢ { the maximum at fᵢ minus its value at βᵢ } + ½‖w − Xᵀβ‖² + (τb − Σβ)²/2τ,

a sum of non-negative terms without cancellation. It bounds P − P* and ½‖w − w*‖².

Compiled code goes first, for all machines on the same X in one call: the same method if X is small, and dual coordinate
descent if it is sparse and wide. Machines whose gap is then still too large are solved by the code here.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg, sparse

from ..._threads import n_threads, run, slices
from ...context import Status, current
from ..solution import Solution
from ._coordinate_descent import descend
from ._finite_newton import solve
from ._newton_equations import Factored, Iterated
from .dual_sets import BIG, Intervals, Simplices
from .linear_map import LinearMap

__all__ = ["Intervals", "LinearMap", "PrimalSolution", "Simplices", "minimise", "minimise_all"]

DIRECT, DIRECT_SPARSE = 3000, 1000  # maximum number of unknowns for forming the Hessian
WIDTH = 10.0  # the first h, in units of the targets; larger costs a round or two, smaller many steps in hard cases
NARROW = 0.1  # the first h for two-sided losses with more samples than unknowns, where residuals are small
NARROWING = 0.4  # factor of h from round to round
INNER = 0.01  # accuracy of a round, relative to the gap
ROUND = 200  # maximum number of steps in a round
PATIENCE = 25  # rounds without halving the gap
FLOOR = 1e-13  # relative to the objective: the smallest target for the gap
ROUNDING = 1e-6  # relative to the objective: an acceptable gap if rounding prevents a smaller one
NOTHING = 1e-15  # relative to the objective: a smaller decrease counts as none
SMALL = 1 << 27  # maximum number of products in a Hessian for machines solved together by compiled code
QUICK = 100  # steps of that code before the general code takes over
DENSE = 0.25  # part of sparse X that is not zero above which that code uses dense rows
LANES = 8  # numbers in a vector of that code
ALIKE = 1e-3  # smallest over largest pivot above which squares of X are as accurate as X
PASSES = 600  # over all samples, in coordinate descent, before Newton's method takes over
THREADS = 1 << 17  # numbers of X times machines above which these are split over threads
WORK = 1 << 28  # numbers of X processed by coordinate descent between checks for a stop


@dataclass(frozen=True)
class PrimalSolution(Solution):
    """A linear machine, its dual β, and their accuracy.

    `gap` is the duality gap, which bounds the excess of the objective. If the intercept is not penalised, the rounding
    error of Σβ is included for intercepts that exceed the one found by at most the mean absolute target.
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
        Maximum number of Newton steps and of passes of coordinate descent over all samples.
    seed : int
        For the order of coordinate descent; it does not affect the minimiser.
    report : callable, optional
        Called with a line of text after each round.
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
    """Like `minimise`, for each row of `pieces`; small machines are solved together, in one compiled call."""
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
    """Wide dense samples in coordinates of their span, which contains w, and the map from coordinates to w.

    With Xᵀ = QR, w = Qv and Xw = Rᵀv. Rᵀ is also the Cholesky factor of XXᵀ, which is much faster to compute, and as
    accurate if its pivots are of similar size.
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
    """Machines after at most `most` steps of compiled code: the first ones, or none if this is not suitable."""
    n, d, size, context = design.n, design.d, len(design.penalty), current()
    width = -(-size // LANES) * LANES
    tau = float(design.penalty[-1]) if design.intercept else 1.0
    short = sparse.issparse(design.X) and design.X.nnz < DENSE * n * d
    room = SMALL // (max(design.X.nnz**2 // n, width**3) if short else n * width * width)
    if not room or not 1e-12 < tau < 1e12 or context.callbacks is not None:
        return []
    nonzeros = (
        _unsigned(design.X if design.X.has_sorted_indices else design.X.tocsc().tocsr())
        if short
        else (*np.zeros((2, 1), np.uint32), np.zeros(1))
    )
    rows, Z = (nonzeros, size - 1, design.intercept / np.sqrt(tau)), np.zeros((0 if short else n, width))
    if not short:
        Z[:, :d] = design.X.toarray() if sparse.issparse(design.X) else design.X
        Z[:, d:size] = 1 / np.sqrt(tau)
    machines = len(pieces.target)
    two_sided = n > size and pieces.lower[0, 0] < 0 < pieces.upper[0, 0]
    h = 0.0 if pieces.own else (NARROW if two_sided else WIDTH) * pieces.scale
    V, beta, numbers = np.zeros((machines, width)), np.zeros((machines, n)), np.zeros((machines, 2))
    steps, solved = np.zeros(machines, np.int64), 0
    alike = machines > 1 and bool(np.all(pieces.cost == pieces.cost[0]))
    fixed = pieces.epsilon, pieces.own, h, aim, most, alike

    def work(part: slice) -> None:
        arrays = (a[part] for a in (pieces.target, pieces.cost, pieces.lower, pieces.upper))
        solve(Z, rows, *arrays, *fixed, V[part], beta[part], numbers[part], steps[part])

    while solved < machines and not context():
        count = min(room, machines - solved)
        _on_threads(work, solved, count, n * width)
        solved += count
    V[:, d:size] /= np.sqrt(tau)
    return _solutions(design, aim, V[:solved], beta, numbers, steps)


def _by_rows(design: LinearMap, pieces: Intervals, aim: float, most: int, seed: int) -> list[PrimalSolution]:
    """Machines after at most `most` passes of dual coordinate descent, as long as it is quick."""
    X, n, d, machines, context = design.X, design.n, design.d, len(pieces.target), current()
    inverse = 1 / float(design.penalty[-1]) if design.intercept else 0.0
    rows = _unsigned(X)
    parts = pieces.target, pieces.cost, pieces.lower, pieces.upper
    beta, w, numbers = np.zeros((machines, n)), np.zeros((machines, d + 1)), np.zeros((machines, 2))
    order, course = np.tile(np.arange(n), (machines, 1)), np.tile([n, BIG, 0.3, 0], (machines, 1))
    passes, made, chunk = np.zeros(machines, np.int64), 0, max(1, WORK // (machines * (X.nnz + n)))
    state = beta, w, order, course, numbers, passes

    def work(part: slice) -> None:
        mine, moving = [a[part] for a in parts], [a[part] for a in state]
        descend(rows, tuple(mine), pieces.epsilon, pieces.own, inverse, tuple(moving), seed, aim, made)

    while made < most and not (made and np.all(numbers[:, 1] <= aim * numbers[:, 0])) and not context():
        made = min(most, made + chunk)
        _on_threads(work, 0, machines, X.nnz)
    w[:, d] *= inverse
    return _solutions(design, aim, w if made else w[:0], beta, numbers, passes)


def _unsigned(X: Any) -> tuple[np.ndarray, ...]:
    """Compressed rows for compiled code, with unsigned indices, which save a check."""
    return *(a.view(f"u{a.itemsize}") for a in (X.indptr, X.indices)), X.data


def _on_threads(work: Callable[[slice], None], first: int, count: int, size: int) -> None:
    """Call `work` on slices of `count` machines from `first`, on threads if X has so many numbers that they help."""
    parts = slices(count, -(-count // n_threads()) if size * count > THREADS else count)
    run([slice(first + part.start, first + part.stop) for part in parts], work)


def _solutions(
    design: LinearMap, aim: float, V: np.ndarray, beta: np.ndarray, numbers: np.ndarray, steps: np.ndarray
) -> list[PrimalSolution]:
    """The solutions of compiled code; none if a value is not finite."""
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
            # rounding hurts most for small h, and the rounds end for any h
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
        """Continue where compiled code has ended."""
        self.V, self.centre = np.append(start.weights, [start.intercept] * self.design.intercept), start.dual
        self.steps, self.F = start.n_iter, self.design.values(self.V)
        self.G = self.design.penalised(self.V) - self.design.moment(self.centre)
        self.certify(self.centre)
        self.h *= float(np.clip(np.sqrt(self.gap / max(self.objective, 1e-300)), 1e-3, 1.0))

    def solve_round(self) -> bool:
        """Newton's method with the current centre, until G adds little to the gap; return whether this was reached."""
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
        """One step. Returns the predicted decrease, 0 if it is lost in rounding."""
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
    """The t > 0 where the slope of a convex function vanishes (to 1 % of its value at 0), by safeguarded Newton."""
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(50):
        value, curvature = slope(t)
        if abs(value) <= 0.01 * abs(start):
            break
        low, high = (t, high) if value < 0 else (low, t)
        guess = t - value / curvature if curvature > 0 else low
        t = guess if low < guess < high else 2 * t if np.isinf(high) else 0.5 * (low + high)
    return t
