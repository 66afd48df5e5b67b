r"""Minimisation over matrices with orthonormal columns, and derivatives of low-rank kernel matrices of projections.

The tangent space at B (BᵀB = I) consists of the D with BᵀD antisymmetric; G − B sym(BᵀG) is the projection of G onto
it, and the polar factor of B + D maps back to the manifold. The method is limited-memory quasi-Newton, with pairs
transported by projection. Every step lowers the objective.

Absil, Mahony, Sepulchre, *Optimization Algorithms on Matrix Manifolds* (2008); Nocedal, Wright, *Numerical
Optimization* (2006) for the two-loop recursion.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg

from .._array import host, like, namespace, row_products, solve_triangular
from .._errors import where
from .._random import random_frame
from ..context import Status, current
from ..domains import take
from ..gram import IncompleteCholesky
from ..kernels import Kernel
from .solution import Solution

__all__ = ["Frame", "ProjectedFactor", "minimise", "random_frame", "require_smooth"]

MEMORY = 10  # pairs of the quasi-Newton method
ARMIJO = 1e-4  # fraction of the decrease predicted by the slope that a step must achieve
HALVINGS = 25
SPREAD = 128  # number of points on a line among which pivots are searched first
ROUNDING = 1e-13  # relative rounding error of the objective
SLACK = 10.0  # factor by which pivots kept from nearby points may be worse than new ones


@dataclass(frozen=True)
class Frame(Solution):
    """Result of `minimise`: B, the objective there and after each step, and why it ended.

    It converged if the slope is small. If it is not, and yet no step lowers the objective, B is at a kink or jump.
    """

    measure = ("gradient norm", "slope")
    B: np.ndarray
    value: float
    slope: float
    history: list[float] = field(default_factory=list)


def minimise(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    *,
    tol: float = 1e-6,
    max_iter: int = 200,
    progress: float = 0.0,
) -> Frame:
    """A local minimum of a function of matrices with orthonormal columns.

    Parameters
    ----------
    objective : callable
        Maps B of shape (p, d) to its value and the matrix of partial derivatives.
    start : array of shape (p, d), with orthonormal columns
    tol : float >= 0
        Stop when the norm of the tangent gradient is at most this.
    max_iter : int >= 1
        Maximum number of steps.
    progress : float >= 0
        Stop, with status "no descent", when ten steps lower the objective by less than this fraction of it.

    Notes
    -----
    A step usually costs one evaluation, plus O(pd(d + 40)).

    Examples
    --------
    The eigenvectors of the two smallest eigenvalues span the minimum of tr(BᵀAB):

    >>> A = np.diag([3.0, 1.0, 2.0, 5.0])
    >>> start = random_frame(4, 2, np.random.default_rng(0))
    >>> found = minimise(lambda B: (np.trace(B.T @ A @ B), 2 * A @ B), start)
    >>> round(found.value, 9), found.converged
    (3.0, True)
    """
    B = _polar(start)
    value, G = objective(B)
    slope, history = _tangent(B, G), [float(value)]
    pairs: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=MEMORY)
    context = current()
    while True:
        size = float(np.linalg.norm(slope))
        status = Status.CONVERGED if size <= tol else context({"gap": size, "round": len(history)})
        if not status and len(history) > max_iter:
            status = Status.MAX_ITER
        if not status and len(history) > 10 and history[-11] - history[-1] < progress * abs(history[-1]):
            status = Status.NO_DESCENT
        if status:
            break
        step = _quasi_newton(slope, pairs)
        if np.sum(step * slope) >= -1e-10 * size * float(np.linalg.norm(step)):
            pairs.clear()
            step = -slope
        if not pairs:  # a rotation by 0.1 radian is neither lost in rounding nor too far
            step = step * min(1.0, 0.1 / size)
        promise = float(np.sum(step * slope))
        if pairs and -promise <= ROUNDING * abs(history[-1]):
            status = Status.CONVERGED  # a step would gain no more than rounding
            break
        found = _search(objective, B, history[-1], step, promise)
        if found is None and pairs:
            pairs.clear()
            continue
        if found is None:
            status = Status.NO_DESCENT
            break
        new, t, value, G = found
        moved = _tangent(new, t * step)
        new_slope = _tangent(new, G)
        pairs = deque(((_tangent(new, s), _tangent(new, y)) for s, y in pairs), maxlen=MEMORY)
        change = new_slope - _tangent(new, slope)
        if np.sum(moved * change) > 1e-10 * np.linalg.norm(moved) * np.linalg.norm(change):
            pairs.append((moved, change))
        B, slope = new, new_slope
        history.append(value)
    return Frame(B, history[-1], size, history, status=status, n_iter=len(history) - 1, method="orthogonal")


def _tangent(B: np.ndarray, G: np.ndarray) -> np.ndarray:
    """The projection of G onto the tangent space at B."""
    M = B.T @ G
    return G - B @ ((M + M.T) / 2)


def _polar(A: np.ndarray) -> np.ndarray:
    """The nearest matrix with orthonormal columns."""
    U, _, V = linalg.svd(A, full_matrices=False)
    return np.asarray(U @ V)


def _quasi_newton(slope: np.ndarray, pairs: deque[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """−Hg by the two-loop recursion over the pairs (step, change of gradient)."""
    q, weights = -slope, []
    for s, y in reversed(pairs):
        weights.append(np.sum(s * q) / np.sum(s * y))
        q = q - weights[-1] * y
    if pairs:
        s, y = pairs[-1]
        q = q * (np.sum(s * y) / np.sum(y * y))
    for (s, y), a in zip(pairs, reversed(weights), strict=True):
        q = q + s * (a - np.sum(y * q) / np.sum(s * y))
    return q


def _search(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]],
    B: np.ndarray,
    value: float,
    step: np.ndarray,
    slope: float,
) -> tuple[np.ndarray, float, float, np.ndarray] | None:
    """Backtracking line search with parabolic interpolation, until the objective decreases enough."""
    t = 1.0
    for _ in range(HALVINGS):
        new = _polar(B + t * step)
        trial, G = objective(new)
        if trial < value + ARMIJO * t * slope:
            return new, t, float(trial), G
        bend = trial - value - t * slope
        t *= float(np.clip(-slope * t / (2 * bend), 0.1, 0.5)) if np.isfinite(bend) and bend > 0 else 0.1
    return None


def require_smooth(owner: object, kernel: Kernel, Y: np.ndarray) -> None:
    """Raise if the kernel has no derivatives, which give the directions, or no factor on the samples."""
    if "gradient_x" not in kernel.provides:
        raise ValueError(
            f"{where(owner)}: kernel = {kernel} has no derivatives, which the search for directions needs; use a "
            "smooth one, such as 'gaussian'."
        )
    kernel.require_pd(Y.shape[1], owner)
    if not np.any(host(kernel.evaluate_diag(Y))):
        raise ValueError(f"{where(owner)}: kernel = {kernel} is zero on all samples; choose another.")


class ProjectedFactor:
    r"""The centred incomplete Cholesky factor Z of a kernel matrix, with derivatives with respect to the points.

    With the pivot rows C of Y, :math:`\hat K = k(Y, C) k(C, C)^{-1} k(C, Y) = GG^\top`, and Z is G minus its column
    means. The derivative treats the pivots as fixed, and is exact for the approximation.

    Parameters
    ----------
    kernel : Kernel
        Positive definite on vectors, with `gradient_x`.
    Y : array of shape (n, d)
        Its library and device are those of the large arrays; small matrices and B are on the host.
    tol : float >= 0
        As in `IncompleteCholesky`: the largest residual of a diagonal entry, relative to the largest entry.
    pivots : array of indices, optional
        Pivots for nearby points. They are kept while the residuals are at most ten times `tol` and they are well apart,
        so that the approximation changes smoothly along a search, at the cost of one block of the matrix.

    Attributes
    ----------
    Z : array of shape (n, r)
    pivots : array of shape (r,)
    """

    def __init__(self, kernel: Kernel, Y: Any, tol: float, pivots: np.ndarray | None = None):
        self.kernel, self.Y = kernel, Y
        G = None if pivots is None else self._on(pivots, tol)
        if G is None and Y.shape[1] == 1:
            pivots = self._spread(tol)
            G = self._on(pivots, tol)
        if G is None:
            gram: Any = IncompleteCholesky(tol=tol).build(kernel, Y)
            G, pivots = gram.factor(), gram.pivots
        self.G, self.pivots = G, pivots
        self.Z = G - namespace(G).mean(G, axis=0)

    def _spread(self, tol: float) -> np.ndarray:
        """Pivots among points spread evenly over the line: as good as among all points, and far cheaper."""
        y = host(self.Y[:, 0])
        order = np.argsort(y)
        places = np.searchsorted(y[order], np.linspace(y[order[0]], y[order[-1]], SPREAD))
        some = order[np.unique(places)]
        K = host(self.kernel.evaluate(take(self.Y, some)))
        _, pivots, rank, _ = linalg.lapack.dpstrf(K, tol=tol * np.diag(K).max(), lower=True)
        return np.asarray(some[pivots[:rank] - 1])

    def _on(self, pivots: np.ndarray, tol: float) -> Any:
        """G for given pivots, or None if they are no longer good enough."""
        columns, diagonal = self.kernel.evaluate(self.Y, take(self.Y, pivots)), self.kernel.evaluate_diag(self.Y)
        L, failed = linalg.lapack.dpotrf(host(take(columns, pivots)), lower=True)
        largest = float(diagonal.max())
        if failed or np.min(np.diag(L)) ** 2 <= tol / SLACK * largest:
            return None
        G = solve_triangular(like(L, columns), columns.T).T
        return G if float((diagonal - row_products(G, G)).max()) <= SLACK * tol * largest else None

    def gradient(self, dZ: Any) -> Any:
        r"""∂F/∂Y, of shape (n, d), from ∂F/∂Z for a function F that depends on Z only through ZZᵀ.

        With S = ∂F/∂K̂, A = k(Y, C) and M = k(C, C): dF = 2⟨SAM⁻¹, dA⟩ − ⟨M⁻¹AᵀSAM⁻¹, dM⟩, where AM⁻¹ = GL⁻¹ for the
        pivot rows L of G, and 2SZ = ∂F/∂Z.
        """
        xp, slope, C = namespace(dZ), self.kernel.gradient_x, take(self.Y, self.pivots)
        L = xp.tril(take(self.G, self.pivots))
        T = solve_triangular(L, (dZ - xp.mean(dZ, axis=0)).T, transpose=True).T  # 2SAM⁻¹
        V = solve_triangular(L, self.G.T @ T, transpose=True)
        result = xp.einsum("ir,ird->id", T, slope(self.Y, C))
        result[self.pivots] += xp.einsum("ir,rid->rd", T, slope(C, self.Y)) - xp.einsum("rs,rsd->rd", V, slope(C, C))
        return result
