r"""Fit problems in coordinates: f = Zu + Hb with ‖f‖² = uᵀu, where ZZᵀ = PKP, ZᵀZ is diagonal, and P projects off H.

The coefficients have Hᵀa = 0, so that aᵀKa = aᵀPKPa, and Ka − PKPa lies in the span of H and is absorbed by b: this
also covers kernels that are only conditionally definite. In these coordinates the penalty is spherical, K diagonal and
the free part separate, which preconditions conjugate gradients and makes a step of ADMM cost O(nr). Used for losses
with several values per sample, losses that couple samples, and losses with kinks.

Boyd, Parikh, Chu, Peleato, Eckstein, *Distributed optimization and statistical learning via the alternating direction
method of multipliers* (2011). Dembo, Eisenstat, Steihaug, *Inexact Newton methods* (1982).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import orth
from scipy.optimize import minimize

from ..._array import host, like, namespace
from ...context import Status, current
from ...gram import Gram
from ...gram.low_rank import LowRankGram
from ...gram.remote import Thin
from ..linear.conjugate_gradient import truncated
from ._base import FLAT, FitProblem, FitSolution, duality_gap, finish


class Eigenbasis:
    """Z with ZᵀZ = diag(values), from the directions of PKP above rounding, and H with unit columns."""

    def __init__(self, problem: FitProblem):
        H = np.zeros((problem.gram.n, 0)) if problem.H is None else problem.H
        self.scale = np.maximum(np.linalg.norm(H, axis=0), 1e-300)  # large powers must not hide the constant
        self.H = H / self.scale
        self.problem = problem if problem.H is None else replace(problem, H=self.H)
        if not problem.shared:
            problem.shared.update(zip(("Z", "values", "coarse"), _directions(problem.gram, self.H), strict=True))
        self.Z, self.values, self.coarse = (problem.shared[name] for name in ("Z", "values", "coarse"))
        self.design = self.Z.beside(self.H) if self.H.size else self.Z

    def coefficients(self, u: np.ndarray) -> np.ndarray:
        """a with PKa = Zu and Hᵀa = 0."""
        return self.problem.projected(self.Z @ (u / (self.values if u.ndim == 1 else self.values[:, None])))

    def free(self, a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
        """c for the problem's own free functions, with Ka + Hc = PKa + Hb."""
        if self.problem.H is None:
            return None
        c = b - np.linalg.lstsq(self.H, np.asarray(self.problem.gram @ a), rcond=None)[0]
        return (c.T / self.scale).T

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split a vector into u and b."""
        r = len(self.values)
        X = x.reshape(r + self.H.shape[1], *self.problem.shape[1:])
        return X[:r], X[r:]

    def join(self, u: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.concatenate([u, b]).ravel()

    def values_at(self, x: np.ndarray) -> np.ndarray:
        """f."""
        u, b = self.split(x)
        return self.Z @ u + self.H @ b

    def objective(self, x: np.ndarray, f: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """The objective and its gradient, from f if it is known."""
        f = self.values_at(x) if f is None else f
        (u, _), alpha, s = self.split(x), self.problem.alpha, self.problem.slope(f)
        gradient = self.join(self.Z.T @ s + alpha * u, self.H.T @ s)
        return self.problem.total(f) + 0.5 * alpha * float(np.sum(u * u)), gradient

    def start(self, near: FitSolution | None) -> np.ndarray:
        """The coordinates of a solution, or of 0."""
        if near is None:
            return np.zeros((len(self.values) + self.H.shape[1]) * int(np.prod(self.problem.shape[1:], dtype=int)))
        return self.join(self.Z.T @ near.coefficients, np.linalg.lstsq(self.H, near.values, rcond=None)[0])

    def finish(self, x: np.ndarray, *rest: Any) -> FitSolution:
        """The solution from u, or from αa = −wℓ′, which is accurate despite small eigenvalues; the better is taken."""
        (u, b), problem, f = self.split(x), self.problem, self.values_at(x)
        a = self.coefficients(u)
        if "gradient" in problem.loss.provides:
            other = problem.answer(f)
            v = self.Z.T @ other
            change = problem.total(self.Z @ v + self.H @ b) - problem.total(f)
            if change + 0.5 * problem.alpha * float(np.sum(v * v) - np.sum(u * u)) <= 0:
                a = other
        # assessed with PKP, which equals K where Hᵀa = 0, and is available in double precision
        projected = LowRankGram(problem.gram.kernel, problem.gram.X, None, 0.0, self.Z.A)
        problem = replace(problem, gram=problem.gram.beside(projected))
        return replace(finish(problem, a, b, *rest), free=self.free(a, b))


def _directions(gram: Gram, H: np.ndarray) -> tuple[Thin, np.ndarray, Thin]:
    """Z, the diagonal of ZᵀZ, and Z in the precision of the data."""
    factored, K = "factor" in gram.provides, gram.native
    M = K.factor() if factored else K.dense()
    xp = namespace(M)
    M = xp.astype(M, xp.float64, copy=False)
    size = 0.0 if factored else float(xp.max(xp.abs(M)))
    if H.size:
        Q = like(orth(H), M)
        M = M - Q @ (Q.T @ M)
        M = M if factored else M - (M @ Q) @ Q.T
    values, V = xp.linalg.eigh(M.T @ M if factored else M)
    numbers = host(values)
    least = len(numbers) * np.finfo(float).eps * max(float(np.abs(numbers).max(initial=0.0)), size)
    first = int(np.sum(numbers <= least))
    V, roots = V[:, first:], xp.sqrt(values[first:])
    Z = (V.T @ M.T).T if factored else V * roots[None, :]
    Z = np.asfortranarray(Z) if isinstance(Z, np.ndarray) else Z
    # contiguous columns, in single precision if sufficient: thin products are limited by memory bandwidth
    return Thin(Z), numbers[first:], Thin(Z if gram.dtype == np.float64 else xp.astype(Z, xp.float32))


def newton_cg(
    problem: FitProblem,
    tol: float = 1e-8,
    max_iter: int = 100,
    near: FitSolution | None = None,
) -> FitSolution:
    """Newton's method with conjugate gradients, for losses that provide products with their Hessian."""
    at = Eigenbasis(problem)
    x = at.start(near)
    f = at.values_at(x)
    value, gradient = at.objective(x, f)
    first = max(float(np.linalg.norm(gradient if near is None else at.objective(at.start(None))[1])), 1e-300)
    floor = FLAT
    history: list[dict[str, float]] = []
    status, context = Status.MAX_ITER, current()
    for _ in range(max_iter):
        size = float(np.linalg.norm(gradient))
        history.append({"objective": value, "gradient": size})
        if size <= tol * first:
            status = Status.CONVERGED
            break
        direction = -_newton_direction(at, f, gradient, min(0.25, float(np.sqrt(size / first))), floor)
        slope, t = float(gradient @ direction), 1.0
        while True:
            ahead = at.values_at(x + t * direction)
            found, there = at.objective(x + t * direction, ahead)
            if found <= value + 1e-4 * t * slope or t < 1e-3:
                break
            t /= 2
        if t < 1e-3:  # no further gain in this precision, or the quadratic model fails here
            if size <= 1e-5 * first:
                status = Status.CONVERGED
                break
            floor *= 100
            if floor < 1e6:
                continue
            status = Status.NO_DESCENT
            break
        floor = max(FLAT, floor / 100)
        x, f, value, gradient = x + t * direction, ahead, found, there
        if reason := context({"gap": size, "round": len(history)}):
            status = reason
            break
    return at.finish(x, status, len(history), "newton_cg", history)


