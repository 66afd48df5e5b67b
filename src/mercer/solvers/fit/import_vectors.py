r"""The import vector machine: a fit problem solved on a few points of the sample, chosen one by one.

With points S and K_SS = LLᵀ, the functions in their span are f = Zu, ‖f‖ = ‖u‖, Z = K_{·S}L⁻ᵀ. A further point x_l adds
the coordinate z_l = e_l/√e_ll, where E = K − ZZᵀ is the residual of K: pivoted Cholesky, with pivots chosen by the
objective. With several values per sample there are as many coordinates for each point. From the solution on S, where
all other slopes are 0, one Newton step with x_l needs the slopes z_lᵀs and the curvature α + z_lᵀWz_l minus the part
explained by the others, for all l at once.

Zhu, Hastie, *Kernel logistic regression and the import vector machine* (2005).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import null_space, orth, solve_triangular

from ... import _threads
from ...context import Status, current
from ._base import FitProblem, FitSolution, finish

SPANNED = 1e-10  # relative to the largest diagonal entry: residual below which a point is spanned by the others
SPOILT = 0.01  # relative to alpha: residual above which a point dropped due to rounding could still change the fit
ROOM = 1 << 22  # values of f at a time when candidates are evaluated
FLAT = 1e-12  # floor relative to the largest curvature, for free functions that separate the classes on their own


def import_vectors(
    problem: FitProblem, epsilon: float, lag: int, most: int, tol: float, max_iter: int
) -> tuple[np.ndarray, FitSolution, np.ndarray]:
    """The points in the order chosen, the solution on them, and the objective before and after each.

    Ends when `lag` points have lowered the objective by at most a fraction `epsilon`, or there are `most` points.
    """
    E = np.array(problem.gram.dense(), dtype=np.float64)
    floor = SPANNED * float(np.diagonal(E).max())
    on = _Reduced(problem)
    steps, converged = on.minimise(tol, max_iter)
    chosen, path, status, context = list[int](), [on.value], Status.CONVERGED, current()
    while len(chosen) < most:
        free = (np.diagonal(E) > floor) & (problem.weight > 0)
        free[chosen] = False
        if not free.any():
            left = np.delete(np.where(problem.weight > 0, np.diagonal(E), 0.0), chosen)
            status = Status.PRECISION if left.max(initial=0.0) > SPOILT * problem.alpha else status
            break
        candidates = np.flatnonzero(free)
        best = int(candidates[np.argmin(on.trials(E, candidates))])
        z = E[:, best] / np.sqrt(E[best, best])
        E -= np.outer(z, z)
        on.add(z)
        chosen.append(best)
        more, converged = on.minimise(tol, max_iter)
        steps += more
        path.append(on.value)
        if len(chosen) >= lag and path[-1 - lag] - on.value <= max(epsilon * on.value, 1e-12 * on.first):
            break
        if reason := context({"gap": path[-2] - on.value, "round": len(chosen)}):
            status = reason
            break
    points = np.array(chosen, dtype=np.int64)
    a = np.zeros(problem.shape)
    a[points], c = on.coefficients(points)
    status = status if converged else Status.MAX_ITER
    solution = finish(problem, a, c, status, steps, "import_vectors", [{"objective": value} for value in path])
    return points, solution, np.array(path)


class _Reduced:
    """The problem in coordinates x of shape (q + p, m), first u and then the free part b: f = ((Z − QQᵀZ)u + Qb)Cᵀ."""

    # The columns of C are orthonormal. With several values of f they are orthogonal to 1, since adding a constant to
    # all changes only the penalty; the columns of Q span the free functions. The part of Z in this span only moves b,
    # and if large would hide the rest: with a linear kernel far from 0, all functions are nearly constant.

    def __init__(self, problem: FitProblem):
        self.problem, (n, *k) = problem, problem.shape
        H = np.zeros((n, 0)) if problem.H is None else problem.H
        self.scale = np.maximum(np.linalg.norm(H, axis=0), 1e-300)  # large powers must not hide the constant
        self.Z, self.A = np.zeros((n, 0)), orth(H / self.scale) if H.size else H  # A = [Z − QQᵀZ, Q]
        self.C = null_space(np.ones((1, k[0]))) if k else np.ones((1, 1))
        self.q, self.x = 0, np.zeros((self.A.shape[1], self.C.shape[1]))
        self.value = self.first = self.objective(self.x)

    @property
    def ridge(self) -> np.ndarray:
        """α for penalised coordinates, 0 for the others."""
        return np.where(np.arange(len(self.x)) < self.q, self.problem.alpha, 0.0)

    def values(self, G: np.ndarray) -> np.ndarray:
        """Rows of G, with m values each, in the shape used by the loss."""
        F = G @ self.C.T
        return F if len(self.problem.shape) > 1 else F[:, 0]

    def coefficients(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """a for the points from which Z was built, and c."""
        u, b, H = self.values(self.x[: self.q]), self.values(self.x[self.q :]), self.problem.H
        a = solve_triangular(self.Z[points].T, u)
        if H is None:
            return a, None
        free = self.A[:, self.q :] @ b - (self.Z - self.A[:, : self.q]) @ u
        c = np.linalg.lstsq(H / self.scale, free, rcond=None)[0]
        return a, (c.T / self.scale).T

    def add(self, z: np.ndarray) -> None:
        """Add a column to Z, with coordinates 0."""
        self.x = np.insert(self.x, self.q, 0.0, axis=0)
        self.A = np.insert(self.A, self.q, self.off(z), axis=1)
        self.Z = np.column_stack([self.Z, z])
        self.q += 1

    def off(self, Z: np.ndarray) -> np.ndarray:
        """Z − QQᵀZ, applied twice for accuracy."""
        Q = self.A[:, self.q :]
        for _ in range(2):
            Z = Z - Q @ (Q.T @ Z)
        return Z

    def objective(self, x: np.ndarray) -> float:
        return self.problem.total(self.values(self.A @ x)) + 0.5 * float(self.ridge @ np.sum(x**2, axis=1))

    def derivatives(self) -> tuple[np.ndarray, np.ndarray]:
        """The slopes with respect to the m values of each sample, and the curvatures, of shape (n, m, m)."""
        p, C, k = self.problem, self.C, len(self.C)
        f = self.values(self.A @ self.x)
        W = np.asarray(p.loss.hessian(p.y, f, p.weight)).reshape(-1, k, k)
        return p.slope(f).reshape(-1, k) @ C, C.T @ W @ C

    def products(self, W: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Σᵢ Aᵢ Wᵢ Bᵢ of shape (q + p, m, columns of B, m)."""
        A, m = self.A, W.shape[1]
        out = np.empty((A.shape[1], m, B.shape[1], m))
        for i in range(m):
            for j in range(i + 1):
                out[:, i, :, j] = out[:, j, :, i] = (W[:, i, j, None] * A).T @ B
        return out

    def hessian(self, W: np.ndarray) -> np.ndarray:
        size = self.x.size
        B = self.products(W, self.A).reshape(size, size)
        ridge = np.repeat(self.ridge, W.shape[1])
        return B + np.diag(ridge + FLAT * np.diagonal(B).max(initial=0.0))

    def minimise(self, tol: float, max_iter: int) -> tuple[int, bool]:
        """Newton's method for x; return the number of steps, and whether the decrement became small."""
        for k in range(max_iter):
            s, W = self.derivatives()
            gradient = self.A.T @ s + self.ridge[:, None] * self.x
            step = -np.linalg.solve(self.hessian(W), gradient.ravel()).reshape(gradient.shape)
            slope, t = float(np.sum(gradient * step)), 1.0
            if -slope <= tol * tol * self.first:
                return k, True
            while (found := self.objective(self.x + t * step)) > self.value + 1e-4 * t * slope:
                t /= 2
                if t < 1e-10:  # no further gain in this precision
                    return k, -slope <= tol * self.first
            self.x, self.value = self.x + t * step, found
        return max_iter, False

    def trials(self, E: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """The objective after one Newton step with each candidate."""
        s, W = self.derivatives()
        inverse = np.linalg.inv(self.hessian(W))
        room = max(1, ROOM // int(np.prod(self.problem.shape)))
        parts = [
            self._trial(self.off(E[:, some] / np.sqrt(np.diagonal(E)[some])), s, W, inverse)
            for some in (candidates[rows] for rows in _threads.slices(len(candidates), room))
        ]
        return np.concatenate(parts)

    def _trial(self, Z: np.ndarray, s: np.ndarray, W: np.ndarray, inverse: np.ndarray) -> np.ndarray:
        """The objective after one Newton step with each new coordinate, the columns of Z."""
        p, m, t = self.problem, W.shape[1], Z.shape[1]
        U = self.products(W, Z).reshape(self.x.size, t * m)
        V = (inverse @ U).reshape(-1, t, m)
        own = (Z**2).T @ W.reshape(-1, m * m)
        curvature = own.reshape(t, m, m) - np.einsum("ctj,cti->tji", U.reshape(V.shape), V) + p.alpha * np.eye(m)
        step = -np.linalg.solve(curvature, (Z.T @ s)[:, :, None])[:, :, 0]
        moves = -np.einsum("ctj,tj->ct", V, step).reshape(*self.x.shape, t)
        x = self.x[:, :, None] + moves
        G = np.einsum("iq,qjt->itj", self.A, x, optimize=True) + Z[:, :, None] * step
        losses = np.asarray(p.loss.value(np.repeat(p.y, t), self.values(G.reshape(-1, m)))).reshape(-1, t)
        penalty = np.einsum("q,qjt->t", self.ridge, x**2) + p.alpha * np.sum(step**2, axis=1)
        return p.weight @ losses + 0.5 * penalty
