"""Support vector regression, in the ε and ν forms, and the one-class machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import OutlierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from .._array import host, is_sparse, labels_like
from .._errors import check_choice, check_number, where
from .._threads import one_blas_thread
from ..losses import FAR, EpsilonInsensitive, SquaredEpsilonInsensitive
from ..solvers.fit.boxes import BoxSolver
from ..solvers.fit.working_set import BoxProblem, BoxSolution
from ..types import Array, Data
from ._calibration import FOLDS, folds
from ._forms import NoProblemError, SolvedProblem, decision_array, require_fitted
from ._svm import DropIn, SupportVectorMachine
from .svc import filled


class _OneMachine(SupportVectorMachine):
    """Base of machines with a single function of all samples of positive weight."""

    minimises_risk = True

    def _fit_one(self, X: Data, y: np.ndarray | None, sample_weight: Array) -> None:
        """Solve, and set scikit-learn's attributes; BLAS runs on one thread, so that results are reproducible."""
        with one_blas_thread:
            sample = self._prepare(X)
            n = self.kernel_.domain.size(X)
            weight = self._check_weight(sample_weight, X)
            weight = np.ones(n) if weight is None else weight.astype(np.float64)
            self._check_cost(weight)
            (kept,) = (weight > 0).nonzero()
            problem, copies = self._problem(None if y is None else y[kept].astype(np.float64), weight[kept])
            context = self._begin(self._n_tasks, X, y, weight)
            solver = self._box_solver(sample, None if len(kept) == n else kept, context, copies)
            self._check_diagonal(sample, solver.diagonal)
            solution = solver.run(lambda: self._solve(solver, problem, weight[kept]))
            self._report([solution], self.__dict__.pop("_folds", ()))
            beta = solution.beta.reshape(copies, -1).sum(axis=0)
            (moving,) = beta.nonzero()
            self.support_ = kept[moving].astype(np.int32)
            self._n_support = np.array([len(moving)], dtype=np.int32)
            self.n_iter_ = solution.inner_iter
            self.intercept_ = np.array([self._offset(solution)])
            dual = beta[moving][None, :]
            self.dual_coef_ = csr_matrix(dual) if is_sparse(X) else dual
            self.shape_fit_ = (n, getattr(self, "n_features_in_", 0))
            self.support_vectors_ = self._support_vectors(X)
            self.function_ = self._machine(sample, self.support_, beta[moving], self.intercept_[0])
            self.intercept_ = self._offset_of(self.function_, self.intercept_)

    _n_tasks = 1  # number of problems to solve

    def _problem(self, y: np.ndarray | None, weight: np.ndarray) -> tuple[BoxProblem, int]:
        """The dual problem, and the number of variables per sample."""
        raise NotImplementedError

    def _solve(self, solver: BoxSolver, problem: BoxProblem, weight: np.ndarray) -> BoxSolution:
        solution: BoxSolution = solver.perform(problem, "machine")
        return solution

    def _offset(self, solution: BoxSolution) -> float:
        return float(solution.offsets.sum()) / max(1, len(solution.offsets))

    @property
    def n_support_(self) -> np.ndarray:
        """The number of support vectors."""
        return self._n_support


