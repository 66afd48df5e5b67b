"""Smoothing splines in one variable."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from math import inf, log2
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.polynomial import Polynomial
from scipy import optimize, special
from scipy.interpolate import BSpline, PPoly
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .._array import is_sparse
from .._errors import check_number, require_target, where
from .._targets import check_targets, check_weight
from .._units import unit_of_squares
from ..basis import Polynomials
from ..context import current
from ..domains import plain, refuse_masked
from ..kernels.polyharmonic import duchon
from ..solvers.banded import smooth
from ..solvers.regularisation import gcv, minimiser, modified_gcv, reml
from ..space import Function
from ..types import Array, Data
from ._base import Estimator, validated
from ._spline import Smoother, in_unit

MAX_ORDER = 6  # beyond, the polynomials between the knots lose digits
EXPONENTS = 1000  # largest binary exponent of coefficients
HALF = 0.25 * float(np.finfo(np.float64).max)  # half of the largest range that does not overflow
LEAST = 1e-100  # below, squares of residuals underflow
MOST = 1e300  # above, products with the range or the weights overflow


class Evaluation(NamedTuple):
    """A spline at one λ."""

    criteria: dict[str, float]
    edf: float
    rss: float
    noise_variance: float
    leverage: np.ndarray
    left_out: np.ndarray  # the leave-one-out residuals of the samples
    sweep: Any


@dataclass(eq=False, repr=False)
class SmoothingSpline(Smoother, RegressorMixin, Estimator):
    r"""Smoothing spline in one variable, in O(n).

    .. math:: \min_f\; \tfrac12 \sum_i w_i \big(y_i - f(x_i)\big)^2 + \tfrac{\alpha}{2} \int f^{(m)}(u)^2 \, du

    f is a natural spline with knots at the data: polynomials of degree 2m − 1 between them and m − 1 outside. For m = 2
    it is R's ``smooth.spline(all.knots = TRUE)``.

    Parameters
    ----------
    alpha : float > 0, or {"gcv", "loo", "reml"}
        Regularisation parameter, in the units of x and y; larger is smoother, up to a polynomial of degree m − 1. A
        name selects it by generalised cross-validation, leave-one-out error, or restricted maximum likelihood.
    order : int in 1 … 6
        m; 2 is the cubic spline. A higher order makes the function smoother and its ends less stiff.
    df : float, optional
        Instead of `alpha`: the effective degrees of freedom, between m and the number of distinct x.
    lam : float > 0, optional
        Instead of `alpha`: R's lambda, the regularisation parameter for x scaled to [0, 1] and weights of mean 1.
    spar : float, optional
        Instead of `alpha`: R's spar, :math:`\lambda = r\, 256^{3\,\mathrm{spar} - 1}` (cubic only).
    time_budget : float > 0, optional
        Time limit in seconds. The fit then keeps the best result so far, with a warning, or raises if there is none.

    Attributes
    ----------
    alpha_, lam_ : float
        The regularisation parameter in both units, :math:`\alpha = \lambda \bar w (\max x - \min x)^{2m-1}`.
    edf_ : float
        Effective degrees of freedom, the trace of the smoother.
    criteria_ : dict
        "gcv", "loo" and "reml" (minus twice the restricted log-likelihood, up to a constant) at `alpha_`.
    noise_variance_ : float
        Σ wᵢ (yᵢ − f(xᵢ))² / (n − edf); divide by w for an observation of weight w.
    leverage_ : array of shape (n_samples,)
        The diagonal of the smoother.
    leave_one_out_ : array of shape (n_samples,)
        Leave-one-out predictions at the same alpha; NaN if no fit exists without the sample, because it alone
        determines an unpenalised function. "loo" in `criteria_` is infinite then.
    polynomial_ : scipy.interpolate.PPoly
        f, piece by piece.
    x_, y_, weight_ : arrays
        The distinct x in order, with the weighted mean of y and the sum of weights at each.

    Notes
    -----
    Samples with equal x (up to rounding, relative to the range) are merged, which is exact. In the criteria, n counts
    all samples of positive weight. Weights are inverse variances up to a factor, so two samples say more about the
    noise than one of weight two.

    Generalised cross-validation, :math:`n \mathrm{RSS}/(n - \mathrm{edf})^2`, may have a second, lower minimum close to
    interpolation. The minimum used is the one downhill from that of Kim and Gu's modification, in which a degree of
    freedom costs 1.4. Leave-one-out is unreliable if one x lies far from all others, which must then extrapolate.

    An alpha close to zero interpolates; residuals, leave-one-out and the criteria remain accurate there.

    The fit is a two-sided filter by orthogonal transformations (`mercer.solvers.banded`), and takes about 0.5 µs per
    sample; minimising a criterion takes about sixty such sweeps. Many or clustered samples, weights of very different
    size and a small alpha do not reduce the accuracy. SciPy's ``make_smoothing_spline`` solves normal equations, whose
    condition number grows like n⁴.

    `function_` represents the same function by the representer theorem, with coefficients aᵢ = wᵢ (yᵢ − f(xᵢ))/α, for
    inner products and norms. Evaluating it costs O(n) per point and loses digits by cancellation as n grows or alpha
    decreases: use it for up to a few thousand samples.

    Bands are Wahba's: those of the posterior of f under the prior for which the spline is the posterior mean. They
    cover on average over x, not at each x.

    References
    ----------
    Reinsch, *Smoothing by spline functions* (1967). Craven, Wahba, *Smoothing noisy data with spline functions* (1979):
    cross-validation. Wahba, *Bayesian "confidence intervals" for the cross-validated smoothing spline* (1983). Green,
    Silverman, *Nonparametric Regression and Generalized Linear Models* (1994). Kim, Gu, *Smoothing spline Gaussian
    regression: more scalable computation via efficient approximation* (2004): the factor 1.4.

    Examples
    --------
    >>> x = np.linspace(0, 1, 50)
    >>> y = np.sin(6 * x) + 0.1 * np.random.default_rng(0).normal(size=50)
    >>> model = SmoothingSpline().fit(x, y)
    >>> bool(np.mean(np.abs(model.predict(x) - np.sin(6 * x))) < 0.05)
    True
    >>> model = SmoothingSpline(df=5).fit(x, y)
    >>> round(model.edf_, 6)
    5.0
    """

    takes_tensors = False

    substitutes = ("df", "lam", "spar")

    alpha: float | str = "gcv"
    _: KW_ONLY
    order: int = 2
    df: float | None = None
    lam: float | None = None
    spar: float | None = None
    time_budget: float | None = None

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to points X of shape (n,) or (n, 1) and values y of shape (n,)."""
        self._check_parameters()
        X, y = self._check_data(X, y, fitting=True)
        x, y = X[:, 0], y.astype(np.float64)
        unit = unit_of_squares(self, "y", y)
        y = y / unit
        w = check_weight(self, 1.0 if sample_weight is None else sample_weight, len(x)).astype(np.float64)
        used = w > 0
        place = self._gather(x[used], y[used], w[used], unit)
        self.lam_ = self._choose(lambda lam: self._evaluate(lam, y[used], w[used], place))
        most = MOST / max(1.0, self._unit, self._mean_weight)
        if not LEAST <= self.lam_ <= most:
            given = "" if self.spar is None else f"spar = {self.spar!r} stands for "
            raise ValueError(
                f"{where(self)}: {given}lambda = {self.lam_:g}, for x on [0, 1], must be >= {LEAST:g}, which "
                f"interpolates, and <= {most:.0e}, which leaves a polynomial."
            )
        self.alpha_ = self.lam_ * self._unit
        fit = self._evaluate(self.lam_, y[used], w[used], place)
        self.criteria_ = in_unit(fit.criteria, self.n_observations_ - int(self.order), unit)
        self.edf_, self.noise_variance_ = fit.edf, unit**2 * fit.noise_variance
        self.y_ *= unit
        self.polynomial_ = self._pieces(fit.sweep)
        self.polynomial_.c *= unit
        self.leverage_, self.leave_one_out_ = np.zeros(len(x)), self._values(x)
        self.leverage_[used], self.leave_one_out_[used] = fit.leverage, unit * (y[used] - fit.left_out)
        return self

    # ---- checks

    def _check_parameters(self) -> None:
        check_number(self, "order", self.order, at_least=1, at_most=MAX_ORDER, integer=True)
        self._check_penalty()
        check_number(self, "df", self.df, above=0, besides=(None,))
        check_number(self, "lam", self.lam, above=0, besides=(None,))
        if self.spar is not None:
            check_number(self, "spar", self.spar)
            if self.order != 2:
                raise ValueError(f"{where(self)}: spar is defined for order = 2, not {self.order!r}; give lam.")

    def _check_data(self, X: Data, y: Array = None, fitting: bool = False) -> Any:
        if fitting:
            require_target(self, y)
        for name, values in (("X", X), ("y", y)):
            self._require_numpy(values, name, "give NumPy arrays, as splines are fitted on the host")
            refuse_masked(values, where(self), name)
        if not is_sparse(X):
            plain(X, where(self), "X")
        if fitting:
            y = check_targets(self, y)
        X = X if hasattr(X, "ndim") else np.asarray(X)
        if X.ndim == 1 and not is_sparse(X):
            X = np.asarray(X).reshape(-1, 1)
        if fitting:
            X, y = validated(self, X, y, dtype=np.float64, y_numeric=True)
        else:
            X = validated(self, X, dtype=np.float64, reset=False)
        if X.shape[1] != 1:
            raise ValueError(
                f"{where(self)}: X has {X.shape[1]} columns; a smoothing spline needs one. Try ThinPlateSpline."
            )
        return (X, y) if fitting else X

    # ---- the mathematics

    def _gather(self, x: np.ndarray, y: np.ndarray, w: np.ndarray, unit: float) -> np.ndarray:
        """Merge samples of equal x, scale x to [0, 1], and return the index of each sample's distinct x."""
        m, n = int(self.order), len(x)
        if x.max() / 2 - x.min() / 2 > HALF:
            raise ValueError(
                f"{where(self)}: X ranges from {x.min():.0e} to {x.max():.0e}, which overflows; divide it by 1e10."
            )
        knots, place = np.unique(x, return_inverse=True)
        apart = np.r_[True, np.diff(knots) > np.finfo(np.float64).eps * (knots[-1] - knots[0])]
        knots, place = knots[apart], (np.cumsum(apart) - 1)[place]
        if len(knots) <= m:
            raise ValueError(
                f"{where(self)}: {n} sample(s) with {len(knots)} distinct x of positive weight; order = {m} needs at "
                f"least {m + 1}. Add samples, or lower the order."
            )
        self.n_observations_, self.x_ = n, knots
        self.weight_ = np.bincount(place, w)
        one = np.empty(len(knots))
        one[place] = y
        self.y_ = one + np.bincount(place, w * (y - one[place])) / self.weight_  # exact for a single sample
        self._within = float(np.sum(w * (y - self.y_[place]) ** 2))
        self._start, self._range = float(knots[0]), float(knots[-1] - knots[0])
        if abs(log2(unit)) + (2 * m - 1) * abs(log2(self._range)) > EXPONENTS:
            raise ValueError(
                f"{where(self)}: X has the range {self._range:.0e}; y of size {unit:.0e}, divided by its powers up to "
                f"{2 * m - 1}, overflows or underflows. Divide X by {self._range:.0e}."
            )
        self._gaps = np.diff((knots - self._start) / self._range)
        self._mean_weight = float(np.mean(w))
        self._unit = self._mean_weight * self._range ** (2 * m - 1)  # alpha divided by R's lambda
        return place

    def _choose(self, evaluate: Any) -> float:
        """R's λ: as given, directly or indirectly, or the minimiser of a criterion."""
        if self.lam is not None:
            return float(self.lam)
        if self.spar is not None:
            power = 3.0 * float(self.spar) - 1
            return self._spar_ratio() * (256.0**power if power < 127 else inf)
        if self.df is not None:
            return self._with_edf(float(self.df), evaluate)
        if not isinstance(self.alpha, str):
            return float(self.alpha / self._unit)
        return self._minimiser(self.alpha, evaluate)

    def _minimiser(self, name: str, evaluate: Any) -> float:
        """The λ at a minimum of a criterion."""

        def values(t: float) -> tuple[float, float]:
            fit = evaluate(np.exp(t))
            value = fit.criteria[name]
            return value, modified_gcv(self.n_observations_, fit.rss, fit.edf) if name == "gcv" else value

        low, high = self._interval(evaluate)
        steps = int(np.ceil((high - low) / (int(self.order) * np.log(2.5)))) + 1  # edf changes by a factor below 1.6
        return float(np.exp(minimiser(values, np.linspace(low, high, steps).tolist())))

    def _interval(self, evaluate: Any) -> tuple[float, float]:
        """The range of log λ, from passing nearly all frequencies of the data to passing only polynomials."""
        m, n, distinct = int(self.order), self.n_observations_, len(self.x_)
        low, high = float(np.log(1e-3 * n) - 2 * m * np.log(np.pi * distinct)), float(np.log(1e3 * n))
        while evaluate(np.exp(low)).edf < 0.9 * distinct:  # the samples are much closer than evenly spaced ones
            low -= 5.0
        return low, high

    def _with_edf(self, df: float, evaluate: Any) -> float:
        """The λ with the given effective degrees of freedom."""
        m, distinct = int(self.order), len(self.x_)
        if not m < df < distinct:
            raise ValueError(f"{where(self)}: df = {df:g} must lie between order = {m} and the {distinct} distinct x.")

        def excess(t: float) -> float:
            return evaluate(np.exp(t)).edf - df

        low, high = self._interval(evaluate)
        while excess(low) < 0:
            low -= 5.0
        while excess(high) > 0:
            high += 5.0
        return float(np.exp(optimize.brentq(excess, low, high, xtol=1e-12)))

    def _evaluate(self, lam: float, y: np.ndarray, w: np.ndarray, place: np.ndarray) -> Evaluation:
        """The sweep at one λ, and the criteria."""
        current().check()
        m, n = int(self.order), self.n_observations_
        sweep = smooth(self._gaps, self.weight_, self.y_, lam * self._mean_weight, m)
        share = 1 / (1 + self.weight_ * sweep.variance)  # 1 − total leverage of the samples at an x
        residual = share * sweep.left_out
        rss = float(np.sum(self.weight_ * residual**2)) + self._within
        free = float(np.sum(share)) + (n - len(self.x_))  # n − edf, without cancellation
        # for one sample of weight w at an x of total weight W: 1 − leverage = (1 + (W − w)V)/(1 + WV)
        alone = share[place] * (1 + (self.weight_[place] - w) * sweep.variance[place])
        left_out = (y - self.y_[place] + residual[place]) / alone
        criteria = {
            "gcv": gcv(n, rss, free),
            "loo": float(np.sum(w * left_out**2)) / n,
            "reml": reml(n - m, sweep.objective + self._within, sweep.log_determinant),
        }
        leverage = w * (share * sweep.variance)[place]
        return Evaluation(criteria, float(np.sum(leverage)), rss, rss / free, leverage, left_out, sweep)

    def _pieces(self, sweep: Any) -> PPoly:
        """The polynomials between the knots, and beyond them."""
        m = int(self.order)
        scale = self._range ** -np.arange(m)  # derivatives in the units of x
        taylor = sweep.states * scale / special.factorial(np.arange(m))
        # the powers m … 2m − 1 account for the step of the state over the gap: a Hermite problem on the unit interval
        powers = np.arange(m, 2 * m)
        hermite = np.linalg.inv(np.array([special.poch(powers - j + 1, j) for j in range(m)]))
        gaps = self._gaps[:, None]
        upper = (sweep.steps @ hermite.T) * gaps ** (m - 0.5 - powers) / self._range**powers
        inner = np.hstack([taylor[:-1], upper])
        first = Polynomial(taylor[0])(Polynomial([-self._range, 1.0])).coef  # about the left end of its piece
        outer = np.zeros((2, 2 * m))
        outer[0, : len(first)], outer[1, :m] = first, taylor[-1]
        coefficients = np.vstack([outer[:1], inner, outer[1:]])[:, ::-1].T
        ends = self._start - self._range, self.x_[-1] + self._range
        return PPoly(np.ascontiguousarray(coefficients), np.concatenate([ends[:1], self.x_, ends[1:]]))

    def _spar_ratio(self) -> float:
        """R's ratio of the traces of XᵀWX and of the penalty matrix, over the interior B-splines."""
        u = np.concatenate([[0.0], np.cumsum(self._gaps)])
        u /= u[-1]
        t = np.concatenate([[0.0] * 3, u, [1.0] * 3])
        design = BSpline.design_matrix(u, t, 3)
        squares = design.multiply(design).T @ (self.weight_ / self._mean_weight)
        j = np.arange(2, len(u) - 1)
        if len(j) == 0:
            raise ValueError(f"{where(self)}: spar needs at least 4 distinct x; there are {len(u)}. Give lam or alpha.")
        left, right = 1 / (t[j + 3] - t[j]), 1 / (t[j + 4] - t[j + 1])
        # the second derivative of a cubic B-spline is linear between its values at its five knots
        values = 6 * np.array(
            [
                0 * left,
                left / (t[j + 2] - t[j]),
                -(left + right) / (t[j + 3] - t[j + 1]),
                right / (t[j + 4] - t[j + 2]),
                0 * left,
            ]
        )
        a, b = values[:-1], values[1:]
        widths = np.array([t[j + k + 1] - t[j + k] for k in range(4)])
        penalty = np.sum(widths * (a * a + a * b + b * b) / 3)
        return float(np.sum(squares[j]) / penalty)

    # ---- prediction

    def predict(self, X: Data, return_std: bool = False) -> Any:
        """The values f(x); with `return_std`, also their posterior standard deviations, excluding noise."""
        check_is_fitted(self)
        x = self._check_data(X)[:, 0]
        values = self._values(x)
        return (values, np.sqrt(self.noise_variance_ * self._variance(x))) if return_std else values

    def _variance(self, x: np.ndarray) -> np.ndarray:
        """Posterior variances in units of the noise variance, by a sweep in which the new points have weight zero."""
        points = np.concatenate([self.x_, x])
        order = np.argsort(points, kind="stable")
        u = (points[order] - self._start) / self._range
        weight = np.concatenate([self.weight_, np.zeros(len(x))])[order]
        y = np.concatenate([self.y_, np.zeros(len(x))])[order]
        variance = np.empty(len(points))
        variance[order] = smooth(np.diff(u), weight, y, self.lam_ * self._mean_weight, int(self.order)).variance
        return variance[len(self.x_) :]

    def left_out_at(self, X: Data, samples: Data, residuals: np.ndarray) -> np.ndarray:
        """The fits without each training sample at new points, of shape (points, samples).

        `residuals` are the leave-one-out residuals of the training samples. Each point takes one sweep, for the
        response to an additional sample of value 1 there, with all others 0.
        """
        # with C the covariance of the values under unit noise, s(x) = w C(·, x), and the fit to that sample alone is
        # vC(·, x)/(1 + vC(x, x)) for its weight v; v = 1/C(x, x) is accurate
        x = self._check_data(X)[:, 0]
        values, variance = self.predict(x), self._variance(x)
        # samples equal up to rounding are merged into the first
        place = np.searchsorted(self.x_, self._check_data(samples)[:, 0], side="right") - 1
        out = np.empty((len(x), len(residuals)))
        zeros = np.zeros(len(self.x_))
        for j, point in enumerate(x):
            k = int(np.searchsorted(self.x_, point))
            u = (np.insert(self.x_, k, point) - self._start) / self._range
            weight, ones = np.insert(self.weight_, k, 1 / variance[j]), np.insert(zeros, k, 1.0)
            f = smooth(np.diff(u), weight, ones, self.lam_ * self._mean_weight, int(self.order)).states[:, 0]
            response = np.delete(f, k) / (1 - f[k]) * variance[j]
            out[j] = values[j] - response[place] * residuals
        return out

    def derivative(self, X: Data, order: int = 1) -> np.ndarray:
        """The derivative f^(order) at X."""
        check_is_fitted(self)
        check_number(self, "order", order, at_least=0, integer=True)
        return self._values(self._check_data(X)[:, 0], int(order))

    def _values(self, x: np.ndarray, order: int = 0) -> np.ndarray:
        """f^(order)(x); beyond the knots only the powers below m, since the higher ones, which are zero, overflow."""
        m, pieces = int(self.order), self.polynomial_
        values = pieces(np.clip(x, pieces.x[0], pieces.x[-1]), nu=order)
        for beyond, piece in ((x < pieces.x[0], 0), (x > pieces.x[-1], -1)):
            start = pieces.x[:-1][piece]
            with np.errstate(over="ignore", invalid="ignore"):  # refused below
                values[beyond] = Polynomial(pieces.c[: -m - 1 : -1, piece]).deriv(order)(x[beyond] - start)
        if not np.isfinite(values).all():
            far = x[~np.isfinite(values)][0]
            raise ValueError(
                f"{where(self)}: X holds {far:.1g}, so far from the samples that the polynomial there overflows; drop "
                "such points."
            )
        return values

    @property
    def spar_(self) -> float:
        """R's spar of the fit (cubic splines)."""
        check_is_fitted(self)
        if self.order != 2:
            raise AttributeError(f"{where(self)}: spar_ is defined for order = 2, not {self.order!r}; see lam_.")
        return float((np.log(self.lam_ / self._spar_ratio()) / np.log(256) + 1) / 3)

    @property
    def function_(self) -> Function:
        """f = Σ aᵢ k(·, xᵢ) + a polynomial, in the space whose seminorm is the penalty: ‖f‖² = ∫ (f^(m))²."""
        check_is_fitted(self)
        m = int(self.order)
        kernel, basis, points = duchon(m, 1), Polynomials(m - 1), self.x_[:, None]
        if np.max(np.abs(self.x_ / self._range)) ** (m - 1) > 1e8:
            raise ValueError(
                f"{where(self)}: function_ expands polynomials in powers of x, but x = {self._start:g} … is too far "
                f"from 0 for its range {self._range:g}; fit to x minus its mean, or use predict and derivative."
            )
        a = self.weight_ * (self.y_ - self.polynomial_(self.x_)) / self.alpha_
        nodes = (self._start + self._range * (np.arange(m) + 0.5) / m)[:, None]
        rest = self.polynomial_(nodes[:, 0]) - kernel(nodes, points) @ a
        return Function(kernel, points, a, basis, np.linalg.solve(basis(nodes), rest))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags
