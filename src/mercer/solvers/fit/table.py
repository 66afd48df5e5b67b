"""The solvers of fit problems, and the choice between them by loss and operator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ...context import current
from ..linear import System, solve
from ..protocol import Choice, Solver, choose
from ._base import FitProblem, FitSolution, finish
from .box import box
from .eigenbasis import admm, lbfgs, newton_cg
from .newton import newton
from .ordered import ordered

__all__ = ["ADMM", "LBFGS", "Direct", "FitSolver", "InteriorPoint", "Newton", "NewtonCG", "WorkingSet", "fit_solver"]

STEPS = 100_000  # of the working set; for a tiny alpha it may need millions, but an interior-point method a dozen
FEW = 2000  # number of samples up to which a factorisation costs less than these steps


class FitSolver(Solver[FitProblem, FitSolution]):
    """Solves a `FitProblem`.

    Parameters
    ----------
    tol : float > 0
        Relative accuracy: a bound on the certificate.
    max_iter : int, optional
        Maximum number of iterations.
    """

    def __init__(self, tol: float = 1e-8, max_iter: int | None = None):
        self.tol, self.max_iter = tol, max_iter

    def refusal(self, problem: FitProblem) -> Exception:
        able = ["auto", *(row.solver.name for row in TABLE if row.solver().suits(problem))]
        free = "" if problem.H is None else " with this free part"
        return ValueError(
            f"solver = {self.name!r} does not suit loss = {problem.loss}{free}; use one of "
            f"{', '.join(map(repr, able))}."
        )


class Direct(FitSolver):
    """The linear system of a quadratic loss."""

    name: ClassVar[str] = "direct"

    def suits(self, problem: FitProblem) -> bool:
        return problem.loss.quadratic

    def _solve(self, problem: FitProblem, start: FitSolution | None) -> FitSolution:
        current().check()
        found = solve(System(problem.gram, problem.y, problem.alpha, problem.H, problem.weight))
        free = None if found.free is None else np.asarray(found.free)
        return finish(problem, np.asarray(found.coefficients), free, found.status, found.n_iter, self.name)


class WorkingSet(FitSolver):
    """The working-set method on the dual box.

    Parameters
    ----------
    patient : bool
        Whether to continue if a tiny alpha makes steps small; otherwise interior points take over for few samples.
    """

    name: ClassVar[str] = "working_set"

    def __init__(self, tol: float = 1e-8, max_iter: int | None = None, patient: bool = True):
        super().__init__(tol, max_iter)
        self.patient = patient

    def suits(self, problem: FitProblem) -> bool:
        return "box" in problem.loss.provides and problem.has_constant_alone

    def _solve(self, problem: FitProblem, start: FitSolution | None) -> FitSolution:
        gram, y = problem.gram, problem.y[problem.weight > 0]
        labels = problem.loss.task in ("binary", "multiclass")
        scale = 1.0 if labels else float(np.subtract(*np.percentile(y, [75, 25])) or np.ptp(y))
        tol = (scale or 1.0) * (self.tol if gram.dtype == np.float64 else max(self.tol, 1e-3))
        few = gram.n <= FEW and bool(gram.provides & {"dense", "factor"}) and gram.dtype == np.float64
        other = InteriorPoint(self.tol)
        short = few and not self.patient and self.max_iter is None and other.suits(problem)
        found = box(problem, tol, STEPS if short else self.max_iter or -1)
        if found.converged or not short or current()():
            return found
        return other.solve(problem)


class Newton(FitSolver):
    """Newton's method, each step a weighted ridge regression; losses that are not convex are majorised."""

    name: ClassVar[str] = "newton"

    def suits(self, problem: FitProblem) -> bool:
        return problem.loss.smooth and problem.has_single_values and "majorizer" in problem.loss.provides

    def _solve(self, problem: FitProblem, start: FitSolution | None) -> FitSolution:
        steps = self.max_iter or (200 if problem.loss.convex else 1000)  # reweighting if not convex
        return newton(problem, "auto", self.tol, steps, None if start is None else (start.coefficients, start.free))


class NewtonCG(FitSolver):
    """Newton's method with conjugate gradients, for losses with several values per sample."""

    name: ClassVar[str] = "newton_cg"

    def suits(self, problem: FitProblem) -> bool:
        return problem.loss.smooth and problem.loss.convex and "hessian_product" in problem.loss.provides

    def _solve(self, problem: FitProblem, start: FitSolution | None) -> FitSolution:
        return newton_cg(problem, self.tol, self.max_iter or 100, start)


class LBFGS(FitSolver):
    """L-BFGS, for losses with a gradient but no Hessian."""

    name: ClassVar[str] = "lbfgs"

    def suits(self, problem: FitProblem) -> bool:
        return problem.loss.smooth and "gradient" in problem.loss.provides

    def _solve(self, problem: FitProblem, start: FitSolution | None) -> FitSolution:
        return lbfgs(problem, self.tol, self.max_iter or 2000, start)


class InteriorPoint(FitSolver):
    """A primal-dual interior-point method."""

    name: ClassVar[str] = "interior_point"

    def suits(self, problem: FitProblem) -> bool:
        return "box" in problem.loss.provides and problem.has_single_values and not problem.loss.quadratic

    def _solve(self, problem: FitProblem, start: FitSolution | None) -> FitSolution:
        return replace(ordered(problem, [problem.loss], self.tol, self.max_iter or 200)[0], method=self.name)


class ADMM(FitSolver):
    """The alternating direction method, for convex losses with a proximal map."""

    name: ClassVar[str] = "admm"

    def suits(self, problem: FitProblem) -> bool:
        return problem.loss.convex and problem.has_single_values and "prox" in problem.loss.provides

    def _solve(self, problem: FitProblem, start: FitSolution | None) -> FitSolution:
        return admm(problem, max(self.tol, 1e-7), self.max_iter or 20_000)


def _auto(solver: type[FitSolver]) -> Choice:
    return Choice(lambda problem: solver().suits(problem), solver)


TABLE = (
    _auto(Direct),
    Choice(lambda problem: WorkingSet().suits(problem) and not problem.loss.smooth, WorkingSet),
    *map(_auto, (Newton, NewtonCG, LBFGS, InteriorPoint, ADMM)),
)
NAMES = tuple(row.solver.name for row in TABLE)


def fit_solver(given: Any, problem: FitProblem, tol: float = 1e-8, max_iter: int | None = None) -> FitSolver:
    """Resolve a solver object, a name, or "auto" to a solver."""
    found: FitSolver | None = choose(given, problem, TABLE, FitSolver)
    if found is None:
        raise ValueError(f"no solver suits loss = {problem.loss}; implement its gradient or proximal map.")
    if isinstance(given, str):
        found.set_params(tol=tol, max_iter=max_iter)
        if given == "auto" and found.name == WorkingSet.name:
            found.set_params(patient=False)
    return found