class _Regressor(RegressorMixin, _OneMachine):
    C: float
    _endless: tuple[float, ...] = ()  # values of C allowed besides finite numbers

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X and targets y; a weight multiplies the sample's C."""
        self._check_parameters()
        X, y = self._check_fit(X, y, y_numeric=True)
        self._fit_one(X, host(y), sample_weight)
        return self

    def predict(self, X: Data) -> np.ndarray:
        """The values of the machine."""
        return self._values(self._check_new(X))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "C", self.C, above=0, besides=self._endless)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class SVR(DropIn, _Regressor):
    r"""Support vector regression with the ε-insensitive loss.

    .. math:: \min_{f \in H,\, b}\; \tfrac12 \|f\|_H^2 + C \sum_i w_i \big(|y_i - f(x_i) - b| - \varepsilon\big)_+

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, fit_intercept, gram, n_jobs,
    time_budget, checkpoint
        As in `SVC`. A randomised `gram` uses a fixed seed.
    C : float > 0, or inf
        Regularisation parameter; larger fits the training data more closely. Infinity allows no error above `epsilon`,
        and raises if the kernel cannot achieve that.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}
        The square penalises large errors more; with ``epsilon=0`` it is kernel ridge regression.
    epsilon : float >= 0
        Smaller errors cost nothing; larger gives fewer support vectors.

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

    C: float = 1.0
    epsilon: float = 0.1
    loss: str = "epsilon_insensitive"
    fit_intercept: bool = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "epsilon", self.epsilon, at_least=0)
        check_choice(self, "loss", self.loss, ("epsilon_insensitive", "squared_epsilon_insensitive"))

    _endless = (np.inf,)

    @property
    def _hard(self) -> bool:
        """Whether errors above epsilon are forbidden."""
        return bool(np.inf == self.C)

    def _solve(self, solver: BoxSolver, problem: BoxProblem, weight: np.ndarray) -> BoxSolution:
        if not self._hard:
            return super()._solve(solver, problem, weight)

        def within(C: float) -> BoxProblem:
            return replace(problem, lower=C * problem.lower, upper=C * problem.upper)

        found = self._without_box(solver, within, "machine", float(np.ptp(problem.linear)) or 1.0)
        if found is None:
            raise ValueError(
                f"{where(self)}: C = inf allows no error above epsilon = {self.epsilon:g}, but no function of this "
                "kernel fits y that closely; give a finite C."
            )
        return found[1]

    def solved_problem(self, X: Data, y: Array, sample_weight: Array = None) -> SolvedProblem:
        """The problem that this fit to these data solved."""
        if np.isinf(self.C):
            raise NoProblemError("a hard margin, or a budget of errors, has no loss")
        target, w = self._targets_of_fit(y, sample_weight)
        kind = EpsilonInsensitive if self.loss == "epsilon_insensitive" else SquaredEpsilonInsensitive
        return self._solved(X, kind(self.epsilon), target, w)

    def _problem(self, y: np.ndarray | None, weight: np.ndarray) -> tuple[BoxProblem, int]:
        # β = β⁺ + β⁻, with β⁺ ≥ 0 for the constraint at y − ε and β⁻ ≤ 0 for that at y + ε
        assert y is not None
        bound, nothing, ridge = np.ones_like(weight) if self._hard else self.C * weight, np.zeros(len(y)), None
        if self.loss != "epsilon_insensitive" and not self._hard:
            ridge, bound = np.tile(0.5 / bound, 2), np.full(len(y), FAR)
        group = np.zeros(2 * len(y), dtype=np.int64) if self.fit_intercept else None
        linear = np.concatenate([y - self.epsilon, y + self.epsilon])
        box = np.concatenate([nothing, -bound]), np.concatenate([bound, nothing])
        return BoxProblem(linear, *box, group, ridge=ridge), 2


@dataclass(kw_only=True, eq=False, repr=False)
class NuSVR(DropIn, _Regressor):
    r"""Support vector regression, ν form: ν replaces ε.

    .. math:: \min \tfrac12 \|f\|^2
              + C \Big( \nu n \varepsilon + \sum_i w_i \big(|y_i - f(x_i) - b| - \varepsilon\big)_+ \Big)

    Parameters
    ----------
    nu : float in (0, 1]
        At most this fraction of the samples lie outside the tube, and at least this fraction are support vectors.
    C : float > 0
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter, gram, n_jobs, time_budget, checkpoint
        As in `SVC`. A randomised `gram` uses a fixed seed.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, function_, solutions_, kernel_
        As in `SVR`.
    epsilon_ : float
        Half-width of the tube, as determined by ν.

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

    nu: float = 0.5
    C: float = 1.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "nu", self.nu, above=0, at_most=1)

    def _problem(self, y: np.ndarray | None, weight: np.ndarray) -> tuple[BoxProblem, int]:
        assert y is not None
        bound, nothing = self.C * weight, np.zeros(len(y))
        start = filled(bound, self.nu * bound.sum() / 2)
        group = np.arange(2 * len(y)) // len(y)
        box = np.concatenate([nothing, -bound]), np.concatenate([bound, nothing])
        return BoxProblem(np.concatenate([y, y]), *box, group, np.concatenate([start, -start])), 2

    def _fit_one(self, X: Data, y: np.ndarray | None, sample_weight: Array) -> None:
        super()._fit_one(X, y, sample_weight)
        plus, minus = self.solutions_[0].offsets  # b + ε and b − ε
        self.epsilon_ = float((plus - minus) / 2)


