r"""Choosing the weight of the penalty for a linear smoother: one decomposition, then every alpha in O(n).

With D = W^{1/2}, DH = QR for the free part and P = I − QQᵀ, the eigenvectors U and eigenvalues Λ of PDKDP (the
Demmler–Reinsch basis) turn (PDKDP + αI)ã = PDy into division: with q = UᵀPDy the weighted residuals are
PDy − U Λ/(Λ + α) q, and the smoother has the diagonal ‖Qᵢ‖² + Σⱼ Uᵢⱼ² Λⱼ/(Λⱼ + α).

Demmler, Reinsch, *Oscillation matrices with spline smoothing* (1975). Wahba, *Spline Models for Observational Data*
(1990), chapter 4: leave-one-out, generalised cross-validation, and the restricted likelihood, which is GML there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from .._array import host, like, namespace
from ..gram import Gram
from .linear._base import Conditioned, free_factor

CRITERIA = ("gcv", "loo", "reml")


def gcv(n: int, rss: float, edf: float) -> float:
    """Generalised cross-validation, n·RSS / (n − edf)²."""
    return n * rss / (n - edf) ** 2


def reml(free: int, objective: float, log_determinant: float) -> float:
    """Minus twice the restricted log likelihood at the best noise variance, up to a constant."""
    return float(free * np.log(max(objective, np.finfo(np.float64).tiny) / free) + log_determinant)


def line_search(
    criterion: Callable[[float], float], judge: Callable[[float], float], low: float, high: float, steps: int
) -> float:
    """A minimiser over an interval: of the local minima of a scan the one that `judge` likes best, refined (Brent).

    Generalised cross-validation tends to have a second minimum close to interpolation, and lower, where the points are
    unevenly spaced; leave-one-out, which it approximates, does not. An end of the interval is a valid answer.
    """
    grid: list[float] = np.linspace(low, high, steps).tolist()
    values = np.array([np.inf, *(criterion(t) for t in grid), np.inf])
    minima = np.flatnonzero((values[1:-1] <= values[:-2]) & (values[1:-1] <= values[2:]))[::-1]  # smoothest first
    best = minima[0] if len(minima) == 1 else min(minima, key=lambda i: judge(grid[i]))
    bounds = grid[max(0, best - 1)], grid[min(steps - 1, best + 1)]
    found = optimize.minimize_scalar(criterion, bounds=bounds, method="bounded", options={"xatol": 1e-7})
    return float(found.x if found.fun < values[best + 1] else grid[best])


class DemmlerReinsch:
    """A penalised least-squares problem in the coordinates where every alpha is a division.

    Parameters
    ----------
    gram : Gram
        K; where it has a factor, the cost is O(nr²), otherwise O(n³).
    y : array of shape (n,)
    H : array of shape (n, p)
        Values of the free functions.
    weight : array of shape (n,), optional
    """

    def __init__(self, gram: Gram, y: Any, H: Any, weight: Any = None):
        xp = namespace(y)
        scale = None if weight is None else xp.sqrt(weight)
        self.gram, self.y, self.scale = gram, y, scale
        self.Q, self.R = free_factor(H if scale is None else H * scale[:, None])
        operator = self.operator = Conditioned(gram, scale, self.Q)
        if "factor" in gram.provides:
            self.U, s, _ = xp.linalg.svd(operator.factor(), full_matrices=False)
            values = s * s
        else:
            values, self.U = xp.linalg.eigh(operator.dense())
        self.values = xp.where(values > 0, values, 0.0)  # rounding below zero
        self.target = operator.project(operator.scaled(y))
        self.q = xp.matrix_transpose(self.U) @ self.target
        rest = self.target - self.U @ self.q
        self.rest = float(xp.sum(rest * rest))
        # one value a decomposition, but many an alpha: on the host
        self._values, self._q2 = host(self.values).astype(np.float64), host(self.q).astype(np.float64) ** 2
        self.n = int(self.target.shape[0]) if weight is None else int(np.sum(host(weight) > 0))
        self.p = int(H.shape[1])

    def edf(self, alpha: float) -> float:
        """The effective degrees of freedom: the trace of the smoother."""
        return self.p + float(np.sum(self._values / (self._values + alpha)))

    def rss(self, alpha: float) -> float:
        """Σ wᵢ (yᵢ − f(xᵢ))²."""
        return float(np.sum(self._q2 * (alpha / (self._values + alpha)) ** 2)) + self.rest

    def penalised(self, alpha: float) -> float:
        """Σ wᵢ (yᵢ − f(xᵢ))² + α‖f‖²."""
        return float(np.sum(self._q2 * (alpha / (self._values + alpha)))) + self.rest

    def residual(self, alpha: float) -> Any:
        """W^{1/2}(y − f)."""
        return self.target - self.U @ (self.q * (self.values / (self.values + alpha)))

    def leverage(self, alpha: float) -> Any:
        """The diagonal of the smoother."""
        xp = namespace(self.U)
        return xp.sum(self.Q * self.Q, axis=1) + (self.U * self.U) @ (self.values / (self.values + alpha))

    def criterion(self, name: str, alpha: float) -> float:
        """The value of "gcv", "loo" or "reml" (minus twice the restricted log likelihood, up to a constant)."""
        if name == "gcv":
            return gcv(self.n, self.rss(alpha), self.edf(alpha))
        if name == "loo":
            xp = namespace(self.U)
            left_out = self.residual(alpha) / (1 - self.leverage(alpha))
            return float(xp.sum(left_out * left_out)) / self.n
        return reml(self.n - self.p, self.penalised(alpha), np.sum(np.log1p(self._values / alpha)))

    def interval(self) -> tuple[float, float]:
        """log alpha from where all eigenvalues count to where none does."""
        positive = self._values[self._values > 1e-10 * self._values.max(initial=0.0)]
        if len(positive) == 0:
            return -1.0, 1.0
        return float(np.log(1e-3 * positive.min())), float(np.log(1e3 * positive.max()))

    def best(self, name: str) -> float:
        """The alpha that minimises a criterion."""

        def value(name: str) -> Callable[[float], float]:
            return lambda t: self.criterion(name, float(np.exp(t)))

        low, high = self.interval()
        judge = value("loo" if name == "gcv" else name)
        return float(np.exp(line_search(value(name), judge, low, high, int(high - low) + 3)))

    def with_edf(self, edf: float) -> float:
        """The alpha with the given effective degrees of freedom."""
        low, high = self.interval()
        found = optimize.brentq(lambda t: self.edf(float(np.exp(t))) - edf, low - 20, high + 20, xtol=1e-12)
        return float(np.exp(found))

    def coefficients(self, alpha: float) -> tuple[Any, Any]:
        """The coefficients a of the kernel part, and c of the free part."""
        xp = namespace(self.y)
        # what of y lies off the span of U is off that of K as well, and would only bring rounding over alpha
        a = self.operator.scaled(self.operator.project(self.U @ (self.q / (self.values + alpha))))
        left = self.operator.scaled(self.y - self.gram @ a)
        c = like(np.linalg.solve(host(self.R), host(xp.matrix_transpose(self.Q) @ left)), self.y)
        return a, c

    def free_covariance(self, alpha: float) -> np.ndarray:
        """The posterior covariance of c in units of the noise, (Hᵀ(K/α + W⁻¹)⁻¹H)⁻¹, through a Schur complement."""
        xp = namespace(self.y)
        MQ = self.operator.scaled(self.gram @ self.operator.scaled(self.Q))
        UM = xp.matrix_transpose(self.U) @ self.operator.project(MQ)
        inner = xp.matrix_transpose(self.Q) @ MQ - xp.matrix_transpose(UM) @ (UM / (self.values + alpha)[:, None])
        half = np.linalg.solve(host(self.R), np.linalg.solve(host(self.R), host(inner) / alpha + np.eye(self.p)).T)
        return (half + half.T) / 2

    def variance(self, alpha: float, cross: Any, diagonal: Any, H_new: Any) -> Any:
        """The posterior variances of f at new points in units of the noise, from k(X, new) and k(new, new).

        With a flat prior on c and covariance K/α of the rest, the prediction λᵀDy with HᵀDλ = h of least variance has
        λ = Qη + (a part in the span of U), η = R⁻ᵀh; what follows is its variance.
        """
        xp = namespace(self.y)
        transposed = xp.matrix_transpose
        eta = like(np.linalg.solve(host(self.R).T, host(transposed(H_new))), self.y)
        B = self.operator.scaled(cross)
        MQ = self.operator.scaled(self.gram @ self.operator.scaled(self.Q)) @ eta
        fixed = diagonal + xp.sum(eta * (transposed(self.Q) @ (MQ - 2 * B)), axis=0)
        UB = transposed(self.U) @ self.operator.project(B - MQ)
        explained = xp.sum(UB * UB / (self.values + alpha)[:, None], axis=0)
        variance = (fixed - explained) / alpha + xp.sum(eta * eta, axis=0)
        return xp.where(variance > 0, variance, 0.0)
