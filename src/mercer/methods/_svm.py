"""Common parts of the support vector machines: scikit-learn's parameters, the choice of a solver, decisions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning

from .. import _threads
from .._array import compact, host, is_array, is_sparse, like, on_host
from .._checkpoint import Checkpoint
from .._errors import REMEDIES, check_number, warn, where
from .._same import same
from ..basis import Polynomials
from ..context import Context, Status, current
from ..gram import Gram, GramLike, Representation, as_representation
from ..gram.remote import reachable
from ..kernels import Callable as CallableKernel
from ..kernels import Gaussian, Kernel, KernelLike, bandwidth, is_kernel
from ..kernels.expression import as_kernel
from ..kernels.sklearn_names import from_sklearn, refuse_mixtures
from ..losses import Loss
from ..solvers.fit import FitProblem
from ..solvers.fit.boxes import BoxSolver, Samples, box_solver
from ..solvers.fit.working_set import BoxProblem, BoxSolution
from ..space import Function
from ..types import Array, Data, FilePath
from ._base import KernelEstimator
from ._forms import SolvedProblem

NAMES = ("linear", "poly", "rbf", "sigmoid", "precomputed")  # scikit-learn's kernels
LEAST = 1e-290  # smaller numbers lose digits, or their reciprocal overflows
HARD = (1e2, 1e4, 1e6)  # values of C, in units of 1/k(x, x), tried for a hard margin
# parameters that affect how the solution is computed, but not the solution
MANNER = {"cache_size", "checkpoint", "max_iter", "n_jobs", "shrinking", "time_budget", "tol", "verbose"}


@dataclass(kw_only=True, eq=False, repr=False)
class DropIn:
    """Parameters common to scikit-learn's support vector machines, and those added to each of ours."""

    kernel: KernelLike = "rbf"
    degree: Any = 3
    gamma: Any = "scale"
    coef0: Any = 0.0
    shrinking: bool = True
    tol: float = 1e-3
    cache_size: float | str = "auto"
    verbose: bool = False
    max_iter: int | None = -1
    gram: GramLike = "auto"
    n_jobs: int | None = None
    time_budget: float | None = None
    checkpoint: FilePath | None = None


