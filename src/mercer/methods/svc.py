"""Support vector classification, C and ν forms, one against one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from threading import local
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets

from .._array import host, is_sparse
from .._errors import check_choice, check_number, where
from .._progress import Deadline
from ..solvers.fit._rows import Arena, Block, Segment, Workers
from ..solvers.fit.working_set import COARSE, BoxProblem, BoxSolution, minimise
from ._svm import SINGLE, SupportVectorMachine

HARD = (1e2, 1e4, 1e6)  # boxes, in units of 1/k(x, x), in which a hard margin is looked for


class _Classifier(ClassifierMixin, SupportVectorMachine):
    """One machine for each pair of classes; subclasses write the dual problem of a pair."""

    class_weight: Any
    decision_function_shape: str
    break_ties: bool

    def _pair_problem(self, y: np.ndarray, weight: np.ndarray) -> BoxProblem:
        """The dual for labels ±1, with the weight of each sample."""
        raise NotImplementedError

    def _pair_machine(self, solution: BoxSolution, y: np.ndarray) -> tuple[np.ndarray, float]:
        """Coefficients and offset of a pair from its solution."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to samples X with labels y; a weight multiplies the sample's C (or its share of ν)."""
        self._check_parameters()
        check_choice(self, "decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        X, y = self._check_fit(X, y)
        check_classification_targets(y)
        self._prepare(X)
        self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{where(self)}: the number of classes has to be greater than one; y holds one class, "
                f"{self.classes_[0]!r}."
            )
        n = self.kernel_.domain.size(X)
        weight = self._check_weight(sample_weight, X)
        weight = np.ones(n) if weight is None else weight.astype(np.float64)
        self.class_weight_ = compute_class_weight(self.class_weight, classes=self.classes_, y=np.asarray(y))
        weight = weight * self.class_weight_[labels]
        members = [np.flatnonzero((labels == c) & (weight > 0)) for c in range(len(self.classes_))]
        if any(len(m) == 0 for m in members):
            c = next(c for c, m in enumerate(members) if len(m) == 0)
            raise ValueError(f"{where(self)}: class {self.classes_[c]!r} has no sample of positive weight.")
        solutions = self._solve_pairs(X, members, weight)
        self._report(solutions)
        self._collect(X, members, solutions)
        return self

    def _solve_pairs(self, X: Any, members: list[np.ndarray], weight: np.ndarray) -> list[BoxSolution]:
        def problem(a: int, b: int) -> BoxProblem:
            y = np.concatenate([np.ones(len(members[a])), -np.ones(len(members[b]))])
            return self._pair_problem(y, weight[np.concatenate([members[a], members[b]])])

        def alone(a: int, b: int) -> BoxSolution:
            return self._minimise(X, np.concatenate([members[a], members[b]]), problem(a, b), deadline)

        deadline = Deadline(self.time_budget)
        pairs = list(combinations(range(len(members)), 2))
        if len(pairs) == 1 or self.tol < SINGLE:
            return [alone(a, b) for a, b in pairs]
        whole = self._segment(X, np.float32)
        segments = [whole.take(m) for m in members]
        with self._threads() as workers:
            # rows of a class over itself serve all its pairs: keep them all where they fit into half of the cache
            shared = 4 * sum(s.n**2 for s in segments) <= 0.5 * self.cache_size * 2**20
            own = [Block(s, s, s.n, np.float32) for s in segments] if shared else []
            share = (0.5 if shared else 1.0) / (workers.parts * (2 if shared else 4))
            arenas = local()

            def rows(name: str, P: Segment, Q: Segment) -> Block:
                arena = vars(arenas).setdefault(name, Arena())
                return Block(P, Q, self._capacity(Q.n, np.float32, share), np.float32, arena)

            def work(pair: tuple[int, int]) -> BoxSolution:
                a, b = pair
                S, T = segments[a], segments[b]
                grid = [
                    [own[a] if shared else rows("aa", S, S), rows("ab", S, T)],
                    [rows("ba", T, S), own[b] if shared else rows("bb", T, T)],
                ]
                return minimise([S, T], grid, problem(a, b), self.tol, Workers(), self.max_iter, deadline)

            with ThreadPoolExecutor(workers.parts) as pool:
                solutions = deadline.wait([pool.submit(work, pair) for pair in pairs])
        return [alone(*pair) if s.message == COARSE else s for pair, s in zip(pairs, solutions, strict=True)]

    def _collect(self, X: Any, members: list[np.ndarray], solutions: list[BoxSolution]) -> None:
        """scikit-learn's attributes: support vectors class by class, coefficients by the other class."""
        pairs = list(combinations(range(len(members)), 2))
        order = np.concatenate(members)
        edges = np.cumsum([0] + [len(m) for m in members])
        everything = np.zeros((len(order), len(pairs)))
        intercept = np.zeros(len(pairs))
        for k, ((a, b), solution) in enumerate(zip(pairs, solutions, strict=True)):
            y = np.concatenate([np.ones(len(members[a])), -np.ones(len(members[b]))])
            beta, intercept[k] = self._pair_machine(solution, y)
            everything[edges[a] : edges[a + 1], k] = beta[: len(members[a])]
            everything[edges[b] : edges[b + 1], k] = beta[len(members[a]) :]
        kept = np.flatnonzero(everything.any(axis=1))
        self.support_ = order[kept].astype(np.int32)
        groups = [np.flatnonzero((kept >= edges[c]) & (kept < edges[c + 1])) for c in range(len(members))]
        self._n_support = np.array([len(g) for g in groups], dtype=np.int32)
        coefficients = everything[kept]
        dual = np.zeros((len(members) - 1, len(kept)))
        for k, (a, b) in enumerate(pairs):
            dual[b - 1, groups[a]] = coefficients[groups[a], k]
            dual[a, groups[b]] = coefficients[groups[b], k]
        if len(pairs) == 1:  # positive means the second class, as everywhere in scikit-learn
            dual, coefficients, intercept = -dual, -coefficients, -intercept
        self.intercept_ = intercept
        self.n_iter_ = np.array([s.inner_iter for s in solutions], dtype=np.int32)
        self.dual_coef_ = dual
        self.shape_fit_ = (len(order), getattr(self, "n_features_in_", 0))
        self.support_vectors_ = self._support_vectors(X)
        if is_sparse(X):
            from scipy.sparse import csr_matrix

            self.dual_coef_ = csr_matrix(dual)
        flat = coefficients[:, 0] if len(pairs) == 1 else coefficients
        self.function_ = self._machine(X, self.support_, flat, intercept[0] if len(pairs) == 1 else intercept)

    @property
    def n_support_(self) -> np.ndarray:
        """Support vectors of each class."""
        return self._n_support

    def _decisions(self, X: Any) -> np.ndarray:
        """One column per pair; positive for its first class (for two classes, the second)."""
        X = self._check_new(X)
        return self.function_(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """One value for two classes; else one per class ("ovr", votes refined by confidence) or per pair ("ovo")."""
        values = self._decisions(X)
        if values.ndim == 1 or self.decision_function_shape == "ovo":
            return values
        return _ovr_decision_function(values < 0, -values, len(self.classes_))

    def predict(self, X: Any) -> np.ndarray:
        """The class with most votes of the pairs, the first among ties (or the most confident with ``break_ties``)."""
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'.")
        values = self._decisions(X)
        if values.ndim == 1:
            return self.classes_[(values >= 0).astype(int)]
        if self.break_ties:
            return self.classes_[_ovr_decision_function(values < 0, -values, len(self.classes_)).argmax(axis=1)]
        votes = np.zeros((len(values), len(self.classes_)), dtype=np.int64)
        for k, (a, b) in enumerate(combinations(range(len(self.classes_)), 2)):
            first = values[:, k] > 0
            votes[:, a] += first
            votes[:, b] += ~first
        return self.classes_[votes.argmax(axis=1)]


class SVC(_Classifier):
    r"""Support vector classification.

    .. math:: \min_{f \in H,\, b}\; \tfrac12 \|f\|_H^2 + C \sum_i w_i \big(1 - y_i (f(x_i) + b)\big)_+

    for each pair of classes, solved in its dual: :math:`\min \tfrac12 \beta^\top K \beta - y^\top \beta` with
    :math:`0 \le y_i \beta_i \le C w_i` and :math:`\sum \beta_i = 0`; then :math:`f = \sum_i \beta_i k(\cdot, x_i)`.

    Parameters
    ----------
    C : float > 0, or inf
        Weight of the errors; larger fits the training data more closely. Infinity asks for a hard margin, and raises
        where the classes are not separable.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"}, Kernel, expression or callable
        A callable maps two matrices to the matrix of kernel values, as in scikit-learn.
    degree, gamma, coef0
        As in scikit-learn, for its names; with a Kernel or an expression they are an error.
    shrinking : bool
        Accepted; the working-set solver has no use for it.
    tol : float > 0
        LIBSVM's criterion, judged in double precision: max{f : β can grow} − min{f : β can fall} ≤ tol.
    cache_size : float
        Megabytes for kernel rows.
    class_weight : dict, "balanced" or None
        Multiplies C for each class.
    verbose : bool
        Accepted; the course of the solution is in `solutions_`.
    max_iter : int
        Steps of two variables at most in each problem; −1 for no limit.
    decision_function_shape : {"ovr", "ovo"}
        Shape of `decision_function` with more than two classes.
    break_ties : bool
        Whether votes that tie are decided by confidence ("ovr" only).
    random_state : int, RandomState, Generator or None
        For representations that draw; the solver draws nothing.
    fit_intercept : bool
        Whether there is an offset b. Without it the machine lies in the kernel's space, and single variables move.
    gram : str or Representation
        "auto" takes rows of the exact matrix; ``Nystrom(…)`` and the like approximate it.
    n_jobs : int, optional
        Threads; None uses all cores.
    time_budget : float, optional
        Seconds after which the best machine so far is returned, with a warning. Ctrl-C does the same at once.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, classes_, class_weight_, fit_status_, n_iter_
        As in scikit-learn (`coef_` for the linear kernel).
    function_ : Function
        The machine, or with more classes all pairs as one vector-valued function: values, norm, margin 2/‖f‖.
    solutions_ : list of BoxSolution
        For each pair: gap, objective, iterations and their history.
    kernel_ : Kernel

    Notes
    -----
    Exact: the same optimum as LIBSVM's. A conditionally positive definite kernel of order 1 (Log, Power, Multiquadric)
    is valid with the offset.

    References
    ----------
    Cortes, Vapnik, *Support-vector networks* (1995); Chang, Lin, *LIBSVM* (2011), equation 2.

    Examples
    --------
    >>> X, y = np.array([[-1.0], [-2.0], [1.0], [2.0]]), ["a", "a", "b", "b"]
    >>> model = SVC(kernel="linear").fit(X, y)
    >>> model.predict([[0.5]]), round(2 / model.function_.norm(), 3)
    (array(['b'], dtype='<U1'), 2.0)
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        fit_intercept: bool = True,
        gram: Any = "auto",
        n_jobs: int | None = None,
        time_budget: float | None = None,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.gram = gram
        self.n_jobs = n_jobs
        self.time_budget = time_budget

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if np.inf != self.C:
            check_number(self, "C", self.C, above=0)

    def _solve_pairs(self, X: Any, members: list[np.ndarray], weight: np.ndarray) -> list[BoxSolution]:
        self._box = self.C
        if np.inf != self.C:
            return super()._solve_pairs(X, members, weight)
        # a box that no variable reaches changes nothing; of separable classes with margin γ, Σ|β| = 4/γ²
        scale = 1.0 / float(np.mean(np.abs(host(self.kernel_.evaluate_diag(X))))) if len(members) else 1.0
        for factor in HARD:
            self._box = factor * scale
            solutions = super()._solve_pairs(X, members, np.ones_like(weight))
            if all(np.abs(s.beta).max() < 0.999 * self._box for s in solutions):
                return solutions
        pairs = combinations(self.classes_.tolist(), 2)
        touching = [p for p, s in zip(pairs, solutions, strict=True) if np.abs(s.beta).max() >= 0.999 * self._box]
        raise ValueError(
            f"{where(self)}: C = inf asks for a hard margin, but classes {touching[0][0]!r} and {touching[0][1]!r} are "
            f"not separable by this kernel with a margin above {2 / np.sqrt(self._box):.1g}; give a finite C."
        )

    def _pair_problem(self, y: np.ndarray, weight: np.ndarray) -> BoxProblem:
        bound = self._box * weight
        group = np.zeros(len(y), dtype=np.int64) if self.fit_intercept else None
        return BoxProblem(y, np.where(y > 0, 0.0, -bound), np.where(y > 0, bound, 0.0), group)

    def _pair_machine(self, solution: BoxSolution, y: np.ndarray) -> tuple[np.ndarray, float]:
        return solution.beta, float(solution.offsets[0]) if self.fit_intercept else 0.0


class NuSVC(_Classifier):
    r"""Support vector classification with ν, which bounds the fraction of margin errors.

    .. math:: \min \tfrac12 \|f\|^2 - \nu\rho + \tfrac1n \sum_i w_i \big(\rho - y_i (f(x_i) + b)\big)_+

    for each pair of classes; the machine is then divided by ρ, as in LIBSVM.

    Parameters
    ----------
    nu : float in (0, 1]
        At most this fraction of the samples are margin errors, and at least this fraction support vectors.
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, class_weight, verbose, max_iter, decision_function_shape,
    break_ties, random_state, gram, n_jobs, time_budget
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

    def __init__(
        self,
        *,
        nu: float = 0.5,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        gram: Any = "auto",
        n_jobs: int | None = None,
        time_budget: float | None = None,
    ):
        self.nu = nu
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.gram = gram
        self.n_jobs = n_jobs
        self.time_budget = time_budget

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "nu", self.nu, above=0, at_most=1)

    def _pair_problem(self, y: np.ndarray, weight: np.ndarray) -> BoxProblem:
        total = self.nu * weight.sum() / 2
        start = np.zeros(len(y))
        for sign in (1.0, -1.0):
            mine = np.flatnonzero(y == sign)
            if weight[mine].sum() < total * (1 - 1e-12):
                raise ValueError(f"{where(self)}: the specified nu = {self.nu} is infeasible; lower it.")
            start[mine] = sign * filled(weight[mine], total)
        lower, upper = np.where(y > 0, 0.0, -weight), np.where(y > 0, weight, 0.0)
        return BoxProblem(np.zeros(len(y)), lower, upper, (y < 0).astype(np.int64), start)

    def _pair_machine(self, solution: BoxSolution, y: np.ndarray) -> tuple[np.ndarray, float]:
        plus, minus = solution.offsets  # b − ρ and b + ρ
        rho = (minus - plus) / 2
        return solution.beta / rho, float((plus + minus) / 2 / rho)


def filled(bounds: np.ndarray, total: float) -> np.ndarray:
    """A vector within 0 … bounds that sums to `total`: the first entries full, as LIBSVM starts."""
    before = np.concatenate([[0.0], np.cumsum(bounds)[:-1]])
    return np.clip(total - before, 0.0, bounds)
