r"""Newton's method for smooth losses with one value per sample, each step a weighted ridge regression.

With curvatures h, the step solves :math:`(K + \alpha (wh)^{-1}) a + H c = f - \ell'/h`, :math:`H^\top a = 0`, by the
general linear solver, so that it works with dense, low-rank and lazy matrices (iteratively reweighted least squares).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...context import Status, current
from ..linear import LinearSolver, System, solve
from ._base import FLAT, FitProblem, FitSolution, finish
from .ordered import ordered

ASCENT = 1e-8  # of the objective: the largest slope of a step that is zero up to rounding
PATIENCE = 30  # steps before an interior-point solution takes over: curvature does not show where linear parts end


def newton(
    problem: FitProblem,
    solver: str | LinearSolver = "auto",
    tol: float = 1e-8,
    max_iter: int = 100,
    start: tuple[np.ndarray, np.ndarray | None] | None = None,
) -> FitSolution:
    """Solve from `start`, (a, c), until the decrement, twice the expected decrease, is tol times the objective.

    For a loss that is not convex, the curvatures majorise it, and the solution is a stationary point.
    """
    gram, loss, w, alpha, H = problem.gram, problem.loss, problem.weight, problem.alpha, problem.H
    a, c = (np.zeros(gram.n), None if H is None else np.zeros(H.shape[1])) if start is None else start
    a, c, smooth, f, value = _state(problem, a, c)
    history: list[dict[str, float]] = []
    status, floor, context = Status.MAX_ITER, FLAT, current()
    least = max(1e-16 * abs(value), 1e-300)  # for an objective that is zero up to rounding
    unit = problem.spread
    for k in range(max_iter):
        if k == PATIENCE and "box" in loss.provides and gram.provides & {"dense", "factor"}:
            inside = ordered(problem, [loss], tol)[0]
            if inside.objective < value:
                a, c, smooth, f, value = _state(problem, inside.coefficients, inside.free)
        g, h = (
            np.asarray(loss.gradient(problem.y, f)),
            np.asarray((loss.hessian if loss.convex else loss.majorizer)(problem.y, f)),
        )
        h = np.maximum(h, floor * max(float(h.max()), float(np.abs(g).max()) / unit, 1e-300))
        step = solve(System(gram, f - g / h, float(alpha), H, w * h), solver)
        to_a, to_c = np.asarray(step.coefficients), None if H is None else np.asarray(step.free)
        to_smooth = np.asarray(gram @ to_a)
        da, ds = to_a - a, to_smooth - smooth
        df = ds + (problem.free_part(to_c) - problem.free_part(c))
        slope = float((w * g) @ df + alpha * (smooth @ da))
        history.append({"objective": value, "decrement": -slope})
        small = tol * max(abs(value), least)
        if not slope < -small:
            # an ascent, or no number: the linear system is singular to rounding
            status = Status.CONVERGED if slope <= max(small, ASCENT * abs(value), least) else Status.PRECISION
            if problem.total(f + df) + 0.5 * alpha * float(to_a @ to_smooth) <= value:  # no increase of the objective
                a, c = to_a, to_c
            break
        t, found = 1.0, value
        while t > 1e-3:
            squared = float((a + t * da) @ (smooth + t * ds))
            found = problem.total(f + t * df) + 0.5 * alpha * squared
            if found <= value + 1e-4 * t * slope:
                break
            t /= 2
        else:  # too long a step: where a loss is linear it has no curvature, and steps must be kept short
            floor *= 100
            if floor < 1e6:
                continue
            status = Status.NO_DESCENT
            break
        floor = max(FLAT, floor / 100)
        a, smooth, f, value = a + t * da, smooth + t * ds, f + t * df, found
        c = to_c if c is None or to_c is None else c + t * (to_c - c)
        reason = context({"gap": -slope, "round": len(history), "beta": a, "values": smooth})
        if reason:
            status = reason
            break
    return finish(problem, a, c, status, len(history), "newton", history)


def _state(problem: FitProblem, a: np.ndarray, c: np.ndarray | None) -> tuple[Any, ...]:
    """a, c, Ka, f and the objective."""
    smooth = np.asarray(problem.gram @ a)
    f = smooth + problem.free_part(c)
    return a, c, smooth, f, problem.total(f) + 0.5 * problem.alpha * float(a @ smooth)
