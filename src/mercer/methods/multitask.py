"""Multi-task kernel ridge regression and support vector classification."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._array import host, is_sparse, like
from .._errors import check_grid, check_number, is_one_of, where
from .._targets import check_class_weight, check_targets
from .._units import SQUARED, unit_of_squares
from ..context import current
from ..gram import Gram
from ..kernels import KernelLike
from ..kernels.algebra import Tensor
from ..kernels.tasks import Tasks
from ..solvers.multitask import TaskGram
from ..space import Function
from ..types import Array, ClassWeight, Data
from ._base import classes_of
from ._forms import decision_array
from ._multitask import Multitask, Points, preferred
from ._multitask_problems import Entries, Rotated
from ._multitask_search import TaskSearch
from .ridge_cv import ALPHAS
from .svc import SVC


@dataclass(eq=False, repr=False)
class MultitaskKernelRidge(MultiOutputMixin, RegressorMixin, Multitask):
    r"""Multi-task kernel ridge regression, in which similar tasks share information.

    .. math:: \min_{f_1, \dots, f_T}\; \tfrac12 \sum_{(i, t)} w_i \big(y_{it} - f_t(x_i)\big)^2
              + \tfrac{\alpha}{2} \sum_{s, t} (B^{-1})_{st}\, \langle f_s, f_t \rangle_H

    that is, kernel ridge regression with the kernel :math:`k(x, x')\, B_{st}` on pairs of a sample and a task. The
    matrix B measures the similarity of the tasks.

    Parameters
    ----------
    alpha : float > 0, or {"auto", "loo", "marginal_likelihood"}
        Regularisation parameter; larger is smoother. "loo" minimises the leave-one-out error over `alphas`, in closed
        form. "marginal_likelihood", for a learned B, estimates the noise variance jointly with B. "auto" is whichever
        of the two the coupling allows.
    alphas : array of numbers > 0
        Candidate values of alpha for "loo".
    kernel : Kernel, name or expression
        k. For task offsets add a constant (``"gaussian + 1"``). It is coupled and penalised like everything else, so
        standardise targets that are far from zero.
    task : None, int, str or "pairs"
        Location of the task labels. None: the tasks are the columns of y, of shape (n, T), with NaN for missing
        targets. Index or DataFrame name of a column of X: labels of any type. "pairs": X is a list of pairs (sample,
        task), or a pair of collections, for samples of any kind.
    coupling : "auto", float in [0, 1], "learned", array of shape (T, T), or Kernel on tasks
        A number is the share σ common to all tasks, B_st = σ + (1 − σ)[s = t]: 0 fits each task separately, 1 pools all
        samples. "auto" takes the share with the smallest leave-one-out error, or 0 if that is not better by one
        standard error of the difference. "learned" fits B = WWᵀ + diag(v) by maximum marginal likelihood, which allows
        positive and negative correlations; the Bayesian information criterion (BIC) selects the rank of W, so that
        unrelated tasks stay independent. Or B itself, ordered as `tasks_`, or a kernel on labels
        (``Tasks.from_graph(…)``).
    rank : int >= 1
        Maximum number of columns of W. One is a function common to all tasks, each with its own factor; more allow for
        groups.
    gram : str or Representation
        How the kernel matrix of the samples is stored or approximated: "auto", "dense", "lazy", ``Nystrom(rank=500)``…
    time_budget : float > 0, optional
        Time limit in seconds for "learned"; on expiry the best matrix so far is used, with a warning. Excludes the fit.
    random_state : int, RandomState, Generator or None
        Seed of randomised representations.

    Attributes
    ----------
    tasks_ : array of shape (T,)
        The labels of the tasks, sorted; 0, …, T − 1 for the columns of y.
    task_matrix_, task_kernel_ : array of shape (T, T), Kernel
        B, and the kernel on labels.
    share_, alpha_ : float
        As given or chosen (`share_` only if the coupling is a share).
    errors_ : array of shape (n_shares, n_alphas)
        Leave-one-out mean squared errors, if there were several candidates.
    learned_ : Coregionalisation
        For "learned": W and v, the likelihood, the remaining slope at B, and whether it converged.
    objective_history_ : list of float
        For "learned": the negative log-likelihood after each step, never increasing.
    dual_coef_ : array of shape (n_samples, T)
        a, of f_t = Σ aᵢₛ B_st k(·, xᵢ).
    function_ : Function
        f₁, …, f_T as one vector-valued function of the sample.
    kernel_ : Kernel
        k with data-driven parameters filled in.
    n_features_in_ : int
        Number of features, without the task.

    Notes
    -----
    For a new task only the common part is predicted: that of the share, or for other B the mean of the functions.

    Leave-one-out omits a sample with all its targets. The likelihood has local maxima; of two searches, started from
    half-shared and from nearly separate tasks, the better result is kept.

    With all targets observed: O(n³ + T³) for all B and α together, by the eigenvectors of K and B. Otherwise, with N
    targets, O(N³) per share, for all α; learning takes O(N³) per step. Different kernels for the common and the
    task-specific part, σk₀ + (1 − σ)k₁[s = t]: use `KernelRidge` with
    ``k0 @ Shared(1.0) * s + k1 @ Shared(0.0) * (1 - s)`` on pairs.

    References
    ----------
    Evgeniou, Micchelli, Pontil, *Learning multiple tasks with kernel methods* (2005); Bonilla, Chai, Williams,
    *Multi-task Gaussian process prediction* (2008); Álvarez, Rosasco, Lawrence, *Kernels for vector-valued functions: a
    review* (2012).

    Examples
    --------
    >>> x = np.linspace(0, 6, 30)
    >>> person = np.arange(30) % 3
    >>> y = np.sin(x) + 0.1 * person
    >>> X = np.stack([x, person], axis=1)
    >>> model = MultitaskKernelRidge(kernel="gaussian + 1", task=1).fit(X, y)
    >>> model.predict([[1.0, 0], [1.0, 2], [1.0, 99]]).round(2)  # the last is a new person
    array([0.84, 1.04, 0.93])
    >>> Y = np.stack([np.sin(x), -2 * np.sin(x)], axis=1)
    >>> Y[::2, 0] = np.nan
    >>> MultitaskKernelRidge(1e-4, coupling="learned").fit(x[:, None], Y).predict([[1.0]]).round(2)
    array([[ 0.84, -1.68]])
    """

    alpha: Any = "auto"
    _: KW_ONLY
    alphas: Any = ALPHAS

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X that include their tasks, or to targets y of shape (n, T)."""
        self._check_parameters()
        (X, labels), y = self._check_fit(X, y, multi_output=True, y_numeric=True)
        weight = self._check_weight(sample_weight, X)
        self._forget("errors_", "learned_", "objective_history_")
        if labels is not None and y.ndim == 2:
            raise ValueError(
                f"{where(self)}: y has shape {y.shape}; task = {self.task!r} requires one target per sample."
            )
        if labels is None:
            self.tasks_ = np.arange(1 if y.ndim == 1 else y.shape[1])
        self.X_fit_, self._labels, self._target, self._weight = X, labels, y, weight
        self._unit = unit_of_squares(self, "y", y[~np.isnan(y)])
        self._square = self._unit**2 if self._learns else 1.0  # the unit of alpha and B
        gram = self._build(X)
        problem = self._problem(gram)
        if self._learns:
            alpha = None if isinstance(self.alpha, str) else float(self.alpha) / self._square
            if alpha is not None and not 2.0**-SQUARED <= alpha <= 2.0**SQUARED:
                raise ValueError(
                    f"{where(self)}: alpha = {self.alpha:g} is {alpha:.0e} in units of the squares of y, of size "
                    f"{self._unit:.0e}, and cannot be squared; choose an alpha nearer to {self._square:.0e}, or 'auto'."
                )
            evidence = problem.evidence()
            self._learn(evidence, alpha)
            self.learned_ = self.learned_.in_unit(self._unit, evidence.size)
            self.alpha_, self.objective_history_ = self.learned_.alpha, self.learned_.history
            self._couple(Tasks(self.learned_.matrix, self.tasks_))
        else:
            current().check()
            self._choose(problem)
        found = problem.solve(self.task_matrix_ / self._square, self.alpha_ / self._square)
        self.dual_coef_ = self._unit / self._square * found
        # keep a factor, which is small and may be random; a full matrix is recomputed on demand
        self._factored = gram if "factor" in gram.provides else None
        self._expansion = gram.expansion(like(self.dual_coef_, gram.like))
        self.function_ = self._coupled(self.task_matrix_[:, 0] if y.ndim == 1 and labels is None else self.task_matrix_)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "alpha", self.alpha, above=0, besides=("auto", "loo", "marginal_likelihood"))
        learned = isinstance(self.coupling, str) and self.coupling == "learned"
        if is_one_of(self.alpha, ("loo",) if learned else ("marginal_likelihood",)):
            other = "marginal_likelihood" if learned else "loo"
            raise ValueError(
                f"{where(self)}: alpha = {self.alpha!r} does not work with coupling = {self.coupling!r}; use {other!r}."
            )

    def _check_training(self, X: Data, y: Array, **options: Any) -> tuple[Points, Any]:
        Y = host(check_targets(self, y))
        if self.task is not None or Y.ndim != 2 or Y.dtype.kind != "f" or not np.isnan(Y).any():
            return super()._check_training(X, y, **options)
        missing = np.isnan(Y)
        if missing.all():
            raise ValueError(f"{where(self)}: all entries of y are NaN; give at least one target.")
        X, Y = super()._check_training(X, np.where(missing, 0.0, Y), **options)
        return X, np.where(missing, np.nan, Y)

    def _problem(self, gram: Gram) -> Rotated | Entries:
        """The problem with targets divided by their unit."""
        y, weight = self._target.astype(np.float64) / self._unit, self._weight
        if self._labels is not None:
            return Entries(gram, np.arange(len(y)), np.searchsorted(self.tasks_, self._labels), y, weight)
        Y = y[:, None] if y.ndim == 1 else y
        if not np.isnan(Y).any():
            return Rotated(gram, Y, weight)
        rows, tasks = np.nonzero(~np.isnan(Y))
        return Entries(gram, rows, tasks, Y[rows, tasks], None if weight is None else weight[rows])

    def _choose(self, problem: Rotated | Entries) -> None:
        """Choose the coupling and alpha with the smallest leave-one-out error."""
        kernels = self._couplings()
        alphas = check_grid(self, "alphas", self.alphas) if isinstance(self.alpha, str) else np.array([self.alpha])
        chosen, strengths = 0, np.zeros(len(kernels), dtype=np.int64)
        if len(kernels) * len(alphas) > 1:
            squares = [problem.errors(self._matrix(kernel), alphas) for kernel in kernels]
            errors = np.stack([np.average(e, axis=0, weights=problem.weight) for e in squares])
            self.errors_, strengths = self._unit**2 * errors, errors.argmin(axis=1)
            chosen = preferred(np.stack([e[:, a] for e, a in zip(squares, strengths, strict=True)]), problem.weight)
        self.alpha_ = float(alphas[strengths[chosen]])
        self._couple(kernels[chosen])

    def _coupled(self, columns: np.ndarray) -> Function:
        """The functions Σ aᵢₛ bₛ k(·, xᵢ), one for each column b of task-kernel values."""
        kernel, points, a = self._expansion
        return Function(kernel, points, a @ like(columns, a))

    def predict(self, X: Data) -> np.ndarray:
        """The value for each sample's task, or with ``task=None`` for all tasks, of shape (n, T)."""
        check_is_fitted(self)
        X, labels = self._check_new(X)
        if labels is None:
            return self.function_.values(X)
        distinct, place = np.unique(labels, return_inverse=True)
        columns = host(self.task_kernel_(self.tasks_, distinct)).astype(np.float64)
        return np.take_along_axis(self._coupled(columns)(X), place.reshape(-1, 1), axis=1)[:, 0]

    def leave_one_out(self) -> np.ndarray:
        """Leave-one-out predictions in closed form, each omitting a sample with all its targets.

        B and alpha are kept fixed. Missing targets give NaN.
        """
        check_is_fitted(self)
        problem: Any = self._problem(self._build(self.X_fit_) if self._factored is None else self._factored)
        B, alpha = self.task_matrix_ / self._square, self.alpha_ / self._square
        values = self._unit * problem.left_out(B, np.array([alpha]))[..., 0]
        if values.ndim < self._target.ndim:  # one value per observed target
            return np.where(np.isnan(self._target), np.nan, TaskGram.spread(problem._gram(self.task_matrix_), values))
        return values.reshape(self._target.shape)


