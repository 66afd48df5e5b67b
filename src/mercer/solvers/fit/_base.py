r"""The fit problem that the representer theorem makes finite, and what every solution of it reports.

.. math:: \min_{a,\, c}\; \sum_i w_i\, \ell(y_i, f_i) + \tfrac{\alpha}{2} a^\top K a,
          \qquad f = K a + H c, \quad H^\top a = 0

A solution is good by the norm of its gradient in the space, ‖Σ (wᵢℓ′ᵢ + αaᵢ) k(·, xᵢ)‖, and for convex losses by the
duality gap: with u = −αa/w the dual value is −Σ wᵢ ℓ*(yᵢ, uᵢ) − (α/2) aᵀKa, which no value of the problem is below.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...gram import Gram
from ...losses import Loss

FLAT = 1e-7  # of the largest curvature: a floor, which where a loss is linear gives αa = −wℓ′ as it should


@dataclass
class FitProblem:
    """Kernel matrix, loss, targets, weights, the strength of the penalty, and the values of the free functions."""

    gram: Gram
    loss: Loss
    y: Any
    alpha: float
    weight: np.ndarray
    H: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Of f: one value per sample, or several."""
        return (self.gram.n, *self.loss.outputs(self.y))

    def total(self, f: np.ndarray) -> float:
        """Σ wᵢ ℓ(yᵢ, fᵢ)."""
        return float(self.loss.total(self.y, f, self.weight))

    def slope(self, f: np.ndarray) -> np.ndarray:
        """Its gradient in f."""
        return np.asarray(self.loss.gradient(self.y, f, self.weight))

    def curvature(self, f: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Its Hessian at f, times V."""
        return np.asarray(self.loss.hessian_product(self.y, f, V, self.weight))

    def projected(self, a: np.ndarray) -> np.ndarray:
        """The nearest coefficients with Hᵀa = 0."""
        return a if self.H is None else a - self.H @ np.linalg.lstsq(self.H, a, rcond=None)[0]

    def free_part(self, c: np.ndarray | None) -> Any:
        """Hc."""
        return 0.0 if self.H is None or c is None else self.H @ c


@dataclass(frozen=True)
class FitSolution:
    """Coefficients, values at the samples, and how good they are."""

    coefficients: np.ndarray
    free: np.ndarray | None
    values: np.ndarray
    objective: float
    gradient_norm: float  # in the space, relative to that of f = 0
    gap: float | None  # between this objective and the dual value, where the loss has a conjugate, and a its domain
    n_iter: int
    converged: bool
    method: str
    message: str = ""
    history: list[dict[str, float]] = field(default_factory=list)


def finish(
    problem: FitProblem,
    a: np.ndarray,
    c: np.ndarray | None,
    n_iter: int,
    converged: bool,
    method: str,
    message: str = "",
    history: list[dict[str, float]] | None = None,
) -> FitSolution:
    """The solution of these coefficients, judged anew from them."""
    K = problem.gram
    smooth = np.asarray(K @ a)
    f = smooth + problem.free_part(c)
    squared_norm = float(np.sum(a * smooth))
    objective = problem.total(f) + 0.5 * problem.alpha * max(squared_norm, 0.0)
    gradient = np.nan
    if "gradient" in problem.loss.provides:
        gradient = _norm(K, problem.slope(f) + problem.alpha * a) / (_norm(K, problem.slope(0.0 * f)) or 1.0)
    points = [a]
    if "gradient" in problem.loss.provides and problem.loss.smooth:
        points.append(problem.projected(-problem.slope(f) / problem.alpha))
    gaps = [gap for gap in (duality_gap(problem, p, objective) for p in points) if gap is not None]
    gap = min(gaps) if gaps else None
    return FitSolution(a, c, f, objective, gradient, gap, n_iter, converged, method, message, history or [])


def duality_gap(problem: FitProblem, a: np.ndarray, objective: float) -> float | None:
    """The objective minus the dual value at a, or at a multiple of it that lies within the bounds in spite of rounding.

    None for losses without a conjugate. With a free part it is exact up to Hᵀa, which is zero but for rounding.
    """
    loss, w, alpha = problem.loss, problem.weight, problem.alpha
    if "conjugate" not in loss.provides:
        return None
    used = w > 0
    u = -alpha * a[used] / (w[used] if a.ndim == 1 else w[used][:, None])
    squared_norm = float(np.sum(a * np.asarray(problem.gram @ a)))
    best = np.inf
    for t in (1.0, 1 - 1e-10, 1 - 1e-7):
        star = np.asarray(loss.conjugate(problem.y[used], t * u))
        best = min(best, objective + float(w[used] @ star) + 0.5 * alpha * t * t * squared_norm)
    return best if np.isfinite(best) else None


def _norm(K: Gram, r: np.ndarray) -> float:
    return float(np.sqrt(max(float(np.sum(r * np.asarray(K @ r))), 0.0)))
