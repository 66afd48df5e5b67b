r"""Sparse expansions: a penalty on the coefficients themselves.

.. math:: \min_{a,\, c}\; \sum_i w_i\, \ell(y_i, (Ka + Hc)_i) + \alpha \sum_i |a_i|

It is no norm of the function, so that the representer theorem does not give it; it is optimal when |Kᵀs| ≤ α for the
slopes s = wℓ′, with equality and the opposite sign where a coefficient is not zero.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from ._base import FitProblem, FitSolution


def l1(problem: FitProblem, tol: float = 1e-6, max_iter: int = 20_000) -> FitSolution:
    """Positive and negative parts as variables ≥ 0, by L-BFGS with bounds."""
    K = np.asarray(problem.gram.dense(), dtype=np.float64)
    n, alpha = problem.gram.n, problem.alpha
    H = np.zeros((n, 0)) if problem.H is None else problem.H
    scale = 1.0 / np.maximum(np.linalg.norm(K, axis=0), 1e-300)

    def parts(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return scale * (x[:n] - x[n : 2 * n]), x[2 * n :]

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        a, c = parts(x)
        f = K @ a + H @ c
        s = problem.slope(f)
        g = scale * (K @ s)
        value = problem.total(f) + alpha * float(scale @ (x[:n] + x[n : 2 * n]))
        return value, np.concatenate([g + alpha * scale, alpha * scale - g, H.T @ s])

    bounds = [(0.0, None)] * (2 * n) + [(None, None)] * H.shape[1]
    x = np.zeros(2 * n + H.shape[1])
    size = float(np.abs(objective(x)[1]).max())
    options = {"maxiter": max_iter, "maxfun": 5 * max_iter, "ftol": 1e-16, "gtol": 0.1 * tol * size, "maxcor": 30}
    result = minimize(objective, x, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    a, c = parts(result.x)
    f = K @ a + H @ c
    pull = K @ problem.slope(f)
    violation = np.where(a == 0, np.maximum(np.abs(pull) - alpha, 0.0), np.abs(pull + alpha * np.sign(a)))
    violation = float(np.max(violation)) / max(float(np.abs(K @ problem.slope(0.0 * f)).max()), 1e-300)
    message = "" if violation <= tol else f"the optimality conditions are violated by {violation:.1g}"
    free = None if problem.H is None else c
    value = float(result.fun)
    return FitSolution(a, free, f, value, violation, None, int(result.nit), not message, "l1", message)
