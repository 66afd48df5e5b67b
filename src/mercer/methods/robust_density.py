"""Robust kernel density estimation: an M-estimate of the mean in feature space."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from .._array import eps, host, like
from .._errors import ONE_OR_NONE, POSITIVE, check_number, check_parameters, where
from ..context import Status, current, warn_early
from ..gram import Gram, GramLike
from ..kernels import KernelLike
from ..losses import Hampel, Huber, Loss
from ..solvers.solution import Solution
from ..space import Function
from ..types import Array, Data, RandomState
from ._density import DensityEstimator

QUANTILES = (0.5, 0.75, 0.95)
ROUNDING = 1e-12  # relative rounding of sums of weights, which must not shift a quantile at a boundary
NEARLY = 1e-3  # times the median distance: threshold of the pilot's Huber loss, which is nearly absolute
EXACT = 1e-6  # times √k(x, x): smaller distances count as zero


@dataclass(frozen=True)
class Mean(Solution):
    """Weights w of f = Σ wᵢ k(·, xᵢ), the distances ‖k(·, xᵢ) − f‖, and the history of the objective."""

    weights: np.ndarray
    distances: np.ndarray
    history: list[float]


@dataclass(eq=False, repr=False)
class RobustKernelDensity(DensityEstimator):
    r"""Robust kernel density estimation: an M-estimate of the feature-space mean, insensitive to outliers.

    .. math:: f = \arg\min_{g \in H} \sum_i p_i \, \rho\big(\|k(\cdot, x_i) - g\|_H\big), \qquad
              f = \sum_i w_i k(\cdot, x_i), \quad w_i = \frac{p_i \varphi(r_i)}{\sum_j p_j \varphi(r_j)}, \quad
              \varphi(r) = \frac{\rho'(r)}{r}

    with :math:`r_i = \|k(\cdot, x_i) - f\|`. The density is f divided by the kernel's integral. Samples in sparse
    regions are far from f, and get less weight. With ρ(r) = ½r² the estimate is `KernelDensity`.

    Parameters
    ----------
    kernel : str or Kernel
        A positive definite kernel that provides `log_normalizer`, as in `KernelDensity`.
    bandwidth, bandwidths, criterion
        As in `KernelDensity`. The default, least-squares cross-validation of the plain estimate, is less sensitive to
        outliers than the likelihood.
    loss : {"huber", "hampel"}
        ρ. "huber" is convex and bounds the influence of a sample. "hampel" reduces it to zero for far samples, but is
        not convex: the fit is a stationary point, found from the estimate with absolute loss.
    tuning : float or (a, b, c), optional
        δ of `Huber`, or a ≤ b < c of `Hampel`, as distances in feature space, where a sample has norm √k(x, x). By
        default, the median, or the quantiles 0.5, 0.75, 0.95, of the distances from the estimate with absolute loss.
        Smaller trusts fewer samples.
    gram : str or Representation
        How the kernel matrix is stored or approximated when fitting the weights; densities are exact.
    tol : float > 0
        Reweighting stops when Σ|Δwᵢ| is at most tol.
    max_iter : int >= 1, optional
        Maximum number of steps; None means 1000.
    time_budget : float, optional
        Time limit in seconds; on expiry the current weights are kept, with a warning.
    random_state : int, RandomState, Generator or None
        Seed of randomised representations.

    Attributes
    ----------
    weights_ : array of shape (n_samples,)
        w.
    distances_ : array of shape (n_samples,)
        rᵢ.
    loss_ : Loss
        ρ with its constants.
    history_ : array
        The objective at every step, never increasing.
    n_iter_ : int
        Number of steps.
    bandwidth_, kernel_, log_normalizer_, function_, X_fit_, bandwidths_, loo_scores_
        As in `KernelDensity`.
    gram_choice_ : str
        How the matrix was stored, and why.

    Notes
    -----
    Reweighted least squares in feature space alternates between the weights and the distances,
    :math:`r_i^2 = k(x_i, x_i) - 2 (Kw)_i + w^\top K w`. As φ decreases, the parabola of curvature φ(rᵢ) lies above ρ,
    so no step increases the objective. A step costs one product Kw: O(n²), or O(nr) for rank r.

    With its default constants, "hampel" gives zero weight to samples in sparse regions, outliers or not. It narrows the
    tails of a clean sample, and pays off only when much of the sample is contaminated.

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
                    f"{where(self)}: tuning = {self.tuning!r} gives every sample weight zero, as all are at least "
                    f"{r.min():.3g}, more than c, from their mean; raise c."
                )
        found = self._reweighted(gram, self.loss_, p, start)
        self.distances_, self.history_, self.n_iter_ = found.distances, np.array(found.history), len(found.history)
        self.sample_weight_ = p
        self._keep(X, found.weights)
        return self

    def _loss(self, constants: Any, gram: Gram) -> Loss:
        """ρ for the given constants, or for the quantiles, which may be equal or zero because of ties."""
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
            finding = f"the weights still change after {len(found.history)} steps"
            warn_early(self, finding, found.status, "Raise max_iter, or tol.")
        return found

    def influence(self, X: Data) -> Function:
        r"""Influence functions of the density: its change per unit of mass added at each row of X.

        .. math:: \frac{d}{d\varepsilon}\, f\big[(1 - \varepsilon) P + \varepsilon \delta_x\big] \Big|_{\varepsilon = 0}

        with the constants of the loss fixed: a function with one output per row. For `KernelDensity` it is
        k(·, x)/∫k − f. Costs O(n³), or O(nr²) for rank r.

        Notes
        -----
        Differentiate the condition Σ pᵢ φ(rᵢ) (k(·, xᵢ) − f) = 0: with γ = Σ pᵢ φ(rᵢ), C = I − 1wᵀ and
        D = diag(pᵢ φ′(rᵢ)/rᵢ), the derivative is Σ aᵢ k(·, xᵢ) + b k(·, x) with γb = φ(r) and
        (γI + CᵀDCK) a = −φ(r) w − b CᵀDC k(X, x).
        """
        X = self._check_new(X)
        gram, w, p, r = self._build(self.X_fit_), self.weights_, self.sample_weight_, self.distances_
        phi, zero = self.loss_.majorizer(r, np.zeros_like(r)), np.zeros_like(r)
        bend = self.loss_.hessian(r, zero) - phi  # rφ′, zero where ρ is quadratic
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
    """Minimise Σ pᵢ ρ(‖k(·, xᵢ) − f‖) by reweighted least squares, starting from the weights w."""
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
    own = host(gram.kernel.evaluate_diag(gram.X))  # exact, even if f is projected onto few landmarks
    return np.sqrt(np.clip(own - 2 * values + norm, 0, None)), norm


def _quantile(values: np.ndarray, weight: np.ndarray, q: float) -> float:
    """The weighted quantile; weights act as repetitions."""
    order = np.argsort(values)
    total = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(total, q * total[-1] * (1 - ROUNDING))])
