"""Kernel ridge regression and support vector classification of many tasks at once."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._array import host, is_sparse, like
from .._errors import check_class_weight, check_number, check_targets, warn, where
from .._random import generator
from .._units import SQUARED, unit_of_squares
from ..context import Status, current
from ..gram import Gram, GramLike
from ..kernels import Kernel, KernelLike
from ..kernels.algebra import Tensor
from ..kernels.tasks import Tasks
from ..solvers.linear import System, solve
from ..solvers.multitask import Complete, Scattered, TaskGram
from ..solvers.spectral import Spectral
from ..space import Function
from ..types import Array, ClassWeight, Data, RandomState
from ._base import classes_of
from ._multitask import Multitask, Points, preferred
from .ridge_cv import ALPHAS
from .svc import SVC

VANISHING = 1e-13  # of the largest eigenvalue of B; smaller ones count as this, which fits nothing


class Rotated:
    """Targets Y of all tasks at all samples: one problem for each eigenvector of B."""

    def __init__(self, gram: Gram, Y: np.ndarray, weight: Array):
        self.gram, self.Y, self.weight = gram, Y, weight

    @cached_property
    def path(self) -> Spectral:
        return Spectral(self.gram, None, self.weight)

    @staticmethod
    def _eigen(B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = np.linalg.eigh(B)
        return np.maximum(values, VANISHING * values[-1]), vectors

    def left_out(self, B: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        """The predictions of all tasks at each sample by the fit without it, of shape (n, T, A)."""
        values, V = self._eigen(B)
        Z = like(self.Y @ V, self.gram.like)
        parts = [self.path.leave_one_out(Z[:, [j]], alphas / v)[:, 0, :] for j, v in enumerate(values)]
        return np.einsum("ija,tj->ita", host(np.stack(parts, axis=1)), V)

    def errors(self, B: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        """Their squared errors, the mean over the tasks, of shape (n, A)."""
        return np.mean((self.left_out(B, alphas) - self.Y[:, :, None]) ** 2, axis=1)

    def solve(self, B: np.ndarray, alpha: float) -> np.ndarray:
        """a of shape (n, T), of f_t = Σ aᵢₛ B_st k(·, xᵢ)."""
        values, V = self._eigen(B)
        Z = like(self.Y @ V, self.gram.like)
        if self.gram.provides:
            c = host(self.path.solve(Z, alpha / values).coefficients)
        else:  # a lazy matrix is not decomposed
            systems = (System(self.gram, Z[:, j], alpha / v, weight=self.weight) for j, v in enumerate(values))
            c = np.stack([host(solve(system).coefficients) for system in systems], axis=1)
        return (c / values) @ V.T

    def evidence(self) -> Complete:
        return Complete(self.path, self.Y)


class Entries:
    """Targets at some samples and tasks: one problem on all of them."""

    def __init__(self, gram: Gram, rows: np.ndarray, tasks: np.ndarray, y: np.ndarray, weight: Array):
        self.gram, self.rows, self.tasks, self.y, self.weight = gram, rows, tasks, y, weight

    def _gram(self, B: np.ndarray) -> TaskGram:
        return TaskGram(self.gram, self.rows, self.tasks, B)

    def left_out(self, B: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        """The prediction of each entry by the fit without all entries of its sample, of shape (N, A)."""
        path, b = Spectral(self._gram(B), None, self.weight), self.y[:, None]
        if len(np.unique(self.rows)) == len(self.rows):
            return path.leave_one_out(b, alphas)[:, 0, :]
        order = np.argsort(self.rows, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(self.rows[order])) + 1)
        splits = [(np.setdiff1d(order, group), group) for group in groups]
        out = np.empty((len(b), len(alphas)))
        for (_, group), values in zip(splits, path.held_out(b, alphas, splits), strict=True):
            out[group] = values[:, 0, :]
        return out

    def errors(self, B: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        """Its squared error, of shape (N, A)."""
        return (self.left_out(B, alphas) - self.y[:, None]) ** 2

    def solve(self, B: np.ndarray, alpha: float) -> np.ndarray:
        gram = self._gram(B)
        a = solve(System(gram, self.y, alpha, weight=self.weight)).coefficients
        return gram.spread(host(a))

    def evidence(self) -> Scattered:
        return Scattered(host(self.gram.block(self.rows, self.rows)), self.tasks, self.y[:, None], self.weight)


class MultitaskKernelRidge(MultiOutputMixin, RegressorMixin, Multitask):
    r"""Kernel ridge regression of many tasks, which learn from each other as far as they are alike.

    .. math:: \min_{f_1, \dots, f_T}\; \tfrac12 \sum_{(i, t)} w_i \big(y_{it} - f_t(x_i)\big)^2
              + \tfrac{\alpha}{2} \sum_{s, t} (B^{-1})_{st}\, \langle f_s, f_t \rangle_H

    the kernel ridge regression of the kernel :math:`k(x, x')\, B_{st}` on pairs of a sample and a task. The matrix B
    over the tasks says how much they have in common.

    Parameters
    ----------
    alpha : float > 0, or "auto"
        Weight of the penalty; larger is smoother. "auto" takes the power of ten from 10⁻⁶ to 10³ with the least error
        of leave-one-out, in closed form; where B is learned, the variance of the noise of the largest likelihood.
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

    def __init__(
        self,
        alpha: Any = "auto",
        *,
        kernel: KernelLike = "gaussian(lengthscale='median')",
        task: Any = None,
        coupling: Any = "auto",
        rank: int = 1,
        gram: GramLike = "auto",
        time_budget: float | None = None,
        random_state: RandomState = None,
    ):
        self.alpha = alpha
        self.kernel = kernel
        self.task = task
        self.coupling = coupling
        self.rank = rank
        self.gram = gram
        self.time_budget = time_budget
        self.random_state = random_state

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
        if isinstance(self.alpha, str) and self.alpha == "auto":
            return
        check_number(self, "alpha", self.alpha, above=0)

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
        alphas = np.array(ALPHAS) if isinstance(self.alpha, str) else np.array([float(self.alpha)])
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
            return self.function_(X)
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


