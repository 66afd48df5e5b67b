"""The representer theorem as an estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np

from .._array import doubles, host
from .._errors import ONE_OR_NONE, POSITIVE, SQUARED, check_choice, check_number, check_parameters, where
from .._units import exponent, unit_of_squares
from ..basis import annihilated
from ..context import StoppedError, warn_early
from ..gram import GramLike
from ..gram.remote import reachable
from ..kernels import KernelLike
from ..losses import LossLike
from ..solvers.fit import FitProblem, FitSolution, finish
from ..solvers.fit.l1 import l1
from ..solvers.fit.penalty import minimise_penalty, within_ball
from ..solvers.fit.table import NAMES, FitSolver, fit_solver
from ..types import Array, ClassWeight, Data, FreePart, RandomState
from ._classifier import encode
from ._forms import LinearForm, NoProblemError, SolvedProblem, frozen
from ._loss import LABELS, LossEstimator


class Machine(LossEstimator):
    """Base of the machines with any loss: states and solves the problem; subclasses declare the parameters."""

    minimises_risk = True
    alpha: float
    penalty: Any = "squared"
    free: Any
    solver: Any = "auto"
    tol: float
    max_iter: int | None
    class_weight: Any = None

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X and targets y (labels, numbers, counts, or times and events, depending on the loss)."""
        problem, basis = self._problem(X, y, sample_weight)
        self.solution_, self.alpha_ = self._minimise(problem)
        self._keep(problem, basis, [self.solution_])
        return self

    # ---- interface of a fitted machine to other modules

    def _is_plain(self) -> bool:
        """Whether the fit is a single problem with one coefficient per sample."""
        return True

    @property
    def _solves_system(self) -> bool:  # type: ignore[override]
        return bool(self.loss_.quadratic)

    @property
    def fitted_loss(self) -> Any:
        """The loss that this fit minimised."""
        return self.loss_

    def plain_form(self) -> Any:
        """The equivalent `KernelMachine`, if the fit is one of its problems."""
        if not self._is_plain():
            return super().plain_form()
        shared = ("kernel", "gram", "free", "solver", "tol", "max_iter", "class_weight", "time_budget", "random_state")
        given = {name: getattr(self, name) for name in shared if hasattr(self, name)}
        return KernelMachine(self.fitted_loss, alpha=self.alpha, penalty=self.penalty, **given)

    def solved_problem(self, X: Data, y: Array, sample_weight: Array = None) -> SolvedProblem:
        """The problem that this fit to these data solved."""
        if not self._is_plain() or not (isinstance(self.penalty, str) and self.penalty == "squared"):
            raise NoProblemError("it is not the minimiser of one loss with the squared penalty")
        problem, _ = frozen(self, y)._problem(X, y, sample_weight)
        if problem.loss.coupled:
            raise NoProblemError(f"the loss {type(problem.loss).__name__} couples samples")
        a = np.asarray(self.dual_coef_)
        return SolvedProblem(problem, a, np.asarray(problem.gram @ a) + problem.free_part(self.function_.free))

    def linear_form(self, X: Data, y: Array, sample_weight: Array = None) -> LinearForm | None:
        """The linear system of a quadratic loss; None for other losses."""
        if not getattr(self.fitted_loss, "quadratic", False):
            return None
        try:
            p = self.solved_problem(X, y, sample_weight).problem
        except NoProblemError:
            return None
        basis = self._free_basis(p.gram.X, self.free)
        return LinearForm(p.gram, p.H, p.weight, p.y[:, None], np.array([p.alpha]), basis, self._check_new)

    # ---- from data to a problem

    def _problem(self, X: Data, y: Array, sample_weight: Array) -> tuple[FitProblem, Any]:
        """The problem given by data and parameters, and the basis of its free part; sets `loss_`."""
        self._check_parameters()
        loss = self.loss_ = self._loss()
        columns = loss.task in ("survival", "count")
        X, y = self._check_fit(X, loss.prepare(y), y_numeric=loss.task not in LABELS, multi_output=columns)
        weight = self._weights(sample_weight, X)
        y, weight = self._targets(y, weight)
        self.loss_.check(y)
        if loss.task == "regression":
            unit_of_squares(self, "y", y)
        basis = self._free_basis(X, self.free)
        self._require_definite(X, annihilated(basis))
        gram = reachable(self._build(X, self._constant_is_free(basis)))
        H = None if basis is None else doubles(basis(X))
        problem = FitProblem(gram, self.loss_, y, float(self.alpha), weight, H)
        self._check_sizes(problem)
        return problem, basis

    def _check_sizes(self, problem: FitProblem) -> None:
        """Refuse kernel values, and coefficients up to wℓ′/α, whose squares or norms overflow or underflow."""
        some = np.arange(min(problem.gram.n, 8))
        values = np.concatenate([host(problem.gram.diagonal()), host(problem.gram.block(some, some)).ravel()])
        unit, strength = exponent(values), exponent(np.array([problem.alpha]))
        if abs(unit) > SQUARED:
            raise ValueError(
                f"{where(self)}: the kernel {self.kernel_} has values of size {2.0**unit:.0e}, whose squares overflow "
                "or underflow; scale the data or the kernel, and alpha accordingly."
            )
        labels = problem.loss.task in LABELS
        pull = problem.weight if labels else problem.weight * problem.spread
        if 2 * (exponent(pull) - strength) + max(unit, 0) > 2 * SQUARED:
            raise ValueError(
                f"{where(self)}: alpha = {self.alpha!r} is so small that the squares of the coefficients, of size "
                f"{'1' if labels else 'y'}/alpha, overflow; raise alpha{'' if labels else ', or scale y'}."
            )

    def _constant_is_free(self, basis: Any) -> bool:
        """Whether the coefficients sum to zero, so that g(x) + g(y) may be added to the kernel."""
        return annihilated(basis) > 0 and not (isinstance(self.penalty, str) and self.penalty == "l1")

    def _keep(self, problem: FitProblem, basis: Any, solutions: list[FitSolution], many: bool = False) -> None:
        """Set the attributes of the fitted function, with one column, or one per solution."""
        for solution in solutions:
            if not solution.converged:
                advice = "Scale the data, raise alpha or max_iter, or try another solver."
                warn_early(self, "the solver stopped early", solution.status, advice)
        self.dual_coef_, self.free_coef_ = solutions[0].coefficients, solutions[0].free
        if many:
            self.dual_coef_ = np.stack([s.coefficients for s in solutions], axis=1)
            self.free_coef_ = None if basis is None else np.stack([np.asarray(s.free) for s in solutions], axis=1)
        self.n_iter_ = max(1, *(s.n_iter for s in solutions))
        self.function_ = self._function(problem.gram, self.dual_coef_, basis, self.free_coef_)
        self.free_coef_ = self._at_zero(problem.gram, self.dual_coef_, self.free_coef_)
        used = np.flatnonzero(host(self.function_.coefficients).reshape(len(self.function_), -1).any(axis=1))
        if 0 < len(used) < len(self.function_):  # keep only the points with nonzero coefficients
            self.function_ = self.function_.restrict(used)

    def _check_parameters(self) -> None:
        check_parameters(self, {"alpha": POSITIVE, "tol": POSITIVE, "max_iter": ONE_OR_NONE})
        if not isinstance(self.solver, FitSolver):
            check_choice(self, "solver", self.solver, ("auto", *NAMES))
        if isinstance(self.penalty, tuple) and len(self.penalty) == 2 and self.penalty[0] == "ball":
            check_number(self, "penalty: the radius", self.penalty[1], at_least=0)
            if self.alpha != 1.0:
                raise ValueError(f"{where(self)}: alpha = {self.alpha} does not apply to a ball; leave it at 1.")
        elif isinstance(self.penalty, type) or not callable(self.penalty):
            check_choice(self, "penalty", self.penalty, ("squared", "norm", "l1"))

    def _targets(self, y: Array, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Targets in the form the loss expects, and weights multiplied by the class weights."""
        loss = self.loss_
        if loss.task not in LABELS:
            if self.class_weight is not None:
                raise ValueError(f"{where(self)}: class_weight does not apply to loss = {self.loss!r}; omit it.")
            return doubles(y), weight
        labels, weight = encode(self, y, weight)
        if loss.task == "multiclass":
            return labels, weight
        if len(self.classes_) > 2:
            raise ValueError(
                f"{where(self)}: Only binary classification is supported by loss = {self.loss!r}; y holds "
                f"{len(self.classes_)} classes. Use loss='multinomial'."
            )
        return np.where(labels == 1, 1.0, -1.0), weight

    # ---- from a problem to its solution

    def _minimise(self, problem: FitProblem) -> tuple[FitSolution, float]:
        """The solution, and the regularisation parameter of the squared penalty that leads to it."""
        if isinstance(self.penalty, str) and self.penalty == "squared":
            return self._solve(problem), problem.alpha
        if isinstance(self.penalty, str) and self.penalty == "l1":
            if not problem.loss.smooth or len(problem.shape) > 1:
                raise ValueError(
                    f"{where(self)}: penalty = 'l1' needs a smooth loss with one value per sample, not {self.loss!r}."
                )
            return l1(problem, max(self.tol, 1e-6), self.max_iter or 200), np.nan
        last: list[FitSolution] = []

        def at(mu: float) -> FitSolution:
            found = self._solve(replace(problem, alpha=mu), last[-1] if last else None)
            if found.status.external:  # solutions that were cut short do not define a path
                raise StoppedError(found.status)
            last.append(found)
            return found

        def norm(s: FitSolution) -> float:
            smooth = s.values - problem.free_part(s.free)
            return float(np.sqrt(max(float(np.sum(s.coefficients * smooth)), 0.0)))

        # μ‖f‖ = ‖Σ wℓ′ k(·, xᵢ)‖ at the solution: the slopes at 0 give a μ for which f is almost 0
        diagonal = np.asarray(problem.gram.diagonal(), dtype=np.float64)
        largest = 1e4 * float(np.sum(problem.weight * np.abs(diagonal))) or 1.0
        if isinstance(self.penalty, tuple):
            mu, solution = within_ball(at, norm, float(self.penalty[1]), largest)
            return solution, mu

        def zero(s: FitSolution) -> FitSolution:
            return finish(problem, 0.0 * s.coefficients, s.free, s.status, s.n_iter, s.method)

        def penalty(r: float) -> float:
            return float(self.alpha) * (r if self.penalty == "norm" else float(self.penalty(r)))

        best, _ = minimise_penalty(
            at, norm, lambda s: problem.total(s.values), penalty, largest, zero, problem.loss.floor
        )
        return best.solution, best.mu

    def _solve(self, problem: FitProblem, start: FitSolution | None = None, solver: Any = None) -> FitSolution:
        """The solution, warm-started from a nearby one if the solver allows it."""
        return fit_solver(solver or self.solver, problem, self.tol, self.max_iter).solve(problem, start)


@dataclass(eq=False, repr=False)
class KernelMachine(Machine):
    r"""Kernel machine with any loss, any unpenalised part, and any increasing penalty on the norm.

    .. math:: \min_{f \in H,\, c}\; \sum_i w_i\, \ell\Big(y_i,\, f(x_i) + \sum_b c_b h_b(x_i)\Big)
              + \alpha\, \Psi(\|f\|_H)

    with :math:`\Psi(r) = r^2/2` by default. By the representer theorem :math:`f = \sum_i a_i k(\cdot, x_i)` for any
    loss: a component of f orthogonal to all :math:`k(\cdot, x_i)` changes no value and only increases the norm.

    Parameters
    ----------
    loss : str or Loss
        A name ("squared", "huber", "logistic", "multinomial", "hinge", "poisson", …), an expression
        ("pinball(quantile=0.9)"), or a Loss of `mercer.losses`, including `Custom`.
    kernel : str, Kernel or expression
    alpha : float > 0
        Regularisation parameter; larger is smoother.
    free : None, int, list of functions, or basis
        Unpenalised part: a polynomial degree (0: intercept) or functions X → (n,). A conditionally positive definite
        kernel needs the polynomials of its order.
    penalty : {"squared", "norm", "l1"}, ("ball", radius), or callable
        Ψ: r²/2; r; the constraint ‖f‖ ≤ radius (alpha then does not apply, and stays 1); or a non-decreasing function
        of the norm. "l1" is Σ|aᵢ|, which is not a function of f: it gives sparse expansions, outside the theorem.
    gram : str or Representation
        How the kernel matrix is stored or approximated.
    solver : str
        See the table.
    tol : float > 0
        "newton": Newton decrement, and "interior_point", "admm": duality gap, each relative to the objective (for
        "interior_point", if f nearly interpolates, to tol × weights × range of y); "newton_cg", "lbfgs": gradient,
        relative to that at f = 0; "working_set": stopping criterion of the support vector machines, in units of f (for
        regression, of the interquartile range of y), and at least 1e-3 for single-precision data.
    max_iter : int, optional
        Maximum number of steps; None: the solver's default.
    class_weight : dict, "balanced" or None
        For classification losses.
    time_budget : float, optional
        Time limit in seconds; the best function so far is then kept, with a warning.
    random_state : int, RandomState, Generator or None
        Seed of randomised representations.

    Attributes
    ----------
    function_ : Function
        f with its free part; one column per class for multiclass losses.
    dual_coef_, free_coef_ : array
        a and c.
    solution_ : FitSolution
        Objective, duality gap or gradient norm, iterations, method and history.
    alpha_ : float
        Regularisation parameter of the squared penalty with the same solution.
    classes_ : array
        The labels, for classification losses.
    loss_, kernel_, gram_choice_

    Notes
    -----
    ==================================================================  ===============
    ``solver="auto"``: the first condition that holds                   choice
    ==================================================================  ===============
    the loss is `Squared`                                               "direct"
    it is not smooth, its dual is a box; at most a constant is free     "working_set"
    it is smooth, with one value per sample                             "newton"
    it has a Hessian, and several values or coupled samples             "newton_cg"
    it is smooth, and has a gradient                                    "lbfgs"
    its dual is a box                                                   "interior_point"
    it is convex, with a proximal map                                   "admm"
    ==================================================================  ===============

    "direct" and "newton" use the common linear solver and accept dense, low-rank and lazy matrices; the others need the
    matrix or a factor. With a non-convex loss (`Hampel`) the result is a stationary point.

    The other penalties are minimised along the path of the squared penalty, which contains all minimisers: μ decreases
    from ∞, where f = 0, until larger norms cannot be better or the loss is zero, and the search is refined between the
    best points. Ties go to the smallest norm. For non-convex losses the path may miss minimisers.

    References
    ----------
    Schölkopf, Herbrich, Smola, *A generalized representer theorem* (2001), theorem 1 and its semiparametric version.

    Examples
    --------
    >>> X = np.linspace(0, 3, 20)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> y[3] = 30.0
    >>> robust = KernelMachine("huber(delta=0.1)", kernel="gaussian", alpha=1e-3).fit(X, y)
    >>> bool(abs(robust.predict([[1.5]])[0] - np.sin(1.5)) < 0.05)
    True
    """

    loss: LossLike = "squared"
    _: KW_ONLY
    kernel: KernelLike = "gaussian(lengthscale='median')"
    alpha: float = 1.0
    free: FreePart = None
    penalty: Any = "squared"
    gram: GramLike = "auto"
    solver: str | FitSolver = "auto"
    tol: float = 1e-8
    max_iter: int | None = None
    class_weight: ClassWeight = None
    time_budget: float | None = None
    random_state: RandomState = None
