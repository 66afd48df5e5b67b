r"""Fit problems with a box-constrained dual, by the working-set solver: exact even if the loss has kinks.

Losses with a `box` are maxima of finitely many lines or parabolas in f: with bounds w/α, their coefficients a are sums
of box-constrained variables β. Without a free part, or with only a constant, there is at most one equality.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ... import _threads
from ..._threads import Workers
from ...context import Status
from ...gram import Gram
from . import held
from ._base import FitProblem, FitSolution, finish
from ._rows import Block, Segment
from .working_set import LARGEST, SINGLE, BoxProblem, BoxSolution, minimise


def box(problem: FitProblem, tol: float = 1e-6, max_iter: int = -1) -> FitSolution:
    """Solve until max{f : β can increase} − min{f : β can decrease} ≤ tol, in units of f."""
    gram, constant = problem.gram, problem.H is not None
    parts = problem.loss.box(problem.y, problem.weight / problem.alpha)
    linear, lower, upper = (np.concatenate([part[k] for part in parts]) for k in range(3))
    ridges = [part[3] for part in parts]
    ridge = None if ridges[0] is None else np.concatenate(ridges)
    group = np.zeros(len(linear), dtype=np.int64) if constant else None
    dual = BoxProblem(linear, lower, upper, group, ridge=ridge)
    with _threads.one_blas_thread:
        solve = _on_matrix if len(linear) <= LARGEST else _on_rows
        solution = solve(gram, dual, len(parts), tol, max_iter)
    a = solution.beta.reshape(len(parts), -1).sum(axis=0)
    c = solution.offsets[:1] if constant else None
    history = [{name: h[name] for name in ("objective", "gap", "violators")} for h in solution.history]
    return finish(problem, a, c, solution.status, solution.n_iter, "working_set", history)


def _on_matrix(gram: Gram, dual: BoxProblem, copies: int, tol: float, max_iter: int) -> BoxSolution:
    """The solution on the whole matrix, in double precision."""
    K = np.ascontiguousarray(gram.evaluator.cast(np.float64).quick(None), dtype=np.float64)
    index = np.tile(np.arange(len(K)), copies)
    return held.minimise(K, index, np.array([0, len(index)]), dual, tol, max_iter, n_jobs=None)[0]


def _on_rows(gram: Gram, dual: BoxProblem, copies: int, tol: float, max_iter: int) -> BoxSolution:
    """The solution on rows, in double precision if single does not suffice."""
    count = _threads.n_threads()
    with ThreadPoolExecutor(count) as pool:
        workers = Workers(pool, count)
        for dtype in (np.float32, np.float64) if tol >= SINGLE else (np.float64,):
            segment = Segment(gram.evaluator, dtype)
            block = Block(segment, segment, segment.n, dtype)
            grid = [[block] * copies for _ in range(copies)]
            solution = minimise([segment] * copies, grid, dual, tol, workers, max_iter)
            if solution.status is not Status.PRECISION:
                break
            dual.start = solution.beta
    return solution
