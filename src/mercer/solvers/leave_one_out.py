r"""Leave-one-out values of a fit, without refits.

At a solution of Σ wᵢ ℓ(yᵢ, fᵢ) + (α/2)‖f‖² with f = Ka + Hc, let g and V be the first and second derivatives of the
loss in f. Perturbing the gradient by δ moves the solution by −Sδ to first order, with

    S = Φ (ΦᵀVΦ + αD)⁻¹ Φᵀ,    Φ = [Z, Q].

Here ZZᵀ = PKP with P the projection off the span Q of the free functions, and D penalises only Z. (PKP may replace K
because Hᵀa = 0, which also covers kernels that are only conditionally positive definite.) Leaving sample i out removes
its gᵢ and Vᵢ. By the Sherman–Morrison formula, one Newton step gives

    fᵢ⁽⁻ⁱ⁾ = fᵢ + (I − SᵢᵢVᵢ)⁻¹ Sᵢᵢ gᵢ.

For the squared loss the step is exact, and this is the leave-one-out lemma with the leverage hᵢᵢ = SᵢᵢVᵢ. For
piecewise linear losses see `mercer.solvers.kinks`.

Craven, Wahba, *Smoothing noisy data with spline functions* (1979), for the lemma; Rad, Maleki, *A scalable estimate of
the extra-sample prediction error via approximate leave-one-out* (2020), for the step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from ..types import Array
from .fit._base import FitProblem
from .linear import LinearSolution, System, solve
from .spectral import DETERMINED, Spectral

ROUNDING = DETERMINED * np.finfo(np.float64).eps  # rounding error of 1 − hᵢᵢ
FLAT = 1e-10  # relative to the largest curvature: samples below carry no information, and are not divided by it


def refuse_determined(room: np.ndarray) -> None:
    """Raise if 1 − hᵢᵢ is zero up to rounding for some sample."""
    bad = np.flatnonzero(~(room > ROUNDING))
    if len(bad):
        raise ValueError(
            f"sample {bad[0]} is always fitted exactly (its leverage hᵢᵢ is 1), so that no fit without it can predict "
            "it; raise alpha, or remove the free function that it alone determines."
        )


class FormulaError(ValueError):
    """A leave-one-out formula does not apply at a solution; refits are needed."""


class Influence:
    """S, the response of the values f to the gradient of the loss, at a solution.

    The Hessian of the loss must not couple samples. `gradient` and `curvature` are g and V, including weights, and
    `diagonal` is Sᵢᵢ. Costs O(n³), or O(nr²) for a representation with a factor; k³ times that for k values per sample.

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Squared
    >>> gram = Dense().build(Gaussian(), np.array([[0.0], [1.0]]))
    >>> y = np.array([1.0, 3.0])
    >>> K = gram.dense()
    >>> f = K @ np.linalg.solve(K + np.eye(2), y)
    >>> influence = Influence(FitProblem(gram, Squared(), y, 1.0, np.ones(2)), f)
    >>> bool(np.isclose(influence.left_out()[0], K[0, 1] * y[1] / 2))  # the fit to the other sample alone
    True
    """

    def __init__(self, problem: FitProblem, f: np.ndarray):
        loss, y, w = problem.loss, problem.y, problem.weight
        self._loss, self.f, self._used = loss, f, int(np.sum(w > 0))
        self.gradient = np.asarray(loss.gradient(y, f, w))
        self.curvature = np.asarray(loss.hessian(y, f, w))
        path = Spectral(problem.gram, problem.H)
        values = np.maximum(np.asarray(path.values, dtype=np.float64), 0.0)  # rounding may make them negative
        parts = [np.asarray(path.vectors, dtype=np.float64) * np.sqrt(values)]
        parts += [] if problem.H is None else [np.asarray(path.design.Q)]
        self._features = np.concatenate(parts, axis=1)
        self._penalty = np.concatenate(
            [np.full(parts[0].shape[1], problem.alpha), *(np.zeros(p.shape[1]) for p in parts[1:])]
        )
        if f.ndim == 1:
            self._of_one()
        else:
            self._of_several()

    def _of_one(self) -> None:
        F = self._features
        B = F.T @ (self.curvature[:, None] * F) + np.diag(self._penalty)
        try:
            L = np.linalg.cholesky(B)
        except np.linalg.LinAlgError:
            raise FormulaError(
                f"the loss {type(self._loss).__name__} has no curvature at so many samples that the others do not "
                "determine the free functions, so that there is no Newton step"
            ) from None
        self._half = solve_triangular(L, F.T, lower=True)
        self.diagonal = np.sum(self._half**2, axis=0)

    def _of_several(self) -> None:
        F, V = self._features, self.curvature
        (n, r), k = F.shape, V.shape[1]
        B = np.empty((k, r, k, r))
        for j in range(k):
            for m in range(j, k):
                B[j, :, m] = F.T @ (V[:, j, m, None] * F)
                B[m, :, j] = B[j, :, m].T
        B = B.reshape(k * r, k * r) + np.diag(np.tile(self._penalty, k))
        # invariances of the loss (softmax: adding a constant to all classes) leave directions without curvature
        values, vectors = np.linalg.eigh(B)
        kept = values > 1e3 * k * r * np.finfo(np.float64).eps * values[-1]
        root = (vectors[:, kept] / np.sqrt(values[kept])).reshape(k, r, -1)
        half = np.stack([F @ part for part in root], axis=1)  # (n, k, ·)
        self._half = np.moveaxis(half, 2, 0).reshape(-1, n * k)
        self.diagonal = half @ np.swapaxes(half, 1, 2)

    def __matmul__(self, v: np.ndarray) -> np.ndarray:
        """S v, for v of the shape of f."""
        return (self._half.T @ (self._half @ v.ravel())).reshape(v.shape)

    @property
    def degrees_of_freedom(self) -> float:
        """tr(SV)."""
        return float(np.sum(self.diagonal * self.curvature))

    def left_out(self) -> np.ndarray:
        """The value at each sample after one Newton step without it, from the full solution.

        NaN where the leverage is 1: the sample alone determines a free function, or does so to second order, because
        the loss has no curvature at the others.
        """
        S, V, g = self.diagonal, self.curvature, self.gradient
        if self.f.ndim == 1:
            room = 1 - S * V
            known = room > ROUNDING
            return np.where(known, self.f + S / np.where(known, room, 1.0) * g, np.nan)
        left = np.eye(V.shape[1]) - S @ V
        known = np.linalg.svd(left, compute_uv=False)[:, -1] > ROUNDING
        left[~known] = np.eye(V.shape[1])
        return np.where(known[:, None], self.f + np.linalg.solve(left, S @ g[:, :, None])[:, :, 0], np.nan)

    def bias(self) -> float:
        r"""The bias of the log-likelihood at its penalised maximum, :math:`\mathrm{tr}(J^{-1} I)` of the GIC.

        J is the Hessian of the objective and I = Σ ψᵢ gᵢφᵢᵀ with the estimating functions ψᵢ = gᵢφᵢ + αDθ/n, where n is
        the number of samples of positive weight. Since Σψ = 0, the trace is
        :math:`\sum_i g_i^\top S_{ii} g_i - g^\top S g / n`.
        """
        g = self.gradient
        own = g**2 * self.diagonal if g.ndim == 1 else np.einsum("ij,ijk,ik->i", g, self.diagonal, g)
        return float(np.sum(own) - np.sum(g * (self @ g)) / self._used)


def random_traces(problem: FitProblem, f: np.ndarray, probes: int, rng: np.random.Generator) -> tuple[float, float]:
    """Estimates of tr S and tr SV over the samples of positive weight, by random signs ε with E εᵀSε = tr S: one linear
    solve each.

    Hutchinson, *A stochastic estimator of the trace of the influence matrix for Laplacian smoothing splines* (1990).
    """
    v = np.asarray(problem.loss.hessian(problem.y, f, problem.weight))
    v = np.maximum(v, FLAT * float(v.max()))
    E = rng.choice([-1.0, 1.0], size=(len(f), probes)) * (problem.weight > 0)[:, None]
    found = solve(System(problem.gram, E / v[:, None], problem.alpha, problem.H, v))
    response = np.asarray(problem.gram @ found.coefficients) + problem.free_part(found.free)
    return float(np.sum(E * response)) / probes, float(np.sum(v[:, None] * E * response)) / probes


def at_new_points(smoother: LinearSolution, cross: Any, h: Any, values: Array, residuals: Any) -> Any:
    r"""Predictions of ridge regression at new points, leaving out each sample in turn, of shape (m, n).

    .. math:: f^{(-i)}(x) = f(x) - s_i(x)\, r_i^{(-i)}, \qquad f(x) = \sum_i s_i(x)\, y_i

    by the leave-one-out lemma: the fit without sample i is the fit to all with yᵢ replaced by fᵢ⁽⁻ⁱ⁾.

    The smoother solves (K + αW⁻¹)a + Hc = b, Hᵀa = 0 with b the identity: column i is the response to yᵢ. At new points
    `cross` is k(x, xⱼ), h the free functions, and `values` f(x); the residuals are the leave-one-out residuals.
    """
    weights = cross @ smoother.coefficients
    weights = weights if smoother.free is None else weights + h @ smoother.free
    return values[:, None] - weights * residuals[None, :]
