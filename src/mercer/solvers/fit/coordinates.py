r"""Fit problems in the coordinates of a factor K = ZZᵀ with orthogonal columns: f = Zu + Hc, ‖f‖² = uᵀu.

In these the penalty is round and K diagonal, which preconditions conjugate gradients and makes each step of ADMM cost
O(nr). For losses of several values per sample, for losses that couple samples, and for losses with corners.

Boyd, Parikh, Chu, Peleato, Eckstein, *Distributed optimization and statistical learning via ADMM* (2011), sections 3.4
and 6.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from ._base import FLAT, FitProblem, FitSolution, duality_gap, finish


class Coordinates:
    """Z with ZᵀZ = diag(values), of all directions of K that stand clear of rounding."""

    def __init__(self, problem: FitProblem):
        gram = problem.gram
        if "factor" in gram.provides:
            Z = np.asarray(gram.factor(), dtype=np.float64)
            values, Q = np.linalg.eigh(Z.T @ Z)
            keep = values > len(values) * np.finfo(float).eps * values.max(initial=0.0)
            self.Z, self.values = Z @ Q[:, keep], values[keep]
        else:
            values, V = np.linalg.eigh(np.asarray(gram.dense(), dtype=np.float64))
            keep = values > len(values) * np.finfo(float).eps * np.abs(values).max(initial=0.0)
            self.values = values[keep]
            self.Z = V[:, keep] * np.sqrt(self.values)
        # directions need no more digits than the data have, and a product of thin matrices costs as much as it reads
        self.coarse = self.Z if gram.dtype == np.float64 else self.Z.astype(np.float32)
        self.problem = problem
        self.H = np.zeros((gram.n, 0)) if problem.H is None else problem.H

    def coefficients(self, u: np.ndarray) -> np.ndarray:
        """a with Ka = Zu."""
        return self.Z @ (u / (self.values if u.ndim == 1 else self.values[:, None]))

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """u and c of a vector that holds both."""
        k = self.problem.shape[1:]
        r = len(self.values)
        X = x.reshape(r + self.H.shape[1], *k)
        return X[:r], X[r:]

    def join(self, u: np.ndarray, c: np.ndarray) -> np.ndarray:
        return np.concatenate([u, c]).ravel()

    def values_at(self, x: np.ndarray) -> np.ndarray:
        """f."""
        u, c = self.split(x)
        return self.Z @ u + self.H @ c

    def objective(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its gradient."""
        u, c = self.split(x)
        f, alpha = self.Z @ u + self.H @ c, self.problem.alpha
        s = self.problem.slope(f)
        gradient = self.join(self.Z.T @ s + alpha * u, self.H.T @ s)
        return self.problem.total(f) + 0.5 * alpha * float(np.sum(u * u)), gradient

    def start(self) -> np.ndarray:
        return np.zeros((len(self.values) + self.H.shape[1]) * int(np.prod(self.problem.shape[1:], dtype=int)))

    def finish(self, x: np.ndarray, *rest: Any) -> FitSolution:
        """At an optimum αa = −wℓ′, which small eigenvalues do not blur; the better of both is taken."""
        u, c = self.split(x)
        free = None if self.problem.H is None else c
        found = finish(self.problem, self.problem.projected(self.coefficients(u)), free, *rest)
        if "gradient" not in self.problem.loss.provides:
            return found
        a = self.problem.projected(-self.problem.slope(self.values_at(x)) / self.problem.alpha)
        other = finish(self.problem, a, free, *rest)
        return other if other.objective <= found.objective else found


def newton_cg(
    problem: FitProblem, tol: float = 1e-8, max_iter: int = 100, start: np.ndarray | None = None, monitor: Any = None
) -> FitSolution:
    """Newton's method with conjugate gradients, for losses that give the product with their Hessian."""
    at = Coordinates(problem)
    x = at.start() if start is None else start
    value, gradient = at.objective(x)
    first, floor = max(float(np.linalg.norm(gradient)), 1e-300), FLAT
    history: list[dict[str, float]] = []
    message = f"max_iter = {max_iter} steps were taken"
    for _ in range(max_iter):
        size = float(np.linalg.norm(gradient))
        history.append({"objective": value, "gradient": size})
        if size <= tol * first:
            message = ""
            break
        direction = -_conjugate_gradients(at, x, gradient, min(0.1, float(np.sqrt(size / first))), floor)
        slope, t = float(gradient @ direction), 1.0
        while True:
            found, there = at.objective(x + t * direction)
            if found <= value + 1e-4 * t * slope or t < 1e-3:
                break
            t /= 2
        if t < 1e-3:  # in this precision there is nothing left to gain, or the curvature here does not reach so far
            if size <= 1e-5 * first:
                message = ""
                break
            floor *= 100
            if floor < 1e6:
                continue
            message = "no step lowers the objective"
            break
        floor = max(FLAT, floor / 100)
        x, value, gradient = x + t * direction, found, there
        message = (monitor({"gap": size, "round": len(history)}) if monitor else None) or message
        if message and not message.startswith("max_iter"):
            break
    return at.finish(x, len(history), not message, "newton_cg", message, history)