def _newton_direction(at: Eigenbasis, f: np.ndarray, b: np.ndarray, accuracy: float, floor: float) -> np.ndarray:
    """H⁻¹b for the Hessian at f by conjugate gradients, preconditioned by the mean curvature times K."""
    # `floor` times the slopes is added to the curvatures, which are zero where a loss is linear
    problem = at.problem
    k = int(np.prod(problem.shape[1:], dtype=int))
    signs = np.where(np.random.default_rng(0).random(f.shape) < 0.5, -1.0, 1.0)
    least = floor * max(float(np.abs(problem.slope(f)).max()), 1e-300)
    mean = max(float(np.mean(signs * problem.curvature(f, signs))), 0.0) + least  # of the diagonal, in expectation
    scale = np.repeat(np.concatenate([mean * at.values + problem.alpha, mean * np.sum(at.H**2, axis=0)]), k)

    def product(v: np.ndarray) -> np.ndarray:
        u, b = at.split(v)
        V = at.coarse @ u + at.H @ b
        s = problem.curvature(f, V) + least * V
        return at.join(at.coarse.T @ s + problem.alpha * u, at.H.T @ s)

    found = truncated(product, b, scale, accuracy, 250)
    return found if found.any() else b / scale  # the first direction already has no curvature


def lbfgs(
    problem: FitProblem,
    tol: float = 1e-8,
    max_iter: int = 2000,
    near: FitSolution | None = None,
) -> FitSolution:
    """L-BFGS, for losses with a gradient but no Hessian."""
    at = Eigenbasis(problem)
    scale = np.sqrt(1.0 / (np.concatenate([at.values, np.sum(at.H**2, axis=0)]) / problem.gram.n + problem.alpha))
    scale = np.repeat(scale, int(np.prod(problem.shape[1:], dtype=int)))
    rounds, early, asked = 0, Status.MAX_ITER, current()

    def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = at.objective(scale * z)
        return value, scale * gradient

    def ended(intermediate_result: Any) -> None:
        nonlocal rounds, early
        rounds += 1
        if reason := asked({"objective": intermediate_result.fun, "round": rounds}):
            early = reason
            raise StopIteration

    x = at.start(near) / scale
    size = max(float(np.abs(objective(np.zeros_like(x))[1]).max()), 1e-300)
    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": 1e-16, "gtol": tol * size, "maxcor": 30}
    result = minimize(objective, x, jac=True, method="L-BFGS-B", options=options, callback=ended)
    small = float(np.abs(result.jac).max()) <= 1e3 * tol * size
    if early is Status.MAX_ITER and result.status == 2:
        early = Status.NO_DESCENT
    return at.finish(scale * result.x, Status.CONVERGED if small else early, int(result.nit), "lbfgs")


