"""Kernel ridge regression and support vector classification of many tasks at once."""

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
    r"""Kernel ridge regression of many tasks, which learn from each other as far as they are alike.

    .. math:: \min_{f_1, \dots, f_T}\; \tfrac12 \sum_{(i, t)} w_i \big(y_{it} - f_t(x_i)\big)^2
              + \tfrac{\alpha}{2} \sum_{s, t} (B^{-1})_{st}\, \langle f_s, f_t \rangle_H

    the kernel ridge regression of the kernel :math:`k(x, x')\, B_{st}` on pairs of a sample and a task. The matrix B
    over the tasks says how much they have in common.

    Parameters
    ----------
    alpha : float > 0, or {"auto", "loo", "marginal_likelihood"}
        Weight of the penalty; larger is smoother. "loo" takes the one of `alphas` with the least error of
        leave-one-out, in closed form. "marginal_likelihood", where B is learned, finds the variance of the noise with
        it. "auto" is the one of them that the coupling allows.
    alphas : array of numbers > 0
        What "loo" chooses from.
    kernel : Kernel, name or expression
        k. For an offset of the tasks add a constant (``"gaussian + 1"``), which is coupled and penalised as all else
        is: standardise targets that are far from zero.
    task : None, int, str or "pairs"
        Where the task of a sample is found. None: the tasks are the columns of y, of shape (n, T), with NaN where a
        target is missing. A column of X, by its index or its name in a DataFrame: a label of any type. "pairs": X is a
        list of pairs (sample, task), or a pair of collections, for samples of any kind.
    coupling : "auto", float in [0, 1], "learned", array of shape (T, T), or Kernel on tasks
        A number is the share σ that all tasks have in common, B_st = σ + (1 − σ)[s = t]: 0 is a fit of each task by
        itself, 1 one fit to all samples. "auto" takes the share with the least error of leave-one-out, or 0 where that
        is not better by a standard error of the difference. "learned" finds
        B = WWᵀ + diag(v) by the marginal likelihood, so that tasks may be alike, unlike or opposite; W has no column
        that Schwarz's criterion does not grant, and unrelated tasks stay apart. Or B itself, in the order of `tasks_`,
        or a kernel on the labels (``Tasks.from_graph(…)``).
    rank : int >= 1
        Columns of W at most. One is a function common to all tasks, each with a factor of its own; more allow for
        groups.
    gram : str or Representation
        How the matrix of the samples is held or approximated: "auto", "dense", "lazy", ``Nystrom(rank=500)``, …
    time_budget : float > 0, optional
        Seconds after which "learned" takes the matrix that it has come to, with a warning. The fit comes on top.
    random_state : int, RandomState, Generator or None
        For representations that draw.

    Attributes
    ----------
    tasks_ : array of shape (T,)
        The labels of the tasks, sorted; 0, …, T − 1 for the columns of y.
    task_matrix_, task_kernel_ : array of shape (T, T), Kernel
        B, and the kernel on labels.
    share_, alpha_ : float
        What was given or chosen (`share_` where the coupling is one).
    errors_ : array of shape (n_shares, n_alphas)
        The mean squared errors of leave-one-out, where there was something to choose.
    learned_ : Coregionalisation
        Of "learned": W and v, the likelihood, the slope that is left at B, and whether it converged.
    objective_history_ : list of float
        Of "learned": minus the log-likelihood after each step, which never rises.
    dual_coef_ : array of shape (n_samples, T)
        a, of f_t = Σ aᵢₛ B_st k(·, xᵢ).
    function_ : Function
        f₁, …, f_T as one vector-valued function of the sample.
    kernel_ : Kernel
        k with data-driven parameters filled in.
    n_features_in_ : int
        Without the task.

    Notes
    -----
    A new task at prediction has the common part alone: the share, or of another B the mean of the tasks' functions.

    Leave-one-out leaves out a sample with all its targets. The likelihood has local maxima; the better end of two
    searches is kept, from half shared and from nearly separate tasks.

    All targets observed: O(n³ + T³) for every B and α together, by the eigenvectors of K and B. Otherwise O(N³) a share
    for N targets, for all α; learning takes O(N³) a step. A kernel of different parts in common and of its own,
    σk₀ + (1 − σ)k₁[s = t], is `KernelRidge` with ``k0 @ Shared(1.0) * s + k1 @ Shared(0.0) * (1 - s)`` on pairs.

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
        """Fit to samples X, with their tasks or with targets y of shape (n, T)."""
        self._check_parameters()
        (X, labels), y = self._check_fit(X, y, multi_output=True, y_numeric=True)
        weight = self._check_weight(sample_weight, X)
        self._forget("errors_", "learned_", "objective_history_")
        if labels is not None and y.ndim == 2:
            raise ValueError(
                f"{where(self)}: y has shape {y.shape}; with task = {self.task!r} it has one target for each sample."
            )
        if labels is None:
            self.tasks_ = np.arange(1 if y.ndim == 1 else y.shape[1])
        self.X_fit_, self._labels, self._target, self._weight = X, labels, y, weight
        self._unit = unit_of_squares(self, "y", y[~np.isnan(y)])
        self._square = self._unit**2 if self._learns else 1.0  # that of alpha and B
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
        # a factor may have been drawn, and is small; a whole matrix is computed again where it is asked for
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
                f"{where(self)}: alpha = {self.alpha!r} does not go with coupling = {self.coupling!r}; use {other!r}."
            )

    def _check_training(self, X: Data, y: Array, **options: Any) -> tuple[Points, Any]:
        Y = host(check_targets(self, y))
        if self.task is not None or Y.ndim != 2 or Y.dtype.kind != "f" or not np.isnan(Y).any():
            return super()._check_training(X, y, **options)
        missing = np.isnan(Y)
        if missing.all():
            raise ValueError(f"{where(self)}: y holds NaN alone; give at least one target.")
        X, Y = super()._check_training(X, np.where(missing, 0.0, Y), **options)
        return X, np.where(missing, np.nan, Y)

    def _problem(self, gram: Gram) -> Rotated | Entries:
        """That of the targets divided by their unit."""
        y, weight = self._target.astype(np.float64) / self._unit, self._weight
        if self._labels is not None:
            return Entries(gram, np.arange(len(y)), np.searchsorted(self.tasks_, self._labels), y, weight)
        Y = y[:, None] if y.ndim == 1 else y
        if not np.isnan(Y).any():
            return Rotated(gram, Y, weight)
        rows, tasks = np.nonzero(~np.isnan(Y))
        return Entries(gram, rows, tasks, Y[rows, tasks], None if weight is None else weight[rows])

    def _choose(self, problem: Rotated | Entries) -> None:
        """The coupling and the strength with the least error of leave-one-out."""
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
        """The functions Σ aᵢₛ bₛ k(·, xᵢ), for each column b of values of the tasks' kernel."""
        kernel, points, a = self._expansion
        return Function(kernel, points, a @ like(columns, a))

    def predict(self, X: Data) -> np.ndarray:
        """The value of each sample's task, or with ``task=None`` of all, of shape (n, T)."""
        check_is_fitted(self)
        X, labels = self._check_new(X)
        if labels is None:
            return self.function_.values(X)
        distinct, place = np.unique(labels, return_inverse=True)
        columns = host(self.task_kernel_(self.tasks_, distinct)).astype(np.float64)
        return np.take_along_axis(self._coupled(columns)(X), place.reshape(-1, 1), axis=1)[:, 0]

    def leave_one_out(self) -> np.ndarray:
        """For each training sample the prediction of the fit without it and all its targets, in closed form.

        B and alpha stay as they are. NaN where the target is missing.
        """
        check_is_fitted(self)
        problem: Any = self._problem(self._build(self.X_fit_) if self._factored is None else self._factored)
        B, alpha = self.task_matrix_ / self._square, self.alpha_ / self._square
        values = self._unit * problem.left_out(B, np.array([alpha]))[..., 0]
        if values.ndim < self._target.ndim:  # of the targets that are not missing
            return np.where(np.isnan(self._target), np.nan, TaskGram.spread(problem._gram(self.task_matrix_), values))
        return values.reshape(self._target.shape)


