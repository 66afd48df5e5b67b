"""Linear support vector machines, solved in the primal on X itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._array import doubles, eye, host, is_sparse, like, product_transposed
from .._errors import check_choice, check_number, warn, where
from .._random import generator
from .._threads import one_blas_thread
from .._units import SQUARED, unit_of_squares
from ..basis import Polynomials
from ..context import Status
from ..domains import Vectors
from ..kernels import Kernel, Linear
from ..solvers.fit.dual_sets import Intervals, Simplices
from ..solvers.fit.linear_map import LinearMap
from ..solvers.fit.primal import PrimalSolution, minimise, minimise_all
from ..solvers.fit.primal_l1 import minimise_l1
from ..space import Function
from ..types import Array, ClassWeight, Data, Index, RandomState
from ._base import KernelEstimator
from ._classifier import encode
from ._forms import decision_values

STEPS = 1000  # default maximum per machine
TOGETHER = 1 << 24  # samples times machines held at once
ALONE = 1 << 30  # products in a Hessian of dense samples up to which one BLAS thread is faster


class _AnyOrder(Vectors):
    """Sparse rows as they are, since to sort them takes as long as several passes over them."""

    ordered = False


ROWS = _AnyOrder(sparse=True)


@dataclass(kw_only=True, eq=False, repr=False)
class LinearMachine(KernelEstimator):
    """Base of the linear machines: parameters, the call of the solver, the fitted attributes."""

    takes_tensors = False

    penalty = "l2"

    dual: bool | str = "auto"
    tol: float = 1e-4
    C: float = 1.0
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    verbose: int = 0
    random_state: RandomState = None
    max_iter: int | None = 1000
    time_budget: float | None = None

    def _keeps_sample(self) -> bool:
        return False

    def _kernel(self, n_features: int) -> Kernel:
        return Linear()

    def _check_samples(self, X: Data) -> Any:
        return ROWS.check(X, self.kernel_, "X") if is_sparse(X) else super()._check_samples(X)

    def _validate(self) -> None:
        check_number(self, "C", self.C, above=0)
        check_number(self, "tol", self.tol, above=0)
        check_number(self, "max_iter", self.max_iter, at_least=0, integer=True, besides=(None,))
        check_choice(self, "dual", self.dual, ("auto", True, False))
        check_number(self, "intercept_scaling", self.intercept_scaling, above=0, besides=(np.inf,))

    def _cost(self, weight: np.ndarray | None, n: int) -> np.ndarray:
        """C times the sample weights."""
        with np.errstate(over="ignore"):  # refused by `_machines`
            return float(self.C) * (np.ones(n) if weight is None else weight)

    def _machines(self, X: Data, cost: np.ndarray, pieces: Callable[[Any], Any]) -> list[PrimalSolution]:
        """Fit one machine per row of costs, on the samples with positive cost, which are the same for all."""
        largest = float(cost.max())
        if not 2.0**-SQUARED <= largest <= 2.0**SQUARED:
            raise ValueError(
                f"{where(self)}: C = {self.C:g} times the sample weights is {largest:.0e}, whose square overflows or "
                "underflows; choose a C nearer to 1."
            )
        kept = cost[0] > 0
        whole = bool(kept.all())
        rows = slice(None) if whole else np.flatnonzero(kept)
        loss = pieces(rows)
        absolute = self.penalty == "l1" and isinstance(loss, Intervals)
        tau = float(self.intercept_scaling) ** (-1 if absolute else -2)
        design = LinearMap(X if whole else X[rows], bool(self.fit_intercept), tau)
        report = print if self.verbose else None
        steps = STEPS if self.max_iter is None else self.max_iter
        seed: Any = self.random_state if is_sparse(X) and not absolute else 0  # for dual descent
        seed = int(seed if isinstance(seed, Integral) else generator(seed).integers(2**31))
        solver: Any = minimise_all if isinstance(loss, Intervals) else minimise
        with (
            one_blas_thread if is_sparse(X) or design.n * design.d * min(design.n, design.d) <= ALONE else nullcontext()
        ):
            if absolute:
                found = [
                    minimise_l1(design, loss[k], float(self.tol), steps, report=report) for k in range(len(loss.target))
                ]
            else:
                found = solver(design, loss, float(self.tol), steps, seed=seed, report=report)
                found = found if isinstance(found, list) else [found]
        return found if whole else [replace(s, dual=_spread(s.dual, kept)) for s in found]

    def _store(self, X: Data, solution: PrimalSolution, W: np.ndarray, b: np.ndarray) -> None:
        """Set attributes from the weights W, one row per machine, and intercepts b."""
        if not solution.converged:
            n, limit = solution.n_iter, STEPS if self.max_iter is None else self.max_iter
            taken = f"{n} step{'s' * (n != 1)} (max_iter = {limit})"
            warn(
                f"{where(self)}: {solution.status}; {taken} left a duality gap of {solution.gap:.1e} in the "
                f"objective {solution.objective:.6g}. "
                + solution.status.remedy("Scale the features to similar ranges, lower C, or raise tol or max_iter."),
                ConvergenceWarning,
            )
        self.solution_, self.n_iter_ = solution, solution.n_iter
        self.coef_ = like(W, X)
        self.intercept_: Any = like(b, X) if self.fit_intercept else 0.0
        outputs = (eye(len(b), self.coef_), like(b[None, :], X)) if len(b) > 1 else (like([1.0], X), like(b, X))
        basis = Polynomials(0) if self.fit_intercept else None
        self.function_ = Function(self.kernel_, self.coef_, outputs[0], basis, outputs[1] if basis else None)

    def _scores(self, X: Data) -> Any:
        """Xwᵀ + b, one column per machine; 1-D for a single machine."""
        X = self._check_new(X)
        W = self.coef_ if len(self.coef_.shape) == 2 else self.coef_[None, :]
        scores = product_transposed(X, W) + self.intercept_
        return scores[:, 0] if scores.shape[1] == 1 else scores


@dataclass(eq=False, repr=False)
class LinearSVC(ClassifierMixin, LinearMachine):
    r"""Linear support vector classification.

    .. math:: \min_{w,\, b}\; \tfrac12 \|w\|^2 + \frac{b^2}{2s^2}
              + C \sum_i v_i \max\bigl(0,\, 1 - y_i (w^\top x_i + b)\bigr)^p, \qquad y_i = \pm 1

    with p = 2 (``loss="squared_hinge"``) or 1 (``"hinge"``), s = `intercept_scaling` and v the product of sample and
    class weights. With more than two classes, one-against-rest machines or one joint objective.

    Parameters
    ----------
    penalty : {"l2", "l1"}
        "l1" replaces the squares by ‖w‖₁ + |b|/s, which gives sparse weights; only for the squared hinge.
    loss : {"squared_hinge", "hinge"}
    dual : "auto" or bool
        For scikit-learn compatibility only. The minimiser is the same for either problem.
    tol : float > 0
        The fit stops at a duality gap of tol² times the objective; then ‖w − w*‖ ≤ tol·√(2·objective) for "l2". (In
        scikit-learn tol bounds a gradient, which is less exact.) If rounding prevents this, a gap of 1e-6 times the
        objective is accepted without a warning; see `solution_`.
    C : float > 0
        Weight of the losses; larger fits the samples more closely.
    multi_class : {"ovr", "crammer_singer"}
        One against the rest, or the joint machine of Crammer and Singer, which always uses the hinge and "l2",
        regardless of `loss` and `penalty`.
    fit_intercept : bool
        Whether to fit b.
    intercept_scaling : float > 0, or inf
        s. As in scikit-learn, b is penalised like the weight of a constant feature with this value; ``np.inf`` leaves
        it unpenalised, as in `SVC`.
    class_weight : dict, "balanced" or None
        Class weights. As in scikit-learn, one-against-rest machines weight only the one class.
    verbose : int
        Whether to print progress.
    random_state : int, RandomState, Generator or None
        Order of the coordinate descent for sparse data with many features; it does not affect the minimum.
    max_iter : int >= 0, or None
        Maximum number of steps per machine; None is 1000.
    time_budget : float > 0, optional
        Time limit in seconds. The fit then keeps the best result so far, with a warning, or raises if there is none.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) for two classes, else (n_classes, n_features)
        w.
    intercept_ : array of shape (1,) or (n_classes,); 0.0 without intercept
        b.
    classes_ : array
    n_iter_ : int
        Number of steps, the maximum over the machines.
    solution_ : PrimalSolution
        Objective, duality gap, dual variables; objective and gap are sums over the machines.
    function_ : Function
        wᵀx in the space of the linear kernel, with b as its free part: gives norm, margin 2/‖f‖ and distances.

    Notes
    -----
    Newton's method, with Hessians formed in O(nd²) for d ≤ 3000 (after a QR factorisation if d > n) and used through
    products beyond; for sparse data with d > 1000, dual coordinate descent comes first. If nd² is small or X is sparse,
    one compiled call fits all machines. Computations are in double precision on the host; results have the type and
    library of X.

    References
    ----------
    Chapelle, *Training a support vector machine in the primal* (2007); Rockafellar, *Augmented Lagrangians and
    applications of the proximal point algorithm* (1976), section 4, for the hinge; Fan, Chang, Hsieh, Wang, Lin,
    *LIBLINEAR: a library for large linear classification* (2008), equations 1 to 4, for the objectives; Hsieh, Chang,
    Lin, Keerthi, Sundararajan, *A dual coordinate descent method for large-scale linear SVM* (2008), algorithm 3.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 4.0], [4.0, 3.0]])
    >>> model = LinearSVC(loss="hinge", C=10.0, intercept_scaling=np.inf).fit(X, ["low", "low", "high", "high"])
    >>> model.predict([[1.0, 1.0], [3.0, 3.0]])
    array(['low', 'high'], dtype='<U4')
    >>> print(round(2 / model.function_.norm(), 3))  # the distance between the two pairs
    4.243
    """

    penalty: str = "l2"
    loss: str = "squared_hinge"
    _: KW_ONLY
    multi_class: str = "ovr"
    class_weight: ClassWeight = None

    def _validate(self) -> None:
        super()._validate()
        check_choice(self, "penalty", self.penalty, ("l2", "l1"))
        check_choice(self, "loss", self.loss, ("squared_hinge", "hinge"))
        check_choice(self, "multi_class", self.multi_class, ("ovr", "crammer_singer"))
        if self.penalty == "l1" and self.loss == "hinge" and self.multi_class == "ovr":
            raise ValueError(f"{where(self)}: penalty = 'l1' needs loss = 'squared_hinge', not 'hinge'.")

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X with labels y."""
        self._validate()
        X, y = self._check_fit(X, y)
        weight = self._check_weight(sample_weight, X)
        index, _ = encode(self, y, weight)
        own = self.class_weight_
        cost, data = self._cost(weight, len(index)), _double(X)
        if self.multi_class == "crammer_singer":
            cost = cost * own[index]
            (solution,) = self._machines(data, cost[None], lambda rows: Simplices(index[rows], len(own), cost[rows]))
            W, b = solution.weights.T, solution.intercept - np.mean(solution.intercept)
            if len(own) == 2:
                W, b = W[1:] - W[:1], b[1:] - b[:1]
        else:
            solution = self._against_the_rest(data, cost, own, index)
            W, b = solution.weights.T, solution.intercept
        self._store(X, solution, W, b)
        return self

    def _against_the_rest(self, X: Data, cost: np.ndarray, own: np.ndarray, index: np.ndarray) -> PrimalSolution:
        """One machine per class, or one for the second of two, merged into a single solution."""
        squared, machines = self.loss == "squared_hinge", list[PrimalSolution]()
        wanted = np.arange(len(own)) if len(own) > 2 else np.array([1])
        step = max(1, TOGETHER // len(index))
        for start in range(0, len(wanted), step):
            classes = wanted[start : start + step, None]
            sign = np.where(index == classes, 1.0, -1.0)
            costs = cost * (np.where(sign > 0, own[classes], 1.0) if len(own) > 2 else own[index][None])
            machines += self._machines(X, costs, _one_against_rest(sign, costs, squared))
        return PrimalSolution(
            weights=np.stack([m.weights for m in machines], axis=1),
            intercept=np.array([float(m.intercept) for m in machines]),
            dual=np.stack([m.dual for m in machines], axis=1),
            objective=sum(m.objective for m in machines),
            gap=sum(m.gap for m in machines),
            n_iter=max(m.n_iter for m in machines),
            status=next((m.status for m in machines if not m.converged), Status.CONVERGED),
            method=machines[0].method,
        )

    def decision_function(self, X: Data) -> Any:
        """Xwᵀ + b: one value for two classes (positive for ``classes_[1]``); else one per class."""
        return self._scores(X)

    def predict(self, X: Data) -> np.ndarray:
        """The class on whose side x lies, or with the largest value."""
        return self.decide(self._scores(X))

    def decide(self, values: np.ndarray) -> np.ndarray:
        """The labels for decision values; 0 means the first class, as in LIBLINEAR."""
        values = host(decision_values(self, values))
        return self.classes_[(values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]

    def sparsify(self) -> Self:
        """Store `coef_` as a sparse matrix, which saves memory if ``penalty="l1"`` left few weights."""
        check_is_fitted(self)
        self.coef_ = sparse.csr_array(host(self.coef_)) if not is_sparse(self.coef_) else self.coef_
        return self

    def densify(self) -> Self:
        """Undo `sparsify`."""
        check_is_fitted(self)
        self.coef_ = self.coef_.toarray() if is_sparse(self.coef_) else self.coef_
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class LinearSVR(RegressorMixin, LinearMachine):
    r"""Linear support vector regression.

    .. math:: \min_{w,\, b}\; \tfrac12 \|w\|^2 + \frac{b^2}{2s^2}
              + C \sum_i v_i \max\bigl(0,\, |y_i - w^\top x_i - b| - \varepsilon\bigr)^p

    with p = 1 (``loss="epsilon_insensitive"``) or 2 (``"squared_epsilon_insensitive"``).

    Parameters
    ----------
    epsilon : float >= 0
        Errors up to epsilon cost nothing; larger gives fewer support vectors.
    tol, C, fit_intercept, intercept_scaling, dual, verbose, random_state, max_iter, time_budget
        As in `LinearSVC`.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        w.
    intercept_ : array of shape (1,); 0.0 without intercept
        b.
    n_iter_, solution_, function_
        As in `LinearSVC`.

    Notes
    -----
    The solver of `LinearSVC`. With ``epsilon=0`` and the first loss this is penalised least absolute deviations.

    References
    ----------
    Ho, Lin, *Large-scale linear support vector regression* (2012), equations 2 to 4.

    Examples
    --------
    >>> X = np.linspace(0, 1, 9)[:, None]
    >>> y = 3 * X[:, 0] + 1
    >>> y[4] = 50.0  # an outlier, which a loss without squares forgives
    >>> model = LinearSVR(C=1e4, intercept_scaling=np.inf).fit(X, y)
    >>> model.coef_.round(3), model.intercept_.round(3)
    (array([3.]), array([1.]))
    """

    epsilon: float = 0.0
    loss: str = "epsilon_insensitive"

    def _validate(self) -> None:
        super()._validate()
        check_number(self, "epsilon", self.epsilon, at_least=0)
        check_choice(self, "loss", self.loss, ("epsilon_insensitive", "squared_epsilon_insensitive"))

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X and targets y."""
        self._validate()
        X, y = self._check_fit(X, y, y_numeric=True)
        weight = self._check_weight(sample_weight, X)
        target = doubles(y)
        # an unpenalised intercept absorbs shifts of y: centre y, so that rounding depends on its spread only
        shift = float(np.median(target)) if self.fit_intercept and self.intercept_scaling == np.inf else 0.0
        target = target - shift
        unit_of_squares(self, "y", target)
        cost = self._cost(weight, len(target))
        squared = self.loss == "squared_epsilon_insensitive"

        def pieces(rows: Index) -> Intervals:
            return Intervals.regression(target[None, rows], cost[None, rows], float(self.epsilon), squared)

        (solution,) = self._machines(_double(X), cost[None], pieces)
        solution = replace(solution, intercept=solution.intercept + shift)
        self._store(X, solution, solution.weights[None, :], np.atleast_1d(solution.intercept))
        self.coef_ = self.coef_[0, :]
        return self

    def predict(self, X: Data) -> Any:
        """wᵀx + b."""
        return self._scores(X)


def _one_against_rest(sign: np.ndarray, cost: np.ndarray, squared: bool) -> Callable[[Any], Intervals]:
    return lambda rows: Intervals.classification(sign[:, rows], cost[:, rows], squared)


def _spread(dual: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """The dual variables of the kept samples, and zeros for the others."""
    out = np.zeros((len(kept), *dual.shape[1:]))
    out[kept] = dual
    return out


def _double(X: Data) -> Any:
    """X on the host in double precision, copied only if necessary."""
    return X.astype(np.float64, copy=False) if is_sparse(X) else np.ascontiguousarray(host(X), dtype=np.float64)
