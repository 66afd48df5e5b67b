"""Robust kernel density estimation: an M-estimate of the mean in the kernel's space."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._array import eps, host, like
from .._errors import ONE_OR_NONE, POSITIVE, check_number, check_parameters, warn, where
from ..context import Status, current
from ..gram import Gram, GramLike
from ..kernels import KernelLike
from ..losses import Hampel, Huber, Loss
from ..solvers.solution import Solution
from ..space import Function
from ..types import Array, Data, RandomState
from ._density import DensityEstimator

QUANTILES = (0.5, 0.75, 0.95)
ROUNDING = 1e-12  # of sums of weights, which must not move a quantile that they reach just so
NEARLY = 1e-3  # of the median distance: up to there the absolute error of the pilot is rounded off
EXACT = 1e-6  # of √k(x, x): distances below are none


@dataclass(frozen=True)
class Mean(Solution):
    """Weights w of f = Σ wᵢ k(·, xᵢ), the distances ‖k(·, xᵢ) − f‖, and how they were found."""

    weights: np.ndarray
    distances: np.ndarray
    history: list[float]


@dataclass(eq=False, repr=False)
class RobustKernelDensity(DensityEstimator):
    r"""Robust kernel density estimation: the mean in the kernel's space with a loss that bounds the pull of outliers.

    .. math:: f = \arg\min_{g \in H} \sum_i p_i \, \rho\big(\|k(\cdot, x_i) - g\|_H\big), \qquad
              f = \sum_i w_i k(\cdot, x_i), \quad w_i = \frac{p_i \varphi(r_i)}{\sum_j p_j \varphi(r_j)}, \quad
              \varphi(r) = \frac{\rho'(r)}{r}

    with :math:`r_i = \|k(\cdot, x_i) - f\|`. The density is f over the kernel's integral. A sample in a sparse region
    is far from f, and gets less weight; with ρ(r) = ½r² it would be `KernelDensity`.

    Parameters
    ----------
    kernel : str or Kernel
        A positive definite kernel that provides `log_normalizer`, as in `KernelDensity`.
    bandwidth, bandwidths, criterion
        As in `KernelDensity`. The default, least-squares cross-validation of the plain estimate, minds outliers less
        than the likelihood does.
    loss : {"huber", "hampel"}
        ρ. "huber" is convex, and limits the pull of a sample; "hampel" takes it back to none for those farthest off,
        and is not: a stationary point is found, from the estimate with absolute loss.
    tuning : float or (a, b, c), optional
        δ of `Huber`, or a ≤ b < c of `Hampel`, in units of distance in the space, where √k(x, x) is the norm of a
        sample. By default the median and the quantiles 0.5, 0.75, 0.95 of the distances from the estimate with absolute
        loss. Smaller trusts fewer samples.
    gram : str or Representation
        How the kernel matrix is held or approximated while weights are found; densities are exact.
    tol : float > 0
        Reweighting ends when Σ|Δwᵢ| is below.
    max_iter : int >= 1, optional
        Reweightings at most; None for 1000.
    time_budget : float, optional
        Seconds after which the weights so far are kept, with a warning.
    random_state : int, RandomState, Generator or None
        For representations that draw.

    Attributes
    ----------
    weights_ : array of shape (n_samples,)
        w.
    distances_ : array of shape (n_samples,)
        rᵢ.
    loss_ : Loss
        ρ with its constants.
    history_ : array
        The objective after every reweighting, which never rises.
    n_iter_ : int
        Their number.
    bandwidth_, kernel_, log_normalizer_, function_, X_fit_, bandwidths_, loo_scores_
        As in `KernelDensity`.
    gram_choice_ : str
        How the matrix was held, and why.

    Notes
    -----
    Reweighted least squares in the space: given the distances the weights follow, and given the weights the distances,
    :math:`r_i^2 = k(x_i, x_i) - 2 (Kw)_i + w^\top K w`. As φ falls, the parabola of curvature φ(rᵢ) lies above ρ, and
    no step raises the objective. A step costs one product Kw: O(n²), or O(nr) for rank r.

    With its default constants "hampel" gives no weight at all to samples in sparse regions, outliers or not: it narrows
    the tails of a clean sample, and pays off only when much of the sample is contaminated.

    References
    ----------
    Kim, Scott, *Robust kernel density estimation* (2012).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(90, 1)), rng.uniform(4, 12, size=(10, 1))])
    >>> model = RobustKernelDensity(bandwidth=0.5).fit(X)
    >>> bool(model.weights_[90:].sum() < 0.08), bool(np.isclose(model.weights_.sum(), 1))
    (True, True)
    >>> model.influence([[8.0]])(X[:2]).shape
    (2, 1)
    """

    kernel: KernelLike = "gaussian"
    _: KW_ONLY
    bandwidth: Any = "loo"
    bandwidths: Any = None
    criterion: str = "least_squares"
    loss: str = "huber"
    tuning: Any = None
    gram: GramLike = "auto"
    tol: float = 1e-8
    max_iter: int | None = None
    time_budget: float | None = None
    random_state: RandomState = None

    def fit(self, X: Data, y: Array = None, sample_weight: Array = None) -> Self:
        """Fit to samples X; y is ignored."""
        check_parameters(self, {"loss": ("huber", "hampel"), "tol": POSITIVE, "max_iter": ONE_OR_NONE})
        self._require_numpy(X)
        X, p = self._fit_kernel(X, sample_weight)
        self._require_definite(X, 0)
        gram = self._build(X)
        start = p
        if self.tuning is None:
            median = max(_quantile(_distances(gram, p)[0], p, 0.5), EXACT)
            pilot = self._reweighted(gram, Huber(NEARLY * median), p, p)
            start = pilot.weights
            self.loss_ = self._loss([_quantile(pilot.distances, p, q) for q in QUANTILES], gram)
        else:
            self.loss_ = self._loss(self.tuning, gram)
            r = _distances(gram, p)[0]
            if not self.loss_.majorizer(r, np.zeros_like(r), p).any():
                raise ValueError(
                    f"{where(self)}: tuning = {self.tuning!r} trusts no sample, as all are farther than c from their "
                    f"mean, {r.min():.3g} or more; raise c."
                )
        found = self._reweighted(gram, self.loss_, p, start)
        self.distances_, self.history_, self.n_iter_ = found.distances, np.array(found.history), len(found.history)
        self.sample_weight_ = p
        self._keep(X, found.weights)
        return self

    def _loss(self, constants: Any, gram: Gram) -> Loss:
        """ρ for the given constants, or for the quantiles, which ties may have made equal or zero."""
        if self.tuning is not None:
            if np.shape(constants) != ((3,) if self.loss == "hampel" else ()):
                need = "three numbers a ≤ b < c for 'hampel'" if self.loss == "hampel" else "one number for 'huber'"
                raise ValueError(f"{where(self)}: tuning = {self.tuning!r} must be {need}.")
            values = np.atleast_1d(np.asarray(constants, dtype=object))
            for value in values:
                check_number(self, "tuning", value, above=0)
            loss: Loss = Huber(*values) if self.loss == "huber" else Hampel(*map(float, values))
            loss.validate()
            return loss
        a = max(constants[0], EXACT * float(np.sqrt(host(gram.diagonal()).max())))
        if self.loss == "huber":
            return Huber(a)
        b = max(constants[1], a)
        return Hampel(a, b, max(constants[2], b * (1 + EXACT)))

    def _reweighted(self, gram: Gram, loss: Loss, p: np.ndarray, w: np.ndarray) -> Mean:
        found = reweight(gram, loss, p, w, self.tol, self.max_iter or 1000)
        if not found.converged:
            warn(
                f"{where(self)}: the weights still change after {len(found.history)} steps ({found.status}). "
                f"{found.status.remedy('Raise max_iter, or tol.')}",
                ConvergenceWarning,
            )
        return found

    def influence(self, X: Data) -> Function:
        r"""The influence curves of the density: how it changes per unit of mass that is put at each row of X.

        .. math:: \frac{d}{d\varepsilon}\, f\big[(1 - \varepsilon) P + \varepsilon \delta_x\big] \Big|_{\varepsilon = 0}

        with the constants of the loss held fixed: a function with one output per row. That of `KernelDensity` is
        k(·, x)/∫k − f. Costs O(n³), or O(nr²) for rank r.

        Notes
        -----
        The condition Σ pᵢ φ(rᵢ) (k(·, xᵢ) − f) = 0 is differentiated: with γ = Σ pᵢ φ(rᵢ), C = I − 1wᵀ and
        D = diag(pᵢ φ′(rᵢ)/rᵢ), the derivative is Σ aᵢ k(·, xᵢ) + b k(·, x) with γb = φ(r) and
        (γI + CᵀDCK) a = −φ(r) w − b CᵀDC k(X, x).
        """
        X = self._check_new(X)
        gram, w, p, r = self._build(self.X_fit_), self.weights_, self.sample_weight_, self.distances_
        phi, zero = self.loss_.majorizer(r, np.zeros_like(r)), np.zeros_like(r)
        bend = self.loss_.hessian(r, zero) - phi  # rφ′, which is zero where ρ is a parabola
        D = p * np.where(bend == 0, 0.0, bend / np.where(bend == 0, 1.0, r) ** 2)
        gamma = float(p @ phi)

        def curved(V: np.ndarray) -> np.ndarray:
            """CᵀDC V."""
            U = D[:, None] * (V - w @ V)
            return U - np.outer(w, U.sum(axis=0))

        cross = host(gram.cross(X).dense()).astype(np.float64).T
        squares = host(self.kernel_.evaluate_diag(X)) - 2 * w @ cross + _distances(gram, w)[1]
        near = self.loss_.majorizer(np.sqrt(np.clip(squares, 0, None)), np.zeros(len(squares)))
        right = -np.outer(w, near) - curved(cross * (near / gamma))
        if "factor" in gram.provides:
            Z = host(gram.factor()).astype(np.float64)
            B = curved(Z)
            inner = np.linalg.solve(gamma * np.eye(Z.shape[1]) + Z.T @ B, Z.T @ right)
            own = (right - B @ inner) / gamma
        else:
            K = host(gram.dense()).astype(np.float64)
            own = np.linalg.solve(gamma * np.eye(len(w)) + curved(K), right)
        coefficients = np.concatenate([own, np.diag(near / gamma)]) * np.exp(-self.log_normalizer_)
        points = self.kernel_.domain.join([self.X_fit_, X])
        return Function(self.kernel_, points, like(coefficients, X))


def reweight(gram: Gram, loss: Loss, p: np.ndarray, w: np.ndarray, tol: float, max_iter: int) -> Mean:
    """Reweighted least squares for Σ pᵢ ρ(‖k(·, xᵢ) − f‖), from the weights w on."""
    zero, history = np.zeros_like(p), list[float]()
    tol = max(tol, 50 * eps(gram.like))
    status, context = Status.MAX_ITER, current()
    for _ in range(max_iter):
        r, _ = _distances(gram, w)
        history.append(float(loss.total(r, zero, p)))
        new = loss.majorizer(r, zero, p)
        new = new / new.sum()
        if float(np.abs(new - w).sum()) <= tol:
            status = Status.CONVERGED
            break
        if reason := context({"gap": float(np.abs(new - w).sum()), "round": len(history)}):
            status = reason
            break
        w = new
    distances = _distances(gram, w)[0]
    return Mean(w, distances, history, status=status, n_iter=len(history), method="reweighting")


def _distances(gram: Gram, w: np.ndarray) -> tuple[np.ndarray, float]:
    """‖k(·, xᵢ) − f‖ for f = Σ wᵢ k(·, xᵢ), and ‖f‖²."""
    values = host(gram @ like(w, gram.like)).astype(np.float64)
    norm = float(w @ values)
    own = host(gram.kernel.evaluate_diag(gram.X))  # a sample's own, where f is projected onto few landmarks
    return np.sqrt(np.clip(own - 2 * values + norm, 0, None)), norm


def _quantile(values: np.ndarray, weight: np.ndarray, q: float) -> float:
    """The weighted quantile, for which weights count as repetitions do."""
    order = np.argsort(values)
    total = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(total, q * total[-1] * (1 - ROUNDING))])
