"""Support vector classification, in the C and ν forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning

from .._errors import check_choice, check_number, is_one_of, shown, warn, where
from ..context import Monitor
from ..losses import FAR, Hinge, SquaredHinge
from ..solvers.fit.boxes import BoxSolver
from ..solvers.fit.held import offsets_of
from ..solvers.fit.multiclass import MulticlassProblem
from ..solvers.fit.working_set import BoxProblem, BoxSolution
from ..solvers.hyper import MARGIN, Objective
from ..types import Array, ClassWeight, Data, RandomState
from ._classifier import Classifier, Layout, SolvedTask, Task
from ._forms import NoProblemError, SolvedProblem
from ._objective import of_machines
from ._paths import PairwisePath, pairwise_path
from ._svm import HARD, DropIn, Sample, rescaled

JOINT = ("crammer_singer", "kbb")


@dataclass(kw_only=True, eq=False, repr=False)
class DropInClassifier(DropIn, Classifier):
    """Further parameters shared by both classifiers."""

    class_weight: ClassWeight = None
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    random_state: RandomState = None
    probability: bool = False
    calibration: str | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class SVC(DropInClassifier):
    r"""Support vector classification.

    .. math:: \min_{f \in H,\, b}\; \tfrac12 \|f\|_H^2 + C \sum_i w_i \big(1 - y_i (f(x_i) + b)\big)_+

    for each pair of classes, solved in its dual: :math:`\min \tfrac12 \beta^\top K \beta - y^\top \beta` with
    :math:`0 \le y_i \beta_i \le C w_i` and :math:`\sum \beta_i = 0`; then :math:`f = \sum_i \beta_i k(\cdot, x_i)`.
    The squared hinge has no upper bound, and :math:`K + \mathrm{diag}(1 / 2 C w_i)` for K.

    Parameters
    ----------
    C : float > 0, or inf
        Regularisation parameter; larger fits the training data more closely. Infinity gives a hard margin, and raises
        an error if the classes are not separable.
    loss : {"hinge", "squared_hinge"}
        The squared hinge penalises large errors more, and gives more support vectors.
    budget : float >= 0, optional
        Instead of C: an upper bound on the sum of the weighted losses of each machine, with ‖f‖ minimal; 0 is the hard
        margin. `C_` gives the corresponding C.
    multi_class : {"ovo", "ovr", "crammer_singer", "kbb"}
        For more than two classes: one machine per pair; one per class against the rest; or all classes jointly, with
        the loss of the worst rival (Crammer and Singer) or the sum over rivals (Weston and Watkins). The joint forms
        penalise the offsets, as if the kernel were k + 1.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"}, Kernel, expression or callable
        A callable maps two matrices to the matrix of kernel values, as in scikit-learn.
    degree, gamma, coef0
        As in scikit-learn, for its names; an error with a Kernel or an expression.
    shrinking : bool
        Accepted for compatibility, and ignored.
    tol : float > 0
        LIBSVM's stopping criterion, in double precision: max{f : β can grow} − min{f : β can fall} ≤ tol.
    cache_size : float or "auto"
        Memory for kernel rows in megabytes; "auto" uses a quarter of the machine's memory, if that much is free.
    class_weight : dict, "balanced" or None
        Multiplies C for each class.
    verbose : bool
        Accepted for compatibility; the solver's history is in `solutions_`.
    max_iter : int
        Maximum number of two-variable steps per problem; −1 uses LIBSVM's limit, 10⁷ or 100 per sample.
    decision_function_shape : {"ovr", "ovo"}
        Shape of `decision_function` with more than two classes.
    break_ties : bool
        Whether to break ties between votes by confidence ("ovr" only).
    random_state : int, RandomState, Generator or None
        Seed of randomised representations and of the calibration folds; the solver is deterministic.
    calibration : {None, "cv"}
        Whether to estimate probabilities, from held-out values of five-fold cross-validation. Folds start from the
        fitted machine and reuse its kernel rows. `predict` then gives the most probable class.
    probability : bool
        scikit-learn's name for ``calibration="cv"``.
    fit_intercept : bool
        Whether to fit an offset b. Without it, the function lies in the RKHS, and steps change single variables.
    gram : str or Representation
        "auto" uses rows of the exact matrix; ``Nystrom(…)`` and the like approximate it.
    n_jobs : int, optional
        Number of threads; None uses all cores.
    time_budget : float, optional
        Time limit in seconds; the best machine so far is then kept, with a warning. Ctrl-C has the same effect.
    checkpoint : path, optional
        File to which the state is saved every few seconds. A fit with the same data and parameters resumes from it. An
        infeasible state is refused; values that do not match its coefficients are recomputed. If the file can no longer
        be written, the fit warns and continues.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, classes_, class_weight_, fit_status_, n_iter_
        As in scikit-learn (`coef_` for the linear kernel).
    function_ : Function
        The machine, or with more classes all pairs as one vector-valued function: values, norm, margin 2/‖f‖.
    solutions_ : list of BoxSolution
        Duality gap, objective, iterations and history of each machine.
    calibration_ : Calibration
        Slopes from decision values to log-odds, and the held-out Brier score and log-loss.
    C_ : array of shape (n_machines,)
        The C of each machine, which `budget` sets.
    kernel_ : Kernel

    Notes
    -----
    The optimum is exact, and the same as LIBSVM's. Conditionally positive definite kernels of order 1 (Log, Power,
    Multiquadric) are valid with the offset. Callbacks (``set_callbacks``) are notified of each machine and its rounds.

    References
    ----------
    Cortes, Vapnik, *Support-vector networks* (1995); Chang, Lin, *LIBSVM* (2011), equation 2; Wu, Lin, Weng,
    *Probability estimates for multi-class classification by pairwise coupling* (2004).

    Examples
    --------
    >>> X, y = np.array([[-1.0], [-2.0], [1.0], [2.0]]), ["a", "a", "b", "b"]
    >>> model = SVC(kernel="linear").fit(X, y)
    >>> model.predict([[0.5]]), round(2 / model.function_.norm(), 3)
    (array(['b'], dtype='<U1'), 2.0)
    """

    criteria = MARGIN
    minimises_risk = True
    path_parameter = "C"

    C: float = 1.0
    loss: str = "hinge"
    budget: float | None = None
    multi_class: str = "ovo"
    fit_intercept: bool = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self, "loss", self.loss, ("hinge", "squared_hinge"))
        check_choice(self, "multi_class", self.multi_class, ("ovo", "ovr", *JOINT))
        check_number(self, "C", self.C, above=0, besides=(np.inf,))
        if self.budget is not None:
            check_number(self, "budget", self.budget, at_least=0)
            for name, value, default in (("C", self.C, 1.0), ("checkpoint", self.checkpoint, None)):
                if not is_one_of(value, (default,)):
                    raise ValueError(f"{where(self)}: {name} = {value!r} does not apply with budget; omit it.")
        if self._hard and self.loss != "hinge":
            raise ValueError(f"{where(self)}: {self._hard}, a hard margin, has no loss; leave loss at 'hinge'.")
        if self.multi_class in JOINT:
            without: dict[str, tuple[Any, Any]] = {
                "loss": ("hinge", self.loss),
                "budget": (None, self.budget),
                "calibration": (False, self._calibrated),
            }
            for name, (default, value) in without.items():
                if not is_one_of(value, (default,)):
                    raise ValueError(
                        f"{where(self)}: multi_class = {self.multi_class!r} does not support {name}; use 'ovo' or "
                        "'ovr'."
                    )
            if np.inf == self.C:
                raise ValueError(f"{where(self)}: C = inf needs multi_class='ovo' or 'ovr'.")

    def solved_problem(self, X: Data, y: Array, sample_weight: Array = None) -> SolvedProblem:
        """The problem that this fit of two classes to these data solved."""
        if len(self.classes_) > 2 or self.multi_class in JOINT:
            raise NoProblemError("there are more than two classes, and each pair has its own machine")
        if self._hard or self.budget is not None:
            raise NoProblemError("a hard margin, or a budget of errors, has no loss")
        target, w = self._targets_of_fit(y, sample_weight)
        known = np.isin(target, self.classes_)
        if np.any(w[~known] != 0):  # a class without weight is not in classes_
            raise ValueError(f"{where(self)}: y holds labels other than {shown(self.classes_)}; pass the y of the fit.")
        w = w * self.class_weight_[np.searchsorted(self.classes_, np.where(known, target, self.classes_[0]))]
        loss = Hinge() if self.loss == "hinge" else SquaredHinge()
        return self._solved(X, loss, np.where(target == self.classes_[1], 1.0, -1.0), w)

    def path_form(self, values: Sequence[Any]) -> PairwisePath | None:
        """The machines of all pairs of classes for these values of C; None if each must be fitted by itself."""
        return pairwise_path(self, values) if type(self) is SVC else None  # a subclass may fit in another way

    def tuning_objective(
        self, criterion: str, X: Data, y: Array, sample_weight: Array = None, monitor: Monitor | None = None
    ) -> Objective:
        """The objective of one of `criteria` on these data, summed over the machines."""
        self._check_parameters()
        if np.isinf(self.C) or self.budget is not None or self.multi_class in JOINT:
            raise ValueError(
                f"{where(self)}: a hard margin, a budget and joint multi-class machines have no differentiable bound; "
                "give a finite starting value of C, and multi_class='ovo' or 'ovr'."
            )
        if criterion == "radius_margin" and not self.fit_intercept:
            raise ValueError(f"{where(self)}: 'radius_margin' needs an offset; use 'span' or fit_intercept=True.")
        return of_machines(self, criterion, X, y, sample_weight, monitor)

    @property
    def _hard(self) -> str | None:
        """The parameter that requests a hard margin, if any."""
        return "C = inf" if np.inf == self.C else "budget = 0" if self.budget == 0 else None

    def _prepare(self, X: Data) -> Sample:
        claim = self.kernel_.definiteness_in(self.kernel_.domain.dimension(X))
        if self.multi_class in JOINT and claim.is_cpd and claim.order == 1:
            raise ValueError(
                f"{where(self)}: the kernel {self.kernel_} is {claim}, but with multi_class = {self.multi_class!r} the "
                "offset is penalised; use 'ovo' or 'ovr'."
            )
        return super()._prepare(X)

    @property
    def _balanced(self) -> bool:
        return self.fit_intercept and self.multi_class not in JOINT

    @property
    def _n_tasks(self) -> int | None:
        if self._hard or self.budget is not None:
            return None
        return 1 if self.multi_class in JOINT else super()._n_tasks

    @property
    def _solver(self) -> str:  # type: ignore[override]
        return "working_set" if self.multi_class in JOINT else "auto"

    def _solve(
        self, sample: Sample, y: Array, members: list[np.ndarray], weight: np.ndarray
    ) -> tuple[Sequence[BoxSolution], list[SolvedTask]]:
        solutions, solved = super()._solve(sample, y, members, weight)
        if self._n_tasks is None:
            self.C_ = np.array([np.inf if self._hard else s.strength for s in solved])
        return solutions, solved

    def _machines(self, sample: Sample, solver: Any, members: list[np.ndarray], weight: np.ndarray) -> list[SolvedTask]:
        if self.multi_class not in JOINT:
            return super()._machines(sample, solver, members, weight)
        self._check_diagonal(sample, solver.diagonal)
        order, sizes = np.concatenate(members), [len(m) for m in members]
        labels = np.repeat(np.arange(len(members)), sizes)
        bound = float(self.C) * weight[order]
        problem = MulticlassProblem(labels, bound, len(members), self.multi_class, self.fit_intercept)
        solution = solver.run(lambda: solver.perform(problem, "machine"))
        return [SolvedTask(Task("machine", labels, weight, labels), solution)]

    def _coefficients(self, layout: Layout, n: int, solutions: Sequence[BoxSolution]) -> tuple[np.ndarray, np.ndarray]:
        if self.multi_class not in JOINT:
            return super()._coefficients(layout, n, solutions)
        solution: Any = solutions[0]
        if len(self.classes_) > 2:
            return solution.beta, solution.intercept
        return solution.beta[:, :1] - solution.beta[:, 1:], solution.intercept[:1] - solution.intercept[1:]

    def _task_problem(self, y: np.ndarray, weight: np.ndarray, C: float | None = None) -> BoxProblem:
        bound, ridge = (self.C if C is None else C) * weight, None
        if self.loss == "squared_hinge":
            moving = bound > 0
            ridge, bound = np.divide(0.5, bound, out=np.zeros_like(bound), where=moving), np.where(moving, FAR, 0.0)
        group = np.zeros(len(y), dtype=np.int64) if self.fit_intercept else None
        return BoxProblem(y, np.where(y > 0, 0.0, -bound), np.where(y > 0, bound, 0.0), group, ridge=ridge)

    def _task_problems(self, layout: Layout, weight: np.ndarray) -> BoxProblem:
        return self._task_problem(layout.y, weight)  # bounds depend on each sample alone

    def _scale_and_offset(self, offsets: np.ndarray) -> tuple[Any, Any]:
        return 1.0, offsets[..., 0] if self.fit_intercept else 0.0

    def _solve_task(self, solver: BoxSolver, task: Task) -> SolvedTask:
        if self._hard:
            task = replace(task, weight=np.ones_like(task.weight))
            C, solution = self._hard_margin(solver, task)
        elif self.budget is not None:
            C, solution = self._meet_budget(solver, task)
        else:
            return super()._solve_task(solver, task)
        return SolvedTask(task, solution, self._held_out(solver, task, solution, C) if self._calibrated else None, C)

    def _hard_margin(self, solver: BoxSolver, task: Task) -> tuple[float, BoxSolution]:
        found = self._without_box(solver, lambda C: self._task_problem(task.y, task.weight, C), task.name)
        if found is None:
            raise ValueError(
                f"{where(self)}: {self._hard} requires a hard margin, but {task.name} is not separable by this kernel "
                f"with a margin above {2 / np.sqrt(HARD[-1] / self._scale(solver)):.1g}; give a finite C."
            )
        return found

    def _meet_budget(self, solver: BoxSolver, task: Task) -> tuple[float, BoxSolution]:
        """The smallest C, to four digits, for which the losses sum to at most the budget, and its solution.

        For each C, f and the sum of losses are unique; the sum decreases continuously as C grows. A run that stops
        early ends the search.
        """
        budget: float = self.budget  # type: ignore[assignment]
        plus, minus = task.weight[task.y > 0].sum(), task.weight[task.y < 0].sum()
        constant = 2 * min(plus, minus) if self.loss == "hinge" else 4 * plus * minus / (plus + minus)
        constant = constant if self.fit_intercept else plus + minus
        if budget >= constant:
            raise ValueError(
                f"{where(self)}: budget = {budget:g} is met for {task.name} by a constant, whose losses sum to "
                f"{constant:g}; lower it."
            )
        found: dict[float, tuple[BoxSolution, float]] = {}

        def excess(exponent: float) -> float:
            C = float(np.exp(exponent))
            problem = self._task_problem(task.y, task.weight, C)
            if found:
                near = min(found, key=lambda c: abs(np.log(c / C)))
                last = found[near][0]
                problem.start, problem.near = rescaled(last, problem, C / near), (last.beta, last.values)
            solution = solver.perform(problem, f"{task.name}, C = {C!r}")
            if not solution.converged:
                raise _StoppedError(C, solution)
            margin = task.y * (solution.values + self._scale_and_offset(solution.offsets)[1])
            loss = np.maximum(0.0, 1.0 - margin) ** (1 if self.loss == "hinge" else 2)
            found[C] = solution, float(task.weight @ loss) - budget
            return found[C][1]

        low = high = -float(np.log(self._scale(solver)))
        largest = high + np.log(HARD[-1])
        try:
            while excess(high) > 0:
                low, high = high, high + np.log(10)
                if high > largest + 1e-9:
                    least = budget + min(e for _, e in found.values())
                    raise ValueError(
                        f"{where(self)}: budget = {budget:g} is not met for {task.name}: at C = {np.exp(low):.2g} "
                        f"the losses still sum to {least:.4g}; raise it, or scale the data."
                    )
            while low == high or excess(low) <= 0:
                low, high = low - np.log(10), low
            brentq(excess, low, high, xtol=1e-4)
        except _StoppedError as stopped:
            return stopped.args
        C = min(c for c, (_, e) in found.items() if e <= 0)
        return C, found[C][0]


class _StoppedError(Exception):
    """The run for one C stopped before its optimum."""


@dataclass(kw_only=True, eq=False, repr=False)
class NuSVC(DropInClassifier):
    r"""Support vector classification, ν form: bounds the fraction of margin errors.

    .. math:: \min \tfrac12 \|f\|^2 - \nu\rho + \tfrac1n \sum_i w_i \big(\rho - y_i (f(x_i) + b)\big)_+

    for each pair of classes; the machine is then divided by ρ, as in LIBSVM.

    Parameters
    ----------
    nu : float in (0, 1]
        At most this fraction of the samples are margin errors, and at least this fraction are support vectors.
    class_weight : dict, "balanced" or None
        Factors on the sample weights of each class. (scikit-learn accepts it, but LIBSVM ignores it for ν.)
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter, decision_function_shape, break_ties,
    random_state, probability, calibration, gram, n_jobs, time_budget, checkpoint
        As in `SVC`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, classes_, function_, solutions_, kernel_
        As in `SVC`.

    References
    ----------
    Schölkopf, Smola, Williamson, Bartlett, *New support vector algorithms* (2000).

    Examples
    --------
    >>> X, y = np.array([[-1.0], [-2.0], [1.0], [2.0]]), [0, 0, 1, 1]
    >>> NuSVC(nu=0.5, kernel="linear").fit(X, y).predict([[0.5]])
    array([1])
    """

    fit_intercept = True

    nu: float = 0.5

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "nu", self.nu, above=0, at_most=1)

    def _task(self, fold: Any, order: np.ndarray, weight: np.ndarray, layout: Layout, machine: int) -> Task:
        task = super()._task(fold, order, weight, layout, machine)
        self._problems(task.y, task.weight, np.array([0, len(task.y)]))  # raises if ν is infeasible
        return task

    def _task_problems(self, layout: Layout, weight: np.ndarray) -> BoxProblem:
        return self._problems(layout.y, weight, layout.edges)

    def _task_problem(self, y: np.ndarray, weight: np.ndarray, C: float | None = None) -> BoxProblem:
        return self._problems(y, weight, np.array([0, len(y)]), part=True)

    def _problems(self, y: np.ndarray, weight: np.ndarray, edges: np.ndarray, part: bool = False) -> BoxProblem:
        """The duals of machines with the variables edges[k] to edges[k + 1], with LIBSVM's starting vectors.

        A `part` of the samples may have less of one class than ν requires.
        """
        plus = np.where(y > 0, weight, 0.0)
        minus = weight - plus
        sums = [np.add.reduceat(side, edges[:-1]) for side in (plus, minus)]
        wanted, least = float(self.nu) * (sums[0] + sums[1]) / 2, np.minimum(*sums)
        if not part and (least < wanted * (1 - 1e-12)).any():
            raise ValueError(f"{where(self)}: the specified nu = {self.nu} is infeasible; lower it.")
        wanted = np.minimum(wanted, least)
        start = filled(plus, wanted, edges) - filled(minus, wanted, edges)
        return BoxProblem(np.zeros(len(y)), plus - weight, plus, (y < 0).astype(np.int64), start)

    def _report(self, solutions: Sequence[BoxSolution], held_out: Sequence[BoxSolution] = ()) -> None:
        super()._report(solutions, held_out)
        margins = offsets_of(solutions) @ [-1.0, 1.0]
        if any(solutions[k].converged for k in np.flatnonzero(margins <= 2 * self.tol).tolist()):
            warn(
                f"{where(self)}: nu = {self.nu} is so small that the margin ρ vanishes (below tol = {self.tol:g}), and "
                "the machine, which is divided by ρ, is dominated by rounding; raise nu, or lower tol.",
                ConvergenceWarning,
            )

    def _scale_and_offset(self, offsets: np.ndarray) -> tuple[Any, Any]:
        plus, minus = offsets[..., 0], offsets[..., 1]  # b − ρ and b + ρ
        rho = np.abs(minus - plus) / 2  # its sign may be wrong after an early stop
        rho = np.where(rho > 0, rho, 1.0)
        return 1 / rho, (plus + minus) / 2 / rho


def filled(bounds: np.ndarray, total: Any, edges: np.ndarray | None = None) -> np.ndarray:
    """LIBSVM's starting vector: within 0 … bounds, of sum `total`, with the first entries at their bounds.

    With `edges`, several of them: the k-th has the entries edges[k] to edges[k + 1] and the sum total[k].
    """
    before = bounds.cumsum() - bounds
    if edges is not None:
        sizes = edges[1:] - edges[:-1]
        before -= before[edges[:-1]].repeat(sizes)
        total = total.repeat(sizes)
    return np.minimum(np.maximum(total - before, 0.0), bounds)
