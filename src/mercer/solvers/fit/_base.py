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
        """Of f: one value per sample, or one per sample and class."""
        classes = self.loss.outputs(self.y)
        return (self.gram.n,) if classes is None else (self.gram.n, classes)

    def total(self, f: np.ndarray) -> float:
        """Σ wᵢ ℓ(yᵢ, fᵢ)."""
        return float(self.loss.total(self.y, f, self.weight))

    def slope(self, f: np.ndarray) -> np.ndarray:
        """Its gradient in f."""
        g = np.asarray(
            self.loss.gradient(self.y, f, self.weight) if self.loss.coupled else self.loss.gradient(self.y, f)
        )
        return g if self.loss.coupled else _times(self.weight, g)

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
    gap: float | None  # between this objective and the dual value, where the loss has a conjugate
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
    gap = duality_gap(problem, a, smooth, objective)
    return FitSolution(a, c, f, objective, gradient, gap, n_iter, converged, method, message, history or [])


def duality_gap(problem: FitProblem, a: np.ndarray, smooth: np.ndarray, objective: float) -> float | None:
    """The objective minus the dual value at a; None for losses without a conjugate, infinite outside its domain."""
    loss, w = problem.loss, problem.weight
    if "conjugate" not in loss.provides or loss.coupled:
        return None
    used = w > 0
    u = np.divide(-problem.alpha * a[used], w[used] if a.ndim == 1 else w[used][:, None])
    star = np.asarray(loss.conjugate(problem.y[used], u))
    dual = -float(np.sum(w[used] * star)) - 0.5 * problem.alpha * float(np.sum(a * smooth))
    return objective - dual


def _norm(K: Gram, r: np.ndarray) -> float:
    return float(np.sqrt(max(float(np.sum(r * np.asarray(K @ r))), 0.0)))


def _times(weight: np.ndarray, g: np.ndarray) -> np.ndarray:
    """wᵢ gᵢ, also for several values per sample."""
    return g * weight.reshape(-1, *[1] * (g.ndim - 1))
