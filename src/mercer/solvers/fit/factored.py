"""Box-constrained problems whose matrix is ZZᵀ for a thin Z: the primal machine on the features Z.

The dual of `working_set` with K = ZZᵀ is the dual of a linear machine on Z, which `primal` solves in O(n) memory with
products by Z: each of the n rows of K would cost as much as a product with Z.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...context import Monitor, Status
from .dual_sets import Intervals
from .linear_map import LinearMap
from .primal import minimise as primal
from .working_set import BoxProblem, BoxSolution

__all__ = ["minimise", "suits"]

AT_BOUND = 1e-6  # relative to a bound: a β this near counts as at it
LOOSEST = 0.01  # tolerance in units of the targets, which Newton's method reaches in a few steps
STEPS = 1000  # maximum number of Newton steps


def suits(problem: BoxProblem) -> bool:
    """Whether the problem is the dual of a linear machine: no equality or Σβ = 0, and zero in every box."""
    start = problem.start is None or not problem.start.any()
    return start and problem.groups <= 1 and bool(np.all((problem.lower <= 0) & (problem.upper >= 0)))


def minimise(
    Z: np.ndarray, problem: BoxProblem, copies: int, tol: float, monitor: Monitor, max_iter: int = -1
) -> BoxSolution:
    """Solve on features Z of the samples; with two `copies`, the first has β ≥ 0 and the second β ≤ 0.

    `tol` is in units of f. With r = tol over the size of the targets, the relative duality gap is at most r², so that
    the machine differs from the best one by at most r times its size.
    """
    n = len(Z)
    linear, lower, upper = (part.reshape(copies, n) for part in (problem.linear, *problem.box))
    target, epsilon = linear.mean(axis=0), float(np.ptp(linear[:, 0])) / 2
    middle = float(np.median(target)) if copies == 2 and problem.groups else 0.0  # absorbed by the offset
    target = target - middle
    relative = min(tol / (float(np.mean(np.abs(target))) or 1.0), LOOSEST)
    low, high = lower.min(axis=0), upper.max(axis=0)
    cost = np.maximum(-low, high) if problem.ridge is None else 0.5 / problem.ridge[:n]
    moving = cost > 0 if problem.ridge is None else high > low
    pieces = Intervals(
        target[moving], cost[moving], (low < 0)[moving], (high > 0)[moving], epsilon, problem.ridge is not None
    )
    status = monitor({"round": 0, "beta": np.zeros(copies * n), "values": np.zeros(copies * n)})
    steps = 0 if status else STEPS if max_iter < 0 else max_iter
    found = primal(LinearMap(Z[moving], problem.groups == 1, 0.0), pieces, relative, steps)
    total = np.zeros(n)
    total[moving] = found.dual
    for bound in (low, high):
        total = np.where(np.abs(total - bound) <= AT_BOUND * np.abs(bound), bound, total)
    total[total == 0] = 0.0  # no negative zeros
    values = Z @ (Z.T @ total)
    beta: Any = np.concatenate([np.maximum(total, 0.0), np.minimum(total, 0.0)]) if copies == 2 else total
    ridge = np.zeros(copies * n) if problem.ridge is None else problem.ridge
    f = problem.linear - np.tile(values, copies) - ridge * beta
    grows, falls = beta < problem.upper, beta > problem.lower
    if not problem.groups:
        offset, top, bottom = 0.0, float(f[grows].max(initial=0.0)), float(f[falls].min(initial=0.0))
        gap = max(top, -bottom)
    else:
        top, bottom = float(f[grows].max(initial=-np.inf)), float(f[falls].min(initial=np.inf))
        offset, gap = float(found.intercept) + middle, max(top - bottom, 0.0)
        if not np.any(grows & falls) and np.isfinite(bottom - top):  # as in LIBSVM: the midpoint of all optima
            offset = top + 0.5 * (bottom - top)
    return BoxSolution(
        beta=beta,
        f=f,
        values=np.tile(values, copies),
        offsets=np.full(problem.groups, offset),
        objective=float(-0.5 * beta @ (f + problem.linear)),
        gap=gap,
        duality_gap=found.gap,
        inner_iter=found.n_iter,
        n_iter=found.n_iter,
        status=status if status and found.status is not Status.CONVERGED else found.status,
        history=[],
        method="primal",
    )
