"""Linear machines with an ℓ₁ penalty on the weights: proximal Newton steps on a working set.

    minimise P = ‖w‖₁ + λ|b| + Σᵢ cᵢ max(0, 1 − yᵢfᵢ)²,     f = Xw + b.

Each step minimises the quadratic model of the losses plus the penalty itself, over the weights that are nonzero or
should be (Yuan, Ho, Lin, *An improved GLMNET for L1-regularized logistic regression*, 2012, algorithm 3; Lee, Sun,
Saunders, *Proximal Newton-type methods for minimizing composite functions*, 2014). The losses are piecewise quadratic,
so the last steps are exact.

With β = 2c·max(0, 1 − yf)·y scaled until |Xᵀβ| ≤ 1 and |Σβ| ≤ λ, D = pᵀβ − Σβ²/4c is a lower bound: the gap is P − D.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg, sparse

from ...context import Status, current
from ...types import Array
from ._coordinate_descent import BIG, descend_features
from ._lasso import lasso, lasso_columns, lasso_exactly, scaled_columns, walk
from ._newton_equations import Factored
from .dual_sets import Intervals
from .l1 import violation
from .linear_map import LinearMap
from .primal import DIRECT, FLOOR, NOTHING, ROUNDING, PrimalSolution

FRESH = 200  # minimum number of weights allowed to join the working set in a step
SWEEPS = 100  # of coordinate descent between two steps with fixed signs
ROUNDS = 100  # maximum number of both for a small model
WORK = 10**7  # maximum number of operations of coordinate descent in these rounds
COMPILED = 512  # number of weights in a model above which LAPACK is faster than compiled code
RIDGE = 1e-10  # relative to the diagonal, for linearly dependent features
FEW = 4  # mean number of samples with a feature of sparse X below which many features may have none
FULL = 1 << 23  # maximum number of entries of sparse X, not wide, that is made dense
WIDE = 1000  # number of features of sparse X above which coordinate descent comes first
PASSES, CHUNK = 1000, 20  # maximum number of its passes, and those between two looks at the clock
ACCURACY = 0.01  # of a step, relative to the violation before it


def minimise_l1(
    design: LinearMap,
    pieces: Intervals,
    tol: float,
    max_iter: int,
    *,
    report: Callable[[str], None] | None = None,
) -> PrimalSolution:
    """Minimise until the duality gap is at most tol²·P; the penalties of |w| and |b| are those of the design."""
    if sparse.issparse(design.X) and design.X.nnz < design.d * FEW:
        features, part = design.occurring
        if 0 < len(features) < design.d:
            found = minimise_l1(part, pieces, tol, max_iter, report=report)
            weights = np.zeros(design.d)
            weights[features] = found.weights
            return replace(found, weights=weights)
    penalty, aim = design.penalty, max(tol * tol, FLOOR)
    if sparse.issparse(design.X) and design.d <= WIDE and design.n * design.d <= FULL:
        design = LinearMap(design.X.toarray(), design.intercept, float(penalty[-1]))
    tall = not sparse.issparse(design.X) and design.d <= min(design.n, DIRECT)
    columns, whole = None if tall else design.columns, Factored(design, pieces) if tall else None
    V = _by_features(design, pieces, 10 * tol, max_iter)
    F = design.values(V)
    steps, idle, least, status, context = 0, 0, np.inf, Status.PRECISION, current()
    while True:
        beta, active = pieces.respond(F, 0.0, np.zeros(1))
        g = -design.moment(beta)
        objective = float(penalty @ np.abs(V)) + float(pieces.value(beta, F).sum())
        beta, gap = _bound(design, pieces, beta, g, V, objective)
        idle = 0 if gap < 0.5 * least else idle + 1
        least = min(least, gap)
        if report:
            report(f"step {steps}: objective {objective:.10g}, gap {gap:.2e}, {np.count_nonzero(V)} weights")
        S = _working(V, g, penalty)
        if gap <= aim * objective or not len(S):
            break
        early = Status.MAX_ITER if steps >= max_iter else context({"gap": gap, "round": steps})
        if early:
            status = early
            break
        if whole:
            v = _model_minimiser(2 * whole.follow(active)[np.ix_(S, S)], g[S], penalty[S], V[S])
        else:
            root = np.where(active, np.sqrt(2 * pieces.cost), 0.0)
            v = _product_minimiser(columns, root, S, g[S], penalty[S], V[S])
        goal = V.copy()
        goal[S] = v
        linear, moved = float(g[S] @ (v - V[S])), design.values(goal)
        promised = -linear - float(penalty[S] @ (np.abs(v) - np.abs(V[S])))
        t = _backtrack(pieces, penalty, V, F, goal - V, moved - F, objective, linear)
        if t == 0 or (idle > 10 and promised < NOTHING * objective):
            break
        if t == 1:
            V, F = goal, moved  # zeros are exact
        else:
            V = V + t * (goal - V)
            F = design.values(V)
        steps += 1
    b = V[-1] if design.intercept else np.zeros(())
    if gap <= (max(ROUNDING, aim) if status is Status.PRECISION else aim) * objective:
        status = Status.CONVERGED
    return PrimalSolution(V[: design.d], b, beta, objective, gap, status=status, n_iter=steps, method="l1")


def _by_features(design: LinearMap, pieces: Intervals, tol: float, most: int) -> np.ndarray:
    """The weights after coordinate descent, where X is sparse and wide; otherwise zeros."""
    v, context = np.zeros(len(design.penalty)), current()
    if not sparse.issparse(design.X) or design.d <= WIDE or not most:
        return v
    columns = design.columns
    parts = columns.indptr, columns.indices, columns.data
    state = v, np.ones(design.n), np.arange(len(v)), np.array([len(v), BIG, 0.0])
    for _ in range(0, PASSES, CHUNK):
        if context() or descend_features(parts, pieces.target, pieces.cost, design.penalty, state, tol, CHUNK):
            break
    return v


def _bound(
    design: LinearMap, pieces: Intervals, beta: Array, g: Array, V: Array, objective: float
) -> tuple[np.ndarray, float]:
    """The scaled β and its gap, or those of β balanced to Σβ = 0, which is better if the penalty on |b| is small."""
    d, found = design.d, []
    penalty = float(design.penalty[-1]) if design.intercept else 0.0
    for balanced in (False, True)[: 1 + design.intercept]:
        b = pieces.balance(beta) if balanced else beta
        M = np.abs(design.moment(b) if balanced else g)
        linear, square = float(pieces.target @ b), float(np.sum(b * b / (4 * pieces.cost)))
        reach, total = float(M[:d].max()), float(M[-1]) if design.intercept else 0.0
        reach = max(reach, total / penalty) if penalty else reach
        s = min(1 / reach if reach > 0 else 1.0, linear / (2 * square) if square > 0 else 1.0)
        free = 0.0 if penalty else s * total * (abs(float(V[-1])) + pieces.scale)
        found.append((max(objective - (s * linear - s * s * square), 0.0) + free, s * b))
        if penalty and total < reach * penalty:  # not scaled because of Σβ
            break
    gap, beta = min(found, key=lambda pair: pair[0])
    return beta, gap


def _working(V: np.ndarray, g: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Nonzero weights, and the worst of those that should be nonzero."""
    kept, excess = (V != 0) | (penalty == 0), np.abs(g) - penalty
    candidates = np.flatnonzero(kept | (excess > 0))
    most = int(np.count_nonzero(kept)) + max(FRESH, int(np.count_nonzero(V)))
    if len(candidates) > most:
        excess[kept] = np.inf
        candidates = np.sort(candidates[np.argpartition(-excess[candidates], most)[:most]])
    return candidates