def _conjugate_gradients(at: Coordinates, x: np.ndarray, b: np.ndarray, accuracy: float, floor: float) -> np.ndarray:
    """H⁻¹b for the Hessian at x, preconditioned by the mean curvature times K.

    `floor` times the slopes is added to the curvatures: where a loss is straight, it has none.
    """
    problem, f = at.problem, at.values_at(x)
    k = int(np.prod(problem.shape[1:], dtype=int))
    signs = np.where(np.random.default_rng(0).random(f.shape) < 0.5, -1.0, 1.0)
    least = floor * max(float(np.abs(problem.slope(f)).max()), 1e-300)
    mean = max(float(np.mean(signs * problem.curvature(f, signs))), 0.0) + least  # of the diagonal, in expectation
    scale = np.concatenate([mean * at.values + problem.alpha, mean * np.sum(at.H**2, axis=0)])
    precondition = np.repeat(1.0 / scale, k)

    def apply(v: np.ndarray) -> np.ndarray:
        u, c = at.split(v)
        V = at.coarse @ u.astype(at.coarse.dtype, copy=False) + at.H @ c
        s = problem.curvature(f, V) + least * V
        return at.join(at.coarse.T @ s.astype(at.coarse.dtype, copy=False) + problem.alpha * u, at.H.T @ s)

    out, r = np.zeros_like(b), b.copy()
    z = precondition * r
    p, rz, target = z.copy(), float(r @ z), accuracy * float(np.sqrt(b @ (precondition * b)))
    for _ in range(250):
        Ap = apply(p)
        curve = float(p @ Ap)
        if curve <= 0:  # a direction in which nothing changes, as a constant added to all classes
            break
        step = rz / curve
        out, r = out + step * p, r - step * Ap
        z = precondition * r
        rz, before = float(r @ z), rz
        if np.sqrt(max(rz, 0.0)) <= target:
            break
        p = z + (rz / before) * p
    return out if out.any() else precondition * b


def lbfgs(problem: FitProblem, tol: float = 1e-8, max_iter: int = 2000, start: np.ndarray | None = None) -> FitSolution:
    """L-BFGS, for losses of which only the gradient is known."""
    at = Coordinates(problem)
    scale = np.sqrt(1.0 / (np.concatenate([at.values, np.sum(at.H**2, axis=0)]) / problem.gram.n + problem.alpha))
    scale = np.repeat(scale, int(np.prod(problem.shape[1:], dtype=int)))

    def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = at.objective(scale * z)
        return value, scale * gradient

    x = at.start() if start is None else start / scale
    size = float(np.abs(objective(np.zeros_like(x))[1]).max())
    options = {
        "maxiter": max_iter,
        "maxfun": 20 * max_iter,
        "ftol": 1e-16,
        "gtol": tol * max(size, 1e-300),
        "maxcor": 30,
    }
    result = minimize(objective, x, jac=True, method="L-BFGS-B", options=options)
    small = float(np.abs(result.jac).max()) <= 1e3 * tol * max(size, 1e-300)
    message = "" if small else str(result.message)
    return at.finish(scale * result.x, int(result.nit), not message, "lbfgs", message)


def admm(problem: FitProblem, tol: float = 1e-6, max_iter: int = 20_000, monitor: Any = None) -> FitSolution:
    """The alternating direction method, for convex losses with a proximal map, until the duality gap is small.

    f = Zu + Hc is fitted to z by ridge regression, and z moves to where the loss wants it; ρ is adapted so that both
    residuals fall alike.
    """
    at, loss, alpha, w = Coordinates(problem), problem.loss, problem.alpha, problem.weight
    Z, H, values = at.Z, at.H, at.values
    ZH, HH = Z.T @ H, H.T @ H
    used = w > 0
    z = d = np.zeros(problem.gram.n)
    rho, best, history = 1.0, None, list[dict[str, float]]()
    message = f"max_iter = {max_iter} steps were taken"
    for k in range(max_iter):
        target = z - d
        inverse = 1.0 / (values + alpha / rho)
        Zt, Ht = Z.T @ target, H.T @ target
        c = np.linalg.solve(HH - ZH.T @ (inverse[:, None] * ZH), Ht - ZH.T @ (inverse * Zt)) if H.shape[1] else Ht
        u = inverse * (Zt - ZH @ c)
        f = Z @ u + H @ c
        mixed = 1.6 * f - 0.6 * z  # over-relaxed
        before, z = z, mixed + d
        z = np.where(used, loss.prox(problem.y, z, np.where(used, w, 1.0) / rho), z)
        d = d + mixed - z
        if k % 10 == 9:
            primal, dual = float(np.linalg.norm(f - z)), float(rho * np.linalg.norm(Z.T @ (z - before)))
            a = problem.projected(-rho * d / alpha)
            smooth = Z @ (Z.T @ a)
            objective = problem.total(smooth + H @ c) + 0.5 * alpha * float(a @ smooth)
            if best is None or objective < best[0]:
                best = objective, a, c
            gap = duality_gap(problem, a, objective)
            history.append({"objective": objective, "gap": np.nan if gap is None else gap, "rho": rho})
            if gap is not None and gap <= tol * max(abs(objective), 1e-300):
                message, best = "", (objective, a, c)
                break
            reason = monitor({"gap": gap, "round": k}) if monitor else None
            if reason:
                message = reason
                break
            ratio = primal / max(dual / alpha, 1e-300)
            if k % 50 == 49 and not 0.1 < ratio < 10 and k < max_iter // 2:
                factor = 2.0 if ratio > 1 else 0.5
                rho, d = rho * factor, d / factor
    assert best is not None
    _, a, c = best
    return finish(problem, a, None if problem.H is None else c, k + 1, not message, "admm", message, history)
