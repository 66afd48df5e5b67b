r"""The finite fit problem given by the representer theorem, and its solution.

.. math:: \min_{a,\, c}\; \sum_i w_i\, \ell(y_i, f_i) + \tfrac{\alpha}{2} a^\top K a,
          \qquad f = K a + H c, \quad H^\top a = 0

The accuracy of a solution is measured by the norm of its gradient, ‖Σ (wᵢℓ′ᵢ + αaᵢ) k(·, xᵢ)‖ and Hᵀwℓ′, and for
convex losses by the duality gap: with u = −αa/w the dual value −Σ wᵢ ℓ*(yᵢ, uᵢ) − (α/2) aᵀKa is a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...context import Status
from ...gram import Gram
from ...losses import Loss
from ..linear._base import free_factor
from ..solution import Certificate, Solution

FLAT = 1e-7  # floor relative to the largest curvature; where a loss is linear it gives αa = −wℓ′, as it should


@dataclass
class FitProblem:
    """Kernel matrix, loss, targets, weights, regularisation parameter, and values of the free functions."""

    gram: Gram
    loss: Loss
    y: Any
    alpha: float
    weight: np.ndarray
    H: np.ndarray | None = None
    shared: dict[str, Any] = field(default_factory=dict, repr=False)  # by problems that differ only in alpha or loss

    def __post_init__(self) -> None:
        if self.H is not None:
            free_factor(self.H[self.weight > 0])  # raises if the samples do not determine the coefficients

    @property
    def operator(self) -> Gram:
        """K."""
        return self.gram

    @property
    def has_constant_alone(self) -> bool:
        """Whether the only free function is a constant."""
        return self.H is None or (self.H.shape[1] == 1 and bool(np.all(self.H[0] == self.H)))

    @property
    def has_single_values(self) -> bool:
        """Whether the loss of each sample depends on a single value of f there, and on no other sample."""
        return len(self.shape) == 1 and not self.loss.coupled

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of f: one value per sample, or several."""
        return (self.gram.n, *self.loss.outputs(self.y))

    @property
    def spread(self) -> float:
        """The range of the targets with positive weight, the unit of f in regression."""
        y = np.asarray(self.y)[self.weight > 0]
        return float(np.ptp(y) or np.abs(y).max()) or 1.0

    def total(self, f: np.ndarray) -> float:
        """Σ wᵢ ℓ(yᵢ, fᵢ)."""
        return float(self.loss.total(self.y, f, self.weight))

    def slope(self, f: np.ndarray) -> np.ndarray:
        """The gradient of `total` in f."""
        return np.asarray(self.loss.gradient(self.y, f, self.weight))

    def curvature(self, f: np.ndarray, V: np.ndarray) -> np.ndarray:
        """The Hessian of `total` at f, times V."""
        return np.asarray(self.loss.hessian_product(self.y, f, V, self.weight))

    def projected(self, a: np.ndarray) -> np.ndarray:
        """The nearest coefficients with Hᵀa = 0."""
        if self.H is None:
            return a
        H = self.H / np.maximum(np.linalg.norm(self.H, axis=0), 1e-300)  # large powers would hide a constant
        return a - H @ np.linalg.lstsq(H, a, rcond=None)[0]

    def answer(self, f: np.ndarray) -> np.ndarray:
        """The optimal coefficients −wℓ′(f)/α, moved to Hᵀa = 0 along the curvature.

        This keeps them within the domain of the conjugate: near its boundary, the curvature is small.
        """
        s = self.slope(f)
        if self.H is None or "hessian_product" not in self.loss.provides:
            return self.projected(-s / self.alpha)
        k, p = int(np.prod(f.shape[1:], dtype=int)), self.H.shape[1]
        V = np.einsum("np,kj->nkpj", self.H, np.eye(k)).reshape(*f.shape, p * k)  # each free function in each output
        CV = self.curvature(f, V).reshape(-1, k, p * k)
        M = np.einsum("np,nkq->pkq", self.H, CV).reshape(p * k, p * k)
        shift = np.linalg.lstsq(M, (self.H.T @ s).ravel(), rcond=None)[0]
        return self.projected(-(s - (CV @ shift).reshape(f.shape)) / self.alpha)

    def free_part(self, c: np.ndarray | None) -> Any:
        """Hc."""
        return 0.0 if self.H is None or c is None else self.H @ c