@dataclass(kw_only=True, eq=False, repr=False)
class OneClassSVM(DropIn, OutlierMixin, _OneMachine):
    r"""One-class support vector machine: the region of a sample, in the ν or the hinge form.

    .. math:: \min \tfrac12 \|f\|^2 - \nu n \rho + \sum_i w_i (\rho - f(x_i))_+
              \qquad\text{or}\qquad \min \tfrac12 \|f\|^2 + C \sum_i w_i (1 - f(x_i))_+

    A point is an inlier if f(x) ≥ ρ, or f(x) ≥ δ, respectively.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, gram, n_jobs, time_budget, checkpoint
        As in `SVC`. A randomised `gram` uses a fixed seed.
    nu : float in (0, 1]
        At most this fraction of the samples are outliers, and at least this fraction are support vectors.
    C : float > 0, optional
        Selects the hinge form instead of ν; larger leaves fewer samples below 1. In terms of a penalty λ‖f‖² and the
        mean loss, C = 1/(2λn).
    delta : float
        Threshold δ of the hinge form; larger declares more points outliers.
    calibration : {None, "cv"}
        Whether to provide `p_values`, from held-out scores of five-fold cross-validation.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, offset_
        As in scikit-learn; `offset_` is ρ, or δ.
    nu_, C_ : float
        Parameters of the equivalent other form: the ν form divided by ρ is the hinge form with C = 1/ρ and δ = 1; `nu_`
        is Σα/(C Σw). If ρ ≤ 0, there is no hinge form, and `C_` is NaN.
    function_, solutions_, kernel_
        As in `SVC`.

    References
    ----------
    Schölkopf, Platt, Shawe-Taylor, Smola, Williamson, *Estimating the support of a high-dimensional distribution*
    (2001); Lee, Scott, *The one-class support vector machine solution path* (2007), section 2.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [-0.1], [0.05]])
    >>> OneClassSVM(nu=0.5, gamma=1.0).fit(X).predict([[0.02], [4.0]])
    array([ 1, -1])
    >>> model = OneClassSVM(C=2.0, gamma=1.0).fit([[0.0]])
    >>> model.nu_, model.offset_
    (0.5, array([1.]))
    """

    nu: float = 0.5
    C: float | None = None
    delta: float = 1.0
    calibration: str | None = None

    _to_free_the_offset = "omit C, to use the ν form"

    @property
    def fit_intercept(self) -> bool:  # type: ignore[override]
        """Whether the machine has an offset: the ν form does, the hinge form does not."""
        return self.C is None

    _balanced = False  # the coefficients sum to ν

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "nu", self.nu, above=0, at_most=1)
        check_number(self, "delta", self.delta)
        if self.C is not None:
            check_number(self, "C", self.C, above=0)
            if self.nu != 0.5:
                raise ValueError(
                    f"{where(self)}: nu = {self.nu} and C = {self.C} are mutually exclusive; pass only one."
                )
        elif self.delta != 1.0:
            raise ValueError(f"{where(self)}: delta = {self.delta} applies to the hinge form only; pass C too.")
        check_choice(self, "calibration", self.calibration, (None, "cv"))

    def fit(self, X: Data, y: Array = None, sample_weight: Array = None) -> Self:
        """Fit to samples X; y is ignored."""
        self._check_parameters()
        X = self._check_sample(X)
        self._fit_one(X, None, sample_weight)
        self.offset_ = -self.intercept_
        return self

    @property
    def _n_tasks(self) -> int:  # type: ignore[override]
        return 1 if self.calibration is None else 1 + FOLDS

    def _problem(self, y: np.ndarray | None, weight: np.ndarray) -> tuple[BoxProblem, int]:
        nothing = np.zeros(len(weight))
        if self.calibration is not None and len(weight) < 2:
            raise ValueError(f"{where(self)}: calibration = 'cv' needs at least two samples, but there is one.")
        if self.C is not None:
            return BoxProblem(np.ones(len(weight)), nothing, self.C * weight), 1
        start = filled(weight, self.nu * weight.sum())
        return BoxProblem(nothing, nothing, weight, np.zeros(len(weight), dtype=np.int64), start), 1

    def _offset(self, solution: BoxSolution) -> float:
        return float(solution.offsets[0]) if self.C is None else -float(self.delta)

    def _solve(self, solver: BoxSolver, problem: BoxProblem, weight: np.ndarray) -> BoxSolution:
        solution: BoxSolution = solver.perform(problem, "machine")
        total, rho = float(solution.beta.sum()), -self._offset(solution)
        self.C_ = float(self.C) if self.C is not None else 1 / rho if rho > 0 else np.nan
        self.nu_ = float(self.nu) if self.C is None else float(total / (self.C * weight.sum()))
        self._total = total
        if self.calibration is not None:
            self._folds: list[BoxSolution] = []
            self._held_out = np.sort(self._scores(solver, solution, weight))
        return solution

    def _scores(self, solver: BoxSolver, solution: BoxSolution, weight: np.ndarray) -> np.ndarray:
        """Held-out scores (f − ρ)/Σα, from machines fitted without the sample, with the same total weight."""
        scores, fold = np.empty(len(weight)), folds([np.arange(len(weight))], len(weight), np.random.default_rng(0))
        for k in range(fold.max() + 1):
            rest = np.where(fold == k, 0.0, weight)
            problem, _ = self._problem(None, rest * (weight.sum() / rest.sum()))
            if problem.start is None:
                problem.start = np.where(fold == k, 0.0, solution.beta)
            problem.near = (solution.beta, solution.values)
            part = solver.perform(problem, f"fold {k + 1}")
            self._folds.append(part)
            scores[fold == k] = ((part.values + self._offset(part)) / (part.beta.sum() or 1.0))[fold == k]
        return scores

    def decision_function(self, X: Data) -> np.ndarray:
        """f(x) − ρ: positive inside."""
        return self._values(self._check_new(X))

    def score_samples(self, X: Data) -> np.ndarray:
        """f(x), without the threshold."""
        return self.decision_function(X) + float(self.offset_[0])

    def predict(self, X: Data) -> np.ndarray:
        """1 inside, −1 outside."""
        return self.decide(self.decision_function(X))

    def decide(self, values: np.ndarray) -> np.ndarray:
        """1 for nonnegative values of `decision_function`, −1 otherwise."""
        require_fitted(self)
        values = decision_array(self, values)
        return labels_like(np.where(host(values) >= 0, 1, -1), values)

    def _has_p_values(self) -> bool:
        if self.calibration is None:
            raise AttributeError(f"{where(self)}: p_values need calibration='cv'.")
        return True

    @available_if(_has_p_values)
    def p_values(self, X: Data) -> np.ndarray:
        """The probability that an inlier scores no higher than x, estimated from held-out scores.

        About a fraction t of new points from the sample's distribution have a p-value of at most t.
        """
        scores = host(self.decision_function(X)) / self._total
        return (1 + np.searchsorted(self._held_out, scores, side="right")) / (1 + len(self._held_out))
