"""Smoothing-spline analysis of variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import reduce
from itertools import combinations, product
from numbers import Integral
from operator import add, mul
from typing import Any, Self

import numpy as np
from scipy import linalg, optimize
from sklearn.base import RegressorMixin

from .._array import host, like, namespace
from .._errors import KindError, check_number, where
from .._units import unit_of_squares
from ..basis import Functions
from ..context import Status, current, warn_early
from ..gram import Dense
from ..kernels import Features, Kernel
from ..kernels.bernoulli import Bernoulli, scaled_bernoulli
from ..solvers.hyper import descend
from ..solvers.spectral import Spectral
from ..space import Function
from ..types import Array, Data
from ._base import KernelEstimator
from ._spline import Smoother

COST = 1.4  # of a degree of freedom, in the modification of generalised cross-validation by Kim and Gu
FLAT = 1e3  # 1/FLAT bounds relative weights from below at restart: smaller ones have no gradient
HALF = 0.25 * float(np.finfo(np.float64).max)  # half-range above which the range overflows
LEFT = 1e-9  # fraction of n that must remain as residual degrees of freedom
MARGIN = 0.05  # fraction of a column's range by which its interval extends at either end


@dataclass(eq=False, repr=False)
class AnovaSpline(Smoother, RegressorMixin, KernelEstimator):
    r"""Smoothing-spline analysis of variance: main effects and interactions, each with its own smoothness.

    .. math:: \min_f\; \tfrac12 \sum_i w_i \big(y_i - f(x_i)\big)^2
              + \tfrac{\alpha}{2} \sum_t \sum_{c \subseteq t} \theta_{tc}^{-1} \|P_{tc} f_t\|^2, \qquad
              f = \mu + \sum_t f_t

    A term t is a set of columns. A main effect is penalised by :math:`\int (f_t^{(m)})^2`; an interaction by the norms
    of its parts, one for each set c of penalised columns, with polynomials in the others. Each component has mean zero
    over each of its columns, which makes the components unique.

    Parameters
    ----------
    alpha : float > 0, or {"gcv", "reml"}
        Regularisation parameter; larger is smoother. "gcv" (generalised cross-validation) and "reml" (restricted
        maximum likelihood) choose alpha and θ jointly.
    terms : sequence of int or tuples of int, optional
        Columns of the main effects and tuples for interactions: ``[0, 1, (0, 1)]``. None: all main effects.
    theta : sequence of float > 0, optional
        θ for a given alpha, one per part (`parts_`) or per term; larger makes the part less smooth. None: all 1.
    order : int >= 1
        m; 2 gives cubic splines.
    time_budget : float > 0, optional
        Time limit in seconds. The fit then keeps the best result so far, with a warning, or raises if there is none.

    Attributes
    ----------
    alpha_ : float
    theta_ : array of shape (n_parts,)
        The weights of the parts; selected weights have maximum 1.
    terms_ : list of tuples
    parts_ : list of pairs of tuples
        The term and the penalised columns of each part. A main effect has one part, an interaction of two columns three
        (one if m = 1).
    intercept_ : float
        μ.
    edf_, noise_variance_, criteria_, leverage_, leave_one_out_
        As for `SmoothingSpline`.
    function_ : Function
        f on the columns as mapped by `scale`, in the space of :math:`\sum_t \theta_t k_t`.
    lower_, upper_ : arrays of shape (d,)
        The interval of each column that is mapped to [0, 1]: its range plus 5 % at either end.

    Notes
    -----
    With k the kernel `Bernoulli` and l that of the unpenalised :math:`k_1, …, k_{m−1}`, a part has the product of k
    over its penalised columns and of l over the others, as in gss. Beyond its interval a main effect continues as a
    polynomial of degree m − 1. Computations are in double precision; a step of the selection takes O(n³) on the host,
    and a part O(n²) memory.

    The criteria may have several minima, some close to interpolation. The search is local, from the starting values of
    Gu and Wahba as in RKPACK and gss: with K_t the matrix of a part on the complement of the free part, θ_t = 1/tr K_t
    and the minimising alpha nearest tr K²/tr K; then θ_t becomes ‖f_t‖², alpha is searched again, and quasi-Newton
    steps follow. Generalised cross-validation is safeguarded: these steps minimise its modification by Kim and Gu, in
    which a degree of freedom costs 1.4 (gss's default), and further steps then descend on the criterion itself. The
    minimum of the modification is kept if the further steps raise the leave-one-out error by more than its standard
    error, or at all if edf > n/1.4.

    References
    ----------
    Wahba, Wang, Gu, Klein, Klein, *Smoothing spline ANOVA for exponential families* (1995). Gu, *Smoothing Spline ANOVA
    Models* (2013); R's ``gss::ssanova``. Kim, Gu, *Smoothing spline Gaussian regression: more scalable computation via
    efficient approximation* (2004): the factor 1.4. Gu, Wahba, *Minimizing GCV/GML scores with multiple smoothing
    parameters via the Newton method* (1991): the starting values.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(100, 2))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=100)
    >>> model = AnovaSpline().fit(X, y)
    >>> curves = model.components(X)
    >>> sorted(curves), bool(np.corrcoef(curves[(0,)], np.sin(6 * X[:, 0]))[0, 1] > 0.99)
    ([(0,), (1,)], True)
    """

    alpha: float | str = "gcv"
    _: KW_ONLY
    terms: Sequence[Any] | None = None
    theta: Sequence[float] | None = None
    order: int = 2
    time_budget: float | None = None

    # ---- the model

    def _kernel(self, n_features: int) -> Kernel:
        return Bernoulli(self.order)

    def _check_terms(self, d: int) -> list[tuple[int, ...]]:
        given: list[Any] = list(range(d) if self.terms is None else self.terms if np.iterable(self.terms) else ())
        terms = [tuple(t) if np.iterable(t) else (t,) for t in given]

        def is_column(j: Any) -> bool:
            return isinstance(j, Integral) and not isinstance(j, bool) and j in range(d)

        sound = terms and all(t and len(set(t)) == len(t) and all(map(is_column, t)) for t in terms)
        if not sound or len({frozenset(t) for t in terms}) != len(terms):
            raise ValueError(
                f"{where(self)}: terms = {self.terms!r} must be distinct columns, or tuples of distinct columns, in "
                f"0 … {d - 1}."
            )
        return [tuple(sorted(int(j) for j in t)) for t in terms]

    def _check_theta(self) -> np.ndarray | None:
        if self.theta is None:
            return None if isinstance(self.alpha, str) else np.ones(len(self.parts_))
        theta = np.asarray(self.theta)
        if theta.dtype.kind not in "fiu":
            raise KindError(f"{where(self)}: theta = {self.theta!r} must be numbers, one for each term.")
        if isinstance(self.alpha, str):
            raise ValueError(
                f"{where(self)}: theta is given, but alpha = {self.alpha!r} selects it; set alpha to a number."
            )
        counts = len(self.parts_), len(self.terms_)
        if theta.shape not in ((counts[0],), (counts[1],)) or not np.all(np.isfinite(theta)) or (theta <= 0).any():
            listed = " or ".join(map(str, sorted(set(counts))))
            raise ValueError(f"{where(self)}: theta = {self.theta!r} must be {listed} finite numbers > 0.")
        if len(theta) == len(self.parts_):
            return theta
        return np.array([theta[self.terms_.index(t)] for t, _ in self.parts_])

    def _parts(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """The parts: each term with every set of penalised columns; only the full set if order = 1."""
        return [
            (t, chosen)
            for t in self.terms_
            for size in (range(1, len(t) + 1) if self.order > 1 else (len(t),))
            for chosen in combinations(t, size)
        ]

    def _part_kernel(self, columns: tuple[int, ...], chosen: tuple[int, ...]) -> Kernel:
        """The kernel of a part: k over the penalised columns, l over the others."""
        smooth = Bernoulli(self.order)
        free = Features(BernoulliFeatures(int(self.order)))
        return reduce(mul, ((smooth if j in chosen else free).on(j) for j in columns))

    def _free_functions(self) -> list[BernoulliProduct]:
        """The constant 1, and for each term the products of k₁ … k_{m−1} over its columns."""
        degrees = range(1, int(self.order))
        return [
            BernoulliProduct((), ()),
            *(BernoulliProduct(t, r) for t in self.terms_ for r in product(degrees, repeat=len(t))),
        ]

    def scale(self, X: Data) -> Any:
        """Map each column's interval to [0, 1]."""
        return (X - like(self.lower_, X)) / like(self.upper_ - self.lower_, X)

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X of shape (n, d) and values y of shape (n,)."""
        self._check_penalty(("gcv", "reml"))
        check_number(self, "order", self.order, at_least=1, integer=True)
        X, y = self._check_fit(X, y, y_numeric=True)
        weight = self._check_weight(sample_weight, X)
        self.terms_ = self._check_terms(int(X.shape[1]))
        self.parts_ = self._parts()
        theta = self._check_theta()
        self._basis = Functions(self._free_functions())
        used, p = len(host(y)) if weight is None else int(np.sum(weight > 0)), len(self._basis.functions)
        if used <= p:
            raise ValueError(
                f"{where(self)}: {used} samples of positive weight are too few for {p} free functions; give more "
                "samples or fewer terms."
            )
        X = self._in_double(X)
        self._set_interval(host(X), weight)
        U = self.scale(X)

        kernels = [self._part_kernel(*part) for part in self.parts_]
        H = self._basis(U)
        target = like(y, H)
        unit = unit_of_squares(self, "y", target)
        target = target / unit
        if theta is None:
            matrices = [host(k.evaluate(U)) for k in kernels]
            search = Selection(str(self.alpha), matrices, host(target), host(H), weight, used)
            ratio = search.best()
            if search.status is not None:
                warn_early(self, "the search for theta and alpha did not finish", search.status)
            alpha, theta = float(1 / ratio.max()), ratio / ratio.max()
        else:
            alpha = float(self.alpha)
        self.theta_ = theta
        scaled: list[Any] = [float(t) * k for t, k in zip(theta, kernels, strict=True)]
        self._kernels = {
            t: reduce(add, (k for k, part in zip(scaled, self.parts_, strict=True) if part[0] == t))
            for t in self.terms_
        }
        self.kernel_ = reduce(add, scaled)
        current().check()
        gram = Dense().build(self.kernel_, U, np.random.default_rng(0))
        self._path = Spectral(gram, H, None if weight is None else like(weight, H))
        solution = self._path.solve(target[:, None], alpha)
        a, c = unit * solution.coefficients[:, 0], unit * solution.free[:, 0]
        self.intercept_ = float(c[0])
        self.function_ = Function(self.kernel_, U, a, self._basis, c)
        self._record(self._path, alpha, target, unit)
        return self

    def _set_interval(self, X: np.ndarray, weight: Array) -> None:
        X = X if weight is None else X[weight > 0]
        low, high = X.min(axis=0), X.max(axis=0)
        used = sorted({j for t in self.terms_ for j in t})
        constant = [j for j in used if high[j] <= low[j]]
        if constant:
            raise ValueError(f"{where(self)}: column(s) {constant} of X are constant; remove them from terms.")
        if np.max(high / 2 - low / 2) > HALF:
            raise ValueError(
                f"{where(self)}: X ranges from {low.min():.0e} to {high.max():.0e}, which overflows; divide it by 1e10."
            )
        margin = np.where(high > low, MARGIN * (high - low), 0.5)
        self.lower_, self.upper_ = low - margin, high + margin

    # ---- predictions and components

    def _points(self, X: Data) -> Any:
        return self.scale(self._check_new(X))

    def predict(self, X: Data, return_std: bool = False) -> Any:
        """The values f(x); with `return_std` also their posterior standard deviations, without noise."""
        U = self._points(X)
        values = self.function_(U)
        if not return_std:
            return values
        return values, self._deviation(U, self.kernel_, self._basis(U))

    def _deviation(self, U: Array, kernel: Kernel, H: Array) -> Any:
        """The posterior standard deviation of the part of f with this kernel and these free functions."""
        cross = kernel.evaluate(U, self.function_.points)
        variance = self._path.variance(self.alpha_, cross, kernel.evaluate_diag(U), H)
        return (self.noise_variance_ / self.alpha_) ** 0.5 * namespace(U).sqrt(variance)

    def _free_part(self) -> tuple[Any, Any]:
        variance = np.diagonal(self._path.free_covariance(self.alpha_))
        return host(self.function_.free), (self.noise_variance_ / self.alpha_) ** 0.5 * np.sqrt(variance)

    def components(self, X: Data, return_std: bool = False) -> Any:
        """The values of each component f_t at X, by term; with `intercept_` they add up to `predict`.

        With `return_std` also their posterior standard deviations, by term.
        """
        U = self._points(X)
        f, H = self.function_, self._basis(U)
        owners = [h.columns for h in self._free_functions()]
        curves, deviations = {}, {}
        for t, kernel in self._kernels.items():
            own = H * like(np.array([float(columns == t) for columns in owners]), H)
            curves[t] = kernel.evaluate(U, f.points) @ f.coefficients + own @ f.free
            if return_std:
                deviations[t] = self._deviation(U, kernel, own)
        return (curves, deviations) if return_std else curves


@dataclass(eq=False)
class BernoulliFeatures:
    """x ↦ (k₁(x), …, k_{m−1}(x)) of one column: the unpenalised part of a main effect."""

    order: int

    def __call__(self, X: Data) -> Any:
        return namespace(X).stack([scaled_bernoulli(r, X[:, 0]) for r in range(1, self.order)], axis=1)


@dataclass(eq=False)
class BernoulliProduct:
    """Π k_r(x_j) over columns j with degrees r; the constant 1 if there are no columns."""

    columns: tuple[int, ...]
    degrees: tuple[int, ...]

    def __call__(self, X: Data) -> Any:
        value = namespace(X).ones_like(X[:, 0])
        for j, r in zip(self.columns, self.degrees, strict=True):
            value = value * scaled_bernoulli(r, X[:, j])
        return value


class Selection:
    """Selection of θ/α for several parts.

    On coordinates Z orthogonal to the free part, with B = (Σ θ_t K_t + I)⁻¹ and q = Zᵀy,
    GCV = n ‖Bq‖² / (tr B)², and minus twice the restricted log likelihood is N log qᵀBq − log |B|.
    """

    def __init__(
        self, criterion: str, matrices: list[np.ndarray], y: np.ndarray, H: np.ndarray, weight: Array, n: int
    ) -> None:
        root = np.ones(len(y)) if weight is None else np.sqrt(weight)
        Q, _ = linalg.qr(H * root[:, None])
        self.used, self.Z = root > 0, Q[:, H.shape[1] :]
        Z = self.Z * root[:, None]
        self.K = [(P + P.T) / 2 for P in (Z.T @ M @ Z for M in matrices)]
        self.q, self.n, self.N = Z.T @ y, n, n - H.shape[1]
        self.likelihood = criterion == "reml"
        whole = np.array([np.sum(root**2 * np.diagonal(M)) for M in matrices])
        self.traces = np.array([np.trace(k) for k in self.K])
        # zero for parts that the free part explains up to rounding; likewise for y
        self.traces[self.traces <= 1e-12 * whole] = 0.0
        self.explained = self.q @ self.q <= 1e-28 * np.sum((root * y) ** 2) or not self.traces.any()
        self.most = -np.log(1e-12 * whole / self.N)  # larger values would amplify that rounding
        self.status: Status | None = None

    def best(self) -> np.ndarray:
        """θ/α at a minimum, from the starting values of Gu and Wahba.

        Generalised cross-validation descends from the minimum of its modification, in which a degree of freedom costs
        1.4; that minimum is kept if the descent increases the leave-one-out error.
        """
        if self.explained:
            return np.exp(self.most - 40)
        self.cost = 1.0 if self.likelihood else COST
        size = np.where(self.traces > 0, self.traces, self.traces.max())
        theta = np.exp(r := self.level(-np.log(size)))
        b = linalg.solve(self.total(theta) + np.eye(len(self.q)), self.q, assume_a="pos")
        energies = [t * t * (b @ k @ b) for t, k in zip(theta, self.K, strict=True)]  # ‖f_t‖²
        r = self.descend(self.level(np.log(np.maximum(energies, max(1e-25 * max(energies), 1e-300)))))
        if self.likelihood:
            return np.exp(r)
        safe, self.cost = r, 1.0
        r = self.descend(np.maximum(safe, -np.log(FLAT * size)))
        (edf, errors), (_, safe_errors) = self.left_out(r), self.left_out(safe)
        rise = errors - safe_errors
        allowed = 0.0 if COST * edf > self.n else rise.std() / np.sqrt(self.n)
        return np.exp(safe if rise.mean() > allowed else r)

    def descend(self, r: np.ndarray) -> np.ndarray:
        """Quasi-Newton steps on the logarithms of θ/α; returns the best so far if the context stops them."""
        found = descend(self.value, r, (r - 40, self.most), ftol=1e-14, gtol=1e-8)
        self.status = found.status if found.status.external else self.status
        return found.place

    def level(self, r: np.ndarray) -> np.ndarray:
        """The multiple of θ at the minimum nearest to α = tr K²/tr K, by steps of at most a decade."""
        K = self.total(np.exp(r))
        centre, decade = float(np.log(np.trace(K) / np.sum(K * K))), float(np.log(10))
        while True:
            current().check()
            found = optimize.minimize_scalar(
                lambda shift: self.value(r + shift)[0],
                bounds=(centre - decade, centre + decade),
                method="bounded",
                options={"xatol": 1e-3},
            )
            if abs(found.x - centre) < 0.99 * decade or not -60 < found.x + np.max(r - self.most) < 0:
                return r + found.x
            centre = float(found.x)

    def left_out(self, r: np.ndarray) -> tuple[float, np.ndarray]:
        """The degrees of freedom, and the squared leave-one-out residuals of the samples of positive weight."""
        B = linalg.inv(self.total(np.exp(r)) + np.eye(len(self.q)))
        share = np.sum((self.Z @ B) * self.Z, axis=1)[self.used]  # 1 − leverage
        residuals = (self.Z @ (B @ self.q))[self.used] / np.maximum(share, np.finfo(np.float64).eps)
        return self.n - float(share.sum()), residuals**2

    def total(self, theta: np.ndarray) -> np.ndarray:
        """Σ θ_t K_t."""
        return np.tensordot(theta, self.K, axes=1)

    def value(self, r: np.ndarray) -> tuple[float, np.ndarray]:
        """The criterion (the logarithm of GCV) at θ/α = eʳ, and its gradient."""
        theta, q, N = np.exp(r), self.q, self.N
        M = self.total(theta) + np.eye(len(q))
        factor = linalg.cholesky(M, lower=True, check_finite=False)
        half = linalg.solve_triangular(factor, np.eye(len(M)), lower=True, check_finite=False)
        B = half.T @ half
        b = B @ q
        if self.likelihood:
            energy = q @ b
            value = N * np.log(energy) + 2 * np.sum(np.log(np.diagonal(factor)))
            slope = [t * (np.sum(B * k) - N * (b @ k @ b) / energy) for t, k in zip(theta, self.K, strict=True)]
            return float(value), np.array(slope)
        # coordinates of samples of weight zero are excluded from residuals and trace
        rss, trace = b @ b, np.trace(B) - (len(M) - N)
        left, change = self.cost * trace - (self.cost - 1) * self.n, self.cost  # n − cost · edf, and its slope in tr B
        if left < LEFT * self.n:  # a barrier against too few residual degrees of freedom
            left, change = LEFT * self.n, 0.0
        Bb, BB = B @ b, B @ B
        pairs = zip(theta, self.K, strict=True)
        slope = [2 * t * (change * np.sum(BB * k) / left - (b @ k @ Bb) / rss) for t, k in pairs]
        return float(np.log(self.n * rss / left**2)), np.array(slope)