@dataclass(kw_only=True, eq=False, repr=False)
class MultitaskSVC(ClassifierMixin, TaskSearch):
    r"""Support vector classification of many tasks, which learn from each other as far as they are alike.

    .. math:: \min_{f_1, \dots, f_T}\; \tfrac12 \sum_{s, t} (B^{-1})_{st}\, \langle f_s, f_t \rangle_H
              + C \sum_{(i, t)} w_i \big(1 - y_{it} f_t(x_i)\big)_+

    for each pair of classes: `SVC` without an offset, with the kernel :math:`k(x, x')\, B_{st}` on pairs of a sample
    and a task.

    Parameters
    ----------
    C : float > 0
        Weight of the errors; larger fits the training data more closely.
    kernel : Kernel, name or expression
        k. For an offset of the tasks add a constant (``"linear + 1"``), which is coupled as all else is.
    task : None, int, str or "pairs"
        Where the task of a sample is found: a column of X, by its index or its name in a DataFrame, or "pairs" for X as
        a list of pairs (sample, task) or a pair of collections. With None and y of shape (n, T) of zeros and ones each
        label is a task, of all samples; with None and one label a sample there is one task.
    coupling : "auto", float in [0, 1], "learned", array of shape (T, T), or Kernel on tasks
        As in `MultitaskKernelRidge`. "auto" judges shares by their errors in cross-validation, on samples that are not
        the only one of their class in their task. "learned" takes the matrix that has the largest likelihood for a
        regression on the classes, scaled to a mean diagonal of 1; it wants several samples of a class in a task.
    rank : int >= 1
        Of the common part of a matrix that is learned, at most.
    cv : int >= 2
        Folds of "auto", to which the samples of each class in each task are dealt out.
    class_weight, tol, cache_size, n_jobs
        As in `SVC`.
    time_budget : float > 0, optional
        Seconds after which "auto" takes the best of the shares that it has judged and "learned" the matrix that it has
        come to, with a warning; and those of the fit, which comes on top.
    gram : str or Representation
        "auto" takes rows of the exact matrix; ``Nystrom(…)`` and the like approximate it.
    random_state : int, RandomState or None
        For the folds, the same each time if None, and for representations that draw.

    Attributes
    ----------
    tasks_, task_matrix_, task_kernel_, share_, learned_, objective_history_, kernel_, n_features_in_
        As in `MultitaskKernelRidge`.
    scores_ : array of shape (n_shares,)
        The accuracies of cross-validation, where there was something to choose.
    machine_ : SVC
        The machine on pairs of a sample and a task.
    classes_ : array
        The labels; of an indicator matrix the numbers of its columns.

    Notes
    -----
    A new task at prediction has the common part alone: the share, or of another B the mean of the tasks' functions.
    The cost is that of `SVC` on all pairs; "auto" adds ``8·cv`` fits on one kernel matrix.

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

    C: float = 1.0
    cv: int = 5
    class_weight: ClassWeight = None
    tol: float = 1e-3
    cache_size: float | str = "auto"
    n_jobs: int | None = None

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X, with their tasks or with an indicator matrix y of shape (n, T)."""
        self._check_parameters()
        (X, labels), y = self._check_fit(X, y.toarray() if is_sparse(y) else y, multi_output=True)
        weight = self._check_weight(sample_weight, X)
        self._forget("scores_", "learned_", "objective_history_", "share_", "task_matrix_", "task_kernel_")
        classes_of(self, y)  # raises where they have no order
        self._many = type_of_target(y, input_name="y") == "multilabel-indicator"
        n = len(y)
        if self._many:
            if labels is not None:
                raise ValueError(
                    f"{where(self)}: y is an indicator matrix; with task = {self.task!r} it has one label for each "
                    "sample."
                )
            self.tasks_ = np.arange(y.shape[1])
            rows, labels, y = np.repeat(np.arange(n), y.shape[1]), np.tile(self.tasks_, n), np.asarray(y).ravel()
        else:
            y, rows = column_or_1d(y, warn=True), np.arange(n)
        if labels is None:
            self.tasks_ = np.arange(1)
            current().lift()  # the machine has the budget as its own
            self.machine_ = self._machine(self.kernel_).fit(X, y, weight)
        else:
            tasks = np.searchsorted(self.tasks_, labels)
            self._decide(X, rows, tasks, y, weight)
            self._fit_entries(X, rows, tasks, y, None if weight is None else weight[rows])
        self.classes_ = self.tasks_ if self._many else self.machine_.classes_
        return self

    def _fit_entries(self, X: Data, rows: np.ndarray, tasks: np.ndarray, y: np.ndarray, weight: Array) -> None:
        """The machine on pairs of a sample and a task."""
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
        """The values of `machine_`, or of an indicator matrix one for each label, of shape (n, T)."""
        check_is_fitted(self)
        if self._many:
            return self._labels(self._check_new(X)[0])
        return self.machine_.decision_function(self._points(X))

    def predict(self, X: Data) -> np.ndarray:
        """The class of each sample in its task, or of an indicator matrix zeros and ones of shape (n, T)."""
        check_is_fitted(self)
        if self._many:
            return self.decide(self.decision_function(X))
        return self.machine_.predict(self._points(X))

    def decide(self, values: np.ndarray) -> np.ndarray:
        """What `predict` answers at points where `decision_function` has these values."""
        check_is_fitted(self)
        return (decision_array(self, values) >= 0).astype(np.int64) if self._many else self.machine_.decide(values)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