class MultitaskSVC(ClassifierMixin, Multitask):
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

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: KernelLike = "gaussian(lengthscale='median')",
        task: Any = None,
        coupling: Any = "auto",
        rank: int = 1,
        cv: int = 5,
        class_weight: ClassWeight = None,
        tol: float = 1e-3,
        cache_size: float = 200,
        gram: GramLike = "auto",
        n_jobs: int | None = None,
        time_budget: float | None = None,
        random_state: RandomState = None,
    ):
        self.C = C
        self.kernel = kernel
        self.task = task
        self.coupling = coupling
        self.rank = rank
        self.cv = cv
        self.class_weight = class_weight
        self.tol = tol
        self.cache_size = cache_size
        self.gram = gram
        self.n_jobs = n_jobs
        self.time_budget = time_budget
        self.random_state = random_state

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
        for name in ("C", "tol", "cache_size"):
            if name != "C" or not np.array_equal(self.C, np.inf):
                check_number(self, name, getattr(self, name), above=0)
        check_class_weight(self)

    def _machine(self, kernel: KernelLike) -> SVC:
        names = ("C", "class_weight", "tol", "cache_size", "n_jobs", "time_budget", "random_state")
        gram = "auto" if isinstance(kernel, str) else self.gram
        return SVC(kernel=kernel, fit_intercept=False, gram=gram, **{name: getattr(self, name) for name in names})

    def _decide(self, X: Data, rows: np.ndarray, tasks: np.ndarray, y: np.ndarray, weight: Array) -> None:
        """The kernel between tasks; y and tasks are of entries, of which `rows` tells the samples."""
        if self._learns:
            self._learn(self._evidence(self._build(X), tasks, y, weight), None)
            B = self.learned_.matrix
            self._couple(Tasks(B * (len(B) / np.trace(B)), self.tasks_))
            return
        kernels = self._couplings()
        if len(kernels) > 1:
            kernels = [kernels[self._judge(kernels, self._build(X), rows, tasks, y, weight)]]
        self._couple(kernels[0])

    def _evidence(self, gram: Gram, tasks: np.ndarray, y: np.ndarray, weight: Array) -> Complete | Scattered:
        """The likelihood of a regression on ±1, of one target for each class or one for two.

        Each is centred, so that classes which are rare in all tasks do not make them alike.
        """
        classes = np.unique(y)
        signs = np.where(y[:, None] == (classes if len(classes) > 2 else classes[1:])[None, :], 1.0, -1.0)
        signs = signs.reshape(gram.n, -1)
        signs -= np.average(signs, axis=0, weights=weight)
        if self._many:
            return Complete(Spectral(gram, None, weight), signs)
        return Scattered(host(gram.dense()), tasks, signs, weight)

    def _judge(
        self, kernels: list[Kernel], gram: Gram, rows: np.ndarray, tasks: np.ndarray, y: np.ndarray, weight: Array
    ) -> int:
        """Which of the kernels between tasks makes the fewest errors on samples held out."""
        weight = None if weight is None else weight[rows]
        fold = self._folds(rows, tasks, y)
        judged = np.flatnonzero(fold >= 0)
        if not len(judged):
            warn(
                f"{where(self)}: coupling = 'auto' holds samples out, but no class has two samples in a task; the "
                "tasks are kept apart. Give coupling a number, or more samples.",
                UserWarning,
            )
            return 0
        matrices = (TaskGram(gram, rows, tasks, self._matrix(kernel)).dense() for kernel in kernels)
        found: list[np.ndarray] = []
        context = current()
        for K in matrices:
            held_out = self._held_out(K, y, weight, fold)
            if status := context():
                self._report_unjudged(status, kernels[len(found) :])
                break
            found.append(held_out[judged] != y[judged])
        if not found:
            return 0
        wrong = np.stack(found).astype(np.float64)
        weight = None if weight is None else weight[judged]
        self.scores_ = 1 - np.average(wrong, axis=1, weights=weight)
        return preferred(wrong, weight)

    def _report_unjudged(self, status: Status, kernels: list[Kernel]) -> None:
        shares = ", ".join(f"{kernel.share:g}" for kernel in kernels if hasattr(kernel, "share"))
        warn(
            f"{where(self)}: {status} before the shares {shares} were judged. {status.remedy('')} With coupling "
            "given there is nothing to judge.",
            ConvergenceWarning,
        )

    def _folds(self, rows: np.ndarray, tasks: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The fold of each entry: samples of each class in each task are dealt out in turn.

        −1 for one that is alone, without which nothing is known of its class in its task.
        """
        rng, n = generator(self.random_state or 0), int(rows[-1]) + 1
        cell = np.zeros(n, dtype=np.int64)
        if not self._many:
            classes, labels = np.unique(y, return_inverse=True)
            cell = tasks * len(classes) + labels
        order = np.lexsort((rng.random(n), rng.random(cell.max() + 1)[cell]))  # cell by cell, in any order
        order = order[np.bincount(cell)[cell[order]] > 1]
        fold = np.full(n, -1)
        fold[order] = np.arange(len(order)) % self.cv
        return fold[rows]

    def _held_out(self, K: np.ndarray, y: np.ndarray, weight: Array, fold: np.ndarray) -> np.ndarray:
        """The class of each entry by a machine that had not seen its sample."""
        out = y.copy()
        for k in range(fold.max() + 1):
            train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            machine = self._machine("precomputed").set_params(time_budget=None)  # that of all of them is above
            machine.fit(K[np.ix_(train, train)], y[train], None if weight is None else weight[train])
            out[test] = machine.predict(K[np.ix_(test, train)])
        return out

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
            return (self.decision_function(X) >= 0).astype(np.int64)
        return self.machine_.predict(self._points(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
