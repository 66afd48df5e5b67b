r"""Sparse expansions, by an ℓ₁ penalty on the coefficients.

.. math:: \min_{a,\, c}\; \sum_i w_i\, \ell(y_i, (Ka + Hc)_i) + \alpha \sum_i |a_i|

The penalty is not a norm of the function, so the representer theorem does not apply. A solution is optimal if |Kᵀs| ≤ α
for the slopes s = wℓ′, with equality and opposite sign for nonzero coefficients.

The solver is Newton's method with a lasso in each step: passes of coordinate descent find the nonzero coefficients,
which are then solved for jointly, as far as their signs permit, since kernel matrices are too nearly singular for
passes alone.

Lee, Sun, Saunders, *Proximal Newton-type methods for minimizing composite functions* (2014); Lee, Battle, Raina, Ng,
*Efficient sparse coding algorithms* (2007), for the step with fixed signs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...context import Status, current
from ._base import FLAT, FitProblem, FitSolution
from ._lasso import lasso

Solve = Callable[[np.ndarray, np.ndarray], np.ndarray]
PASSES = 20  # of coordinate descent between two steps with fixed signs
ROUNDS = 100  # of both in one Newton step


def l1(problem: FitProblem, tol: float = 1e-6, max_iter: int = 200) -> FitSolution:
    """Solve until the conditions hold to tol, relative to the largest gradient entry at f = 0."""
    K = np.asarray(problem.gram.dense(), dtype=np.float64)
    n = problem.gram.n
    B = K if problem.H is None else np.hstack([K, problem.H])
    penalty = np.where(np.arange(B.shape[1]) < n, problem.alpha, 0.0)
    x, f = np.zeros(B.shape[1]), np.zeros(n)
    size = max(float(np.abs(B.T @ problem.slope(f)).max()), 1e-300)
    status, value, context = Status.MAX_ITER, problem.total(f), current()
    for k in range(max_iter + 1):
        g = B.T @ problem.slope(f)
        away = violation(g, x, penalty) / size
        if away <= tol or k == max_iter:
            status = status if away > tol else Status.CONVERGED
            break
        if reason := context({"gap": away, "round": k}):
            status = reason
            break
        d = _lasso(_curvature(problem, f, B), g, penalty, x, 0.1 * tol * size) - x
        df, t = B @ d, 1.0
        expected = float(g @ d) + float(penalty @ (np.abs(x + d) - np.abs(x)))
        while t > 1e-8:
            found = problem.total(f + t * df) + float(penalty @ np.abs(x + t * d))
            if found <= value + 1e-4 * t * expected:
                break
            t /= 2
        else:
            status = Status.NO_DESCENT
            break
        x, f, value = x + t * d, f + t * df, found
    free = None if problem.H is None else x[n:]
    return FitSolution(x[:n], free, f, value, away, None, status=status, n_iter=k, method="l1")


def _curvature(problem: FitProblem, f: np.ndarray, B: np.ndarray) -> np.ndarray:
    """BᵀhB, by differences of slopes if samples are coupled or only slopes are available."""
    if "hessian" in problem.loss.provides and not problem.loss.coupled:
        h = np.asarray(problem.loss.hessian(problem.y, f, problem.weight))
        return B.T @ (np.maximum(h, FLAT * max(float(h.max()), 1e-300))[:, None] * B)
    step = 1e-5 * (1 + float(np.abs(f).max())) / max(float(np.abs(B).max()), 1e-300)
    S = B.T @ np.stack([problem.slope(f + step * b) - problem.slope(f - step * b) for b in B.T], axis=1) / (2 * step)
    return 0.5 * (S + S.T) + FLAT * max(float(np.diagonal(S).max()), 1e-300) * np.eye(len(S))


def violation(g: np.ndarray, x: np.ndarray, penalty: np.ndarray) -> float:
    """The violation of the optimality conditions at x with gradient g."""
    away = np.where(x == 0, np.maximum(np.abs(g) - penalty, 0.0), np.abs(g + penalty * np.sign(x)))
    return float(away.max(initial=0.0))


def _lasso(S: np.ndarray, g: np.ndarray, penalty: np.ndarray, x: np.ndarray, small: float) -> np.ndarray:
    """The minimiser v of ½(v − x)ᵀS(v − x) + gᵀ(v − x) + Σ penalty·|v|, to a violation ≤ small."""
    v, start = x.copy(), g
    for _ in range(ROUNDS):
        g = start + S @ (v - x)
        lasso(S, g, penalty, v, small, PASSES)
        if violation(start + S @ (v - x), v, penalty) <= small:
            break
        along_signs(S, start + S @ (v - x), penalty, v, lambda A, b: np.linalg.lstsq(A, b, rcond=1e-15)[0])
    return v


def along_signs(S: np.ndarray, g: np.ndarray, penalty: np.ndarray, v: np.ndarray, solve: Solve) -> None:
    """Move v to the minimum of ½δᵀSδ + gᵀδ + Σ penalty·|v + δ| with fixed signs. If an entry would change sign, stop
    there, drop it, and repeat. `solve` solves linear systems.
    """
    used = np.flatnonzero(((v != 0) | (penalty == 0)) & (np.diagonal(S) > 0))
    while len(used):
        step = -solve(S[np.ix_(used, used)], (g + penalty * np.sign(v))[used])
        falls = (penalty[used] > 0) & (np.sign(v[used]) * (v[used] + step) < 0)
        ratios = np.where(falls, -v[used] / np.where(falls, step, 1.0), np.inf)
        first = int(ratios.argmin())
        t = min(1.0, float(ratios[first]))
        v[used] += t * step
        g = g + S[:, used] @ (t * step)
        if not falls.any():
            return
        v[used[first]] = 0.0
        used = np.delete(used, first)