def _product_minimiser(
    columns: Any, root: np.ndarray, S: np.ndarray, g: np.ndarray, penalty: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """`_model_minimiser` for H = YᵀY with Y the columns S times `root`; H is not formed if Y is sparser."""
    if not sparse.issparse(columns):
        active = root > 0
        Y = columns.T[S][:, active]
        Y *= root[active]
        return _model_minimiser(Y @ Y.T, g, penalty, start)
    indptr, indices, data = scaled_columns((columns.indptr, columns.indices, columns.data), root, S)
    if len(data) < len(S) ** 2:
        v, tol = start.copy(), ACCURACY * violation(g, start, penalty)
        lasso_columns((indptr, indices, data), g, penalty, v, np.zeros(len(root)), tol, SWEEPS)
        return v
    Y = sparse.csc_array((data, indices, indptr), shape=(len(root), len(S)))
    return _model_minimiser((Y.T @ Y).toarray(), g, penalty, start)


def _model_minimiser(H: np.ndarray, g: np.ndarray, penalty: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The v that minimises ½δᵀHδ + gᵀδ + Σ penalty·|v|, δ = v − start; exact if its signs are found quickly."""
    v, tol = start.copy(), ACCURACY * violation(g, start, penalty)
    H.flat[:: len(H) + 1] *= 1 + RIDGE
    rounds = min(ROUNDS, max(1, WORK // (SWEEPS * len(v) ** 2)))
    if len(v) <= COMPILED:
        lasso_exactly(H, g.copy(), penalty, v, tol, SWEEPS, rounds)
        return v
    with suppress(linalg.LinAlgError):
        for _ in range(rounds):
            lasso(H, g + H @ (v - start), penalty, v, tol, SWEEPS)
            now = g + H @ (v - start)
            used = np.flatnonzero(((v != 0) | (penalty == 0)) & (np.diagonal(H) > 0))
            factor = linalg.cholesky(H[np.ix_(used, used)], check_finite=False)
            move = linalg.cho_solve((factor, False), -(now + penalty * np.sign(v))[used], check_finite=False)
            walk(np.ascontiguousarray(factor), move, used, H, now, penalty, v)
            if violation(now, v, penalty) <= tol:
                break
    return v


def _backtrack(
    pieces: Intervals, penalty: Array, V: Array, F: Array, step: Array, D: Array, objective: float, linear: float
) -> float:
    """The first of 1, ½, ¼, … that lowers the objective by a fraction of the predicted decrease; 0 if none does."""
    t, before = 1.0, float(penalty @ np.abs(V))
    while t > 1e-12:
        moved = F + t * D
        after = float(penalty @ np.abs(V + t * step))
        now = after + float(pieces.value(pieces.attain(moved), moved).sum())
        promised = t * linear + after - before
        if now <= objective + 0.01 * promised + 1e-14 * objective:
            return t
        t *= 0.5
    return 0.0