class SupportVectorMachine(KernelEstimator):
    """Base: from parameters to a solver, from solutions to functions."""

    degree: Any
    gamma: Any
    coef0: Any
    tol: float
    cache_size: Any
    max_iter: int | None
    n_jobs: int | None
    checkpoint: Any
    fit_intercept: bool
    intercept_: np.ndarray
    dual_coef_: Any
    support_: np.ndarray
    C: Any
    _to_free_the_offset = "set fit_intercept=True"
    _begins = True

    def _keeps_sample(self) -> bool:
        return self.kernel_.whole  # otherwise the support vectors are copied

    # ---- the kernel, with scikit-learn's meaning of gamma

    def _kernel(self, n_features: int) -> Kernel:
        check_number(self, "gamma", self.gamma, at_least=0, besides=("scale", "auto"))
        check_number(self, "degree", self.degree, at_least=0)
        check_number(self, "coef0", self.coef0)
        return self._kernel_with(1.0 if isinstance(self.gamma, str) else self.gamma, n_features)

    def _kernel_with(self, gamma: Any, n_features: int) -> Kernel:
        if isinstance(self.kernel, str) and self.kernel in NAMES:
            if self.kernel == "poly" and self.degree == 0:
                return from_sklearn("rbf", gamma=0, n_features=n_features)
            given = {"degree": self.degree, "coef0": self.coef0}
            return from_sklearn(self.kernel, gamma=gamma, **given, n_features=n_features, owner=self)
        if callable(self.kernel) and not is_kernel(self.kernel) and not isinstance(self.kernel, type):
            return CallableKernel(self.kernel, pairwise=False)
        refuse_mixtures(self.kernel, self, taken=NAMES)
        defaults = {"gamma": (self.gamma, "scale"), "degree": (self.degree, 3), "coef0": (self.coef0, 0.0)}
        for name, (value, default) in defaults.items():
            if not same(value, default):
                raise ValueError(
                    f"{where(self)}: {name} = {value!r} does not apply to kernel = {str(self.kernel)!r}, which has "
                    f"its own parameters; leave {name} at {default!r}."
                )
        return as_kernel(self.kernel)

    def _resolved_kernel(self, kernel: Kernel, X: Data, n_features: int) -> Kernel:
        gamma = self.gamma
        if gamma == "scale" and (is_array(X) or is_sparse(X)):
            length = bandwidth.scale(compact(X))
            self._gamma = gamma = 0.5 / length / length
            if self.kernel == "rbf":
                return Gaussian(length)  # in any unit, even if gamma overflows or underflows
            if not 0 < gamma < np.inf and self.kernel in ("poly", "sigmoid"):
                raise ValueError(
                    f"{where(self)}: gamma = 'scale' overflows or underflows, since entries of X vary by "
                    f"{length:.1g}; scale the data to mean 0 and variance 1."
                )
        elif isinstance(gamma, str):
            gamma = 1.0 / n_features
        self._gamma = gamma
        return (kernel if gamma is self.gamma else self._kernel_with(gamma, n_features)).resolve(X)

    def _prepare(self, X: Data) -> Sample:
        """Check the kernel and build its representation.

        Indefinite kernels give a warning; conditionally definite ones need the offset.
        """
        claim = self.kernel_.definiteness_in(self.kernel_.domain.dimension(X))
        if claim.is_cpd and claim.order > int(self.fit_intercept):
            remedy = self._to_free_the_offset if claim.order == 1 else "use KernelMachine with free polynomials"
            raise ValueError(f"{where(self)}: the kernel {self.kernel_} is {claim}; {remedy}.")
        if claim.kind == "INDEFINITE":
            loss = getattr(self, "loss", "")
            if loss.startswith("squared"):
                raise ValueError(
                    f"{where(self)}: the kernel {self.kernel_} is INDEFINITE, and with loss = {loss!r} the dual "
                    "variables have no upper bound, so the dual has no minimum; use the loss that grows linearly. "
                    f"{REMEDIES}"
                )
            self._warn_indefinite(f"{claim}, so the solution is a stationary point, which need not be the minimum")
        if self._representation(self.kernel_.domain.size(X)).centers:
            raise ValueError(
                f"{where(self)}: gram = {self.gram!r} is not supported, since centring the kernel changes "
                "only the offset; give the representation that it wraps."
            )
        return Sample(X, self._build(X, constants=self._balanced))

    def _build(self, X: Data, constants: bool = False) -> Gram:
        with _threads.one_blas_thread:  # the last digits affect the solver's steps, and so the result within tol
            return super()._build(compact(X) if self._by_rows else X, constants)

    def _needs(self, n: int) -> str:
        return "rows"

    def _representation(self, n: int) -> Representation:
        return as_representation(self.gram, self._needs(n), self.n_jobs)

    @property
    def _by_rows(self) -> bool:
        return isinstance(self.gram, str) and self.gram == "auto"

    @property
    def _balanced(self) -> bool:
        """Whether the coefficients sum to zero, so that functions of one argument may be added to the kernel."""
        return self.fit_intercept

    # ---- from samples to solvers

    def _check_cost(self, weight: np.ndarray) -> None:
        """Reject a C whose products with the weights, their sum or their reciprocals overflow."""
        C = getattr(self, "C", None)
        if C is None or np.inf == C:
            return
        with np.errstate(over="ignore"):
            least, total = float(weight.min()) or float(weight[weight > 0].min()), float(weight.sum())
        least, total = float(C) * least, float(C) * total
        if least < np.finfo(np.float64).tiny or total == np.inf:
            raise ValueError(
                f"{where(self)}: C = {C:g} times the sample weights overflows or underflows, since these go from "
                f"{weight[weight > 0].min():.0e} to {weight.max():.0e}; choose a C nearer to 1, or scale the weights."
            )

    _solver = "auto"  # of the box-constrained problems

    def _box_solver(self, sample: Sample, index: np.ndarray | None, context: Context, copies: int = 1) -> Any:
        """The solver for the samples at `index` (None: all), in the order of its variables."""
        samples = Samples(sample.gram, index, copies, self.cache_size, self.n_jobs, context)
        return box_solver(self._solver, samples, self.tol, -1 if self.max_iter is None else self.max_iter)

    def _check_diagonal(self, sample: Sample, diagonal: np.ndarray) -> None:
        """Reject kernel values that are too small to compute with."""
        if 0 < (largest := float(np.abs(diagonal).max())) < LEAST:
            raise ValueError(
                f"{where(self)}: the kernel {sample.gram.kernel} has values up to {largest:.1g}, too small for full "
                "precision; scale the data or the kernel."
            )

    @contextmanager
    def _refusing_overflow(self) -> Iterator[None]:
        """Name the machine in the error for kernel values that overflow."""
        try:
            yield
        except OverflowError as error:
            raise ValueError(f"{where(self)}: {error}.") from None

    def _scale(self, solver: BoxSolver) -> float:
        """With an offset, the size of squared distances in the kernel's space; otherwise that of k(x, x)."""
        K = solver.part(256)
        size = float(np.mean(np.abs(np.diagonal(K))))
        spread = float(np.mean(np.diagonal(K)) - np.mean(K)) if self.fit_intercept else size
        return spread if spread > 1e-12 * size else size or 1.0

    def _without_box(
        self, solver: BoxSolver, problem_of: Callable[[float], BoxProblem], task: str, unit: float = 1.0
    ) -> tuple[float, BoxSolution] | None:
        """The hard-margin solution and its C, a bound that no variable reaches; None if there is none.

        For classes with margin γ, Σ|β| = 4/γ². The dual value is a lower bound of ½‖f‖² for all f without errors, even
        if a run has not converged. `unit` is the unit of the targets.
        """
        solution, scale = None, self._scale(solver)
        for count, factor in enumerate(HARD, 1):
            C = factor * unit / scale
            problem = problem_of(C)
            if solution is not None:
                problem = problem.started(solution.beta, solution.values)
            solution = solver.perform(problem, f"{task}, run {count}")
            impossible = -solution.objective > HARD[-1] * unit**2 / scale / 2
            if not impossible and (not solution.converged or np.abs(solution.beta).max() < 0.999 * C):
                return C, solution
        return None

    def _begin(self, tasks: int | None, X: Data, y: Array, weight: Array) -> Context:
        """Begin this number of tasks in the current context, with the checkpoint."""
        context = current()
        if self.checkpoint is not None:
            params = {k: v for k, v in self.get_params(deep=False).items() if k not in MANNER}
            about = {
                "the samples": X,
                "the targets": y,
                "the weights": weight,
                "the parameters": sorted(params.items()),
            }
            context.checkpoint = Checkpoint(self.checkpoint, where(self), about)
        context.begin(tasks, X=X, y=y)
        return context

    def _support_vectors(self, X: Data) -> Any:
        """The support vectors; empty for a precomputed matrix."""
        if self.kernel_.domain.precomputed:
            return np.empty((0, 0))
        vectors = self.kernel_.domain.take(X, self.support_)
        return csr_matrix(vectors) if is_sparse(vectors) else vectors

    @property
    def coef_(self) -> Any:
        """The feature weights, for the linear kernel."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        weights = self.function_.weights()
        weights = weights[None, :] if weights.ndim == 1 else weights.T
        if not isinstance(weights, np.ndarray):
            return weights
        weights.flags.writeable = False  # recomputed on each access: a change would be lost
        if not is_sparse(self.support_vectors_):
            return weights
        weights = csr_matrix(weights)
        weights.data.flags.writeable = False
        return weights

    def _report(self, solutions: Sequence[BoxSolution], held_out: Sequence[BoxSolution] = ()) -> None:
        """Store the solutions; warn if one of them, or of those for calibration, stopped early."""
        self.solutions_ = solutions
        early = [s for s in (*getattr(solutions, "early", solutions), *held_out) if not s.converged]
        self.fit_status_ = int(bool(early))
        if early and not current().called_off:
            worst = max(early, key=lambda s: s.gap)
            calibrating = any(worst is s for s in held_out)
            place = " in the calibration, so that probabilities are inaccurate," if calibrating else ""
            owner = current().owner
            given = owner.get_params() if hasattr(owner, "get_params") else self.get_params()
            limited = worst.status is not Status.PRECISION and any(re.search("(^|__)max_iter$", name) for name in given)
            way_out = "raise max_iter" if limited else "raise tol"
            strength = any(re.search("(^|__)C$", name) and value is not None for name, value in given.items())
            advice = worst.status.remedy(
                f"Scale the data to mean 0 and variance 1,{' lower C,' * strength} or {way_out}."
            )
            warn(
                f"{where(self)}: the solver stopped early ({worst.status}){place} at a gap of {worst.gap:.2g} "
                f"(tol = {self.tol:g}). {advice}",
                ConvergenceWarning,
            )

    def _check_parameters(self) -> None:
        check_number(self, "tol", self.tol, above=0)
        check_number(self, "cache_size", self.cache_size, above=0, besides=("auto",))
        check_number(self, "max_iter", self.max_iter, at_least=-1, integer=True, besides=(None,))
        if self.checkpoint is not None and not isinstance(self.checkpoint, (str, PathLike)):
            raise TypeError(f"{where(self)}: checkpoint = {self.checkpoint!r} must be the path of a file.")

    # ---- forms of a fitted machine

    def _check_size(self, name: str, size: int, n: int) -> None:
        """Raise unless an argument has one entry for each of n samples."""
        if size != n:
            raise ValueError(f"{where(self)}: {name} has {size} entries for {n} samples; pass those of the fit.")

    def _targets_of_fit(self, y: Array, sample_weight: Array) -> tuple[np.ndarray, np.ndarray]:
        """The targets and weights of a fit, as vectors."""
        target = np.asarray(host(y)).ravel()  # a column is a vector
        w = np.ones(len(target)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64).ravel()
        self._check_size("sample_weight", len(w), len(target))
        return target, w

    def _solved(self, X: Data, loss: Loss, target: np.ndarray, weight: np.ndarray) -> SolvedProblem:
        """The problem that the machine solved, with this loss, numeric targets and bounds C·weight."""
        gram = reachable(self._build(self._check_new(X)))
        self._check_size("y", len(target), gram.n)
        if np.any(self.support_ >= gram.n):
            raise ValueError(f"{where(self)}: X has {gram.n} samples, fewer than the fit; pass the X of the fit.")
        a, dual = np.zeros(gram.n), self.dual_coef_
        a[self.support_] = (dual.toarray() if hasattr(dual, "toarray") else dual)[0]
        H = np.ones((gram.n, 1)) if self.fit_intercept else None
        values = np.asarray(gram @ a) + (float(self.intercept_[0]) if self.fit_intercept else 0.0)
        return SolvedProblem(FitProblem(gram, loss, target.astype(np.float64), 1.0, self.C * weight, H), a, values)

    # ---- from coefficients to functions

    def _values(self, X: Any) -> np.ndarray:
        """Decision values at checked points."""
        f = self.function_
        X = compact(X) if isinstance(f.points, np.ndarray) else X  # the same digits as for dense data
        return f.quick(X, self.n_jobs) if f.kernel is self.kernel_ else f.values(X)

    def _machine(self, sample: Sample, index: np.ndarray, coefficients: np.ndarray, intercept: Any) -> Function:
        """The decision function on the support vectors, with its offset as free part."""
        X, domain = sample.X, self.kernel_.domain
        if not len(index):  # the zero function needs one point too
            index, coefficients = np.zeros(1, dtype=np.int64), np.zeros((1, *coefficients.shape[1:]))
        numpy = isinstance(self.dtype_, np.dtype)
        single = self.dtype_ == np.float32 if numpy else str(self.dtype_).endswith("float32")
        a = coefficients.astype(np.float32 if single else np.float64)
        everywhere = np.zeros((sample.gram.n, *a.shape[1:]), dtype=a.dtype)
        everywhere[index] = a
        free = np.asarray(intercept, dtype=a.dtype)
        free = free.reshape(1) if a.ndim == 1 else free[None, :]
        if not on_host(X):
            a, everywhere, free = (like(values, X) for values in (a, everywhere, free))
        kernel, points, expanded = sample.gram.expansion(everywhere)
        if expanded is everywhere and not kernel.whole:  # an expansion on the samples: the support suffices
            held = self.__dict__.get("support_vectors_") if index is self.__dict__.get("support_") else None
            points = (
                held if points is X and isinstance(held, np.ndarray) else domain.take(domain.centres(compact(X)), index)
            )
            expanded = a
        parts = kernel, points, expanded
        if not self.fit_intercept and not np.any(intercept):
            return Function(*parts)
        return Function(*parts, Polynomials(0), free)

    def _offset_of(self, f: Function, offset: Any) -> Any:
        """The offset for `kernel_`, from that of a machine in the space of the kernel about the sample."""
        return (
            offset if f.kernel is self.kernel_ else offset - host(f.kernel.missing_constant(f.points, f.coefficients))
        )


@dataclass
class Sample:
    """Input of a fit: the checked samples, their Gram operator, folds, and for classifiers the layout of machines."""

    X: Any
    gram: Gram
    fold: np.ndarray | None = None
    layout: Any = None


def rescaled(last: BoxSolution, problem: BoxProblem, ratio: float) -> np.ndarray:
    """The best feasible multiple of a solution, for bounds `ratio` times its own."""
    squared_norm, ridge = float(last.beta @ last.values), 0.0 if problem.ridge is None else problem.ridge
    best = float(problem.linear @ last.beta) / (squared_norm + float(np.sum(ridge * last.beta**2)) or 1.0)
    start = np.clip(last.beta * (min(ratio, best) if problem.ridge is None else best), problem.lower, problem.upper)
    ends = np.where(last.beta > 0, problem.upper, problem.lower)
    # after scaling, β at a bound may miss the new bound by rounding, and would count as free
    return np.where(np.isclose(start, ends, rtol=1e-14, atol=0), ends, start)
