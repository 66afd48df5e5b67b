"""Kernel Fisher discriminant analysis."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax
from sklearn.utils.validation import check_is_fitted

from .._array import eps, host, like
from .._errors import check_grid, check_number, check_parameters, where
from ..basis import Polynomials
from ..context import current
from ..gram import Gram, GramLike
from ..gram.centered import CenteredGram
from ..kernels import KernelLike
from ..solvers.clustering import largest
from ..solvers.linear import LinearSolver, System, solve
from ..solvers.spectral import Spectral
from ..space import Function
from ..types import Array, Data, RandomState
from ._classifier import encode
from ._predictors import DecisionClassifier
from ._transformer import KernelTransformer

SOLVED = 1e-2  # largest relative residual of the regression at which the discriminants are reliable
GRID = np.logspace(-7, 0, 15)  # of alpha, relative to the trace of the centred matrix


@dataclass(eq=False, repr=False)
class KernelFisher(DecisionClassifier, KernelTransformer):
    r"""Kernel Fisher discriminant analysis: functions with large variance between and small variance within classes.

    .. math:: \max_{f \in H}\; \frac{\sum_c n_c (\bar f_c - \bar f)^2}
              {\sum_i w_i (f(x_i) - \bar f_{y_i})^2 + \alpha \|f\|_H^2}

    with :math:`\bar f_c` the mean of f over class c of weight :math:`n_c`. With k classes there are up to k − 1 such
    functions. A point is assigned to the class with the nearest mean in their values, adjusted for the priors: Bayes'
    rule for classes that are Gaussian in the kernel's space with covariance :math:`(S_W + \alpha I)/\sum_i w_i`, where
    :math:`S_W` is the within-class scatter.

    Parameters
    ----------
    kernel : str, Kernel or callable
        Positive definite, or conditionally positive definite of order 1.
    alpha : float > 0 or "loo"
        Regularisation parameter; larger is smoother. As alpha → ∞ only the difference of the class means separates the
        classes; as alpha → 0 this is the classical analysis, if there are fewer features than samples. "loo" chooses
        from `alphas` by leave-one-out likelihood, in closed form from one decomposition; the likelihood is that of
        ``calibration="loo"``.
    alphas : array of numbers > 0, optional
        Candidates for "loo"; default: 15 values from 10⁻⁷ to 1 times the trace of the centred kernel matrix.
    n_components : int >= 1, optional
        Number of discriminants returned by `transform`, at most k − 1; None: all. `predict` uses all.
    priors : array of shape (k,), optional
        Prior class probabilities, up to a common factor; default: proportional to the class weights.
    calibration : {None, "loo"}
        None uses the probabilities of the Gaussian model, which are overconfident if alpha is so small that the sample
        is fitted better than new points. "loo" divides the log probabilities by `temperature_` >= 1, which maximises
        the leave-one-out likelihood; predictions do not change.
    gram, solver, random_state, time_budget
        As in `KernelRidge`.

    Attributes
    ----------
    classes_ : array of shape (k,)
    priors_ : array of shape (k,)
        Prior probabilities; they sum to 1.
    alpha_ : float
        The regularisation parameter used.
    alphas_, loo_losses_ : arrays of shape (n_alphas,)
        With "loo": the candidates, and their mean negative log probability of the true class.
    eigenvalues_ : array
        The maximised ratio of each discriminant, in descending order.
    explained_variance_ratio_ : array
        The eigenvalues divided by their sum.
    function_ : Function
        The discriminants, one per column, positive towards the last class. The denominator of their ratio is
        :math:`\sum_i w_i`: within-class variance 1, including the penalty.
    offset_ : array
        Their means, which `transform` subtracts.
    means_ : array of shape (k, n_discriminants)
        The class means after `transform`.
    temperature_ : float
        Divisor of the decision values in probabilities; 1 without calibration.
    X_fit_, kernel_, solution_, gram_choice_
        As in `KernelRidge`.

    Notes
    -----
    The discriminants follow from one penalised regression. Let Y give each class a score in k − 1 dimensions, with
    :math:`\sum w_i Y_i = 0` and :math:`Y^\top W Y = I`, and let :math:`(\tilde K + \alpha W^{-1})A = Y` on the centred
    matrix. For the function with coefficients Au the total scatter plus the penalty is :math:`u^\top(I - C)u`, and the
    scatter between classes :math:`u^\top (I - C)^2 u`, where :math:`C = \alpha Y^\top A`. The eigenvectors of C, a
    matrix of size k − 1, give the discriminants; an eigenvalue 1 − ρ gives the ratio ρ/(1 − ρ). Functions outside the
    span of A do not separate classes.

    Classes may have any number of samples, even one, and may lie in a subspace; discriminants with equal means are
    omitted.

    `leave_one_out` follows from that of the regression: removing sample i subtracts
    :math:`w_i r_i r_i^\top / (1 - h_{ii})` from C, with residuals r and leverages h, so that scatter, means,
    centring and priors of every leave-one-out fit are exact.

    The cost is that of `KernelRidge` with k − 1 targets; "loo" takes one more decomposition, O(n³), or O(nr²) for low
    rank, for any number of alphas.

    References
    ----------
    Mika, Rätsch, Weston, Schölkopf, Müller, *Fisher discriminant analysis with kernels* (1999). Baudat, Anouar,
    *Generalized discriminant analysis using a kernel approach* (2000). Hastie, Buja, Tibshirani, *Penalized
    discriminant analysis* (1995), for the regression. Cawley, Talbot, *Efficient leave-one-out cross-validation of
    kernel Fisher discriminant classifiers* (2003). Guo, Pleiss, Sun, Weinberger, *On calibration of modern neural
    networks* (2017), for the temperature.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelFisher("gaussian(lengthscale=2.0)", alpha=0.1).fit(X, y)
    >>> model.transform(X).shape
    (150, 2)
    >>> float(np.mean(model.leave_one_out().argmax(axis=1) == y).round(2))
    0.97
    """

    _solves_system = True
    class_weight = None  # class weights would only change sample weights and priors, which can be given

    kernel: KernelLike = "gaussian(lengthscale='median')"
    _: KW_ONLY
    alpha: Any = 1.0
    alphas: Array = None
    n_components: int | None = None
    priors: Any = None
    calibration: str | None = None
    gram: GramLike = "auto"
    solver: str | LinearSolver = "auto"
    random_state: RandomState = None
    time_budget: float | None = None

    def _needs(self, n: int) -> str:
        return "factor"

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X with labels y."""
        check_parameters(self, {"alpha": {"above": 0, "besides": ("loo",)}, "calibration": (None, "loo")})
        self._forget("alphas_", "loo_losses_")
        X, y = self._check_fit(X, y)
        given = self._check_weight(sample_weight, X)
        self._index, self._weight = encode(self, y, given)
        self._totals = np.bincount(self._index, self._weight)
        self.priors_ = self._check_priors()
        if self.n_components is not None:
            most = len(self.classes_) - 1
            check_number(self, "n_components", self.n_components, at_least=1, at_most=most, integer=True)
        self._require_definite(X, 1)
        # class scores, one row each: orthonormal and centred with respect to the weights
        self._code = null_space(np.sqrt(self._totals)[None, :]) / np.sqrt(self._totals)[:, None]
        base = self._build(X, constants=True)
        gram = CenteredGram(base, self._weight)
        self.X_fit_ = X
        self._factored = base if "factor" in gram.provides else None  # it may be random, and is small
        current().check()
        self.alpha_ = self._chosen_alpha(gram) if isinstance(self.alpha, str) else float(self.alpha)
        current().check()
        Y = like(self._code[self._index], gram.like)
        weight = None if given is None else like(self._weight, gram.like)
        try:
            self.solution_ = solve(System(gram, Y, self.alpha_, weight=weight), self.solver)
        except ValueError as error:
            raise type(error)(f"{where(self)}: {error}") from error
        self._keep_discriminants(gram, self.solution_.coefficients)
        self.temperature_ = 1.0 if self.calibration is None else self._temperature(self.leave_one_out())[0]
        return self

    def _check_priors(self) -> np.ndarray:
        k = len(self.classes_)
        priors = self._totals if self.priors is None else np.asarray(self.priors)
        if priors.dtype.kind not in "fiu" or priors.shape != (k,) or not np.all(np.isfinite(priors) & (priors > 0)):
            raise ValueError(f"{where(self)}: priors = {self.priors!r} must be {k} numbers > 0, one for each class.")
        return priors / priors.sum()

    def _keep_discriminants(self, gram: CenteredGram, response: Any) -> None:
        solved = self.solution_.residual < SOLVED
        C = self.alpha_ * self._code[self._index].T @ host(response) if solved else np.zeros((1, 1))
        within, U = np.linalg.eigh((C + C.T) / 2)
        if within[0] <= 0:
            raise ValueError(
                f"{where(self)}: alpha = {self.alpha_:g} is so small relative to the kernel matrix that rounding "
                "errors exceed it; raise it."
            )
        between = 1 - within
        rounding = gram.n * eps(response) + self.solution_.residual  # the latter bounds the error of C
        if between[0] <= rounding:
            raise ValueError(
                f"{where(self)}: all classes have the same mean under the kernel {self.kernel_}, so no function "
                "separates them; unless all samples are equal, choose another kernel or a smaller alpha."
            )
        used = between > rounding
        within, between, U, total = within[used], between[used], U[:, used], self._totals.sum()
        means = self._code @ U * np.sqrt(total * between / within)
        sign = np.where(means[-1] < 0, -1.0, 1.0)
        self._keep(gram, response @ like(sign * U * np.sqrt(total / (between * within)), response))
        self.means_ = sign * means
        self.eigenvalues_ = between / within
        self.explained_variance_ratio_ = self.eigenvalues_ / self.eigenvalues_.sum()
        if self.n_components is not None:
            self._n_features_out = min(self.n_components, len(within))

    # ---- new points

    def transform(self, X: Data) -> Any:
        """The discriminant values minus their training means, of shape (n, n_components)."""
        return super().transform(X)[:, : self._n_features_out]

    def decision_function(self, X: Data) -> Any:
        """Log class probabilities up to a common term; for two classes their difference."""
        Z = super().transform(X)
        centre = np.log(self.priors_) - np.sum(self.means_**2, axis=1) / 2
        values = Z @ like(self.means_.T, Z) + like(centre, Z)
        return values[:, 1] - values[:, 0] if len(self.classes_) == 2 else values

    @property
    def decision(self) -> Function:
        """`decision_function` as a function of the kernel's space plus a constant."""
        f, centre = self.function_, np.log(self.priors_) - np.sum(self.means_**2, axis=1) / 2
        M = self.means_.T
        if len(self.classes_) == 2:
            M, centre = M[:, 1] - M[:, 0], centre[1] - centre[0]
        free = np.asarray(centre - host(self.offset_) @ M)[None, ...]
        A = f.coefficients @ like(M, f.coefficients)
        return Function(f.kernel, f.points, A, Polynomials(0), like(free, f.coefficients))

    def predict_log_proba(self, X: Data) -> np.ndarray:
        """Logarithms of `predict_proba`."""
        return log_softmax(_columns(host(self.decision_function(X))) / self.temperature_, axis=1)

    def predict_proba(self, X: Data) -> np.ndarray:
        """Class probabilities, one column per class."""
        return np.exp(self.predict_log_proba(X))

    # ---- samples left out

    def leave_one_out(self) -> np.ndarray:
        r"""Leave-one-out decision values at the training samples, in closed form.

        Scatter, class means, centring and priors (unless given) are those of the other samples; kernel parameters and
        landmarks are kept fixed. A sample of weight 0 has no influence and gets the value of the fit itself; the only
        sample of a class gets NaN, since the fit without it lacks that class.

        Notes
        -----
        With total weight :math:`\nu`, score scatter T, centred score :math:`g_c` of class c and centred regression
        values φ, the decision values are
        :math:`\nu\,(\varphi - \tfrac12 g_c) C^{-1} g_c + \tfrac{\nu}{2} g_c T^{-1} g_c + \log \pi_c`.
        """
        check_is_fitted(self)
        base = self._build(self.X_fit_, constants=True) if self._factored is None else self._factored
        return self._left_out(base, np.array([self.alpha_]))[0]

    def _left_out(self, base: Gram, alphas: np.ndarray) -> list[np.ndarray]:
        """`leave_one_out` for each of several alphas."""
        sample, k = base.like, len(self.classes_)
        Y, w = self._code[self._index], self._weight
        path = Spectral(base, like(np.ones((base.n, 1)), sample), like(w, sample))
        predicted = host(path.leave_one_out(like(Y, sample), alphas))
        room = host(path.room(alphas))
        left = w.sum() - w
        totals = self._totals - w[:, None] * (self._index[:, None] == np.arange(k))
        alone = np.any(totals <= 1e-12 * self._totals, axis=1)
        totals[alone] = self._totals
        priors = totals / totals.sum(axis=1, keepdims=True) if self.priors is None else self.priors_
        mean = -(w / left)[:, None] * Y
        T = np.eye(k - 1) - _outer(Y, Y) * np.where(alone, 0.0, w * w.sum() / left)[:, None, None]
        g = np.swapaxes(self._code[None, :, :] - mean[:, None, :], 1, 2)
        whole = np.linalg.solve(T, g)
        decisions = []
        for j in range(len(alphas)):
            errors = Y - predicted[:, :, j]
            residuals = (w * room[:, j])[:, None] * errors  # weighted, of the fit itself
            C = residuals.T @ Y - np.where(alone[:, None, None], 0.0, _outer(residuals, errors))
            within = self._solved(C, g, alphas[j])
            values = np.einsum("iq,iqc->ic", predicted[:, :, j] - mean, within)
            values = left[:, None] * (values - np.sum(g * (within - whole), axis=1) / 2) + np.log(priors)
            values[alone] = np.nan
            decisions.append(values[:, 1] - values[:, 0] if k == 2 else values)
        return decisions

    def _solved(self, C: np.ndarray, g: np.ndarray, alpha: float) -> np.ndarray:
        try:
            return np.linalg.solve(C, g)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"{where(self)}: alpha = {alpha:g} is so small relative to the kernel matrix that leave-one-out values "
                "are undefined; raise it."
            ) from None

    def _temperature(self, values: np.ndarray) -> tuple[float, float]:
        """The maximum-likelihood divisor >= 1 of left-out values, and its loss."""
        # without the bound, perfectly separated samples would give 0, more confident than the model
        values = _columns(values)
        known = np.flatnonzero(~np.isnan(values).any(axis=1) & (self._weight > 0))
        if not len(known):
            raise ValueError(
                f"{where(self)}: 'loo' needs two samples in some class, but every class has only one; give more, or "
                "set alpha to a number and calibration to None."
            )

        def loss(log_temperature: float) -> float:
            logarithms = log_softmax(values[known] * np.exp(-log_temperature), axis=1)
            return -float(
                np.average(logarithms[np.arange(len(known)), self._index[known]], weights=self._weight[known])
            )

        found = minimize_scalar(loss, bounds=(0.0, 20.0), method="bounded")
        return float(np.exp(found.x)), float(found.fun)

    def _chosen_alpha(self, gram: CenteredGram) -> float:
        whole, trace = (float(self._weight @ np.abs(host(g.diagonal()))) for g in (gram.base, gram))
        unit = trace if trace > 1e-12 * whole else 1.0  # equal samples are rejected later for any alpha
        self.alphas_ = GRID * unit if self.alphas is None else check_grid(self, "alphas", self.alphas)
        self.loo_losses_ = np.array([self._temperature(v)[1] for v in self._left_out(gram.base, self.alphas_)])
        return float(self.alphas_[largest(-self.loo_losses_)])


def _columns(values: np.ndarray) -> np.ndarray:
    """One column per class, also for the difference of two classes."""
    return values if values.ndim == 2 else np.stack([-values / 2, values / 2], axis=1)


def _outer(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Outer products of the rows."""
    return A[:, :, None] * B[:, None, :]
