"""Relevance vector machines: sparse Bayesian regression and classification on the columns of a kernel matrix."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from .._array import beside, doubles, host, on_host, precise
from .._errors import ONE_OR_NONE, POSITIVE, check_number, check_parameters, require_classes, where
from .._units import unit_of_squares
from ..basis import Polynomials
from ..context import Status, warn_early
from ..gram import Gram, GramLike
from ..gram.remote import reachable
from ..kernels import KernelLike
from ..losses import Logistic
from ..solvers.fit.relevance import Dictionary, Evidence, maximise_bernoulli, maximise_gaussian
from ..space import Function
from ..types import Array, Data, RandomState
from ._base import KernelEstimator, classes_of
from ._predictors import DecisionClassifier

STEPS = 10_000  # default maximum of steps in an ascent
LEAST = 2.0**-480  # smallest noise variance in the unit of y²; squares divided by a smaller one overflow


@dataclass(eq=False, repr=False)
class RelevanceMethod(KernelEstimator):
    """Base of regression and classification: parameters, the ascent, and the fitted function."""

    kernel: KernelLike = "gaussian(lengthscale='median')"
    _: KW_ONLY
    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int | None = None
    gram: GramLike = "auto"
    random_state: RandomState = None
    time_budget: float | None = None

    def _check_sample_and_targets(self, X: Data, y: Array, **options: Any) -> tuple[Any, Any]:
        """Check all parameters, X (converted to double precision if numeric) and y."""
        check_parameters(self, {"tol": POSITIVE, "max_iter": ONE_OR_NONE})
        X, y = self._check_fit(X, y, **options)
        if self.kernel_.domain.numbers:
            X = X.astype(np.float64) if on_host(X) else precise(X)
            self.dtype_ = X.dtype
        return X, y

    def _design(self, X: Data) -> Dictionary:
        """The columns on the sample; their squares must neither overflow nor underflow."""
        gram = reachable(self._build(X))
        unit_of_squares(self, "the kernel matrix", gram.diagonal())
        return Dictionary(gram, bool(self.fit_intercept))

    def _finish(self, evidence: Evidence, history: list[float], status: Status, unit: float = 1.0) -> None:
        """Store the result of the ascent, for targets that were divided by `unit`."""
        if status is not Status.CONVERGED:
            rises = f"the evidence still rises by more than tol = {self.tol:g} per step after {len(history) - 1} steps"
            warn_early(self, rises, status, "Raise max_iter or tol.")
        gram, n = evidence.dictionary.gram, evidence.dictionary.n
        order = np.argsort(evidence.active)
        active, mean, root = np.array(evidence.active, dtype=int)[order], evidence.mean[order], evidence.root[:, order]
        mean, root, shift = unit * mean, unit * root, n * np.log(unit)
        self.relevance_ = active[active < n]
        self.relevance_vectors_ = gram.kernel.domain.take(gram.X, self.relevance_)
        self.precision_, self.covariance_ = evidence.alpha[order] / unit**2, root.T @ root
        self.dual_coef_ = mean[active < n]
        self.intercept_ = float(mean[active == n].sum())
        self.log_evidence_, self.evidence_history_ = evidence.value - shift, np.array(history) - shift
        self.n_iter_ = len(history) - 1
        self.function_ = self._combination(gram, active, mean)
        # one function per row of the root of Σ: the sum of their squares is the variance of f
        self._deviations = self._combination(gram, active, root.T)

    def _combination(self, gram: Gram, active: np.ndarray, weights: np.ndarray) -> Function:
        """Σ wⱼφⱼ over the active columns, on the relevance vectors only if the representation keeps the points."""
        n = gram.n
        coefficients = np.zeros((n + 1, *weights.shape[1:]))
        coefficients[active] = weights
        basis = Polynomials(0) if self.fit_intercept else None
        f = self._function(gram, coefficients[:n], basis, coefficients[n:] if self.fit_intercept else None)
        if f.points is not gram.centres:
            return f
        return f.restrict(self.relevance_ if len(self.relevance_) else [0])

    def _mean(self, X: Data) -> Any:
        X = self._check_new(X)
        return self.function_.values(X)

    def _moments(self, X: Data) -> tuple[Any, Any]:
        """Posterior mean and variance of f at new points."""
        X = self._check_new(X)
        return self.function_.values(X), (self._deviations.values(X) ** 2).sum(axis=1)


@dataclass(kw_only=True, eq=False, repr=False)
class RelevanceVectorMachine(RegressorMixin, RelevanceMethod):
    r"""Relevance vector machine: sparse Bayesian regression on columns of a kernel matrix.

    .. math:: y_i = w_0 + \sum_j w_j\, k(x_i, x_j) + \varepsilon_i, \qquad
              w_j \sim N(0, \alpha_j^{-1}),\quad \varepsilon_i \sim N(0, \sigma^2)

    Each weight has its own precision, and the precisions maximise the evidence

    .. math:: \log p(y \mid \alpha, \sigma^2) = \log N\big(y;\; 0,\; \sigma^2 I + \Phi A^{-1} \Phi^T\big),
              \qquad A = \operatorname{diag}(\alpha),\quad \Phi = (1, K).

    At the maximum most of them are infinite; the remaining columns belong to the relevance vectors. Given the
    precisions, the weights are Gaussian, with covariance :math:`\Sigma = (A + \Phi^T \Phi / \sigma^2)^{-1}` and mean
    :math:`\mu = \Sigma \Phi^T y / \sigma^2`, used for prediction.

    Parameters
    ----------
    kernel : str, Kernel or expression
        Any, even indefinite. A longer lengthscale gives fewer relevance vectors.
    noise_variance : float > 0, optional
        σ²; None estimates it along with the precisions. More noise gives fewer relevance vectors.
    fit_intercept : bool
        Whether to include a constant column, with its own precision.
    tol : float > 0
        The ascent stops when no change of one precision, or of σ², raises the log-evidence by more than this. A larger
        tol stops earlier, and may keep superfluous columns.
    max_iter : int >= 1, optional
        Maximum number of changes; None means 10,000.
    gram : str or Representation
        How the kernel matrix is stored; an approximation replaces K's columns by its own.
    random_state, time_budget
        As in `KernelRidge`.

    Attributes
    ----------
    relevance_ : array of shape (m,)
        Indices of the relevance vectors in the sample, ascending.
    relevance_vectors_ : collection of m members
    dual_coef_ : array of shape (m,)
        Mean weights.
    intercept_ : float
        Mean of w₀; 0 if the constant was dropped.
    precision_, covariance_ : arrays
        α and Σ of the remaining columns: the relevance vectors and, last, the constant unless it was dropped.
    noise_variance_ : float
        σ².
    function_ : Function
        Mean of f.
    log_evidence_ : float
    evidence_history_ : array
        The log-evidence at the start and after each step of the better run.
    n_iter_ : int
    kernel_, gram_choice_

    See Also
    --------
    RelevanceVectorClassifier : binary classification.
    KernelRidge : a single precision, with ‖f‖² in place of Σ αⱼwⱼ².

    Notes
    -----
    As a function of one precision, the evidence is a constant plus ½(q²/(α + s) − log(1 + s/α)), with its maximum at
    s²/(q² − s), or at infinity if q² ≤ s. Each step makes the single change with the largest gain: it adds or removes a
    column, or updates a precision or σ². The evidence never decreases. It has several local maxima, at each of which
    :math:`\alpha_j \mu_j^2 = 1 - \alpha_j \Sigma_{jj}`. The ascent runs twice, once with σ² kept low until the columns
    have settled, and keeps the higher maximum: with wide kernels, columns explain much jointly but little individually.
    A third and fourth run do the same with σ² fixed at its estimate; if one ends higher, the ascent continues there.

    A step costs O(nm + m³) for m columns; adding one also takes a product with the matrix, O(n²). Only active columns
    are stored: with ``gram="lazy"`` memory is O(nm). σ² is at least 10⁻¹⁰ of the variance of y (without an intercept,
    its mean square), as the evidence of a perfect fit has no maximum. Far from all relevance vectors, standard
    deviations fall back to about σ, as only w₀ is uncertain there.

    References
    ----------
    Tipping, *Sparse Bayesian learning and the relevance vector machine*, Journal of Machine Learning Research 1 (2001).
    Tipping, Faul, *Fast marginal likelihood maximisation for sparse Bayesian models*, AISTATS (2003).

    Examples
    --------
    >>> X = np.linspace(-10, 10, 100)[:, None]
    >>> y = np.sinc(X[:, 0] / np.pi) + 0.1 * np.random.default_rng(0).normal(size=100)
    >>> model = RelevanceVectorMachine("gaussian(lengthscale=2.0)").fit(X, y)
    >>> len(model.relevance_) < 10
    True
    >>> mean, std = model.predict([[0.0]], return_std=True)
    >>> bool(abs(mean[0] - 1) < 2 * std[0])
    True
    """

    noise_variance: float | None = None

    def fit(self, X: Data, y: Array) -> Self:
        """Fit to samples X and targets y of shape (n,)."""
        check_number(self, "noise_variance", self.noise_variance, above=0, besides=(None,))
        X, y = self._check_sample_and_targets(X, y, y_numeric=True)
        y = doubles(y)
        if y.ndim != 1:
            raise ValueError(f"{where(self)}: y has shape {y.shape}; give one target, or fit one machine per target.")
        unit = unit_of_squares(self, "y", y)
        noise = None if self.noise_variance is None else float(self.noise_variance) / unit**2
        if noise is not None and not LEAST < noise < np.inf:
            raise ValueError(
                f"{where(self)}: noise_variance = {self.noise_variance!r} is out of range for y of size {unit:.0e}; "
                "give it in the unit of y², or None."
            )
        design = self._design(X)
        evidence, history, status = maximise_gaussian(design, y / unit, noise, self.tol, self.max_iter or STEPS)
        self._finish(evidence, history, status, unit)
        self.noise_variance_ = unit**2 * evidence.noise
        return self

    def predict(self, X: Data, return_std: bool = False) -> Any:
        """The mean μᵀφ(x) and, with `return_std`, the standard deviation √(σ² + φ(x)ᵀΣφ(x)) of a new target."""
        if not return_std:
            return self._mean(X)
        mean, variance = self._moments(X)
        return mean, np.sqrt(self.noise_variance_ + variance)


class RelevanceVectorClassifier(DecisionClassifier, RelevanceMethod):
    r"""Relevance vector machine for binary classification.

    .. math:: P(y = 1 \mid x) = \frac{1}{1 + e^{-f(x)}}, \qquad
              f(x) = w_0 + \sum_j w_j\, k(x, x_j), \qquad w_j \sim N(0, \alpha_j^{-1})

    The precisions maximise the Laplace approximation of the evidence: with μ the posterior mode of the weights and
    :math:`\Sigma^{-1} = A + \Phi^T B \Phi`, :math:`B = \operatorname{diag}(p_i(1 - p_i))` at μ,

    .. math:: \log p(y \mid \alpha) \approx \log P(y \mid \mu) - \tfrac12 \mu^T A \mu
              + \tfrac12 \log|A| + \tfrac12 \log|\Sigma|.

    Parameters
    ----------
    kernel, fit_intercept, max_iter, gram, random_state, time_budget
        As in `RelevanceVectorMachine`.
    tol : float > 0
        The ascent stops when no change of one precision, with B fixed, promises to raise the log-evidence by more than
        this. A larger tol stops earlier, and may keep superfluous columns.

    Attributes
    ----------
    classes_ : array of shape (2,)
    relevance_, relevance_vectors_, dual_coef_, intercept_, precision_, covariance_, function_, kernel_, gram_choice_
        As in `RelevanceVectorMachine`.
    log_evidence_, evidence_history_, n_iter_
        For the Laplace approximation.

    See Also
    --------
    RelevanceVectorMachine : regression.
    sklearn.multiclass.OneVsRestClassifier : more than two classes.

    Notes
    -----
    Given B, the evidence has the form of regression. Each step makes the most promising change, then updates μ and B by
    Newton's method. The fixed point satisfies :math:`\alpha_j \mu_j^2 = 1 - \alpha_j \Sigma_{jj}`, like MacKay's. As B
    depends on α, it lies near a maximum of the approximate evidence, not at it, and a step may lower the evidence
    slightly. The ascent runs twice, once from the columns of a regression on the labels, and keeps the higher evidence:
    with wide kernels, columns explain much jointly but little individually. A step costs O(n²m) for m columns.

    Probabilities are averaged over the weights by MacKay's formula: f(x) is divided by √(1 + πv/8), v its variance.

    References
    ----------
    Tipping, *Sparse Bayesian learning and the relevance vector machine*, Journal of Machine Learning Research 1 (2001).
    Tipping, Faul, *Fast marginal likelihood maximisation for sparse Bayesian models*, AISTATS (2003). MacKay, *The
    evidence framework applied to classification networks*, Neural Computation 4 (1992).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    >>> model = RelevanceVectorClassifier("gaussian(lengthscale=1.0)").fit(X, y)
    >>> model.score(X, y) > 0.9, len(model.relevance_) < 20
    (True, True)
    """

    def fit(self, X: Data, y: Array) -> Self:
        """Fit to samples X with labels y of two classes."""
        X, y = self._check_sample_and_targets(X, y)
        self.classes_, index = classes_of(self, y)
        require_classes(self, self.classes_)
        if len(self.classes_) > 2:
            raise ValueError(
                f"{where(self)}: Only binary classification is supported; y holds {len(self.classes_)} classes. Use "
                "sklearn.multiclass.OneVsRestClassifier."
            )
        design = self._design(X)
        self._finish(*maximise_bernoulli(design, np.where(index == 1, 1.0, -1.0), self.tol, self.max_iter or STEPS))
        return self

    def decision_function(self, X: Data) -> Any:
        """The mean of f(x), positive for ``classes_[1]``."""
        return self._mean(X)

    def predict_proba(self, X: Data) -> Any:
        """Probabilities of the two classes, averaged over the weights."""
        values, variance = self._moments(X)
        second = Logistic().link_inverse(host(values) / np.sqrt(1 + np.pi * host(variance) / 8))
        return beside(np.stack([1 - second, second], axis=1), values)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