@dataclass(kw_only=True, eq=False, repr=False)
class MultitaskSVC(ClassifierMixin, TaskSearch):
    r"""Multi-task support vector classification, in which similar tasks share information.

    .. math:: \min_{f_1, \dots, f_T}\; \tfrac12 \sum_{s, t} (B^{-1})_{st}\, \langle f_s, f_t \rangle_H
              + C \sum_{(i, t)} w_i \big(1 - y_{it} f_t(x_i)\big)_+

    for each pair of classes: `SVC` without an offset, with the kernel :math:`k(x, x')\, B_{st}` on pairs of a sample
    and a task.

    Parameters
    ----------
    C : float > 0
        Regularisation parameter; larger fits the training data more closely.
    kernel : Kernel, name or expression
        k. For task offsets add a constant (``"linear + 1"``), which is coupled like everything else.
    task : None, int, str or "pairs"
        Location of the task labels: index or DataFrame name of a column of X, or "pairs" if X is a list of pairs
        (sample, task) or a pair of collections. None: if y is an indicator matrix of shape (n, T), each of its columns
        is a task for all samples; if y has one label per sample, there is a single task.
    coupling : "auto", float in [0, 1], "learned", array of shape (T, T), or Kernel on tasks
        As in `MultitaskKernelRidge`. "auto" compares shares by their cross-validation error, ignoring samples that are
        the only one of their class in their task. "learned" takes the matrix of maximum likelihood for a regression on
        the classes, scaled to mean diagonal 1; it needs several samples per class and task.
    rank : int >= 1
        Maximum rank of the common part of a learned matrix.
    cv : int >= 2
        Number of folds for "auto", stratified by class and task.
    class_weight, tol, cache_size, n_jobs
        As in `SVC`.
    time_budget : float > 0, optional
        Time limit in seconds. On expiry "auto" takes the best share evaluated so far, and "learned" its current matrix,
        with a warning. The final fit has the same limit again.
    gram : str or Representation
        "auto" uses rows of the exact matrix; ``Nystrom(…)`` and the like approximate it.
    random_state : int, RandomState or None
        Seed of the folds (fixed if None) and of randomised representations.

    Attributes
    ----------
    tasks_, task_matrix_, task_kernel_, share_, learned_, objective_history_, kernel_, n_features_in_
        As in `MultitaskKernelRidge`.
    scores_ : array of shape (n_shares,)
        Cross-validated accuracies, if there were several candidates.
    machine_ : SVC
        The machine on pairs of a sample and a task.
    classes_ : array
        The labels; for an indicator matrix, its column indices.

    Notes
    -----
    New tasks are predicted as by `MultitaskKernelRidge`. The cost is that of `SVC` on all pairs; "auto" adds ``8·cv``
    fits on one kernel matrix.

    References
    ----------
    Evgeniou, Pontil, *Regularized multi-task learning* (2004); Evgeniou, Micchelli, Pontil, *Learning multiple tasks
    with kernel methods* (2005).

    Examples
    --------
    >>> words = ["aab", "aba", "bab", "bba", "abb", "baa"]
    >>> def letters(x, y):
    ...     return float(x.count("a") * y.count("a") + x.count("b") * y.count("b"))
    >>> X = [(word, group) for word in words for group in ("one", "two")]
    >>> y = [word.count("a") > word.count("b") for word, _ in X]
    >>> model = MultitaskSVC(kernel=letters, task="pairs", coupling=0.5).fit(X, y)
    >>> model.predict([("aaa", "one"), ("bbb", "new")])
    array([ True, False])
    """

    takes_tensors = False

    C: float = 1.0
    cv: int = 5
    class_weight: ClassWeight = None
    tol: float = 1e-3
    cache_size: float | str = "auto"
    n_jobs: int | None = None

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X that include their tasks, or to an indicator matrix y of shape (n, T)."""
        self._check_parameters()
        (X, labels), y = self._check_fit(X, y.toarray() if is_sparse(y) else y, multi_output=True)
        weight = self._check_weight(sample_weight, X)
        self._forget("scores_", "learned_", "objective_history_", "share_", "task_matrix_", "task_kernel_")
        classes_of(self, y)  # raises if the labels cannot be ordered
        self._many = type_of_target(y, input_name="y") == "multilabel-indicator"
        n = len(y)
        if self._many:
            if labels is not None:
                raise ValueError(
                    f"{where(self)}: y is an indicator matrix; task = {self.task!r} requires one label per sample."
                )
            self.tasks_ = np.arange(y.shape[1])
            rows, labels, y = np.repeat(np.arange(n), y.shape[1]), np.tile(self.tasks_, n), np.asarray(y).ravel()
        else:
            y, rows = column_or_1d(y, warn=True), np.arange(n)
        if labels is None:
            self.tasks_ = np.arange(1)
            current().lift()  # the machine applies the time budget itself
            self.machine_ = self._machine(self.kernel_).fit(X, y, weight)
        else:
            tasks = np.searchsorted(self.tasks_, labels)
            self._decide(X, rows, tasks, y, weight)
            self._fit_entries(X, rows, tasks, y, None if weight is None else weight[rows])
        self.classes_ = self.tasks_ if self._many else self.machine_.classes_
        return self

    def _fit_entries(self, X: Data, rows: np.ndarray, tasks: np.ndarray, y: np.ndarray, weight: Array) -> None:
        """Fit the machine on pairs of a sample and a task."""
        domain = self.kernel_.domain
        current().lift()  # the last fit has a budget of its own
        if domain.precomputed:
            K = TaskGram(self._build(X), rows, tasks, self.task_matrix_).dense()
            self.machine_ = self._machine("precomputed").fit(K, y, weight)
            index = self.machine_.function_.points
            samples, tasks = domain.take(domain.centres(X), rows[index]), tasks[index]
        else:
            points = (domain.take(X, rows) if self._many else X), self.tasks_[tasks]
            self.machine_ = self._machine(Tensor([self.kernel_, self.task_kernel_])).fit(points, y, weight)
            if not self._many:
                return
            samples, labels = self.machine_.function_.points
            tasks = np.searchsorted(self.tasks_, labels[:, 0])
        coefficients = self.machine_.function_.coefficients
        self._labels = Function(self.kernel_, samples, coefficients[:, None] * self.task_matrix_[tasks])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "cv", self.cv, at_least=2, integer=True)
        for name, besides in (("C", (np.inf,)), ("tol", ()), ("cache_size", ("auto",))):
            check_number(self, name, getattr(self, name), above=0, besides=besides)
        check_class_weight(self)

    def _machine(self, kernel: KernelLike) -> SVC:
        names = ("C", "class_weight", "tol", "cache_size", "n_jobs", "time_budget", "random_state")
        gram = "auto" if isinstance(kernel, str) else self.gram
        return SVC(kernel=kernel, fit_intercept=False, gram=gram, **{name: getattr(self, name) for name in names})

    def _points(self, X: Data) -> Any:
        X, labels = self._check_new(X)
        return X if labels is None else (X, labels)

    def decision_function(self, X: Data) -> np.ndarray:
        """The values of `machine_`, or for an indicator matrix one per label, of shape (n, T)."""
        check_is_fitted(self)
        if self._many:
            return self._labels(self._check_new(X)[0])
        return self.machine_.decision_function(self._points(X))

    def predict(self, X: Data) -> np.ndarray:
        """The class of each sample in its task, or for an indicator matrix zeros and ones of shape (n, T)."""
        check_is_fitted(self)
        if self._many:
            return self.decide(self.decision_function(X))
        return self.machine_.predict(self._points(X))

    def decide(self, values: np.ndarray) -> np.ndarray:
        """The predictions for given values of `decision_function`."""
        check_is_fitted(self)
        return (decision_array(self, values) >= 0).astype(np.int64) if self._many else self.machine_.decide(values)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
