"""Common parts of classifiers: labels and weights; for support vector machines also pairs and probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, pairwise
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from .._array import beside, host, is_sparse, labels_like, namespace
from .._errors import check_choice, where
from .._random import generator
from .._targets import check_class_weight
from .._threads import one_blas_thread
from ..solvers.fit.boxes import BoxSolver, Pairs
from ..solvers.fit.held import BoxSolutions, joined, offsets_of
from ..solvers.fit.many import vote
from ..solvers.fit.working_set import BoxProblem, BoxSolution
from ..types import Array, Data
from ._base import classes_of
from ._calibration import CLIP, FOLDS, Calibration, couple, folds, probability, quality, slopes
from ._forms import decision_values
from ._svm import Sample, SupportVectorMachine

JUDGED = 5000  # maximum number of samples on which probabilities are assessed


@dataclass
class Task:
    """One machine between two sets of samples: labels ±1, weights, and folds for calibration."""

    name: str
    y: np.ndarray
    weight: np.ndarray
    fold: Any = None


@dataclass
class SolvedTask:
    """The solution of a task, its C, and with calibration the held-out values."""

    task: Task
    solution: BoxSolution
    held_out: HeldOut | None = None
    strength: float | None = None


@dataclass(frozen=True)
class Layout:
    """The samples of all machines, one machine after another.

    Attributes
    ----------
    edges : array of int
        Machine k has the variables edges[k] to edges[k + 1].
    place : array of int
        Position of each variable's sample when all are sorted by class.
    machine : array of int
        The machine of each variable.
    y : array of ±1
    rival : array of int
        Row of `dual_coef_` for each variable of a pair: the number of the other class, without that of its own.
    """

    edges: np.ndarray
    place: np.ndarray
    machine: np.ndarray
    y: np.ndarray
    rival: np.ndarray | None = None

    @classmethod
    def of(cls, pairs: list[tuple[int, int]], sizes: list[int]) -> Layout:
        """The layout of pairs of classes, the first class first, or of pairs (c, c): class c against the rest."""
        n, machines = sum(sizes), np.arange(len(pairs))
        if pairs[0][0] == pairs[0][1]:
            of_class = np.repeat(np.arange(len(sizes)), sizes)
            y = np.where(of_class == machines[:, None], 1.0, -1.0)
            edges = n * np.arange(len(pairs) + 1)
            return cls(edges, np.tile(np.arange(n), len(pairs)), machines.repeat(n), y.ravel())
        of_class, both = np.array(sizes), np.array(pairs)
        lengths = of_class[both.ravel()]
        after, first = lengths.cumsum(), of_class.cumsum() - of_class
        # each class of each pair is one part, with an even number for the first class of its pair
        part = np.arange(len(lengths)).repeat(lengths)
        place = np.arange(len(part)) + (first[both.ravel()] - (after - lengths))[part]
        rival = (both[:, ::-1] - [1, 0]).ravel()[part]
        machine, second = np.divmod(part, 2)
        return cls(np.concatenate([[0], after[1::2]]), place, machine, 1.0 - 2.0 * second, rival)

    def __getitem__(self, machine: int) -> slice:
        """Variables of a machine."""
        return slice(self.edges[machine], self.edges[machine + 1])


@dataclass
class HeldOut:
    """For each sample the value of a machine fitted without it, and the solutions of these machines."""

    values: np.ndarray
    solutions: list[BoxSolution]


def encode(owner: Any, y: Array, sample_weight: Array, by_weight: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """The class index of each sample, and its weight times the class weight; sets `classes_`, `class_weight_`.

    "balanced" gives all classes the same total weight, as in scikit-learn's logistic regression; with
    ``by_weight=False`` it counts samples regardless of weight, as in its support vector machines. Classes of zero
    weight are ignored (their samples get index 0 and weight 0).
    """
    y = host(y)
    classes, labels = classes_of(owner, y)
    check_class_weight(owner)
    weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    present = np.bincount(labels, weight) > 0
    if owner.class_weight is None:
        factors = present.astype(np.float64)
    elif isinstance(owner.class_weight, dict):
        try:
            factors = compute_class_weight(owner.class_weight, classes=classes, y=y)
        except ValueError as error:
            raise ValueError(
                f"{where(owner)}: class_weight = {owner.class_weight!r} names classes that are not in y, which holds "
                f"{classes.tolist()}; drop them."
            ) from error
        present &= factors > 0
    else:
        kept, factors = present[labels], np.zeros(len(classes))
        counted = weight[kept] if by_weight else None
        factors[present] = compute_class_weight(
            owner.class_weight, classes=classes[present], y=y[kept], sample_weight=counted
        )
    if present.sum() < 2:
        names = classes[present].tolist()
        what = f"y holds one class, {names[0]!r}" if names else "no class has weight"
        what = what if len(classes) < 2 else f"the samples of positive weight belong to {len(names)} of {len(classes)}"
        raise ValueError(f"{where(owner)}: the number of classes has to be greater than one; {what}.")
    vars(owner).pop("_label_order", None)  # set when the machine was loaded from a file
    owner.classes_, owner.class_weight_ = classes[present], factors[present]
    return np.where(present, np.cumsum(present) - 1, 0)[labels], weight * factors[labels]


class Classifier(ClassifierMixin, SupportVectorMachine):
    """Binary machines, one for each pair or each class; subclasses define the dual problem of one machine."""

    class_weight: Any
    decision_function_shape: str
    break_ties: bool
    calibration: str | None
    probability: bool
    random_state: Any
    multi_class = "ovo"

    def _task_problem(self, y: np.ndarray, weight: np.ndarray, C: float | None = None) -> BoxProblem:
        """The dual for labels ±1 and sample weights; samples of weight 0 must keep β = 0.

        C overrides the estimator's parameter.
        """
        raise NotImplementedError

    def _scale_and_offset(self, offsets: np.ndarray) -> tuple[Any, Any]:
        """s and b of the machine s Σ βᵢ k(·, xᵢ) + b, from the offsets of one or more solutions."""
        raise NotImplementedError

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X with labels y; a weight multiplies the sample's C (or its contribution to ν)."""
        self._check_parameters()
        X, y = self._check_fit(X, y)
        labels, weight = encode(self, y, self._check_weight(sample_weight, X), by_weight=False)
        self._check_cost(weight)
        order = labels.argsort(kind="stable")
        order = order[weight[order] > 0]
        ends = np.bincount(labels[order], minlength=len(self.classes_)).cumsum().tolist()
        members = [order[a:b] for a, b in pairwise([0, *ends])]
        self._forget("calibration_")
        with one_blas_thread:
            sample = self._prepare(X)
            sample.layout = Layout.of(self._pairs, [len(m) for m in members])
            if self._calibrated:
                # fixed folds by default, so that a fit can be repeated and resumed
                sample = replace(sample, fold=folds(members, len(labels), generator(self.random_state or 0)))
            solutions, solved = self._solve(sample, y, members, weight)
            self._report(solutions, [h for s in solved if s.held_out for h in s.held_out.solutions])
            self._collect(sample, members, solutions)
        if self._calibrated:
            self.calibration_ = self._calibrate(sample, members, solved)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self, "decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        check_choice(self, "calibration", self.calibration, (None, "cv"))

    # ---- from samples to solutions

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        """The classes of each machine: pairs, or (c, c) for class c against the rest."""
        return _pairs(len(self.classes_), self.multi_class == "ovo")

    def _solve(
        self, sample: Sample, y: Array, members: list[np.ndarray], weight: np.ndarray
    ) -> tuple[Sequence[BoxSolution], list[SolvedTask]]:
        """The solutions of all machines; and the solved tasks, unless the machines were solved in one call."""
        context = self._begin(self._n_tasks, sample.X, y, weight)
        order = np.concatenate(members)
        solver = self._box_solver(sample, order, context)
        if not solver.in_one_call or self._calibrated or self._n_tasks is None or context.callbacks is not None:
            solved = self._machines(sample, solver, members, weight)
            return [s.solution for s in solved], solved
        self._check_diagonal(sample, solver.diagonal)
        layout: Layout = sample.layout
        problem = self._task_problems(layout, weight[order][layout.place])
        return solver.solve_all(problem, layout.edges, layout.place), []

    @property
    def _n_tasks(self) -> int | None:
        """Number of problems to solve, if known."""
        return len(self._pairs) * (1 + FOLDS * self._calibrated)

    def _task_problems(self, layout: Layout, weight: np.ndarray) -> BoxProblem:
        """The problems of all machines, one after another."""
        parts = [layout[k] for k in range(len(layout.edges) - 1)]
        return joined([self._task_problem(layout.y[part], weight[part]) for part in parts])

    def _machines(self, sample: Sample, solver: Any, members: list[np.ndarray], weight: np.ndarray) -> list[SolvedTask]:
        """Solve one machine after another; large pairs of several classes in parallel, sharing rows."""
        order, layout = np.concatenate(members), sample.layout

        def task(machine: int) -> Task:
            return self._task(sample.fold, order, weight[order], layout, machine)

        if self.multi_class == "ovo" and len(members) > 2 and not solver.in_one_call:
            pairs = Pairs(solver, members)
            self._check_diagonal(sample, pairs.diagonal)
            return pairs.gather(lambda k, pair: self._solve_task(pairs[pair], task(k)), enumerate(self._pairs))
        self._check_diagonal(sample, solver.diagonal)
        tasks = [(solver.take(layout.place[layout[k]]), task(k)) for k in range(len(self._pairs))]
        solved: list[SolvedTask] = solver.run(lambda: [self._solve_task(*each) for each in tasks])
        return solved

    def _task(self, fold: Any, order: np.ndarray, weight: np.ndarray, layout: Layout, machine: int) -> Task:
        """The task of a machine, for samples in this order with these weights."""
        (a, b), part = self._pairs[machine], layout[machine]
        name = f"{self.classes_[a]} against {self.classes_[b] if a != b else 'the rest'}"
        place = layout.place[part]
        return Task(name, layout.y[part], weight[place], None if fold is None else fold[order[place]])

    def _solve_task(self, solver: BoxSolver, task: Task) -> SolvedTask:
        solution = solver.perform(self._task_problem(task.y, task.weight), task.name)
        return SolvedTask(task, solution, self._held_out(solver, task, solution) if self._calibrated else None)

    def _held_out(self, solver: BoxSolver, task: Task, solution: BoxSolution, C: float | None = None) -> HeldOut:
        """For each sample the value of a machine fitted without it, from the rows already computed.

        These machines have a tolerance 10 times larger, which hardly affects the slopes. If the other samples all
        belong to one class, the value is ±1 for that class, as in LIBSVM.
        """
        values, fold, solutions = np.empty(len(task.y)), task.fold, list[BoxSolution]()
        for k in range(fold.max() + 1):
            weight = np.where(fold == k, 0.0, task.weight)
            plus, minus = bool(weight[task.y > 0].any()), bool(weight[task.y < 0].any())
            if not (plus and minus):
                values[fold == k] = float(plus) - float(minus)
                continue
            problem = self._task_problem(task.y, weight, C)
            if problem.start is None:
                beta = np.where(fold == k, 0.0, solution.beta) * (task.weight.sum() / weight.sum())
                problem.start = _balanced(np.clip(beta, problem.lower, problem.upper))
            problem.near = (solution.beta, solution.values)
            part = solver.perform(problem, f"{task.name}, fold {k + 1}", slack=10.0)
            solutions.append(part)
            scale, offset = self._scale_and_offset(part.offsets)
            values[fold == k] = (scale * part.values + offset)[fold == k]
        return HeldOut(values, solutions)

    # ---- from solutions to machines

    def _coefficients(self, layout: Layout, n: int, solutions: Sequence[BoxSolution]) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients, one row per sample and one column per machine, and the offsets."""
        beta = solutions.beta if isinstance(solutions, BoxSolutions) else np.concatenate([s.beta for s in solutions])
        scale, intercept = self._scale_and_offset(offsets_of(solutions))
        coefficients = np.zeros((n, len(solutions)))
        coefficients[layout.place, layout.machine] = beta * (scale[layout.machine] if np.ndim(scale) else scale)
        return coefficients, np.full(len(solutions), intercept)

    def _collect(self, sample: Sample, members: list[np.ndarray], solutions: Sequence[BoxSolution]) -> None:
        """Set scikit-learn's attributes: support vectors by class, coefficients by opposing class."""
        X = sample.X
        order, layout = np.concatenate(members), sample.layout
        everything, intercept = self._coefficients(layout, len(order), solutions)
        kept = np.flatnonzero(everything.any(axis=1))
        coefficients = everything[kept]
        if layout.rival is None:
            dual = coefficients.T
        else:
            dual = np.zeros((len(members) - 1, len(order)))
            dual[layout.rival, layout.place] = everything[layout.place, layout.machine]
            dual = dual.take(kept, axis=1)
        if len(intercept) == 1:  # positive values mean the second class, as in scikit-learn
            dual, coefficients, intercept = -dual, -coefficients[:, 0], -intercept
        self.support_ = order[kept].astype(np.int32)
        of_class = np.arange(len(members)).repeat([len(m) for m in members])
        self._n_support = np.bincount(of_class[kept], minlength=len(members)).astype(np.int32)
        steps = solutions.steps if isinstance(solutions, BoxSolutions) else [s.inner_iter for s in solutions]
        self.n_iter_ = np.array(steps, dtype=np.int32)
        self.dual_coef_ = csr_matrix(dual) if is_sparse(X) else dual
        self.shape_fit_ = (len(order), getattr(self, "n_features_in_", 0))
        self.support_vectors_ = self._support_vectors(X)
        self.function_ = self._machine(
            sample, self.support_, coefficients, intercept[0] if len(intercept) == 1 else intercept
        )
        self.intercept_ = self._offset_of(self.function_, intercept)

    def _calibrate(self, sample: Sample, members: list[np.ndarray], solved: list[SolvedTask]) -> Calibration:
        """Slopes from the held-out values, and the quality of probabilities on held-out samples."""
        fitted = [slopes(s.held_out.values, s.task.y) for s in solved if s.held_out is not None]
        a = np.array(fitted)
        labels = np.repeat(np.arange(len(members)), [len(m) for m in members])
        order, layout = np.concatenate(members), sample.layout
        # machines of pairs that do not include the sample's class were fitted without it anyway
        chosen = np.sort(np.random.default_rng(0).permutation(len(order))[:JUDGED])
        values = host(self._values(self.kernel_.domain.take(sample.X, order[chosen]))).astype(np.float64)
        values = values.reshape(len(chosen), -1)
        for k, one in enumerate(solved):
            held_out = np.full(len(order), np.nan)
            assert one.held_out is not None
            held_out[layout.place[layout[k]]] = one.held_out.values
            mine = ~np.isnan(held_out[chosen])
            values[mine, k] = held_out[chosen][mine] * (-1.0 if len(solved) == 1 else 1.0)
        if len(solved) == 1:
            a = a[:, ::-1]  # the decision is positive for the second class
        p = self._probabilities(values[:, 0] if len(solved) == 1 else values, a)
        return Calibration(a, *quality(p, labels[chosen]), len(chosen))

    # ---- answers

    @property
    def n_support_(self) -> np.ndarray:
        """Number of support vectors of each class."""
        return self._n_support

    @property
    def _calibrated(self) -> bool:
        return self.calibration is not None or bool(self.probability)

    def _decisions(self, X: Data) -> np.ndarray:
        """One column per machine, positive for its first class; for two classes one value, positive for the second."""
        return self._values(self._check_new(X))

    def decision_function(self, X: Data) -> np.ndarray:
        """One value for two classes; else one per class ("ovr", votes refined by confidence) or per pair ("ovo")."""
        values = self._decisions(X)
        if values.ndim == 1 or self.decision_function_shape == "ovo" or self.multi_class != "ovo":
            return values
        held = host(values)
        votes = _ovr_decision_function(held < 0, -held, len(self.classes_))
        return beside(votes, values)

    def predict(self, X: Data) -> np.ndarray:
        """The class with the most pairwise votes; ties go to the first, or with ``break_ties`` the most confident.

        With calibration, the most probable class.
        """
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'.")
        values = self._decisions(X)
        return labels_like(self._decided(host(values)), values)

    def decide(self, values: np.ndarray) -> np.ndarray:
        """The labels for values of `decision_function`."""
        check_is_fitted(self)
        pairs = self.decision_function_shape == "ovo" and self.multi_class == "ovo"
        given = decision_values(self, values, len(self._pairs) if pairs else None)
        values = host(given)
        if values.ndim == 1 or pairs or self.multi_class != "ovo":
            return labels_like(self._decided(values), given)
        if hasattr(self, "calibration_"):
            raise ValueError(
                f"{where(self)}: votes do not determine the most probable class; set decision_function_shape='ovo'."
            )
        votes = values if self.break_ties else np.rint(values)  # confidences change the votes by less than ⅓
        order = self._order
        return labels_like(self.classes_[order[votes[:, order].argmax(axis=1)]], given)

    def _decided(self, values: np.ndarray) -> np.ndarray:
        """The labels for values of the machines, one column per machine."""
        if hasattr(self, "calibration_") and values.ndim > 1:
            return self.classes_[self._probabilities(values, self.calibration_.slopes).argmax(axis=1)]
        return self.classes_[self._chosen(values)]

    @property
    def _order(self) -> np.ndarray:
        """The order of classes in the LIBSVM file the machine was read from; otherwise that of the labels."""
        return np.asarray(getattr(self, "_label_order", np.arange(len(self.classes_))))

    def _chosen(self, values: np.ndarray) -> np.ndarray:
        """The class indices for decision values; ties go by the order of the labels."""
        k, order = len(self.classes_), self._order
        if values.ndim == 1:
            return (values >= 0 if order[0] == 0 else values > 0).astype(int)
        if self.multi_class != "ovo":
            return values.argmax(axis=1)
        if self.break_ties:
            return vote(values, k, True)
        first, second = np.triu_indices(k, 1)
        place = np.zeros((k, k), dtype=np.int64)
        place[first, second] = place[second, first] = np.arange(len(first))
        first, second = order[first], order[second]
        return order[vote(values[:, place[first, second]] * np.where(first < second, 1, -1), k)]

    def _probabilities(self, values: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Class probabilities from decisions and slopes."""
        if values.ndim == 1:
            second = probability(values, a[0])
            return np.stack([1 - second, second], axis=1)
        p = np.clip(probability(values, a), CLIP, 1 - CLIP)
        if self.multi_class != "ovo":
            return p / p.sum(axis=1, keepdims=True)
        r = np.full((len(p), len(self.classes_), len(self.classes_)), 0.5)
        for k, (i, j) in enumerate(self._pairs):
            r[:, i, j] = p[:, k]
            r[:, j, i] = 1 - r[:, i, j]
        return couple(r)

    def _can_tell_probabilities(self) -> bool:
        if not self._calibrated:
            raise AttributeError(f"{where(self)}: probabilities require calibration='cv'.")
        return True

    @available_if(_can_tell_probabilities)
    def predict_proba(self, X: Data) -> np.ndarray:
        """Class probabilities, one column per class; `calibration_` reports their quality."""
        check_is_fitted(self)
        if not hasattr(self, "calibration_"):
            raise NotFittedError(
                f"{where(self)}: predict_proba is not available when fitted with probability=False; fit again."
            )
        values = self._decisions(X)
        p = self._probabilities(host(values).astype(np.float64), self.calibration_.slopes)
        return beside(p, values)

    @available_if(_can_tell_probabilities)
    def predict_log_proba(self, X: Data) -> np.ndarray:
        """Logarithms of `predict_proba`."""
        p = self.predict_proba(X)
        return namespace(p).log(p)


@cache
def _pairs(k: int, one_against_one: bool) -> list[tuple[int, int]]:
    return [(c, c) for c in range(k)] if k > 2 and not one_against_one else list(combinations(range(k), 2))


def _balanced(beta: np.ndarray) -> np.ndarray:
    """β with its positive or negative part scaled down, so that Σβ = 0 within the bounds."""
    plus, minus = beta[beta > 0].sum(), -beta[beta < 0].sum()
    return np.where(
        beta > 0, beta * min(1.0, minus / plus if plus else 1.0), beta * min(1.0, plus / minus if minus else 1.0)
    )
