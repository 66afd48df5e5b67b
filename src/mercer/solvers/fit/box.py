r"""Fit problems with a box-constrained dual, by the working-set solver: exact even if the loss has kinks.

Losses with a `box` are maxima of finitely many lines or parabolas in f: with bounds w/α, their coefficients a are sums
of box-constrained variables β. Without a free part, or with only a constant, there is at most one equality.
"""

from __future__ import annotations

import numpy as np

from ..._threads import one_blas_thread
from ._base import FitProblem, FitSolution, finish
from .boxes import Device, Held, Samples, WorkingSet, box_solver
from .working_set import LARGEST, BoxProblem


def box(problem: FitProblem, tol: float = 1e-6, max_iter: int = -1) -> FitSolution:
    """Solve until max{f : β can increase} − min{f : β can decrease} ≤ tol, in units of f."""
    gram, constant = problem.gram, problem.H is not None
    parts = problem.loss.box(problem.y, problem.weight / problem.alpha)
    linear, lower, upper = (np.concatenate([part[k] for part in parts]) for k in range(3))
    ridges = [part[3] for part in parts]
    ridge = None if ridges[0] is None else np.concatenate(ridges)
    group = np.zeros(len(linear), dtype=np.int64) if constant else None
    dual = BoxProblem(linear, lower, upper, group, ridge=ridge)
    samples = Samples(gram.native, copies=len(parts))
    # the tolerance is that of a fit, not of a classifier: up to the size of a cache the matrix pays for any kernel
    name = Held.name if len(linear) <= LARGEST else WorkingSet.name
    name = Device.name if "remote" in gram.provides else name
    with one_blas_thread:
        solver = box_solver(name, samples, tol, max_iter)
        solution = solver.run(lambda: solver.solve(dual))
    a = solution.beta.reshape(len(parts), -1).sum(axis=0)
    c = solution.offsets[:1] if constant else None
    history = [{name: h[name] for name in ("objective", "gap", "violators")} for h in solution.history]
    return finish(problem, a, c, solution.status, solution.n_iter, "working_set", history)
