r"""Fit problems whose dual is a box, through the working-set solver: exact, also where the loss has corners.

Losses with a `box` are maxima of finitely many lines or parabolas in f: with bounds w/α their coefficients a are
sums of variables β between bounds; without a free part, or with a constant alone, there is one equality at most.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ... import _threads
from ..._threads import Workers
from ...context import Monitor, Status
from ._base import FitProblem, FitSolution, finish
from ._rows import Block, Segment
from .working_set import SINGLE, BoxProblem, BoxSolution, minimise


def box(problem: FitProblem, tol: float = 1e-6, max_iter: int = -1, monitor: Monitor | None = None) -> FitSolution:
    """Solve to max{f : β can grow} − min{f : β can fall} ≤ tol, in units of f."""
    gram, constant = problem.gram, problem.H is not None
    parts = problem.loss.box(problem.y, problem.weight / problem.alpha)
    linear, lower, upper = (np.concatenate([part[k] for part in parts]) for k in range(3))
    ridges = [part[3] for part in parts]
    ridge = None if ridges[0] is None else np.concatenate(ridges)
    group = np.zeros(len(linear), dtype=np.int64) if constant else None
    dual = BoxProblem(linear, lower, upper, group, ridge=ridge)
    count = _threads.n_threads()
    solution: BoxSolution
    with _threads.one_blas_thread, ThreadPoolExecutor(count) as pool:
        workers = Workers(pool, count)
        for dtype in (np.float32, np.float64) if tol >= SINGLE else (np.float64,):
            segment = Segment(gram.evaluator, dtype)
            block = Block(segment, segment, segment.n, dtype)
            grid = [[block] * len(parts) for _ in parts]
            solution = minimise([segment] * len(parts), grid, dual, tol, workers, max_iter, monitor)
            if solution.status is not Status.PRECISION:
                break
            dual.start = solution.beta
    a = solution.beta.reshape(len(parts), -1).sum(axis=0)
    c = solution.offsets[:1] if constant else None
    history = [{name: h[name] for name in ("objective", "gap", "violators")} for h in solution.history]
    return finish(problem, a, c, solution.status, solution.n_iter, "working_set", history)