@dataclass(frozen=True)
class FitSolution(Solution):
    """Coefficients, values at the samples, and their accuracy."""

    coefficients: np.ndarray
    free: np.ndarray | None
    values: np.ndarray
    objective: float
    gradient_norm: float  # in the space and in the free part, relative to f = 0; nan if the loss has kinks
    gap: float | None  # objective minus dual value, if the loss has a conjugate with a in its domain
    history: list[dict[str, float]] = field(default_factory=list)

    @property
    def certificate(self) -> Certificate | None:
        if self.gap is not None:
            return Certificate("duality gap", self.gap)
        return None if np.isnan(self.gradient_norm) else Certificate("gradient norm", self.gradient_norm)


def finish(
    problem: FitProblem,
    a: np.ndarray,
    c: np.ndarray | None,
    status: Status,
    n_iter: int,
    method: str,
    history: list[dict[str, float]] | None = None,
) -> FitSolution:
    """The solution with these coefficients, whose accuracy is computed from them."""
    K = problem.gram
    smooth = np.asarray(K @ a)
    f = smooth + problem.free_part(c)
    squared_norm = float(np.sum(a * smooth))
    objective = problem.total(f) + 0.5 * problem.alpha * max(squared_norm, 0.0)
    gradient, points = np.nan, [a]
    if "gradient" in problem.loss.provides and problem.loss.smooth:
        gradient = gradient_norm(problem, a, f)
        points.append(problem.answer(f))
    gaps = [gap for gap in (duality_gap(problem, p, objective) for p in points) if gap is not None]
    gap = min(gaps) if gaps else None
    how: dict[str, Any] = {"status": status, "n_iter": n_iter, "method": method}
    return FitSolution(a, c, f, objective, gradient, gap, history or [], **how)


def duality_gap(problem: FitProblem, a: np.ndarray, objective: float) -> float | None:
    """The objective minus the dual value at the nearest feasible a, or at a multiple that is feasible despite rounding.

    None for losses without a conjugate. With a free part it is exact up to Hᵀa, which is zero up to rounding.
    """
    loss, w, alpha = problem.loss, problem.weight, problem.alpha
    if "conjugate" not in loss.provides:
        return None
    a = feasible(problem, a)
    used = w > 0
    u = -alpha * a[used] / (w[used] if a.ndim == 1 else w[used][:, None])
    squared_norm = float(np.sum(a * np.asarray(problem.gram @ a)))
    best = np.inf
    for t in (1.0, 1 - 1e-10, 1 - 1e-7):
        star = np.asarray(loss.conjugate(problem.y[used], t * u))
        best = min(best, objective + float(w[used] @ star) + 0.5 * alpha * t * t * squared_norm)
    return best if np.isfinite(best) else None


def feasible(problem: FitProblem, a: np.ndarray) -> np.ndarray:
    """The nearest coefficients within the bounds of the dual with Hᵀa = 0; a itself if there are no bounds.

    They are clip(a − Hλ), and Newton's method solves the piecewise linear, monotone equation Hᵀ clip(a − Hλ) = 0 for λ.
    """
    loss, H = problem.loss, problem.H
    if "box" not in loss.provides or a.ndim > 1:
        return a
    parts = loss.box(problem.y, problem.weight / problem.alpha)
    lower, upper = sum(part.lower for part in parts), sum(part.upper for part in parts)
    inside = np.clip(a, lower, upper)
    if H is None:
        return inside
    shift, rounding = np.zeros(H.shape[1]), 1e-14 * np.abs(H).max() * np.abs(a).sum()
    for _ in range(50):
        residual = H.T @ inside
        if np.abs(residual).max() <= rounding:
            return inside
        loose = H[(inside > lower) & (inside < upper)]
        shift += np.linalg.lstsq(loose.T @ loose, residual, rcond=None)[0]
        inside = np.clip(a - H @ shift, lower, upper)
    return a


def gradient_norm(problem: FitProblem, a: np.ndarray, f: np.ndarray) -> float:
    """The larger of the norms of the gradient in f and in the free part, relative to the slopes at f = 0."""

    def norm(r: np.ndarray) -> float:
        r = problem.projected(r)
        return float(np.sqrt(max(float(np.sum(r * np.asarray(problem.gram @ r))), 0.0)))

    here, start = problem.slope(f), problem.slope(0.0 * f)
    size = float(np.linalg.norm(start)) or 1.0
    free = float(np.linalg.norm(here - problem.projected(here))) / size
    # as for orthogonal samples; if a free part explains the start, the norm itself would only be rounding
    apart = size * float(np.sqrt(np.abs(np.asarray(problem.gram.diagonal())).max(initial=0.0))) or 1.0
    return max(norm(here + problem.alpha * a) / max(norm(start), apart), free)
