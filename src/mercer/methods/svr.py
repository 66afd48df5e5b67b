"""Support vector regression, ε and ν forms, and the one-class machine."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import OutlierMixin, RegressorMixin

from .._array import is_sparse
from .._errors import check_number
from .._progress import Deadline
from ..solvers.fit.working_set import BoxProblem, BoxSolution
from ._svm import SupportVectorMachine
from .svc import filled


class _OneMachine(SupportVectorMachine):
    """One function on all samples of positive weight."""

    def _fit_one(self, X: Any, y: np.ndarray | None, sample_weight: Any) -> None:
        self._prepare(X)
        n = self.kernel_.domain.size(X)
        weight = self._check_weight(sample_weight, X)
        weight = np.ones(n) if weight is None else weight.astype(np.float64)
        kept = np.flatnonzero(weight > 0)
        problem, copies = self._problem(None if y is None else y[kept].astype(np.float64), weight[kept])
        solution = self._minimise(X, kept, problem, Deadline(self.time_budget), copies)
        self._report([solution])
        beta = solution.beta.reshape(copies, -1).sum(axis=0)
        moving = np.flatnonzero(beta)
        self.support_ = kept[moving].astype(np.int32)
        self._n_support = np.array([len(moving)], dtype=np.int32)
        self.n_iter_ = solution.inner_iter
        self.intercept_ = np.array([self._offset(solution)])
        dual = beta[moving][None, :]
        self.dual_coef_ = csr_matrix(dual) if is_sparse(X) else dual
        self.shape_fit_ = (n, getattr(self, "n_features_in_", 0))
        self.support_vectors_ = self._support_vectors(X)
        self.function_ = self._machine(X, self.support_, beta[moving], self.intercept_[0])

    def _problem(self, y: np.ndarray | None, weight: np.ndarray) -> tuple[BoxProblem, int]:
        """The dual, and how often each sample stands in it."""
        raise NotImplementedError

    def _offset(self, solution: BoxSolution) -> float:
        return float(solution.offsets.mean()) if len(solution.offsets) else 0.0

    @property
    def n_support_(self) -> np.ndarray:
        """The number of support vectors."""
        return self._n_support


class _Regressor(RegressorMixin, _OneMachine):
    C: float

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to samples X and targets y; a weight multiplies the sample's C."""
        self._check_parameters()
        X, y = self._check_fit(X, y, y_numeric=True)
        self._fit_one(X, np.asarray(y), sample_weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The values of the machine."""
        X = self._check_new(X)
        return self.function_(X)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "C", self.C, above=0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class SVR(_Regressor):
    r"""Support vector regression with the ε-insensitive loss.

    .. math:: \min_{f \in H,\, b}\; \tfrac12 \|f\|_H^2 + C \sum_i w_i \big(|y_i - f(x_i) - b| - \varepsilon\big)_+

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, fit_intercept, gram, n_jobs,
    time_budget
        As in `SVC`.
    C : float > 0
        Weight of the errors; larger fits the training data more closely.
    epsilon : float >= 0
        Errors below it cost nothing; larger leaves fewer support vectors.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, fit_status_, n_iter_
        As in scikit-learn.
    function_, solutions_, kernel_
        As in `SVC`.

    References
    ----------
    Smola, Schölkopf, *A tutorial on support vector regression* (2004), equation 10.

    Examples
    --------
    >>> X = np.linspace(0, 3, 20)[:, None]
    >>> model = SVR(C=10.0, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.06)
    True
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        fit_intercept: bool = True,
        gram: Any = "auto",
        n_jobs: int | None = None,
        time_budget: float | None = None,
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.gram = gram
        self.n_jobs = n_jobs
        self.time_budget = time_budget

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "epsilon", self.epsilon, at_least=0)

    def _problem(self, y: np.ndarray | None, weight: np.ndarray) -> tuple[BoxProblem, int]:
        # β = β⁺ + β⁻ with β⁺ ≥ 0 pulling from y − ε and β⁻ ≤ 0 from y + ε
        assert y is not None
        bound, nothing = self.C * weight, np.zeros(len(y))
        group = np.zeros(2 * len(y), dtype=np.int64) if self.fit_intercept else None
        linear = np.concatenate([y - self.epsilon, y + self.epsilon])
        return BoxProblem(linear, np.concatenate([nothing, -bound]), np.concatenate([bound, nothing]), group), 2


