r"""The import vector machine: a fit problem solved on few points of the sample, which are chosen one by one.

With points S and K_SS = LLᵀ the functions of their span are f = Zu, ‖f‖ = ‖u‖, Z = K_{·S}L⁻ᵀ. A further point x_l adds
the coordinate z_l = e_l/√e_ll, where E = K − ZZᵀ is what the span leaves of K: pivoted Cholesky, with the pivots chosen
by the objective. From the solution on S one Newton step with x_l has, in that coordinate, the slope g = z_lᵀs and the
curvature α + z_lᵀWz_l less what the others explain of it, for all l at once.

Zhu, Hastie, *Kernel logistic regression and the import vector machine* (2005), section 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from ._base import FitProblem, FitSolution, finish

SPANNED = 1e-10  # of the largest diagonal entry: what is left of a point that the others span


def import_vectors(
    problem: FitProblem, epsilon: float, lag: int, most: int, tol: float, max_iter: int, monitor: Any = None
) -> tuple[np.ndarray, FitSolution, np.ndarray]:
    """The points in the order of their choice, the solution on them, and the objective before and after each.

    Ends when `lag` points have lowered the objective by no more than its share `epsilon`, or there are `most`.
    """
    K = np.asarray(problem.gram.dense(), dtype=np.float64)
    n, H = problem.gram.n, np.zeros((problem.gram.n, 0)) if problem.H is None else problem.H
    E, Z = K.copy(), np.zeros((n, 0))
    floor = SPANNED * float(np.diagonal(K).max())
    chosen: list[int] = []
    x, objective, steps, converged = _newton(problem, Z, H, np.zeros(H.shape[1]), tol, max_iter)
    path, message = [objective], ""
    while len(chosen) < most:
        free = np.diagonal(E) > floor
        free[chosen] = False
        if not free.any():
            break
        candidates = np.flatnonzero(free)
        best = int(candidates[np.argmin(_trial(problem, E, Z, H, x, candidates))])
        z = E[:, best] / np.sqrt(E[best, best])
        E -= np.outer(z, z)
        Z = np.column_stack([Z, z])
        chosen.append(best)
        x = np.insert(x, len(chosen) - 1, 0.0)
        x, objective, more, converged = _newton(problem, Z, H, x, tol, max_iter)
        steps += more
        path.append(objective)
        if len(chosen) >= lag and path[-1 - lag] - objective <= max(epsilon, 1e-12) * abs(objective):
            break
        message = (monitor({"gap": path[-2] - objective, "round": len(chosen)}) if monitor else None) or ""
        if message:
            break
    points = np.array(chosen)
    a, q = np.zeros(n), len(chosen)
    a[points] = solve_triangular(Z[points].T, x[:q])
    if not converged:
        message = f"max_iter = {max_iter} steps were taken on {q} points"
    history = [{"objective": value} for value in path]
    free_coefficients = None if problem.H is None else x[q:]
    solution = finish(problem, a, free_coefficients, steps, not message, "import_vectors", message, history)
    return points, solution, np.array(path)


def _trial(
    problem: FitProblem, E: np.ndarray, Z: np.ndarray, H: np.ndarray, x: np.ndarray, candidates: np.ndarray
) -> np.ndarray:
    """The objective after one Newton step with each candidate."""
    q, alpha, w = Z.shape[1], problem.alpha, problem.weight
    A, f = np.hstack([Z, H]), np.hstack([Z, H]) @ x
    s = problem.slope(f)
    h = np.asarray(problem.loss.hessian(problem.y, f, w))
    ridge = alpha * (np.arange(A.shape[1]) < q)
    C = E[:, candidates] / np.sqrt(np.diagonal(E)[candidates])
    hA = h[:, None] * A
    U = hA.T @ C
    slopes = A.T @ s + ridge * x
    own = C.T @ s
    curvature = alpha + np.sum(h[:, None] * C**2, axis=0)
    if A.shape[1]:
        factor = cho_factor(hA.T @ A + np.diag(ridge))
        V = cho_solve(factor, U)
        base = cho_solve(factor, slopes)
    else:
        V, base = U, slopes
    t = -(own - U.T @ base) / (curvature - np.sum(U * V, axis=0))
    moves = -base[:, None] - V * t  # of the coordinates that there are
    F = f[:, None] + A @ moves + C * t
    penalty = np.sum((x[:q, None] + moves[:q]) ** 2, axis=0) + t**2
    values = np.asarray(problem.loss.value(problem.y[:, None], F))
    return w @ values + 0.5 * alpha * penalty


def _newton(
    problem: FitProblem, Z: np.ndarray, H: np.ndarray, x: np.ndarray, tol: float, max_iter: int
) -> tuple[np.ndarray, float, int, bool]:
    """The minimiser in the coordinates of Z and H, its objective, steps, and whether the decrement became small."""
    q, alpha, A = Z.shape[1], problem.alpha, np.hstack([Z, H])
    ridge = alpha * (np.arange(A.shape[1]) < q)

    def objective(x: np.ndarray) -> float:
        return problem.total(A @ x) + 0.5 * float(ridge @ x**2)

    value = objective(x)
    if not len(x):
        return x, value, 0, True
    for k in range(max_iter):
        f = A @ x
        gradient = A.T @ problem.slope(f) + ridge * x
        h = np.asarray(problem.loss.hessian(problem.y, f, problem.weight))
        step = -cho_solve(cho_factor(A.T @ (h[:, None] * A) + np.diag(ridge)), gradient)
        slope, t = float(gradient @ step), 1.0
        if -slope <= tol * tol * max(abs(value), 1e-300):
            return x, value, k, True
        while (found := objective(x + t * step)) > value + 1e-4 * t * slope:
            t /= 2
            if t < 1e-10:  # in this precision there is nothing left to gain
                return x, value, k, -slope <= tol * abs(value)
        x, value = x + t * step, found
    return x, value, max_iter, False