def admm(problem: FitProblem, tol: float = 1e-6, max_iter: int = 20_000) -> FitSolution:
    """The alternating direction method, for convex losses with a proximal map, until the duality gap is small.

    f = Zu + Hb is fitted to z by ridge regression, and z is updated by the proximal map of the loss; ρ is adapted to
    balance both residuals.
    """
    at, loss, alpha, w = Eigenbasis(problem), problem.loss, problem.alpha, problem.weight
    Z, H, values = at.Z, at.H, at.values
    onto = np.linalg.pinv(H)
    used = w > 0
    z = d = np.zeros(problem.gram.n)
    rho, best, history = 1.0, None, list[dict[str, float]]()
    status, context = Status.MAX_ITER, current()
    for k in range(max_iter):
        target = z - d
        u, b = (Z.T @ target) / (values + alpha / rho), onto @ target
        f = Z @ u + H @ b
        mixed = 1.6 * f - 0.6 * z  # over-relaxed
        before, z = z, mixed + d
        z = np.where(used, loss.prox(problem.y, z, np.where(used, w, 1.0) / rho), z)
        d = d + mixed - z
        if k % 10 == 9 or k == max_iter - 1:
            primal, dual = float(np.linalg.norm(f - z)), float(rho * np.linalg.norm(Z.T @ (z - before)))
            a = at.problem.projected(-rho * d / alpha)
            smooth = Z @ (Z.T @ a)
            objective = problem.total(smooth + H @ b) + 0.5 * alpha * float(a @ smooth)
            if best is None or objective < best[0]:
                best = objective, a, b
            gap = duality_gap(problem, a, objective)
            history.append({"objective": objective, "gap": np.nan if gap is None else gap, "rho": rho})
            if gap is None:  # rounding may keep a outside the domain: then stop by the residuals
                still = max(primal / _size(z), dual / (alpha * _size(Z.T @ a))) <= tol
            else:
                still = gap <= tol * max(abs(objective), 1e-300)
            if still:
                status, best = Status.CONVERGED, (objective, a, b)
                break
            if reason := context({"gap": gap, "round": k}):
                status = reason
                break
            ratio = primal / max(dual / alpha, 1e-300)
            if k % 50 == 49 and not 0.1 < ratio < 10 and k < max_iter // 2:
                factor = 2.0 if ratio > 1 else 0.5
                rho, d = rho * factor, d / factor
    assert best is not None
    _, a, b = best
    return finish(problem, a, at.free(a, b), status, k + 1, "admm", history)


def _size(v: np.ndarray) -> float:
    return float(np.linalg.norm(v)) or 1.0