class NuSVR(_Regressor):
    r"""Support vector regression in which ν replaces ε.

    .. math:: \min \tfrac12 \|f\|^2
              + C \Big( \nu n \varepsilon + \sum_i w_i \big(|y_i - f(x_i) - b| - \varepsilon\big)_+ \Big)

    Parameters
    ----------
    nu : float in (0, 1]
        At most this fraction of the samples lie outside the tube, and at least this fraction are support vectors.
    C : float > 0
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter, gram, n_jobs, time_budget
        As in `SVC`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, function_, solutions_, kernel_
        As in `SVR`.
    epsilon_ : float
        The half-width of the tube that ν led to.

    References
    ----------
    Schölkopf, Smola, Williamson, Bartlett, *New support vector algorithms* (2000), section 2.

    Examples
    --------
    >>> X = np.linspace(0, 3, 20)[:, None]
    >>> model = NuSVR(C=10.0, nu=0.5).fit(X, np.sin(X[:, 0]))
    >>> bool(model.epsilon_ < 0.05)
    True
    """

    fit_intercept = True

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        gram: Any = "auto",
        n_jobs: int | None = None,
        time_budget: float | None = None,
    ):
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.gram = gram
        self.n_jobs = n_jobs
        self.time_budget = time_budget

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "nu", self.nu, above=0, at_most=1)

    def _problem(self, y: np.ndarray | None, weight: np.ndarray) -> tuple[BoxProblem, int]:
        assert y is not None
        bound, nothing = self.C * weight, np.zeros(len(y))
        start = filled(bound, self.nu * bound.sum() / 2)
        group = np.repeat([0, 1], len(y))
        box = np.concatenate([nothing, -bound]), np.concatenate([bound, nothing])
        return BoxProblem(np.concatenate([y, y]), *box, group, np.concatenate([start, -start])), 2

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to samples X and targets y; a weight multiplies the sample's C."""
        super().fit(X, y, sample_weight)
        plus, minus = self.solutions_[0].offsets  # b + ε and b − ε
        self.epsilon_ = float((plus - minus) / 2)
        return self


class OneClassSVM(OutlierMixin, _OneMachine):
    r"""The region where a sample lies, with ν as the fraction left outside.

    .. math:: \min \tfrac12 \|f\|^2 - \nu n \rho + \sum_i w_i (\rho - f(x_i))_+

    A point is an inlier where f(x) ≥ ρ.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, gram, n_jobs, time_budget
        As in `SVC`.
    nu : float in (0, 1]
        At most this fraction of the samples are outliers, and at least this fraction support vectors.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, offset_
        As in scikit-learn; `offset_` is ρ.
    function_, solutions_, kernel_
        As in `SVC`.

    References
    ----------
    Schölkopf, Platt, Shawe-Taylor, Smola, Williamson, *Estimating the support of a high-dimensional distribution*
    (2001).

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [-0.1], [0.05]])
    >>> OneClassSVM(nu=0.5, gamma=1.0).fit(X).predict([[0.02], [4.0]])
    array([ 1, -1])
    """

    fit_intercept = True

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        gram: Any = "auto",
        n_jobs: int | None = None,
        time_budget: float | None = None,
    ):
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.gram = gram
        self.n_jobs = n_jobs
        self.time_budget = time_budget

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples X; y is ignored."""
        self._check_parameters()
        check_number(self, "nu", self.nu, above=0, at_most=1)
        X = self._check_sample(X)
        self._fit_one(X, None, sample_weight)
        self.offset_ = -self.intercept_
        return self

    def _problem(self, y: np.ndarray | None, weight: np.ndarray) -> tuple[BoxProblem, int]:
        start = filled(weight, self.nu * weight.sum())
        nothing = np.zeros(len(weight))
        return BoxProblem(nothing, nothing, weight, np.zeros(len(weight), dtype=np.int64), start), 1

    def decision_function(self, X: Any) -> np.ndarray:
        """f(x) − ρ: positive inside."""
        X = self._check_new(X)
        return self.function_(X)

    def score_samples(self, X: Any) -> np.ndarray:
        """f(x), without the threshold."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """1 inside, −1 outside."""
        return np.where(self.decision_function(X) >= 0, 1, -1)
