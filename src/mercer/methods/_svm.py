"""Common parts of the support vector machines: scikit-learn's parameters, kernel rows in bounded memory, decisions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning

from .. import _memory, _threads
from .._array import compact, host, is_array, is_sparse
from .._checkpoint import Checkpoint
from .._errors import REMEDIES, check_number, warn, where
from .._same import same
from .._threads import Workers
from ..basis import Polynomials
from ..context import Context, Monitor, Status, current
from ..evaluation import TILE
from ..gram import Gram, GramLike, Representation, as_representation
from ..kernels import Callable as CallableKernel
from ..kernels import Gaussian, Kernel, KernelLike, bandwidth, is_kernel
from ..kernels.expression import as_kernel
from ..kernels.sklearn_names import from_sklearn, refuse_mixtures
from ..losses import Loss
from ..solvers.fit import Block, FitProblem, Segment, factored
from ..solvers.fit.held import BoxSolutions, minimise
from ..solvers.fit.working_set import SINGLE, SMALL, BoxProblem, BoxSolution
from ..space import Function
from ..types import Array, Data, DType, FilePath
from ._base import KernelEstimator
from ._forms import SolvedProblem

NAMES = ("linear", "poly", "rbf", "sigmoid", "precomputed")  # scikit-learn's kernels
LEAST = 1e-290  # smaller numbers lose digits, or their reciprocal overflows
HELD = 2048  # number of samples up to which the full matrix is cheaper, if kernel values are cheap
MANY = 8000  # number of samples above which solving on few features beats kernel rows
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
    """Base: from parameters to segments, from segments to solutions."""

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
        self._require_numpy(X)
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
        return Sample(X, self._build(X, constants=self._balanced), self.cache_size)

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

    # ---- from data to rows

    def _rows(self, sample: Sample, *given: Any, **options: Any) -> KernelRows:
        """Kernel rows of a sample, or a factor in their place."""
        gram = sample.gram
        thin = "factor" in gram.provides and gram.n > MANY and gram.factor().shape[1] <= gram.n // 8
        resumed = current().checkpoint is not None
        return (FactorRows if thin and not resumed else KernelRows)(self, sample, *given, **options)

    def _segment(self, sample: Sample, dtype: DType) -> Segment:
        """All samples, for rows in the given precision and exact values in double."""
        segment = Segment(sample.gram.evaluator, dtype)
        self._check_diagonal(sample, segment.diagonal)
        return segment

    def _check_diagonal(self, sample: Sample, diagonal: np.ndarray) -> None:
        """Reject kernel values that are too small to compute with."""
        if 0 < (largest := float(np.abs(diagonal).max())) < LEAST:
            raise ValueError(
                f"{where(self)}: the kernel {sample.gram.kernel} has values up to {largest:.1g}, too small for full "
                "precision; scale the data or the kernel."
            )

    def _precision(self, variables: int) -> Any:
        """Precision of kernel rows: double for small tolerances, and for small problems, where it saves a check."""
        return np.float32 if self.tol >= SINGLE and variables > SMALL else np.float64

    def _holds(self, sample: Sample, context: Context, copies: int = 1) -> bool:
        """Whether to store the full matrix, as it is cheaper than selected rows; checkpoints need rows."""
        n = copies * sample.gram.n
        most = HELD if copies == 1 else 2 * HELD // 3  # rows shared by copies are computed once
        cheap = n <= SMALL or (n <= most and sample.gram.kernel.tile >= TILE)
        fits = self.cache_size == "auto" or 8 * n * n <= self.cache_size * 2**20
        return cheap and context.checkpoint is None and fits

    @contextmanager
    def _threads(self) -> Any:
        """A pool of threads with one BLAS thread each."""
        count = _threads.n_threads(self.n_jobs)
        # one extra thread, which waits for those it gave work to
        with _threads.one_blas_thread, ThreadPoolExecutor(count + 1) as pool:
            yield Workers(pool, count)

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

    def _solved(self, X: Data, loss: Loss, target: np.ndarray, weight: np.ndarray) -> SolvedProblem:
        """The problem that the machine solved, with this loss, numeric targets and bounds C·weight."""
        gram = self._build(self._check_new(X))
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
        a = coefficients.astype(np.float32 if self.dtype_ == np.float32 else np.float64)
        everywhere = np.zeros((sample.gram.n, *a.shape[1:]), dtype=a.dtype)
        everywhere[index] = a
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
        free = np.asarray(intercept, dtype=a.dtype)
        return Function(*parts, Polynomials(0), free.reshape(1) if a.ndim == 1 else free[None, :])

    def _offset_of(self, f: Function, offset: Any) -> Any:
        """The offset for `kernel_`, from that of a machine in the space of the kernel about the sample."""
        return offset if f.kernel is self.kernel_ else offset - f.kernel.missing_constant(f.points, f.coefficients)


@dataclass
class Sample:
    """Input of a fit: the checked samples, their Gram operator, memory for its rows, and folds."""

    X: Any
    gram: Gram
    cache_size: float | str
    fold: np.ndarray | None = None

    @cached_property
    def cache(self) -> float:
        """Bytes for kernel rows: "auto" is a quarter of the total memory, but at most half of the free memory."""
        if isinstance(self.cache_size, str):
            return min(_memory.limit() // 4, _memory.free() // 2)
        return self.cache_size * 2**20

    def capacity(self, columns: int, dtype: DType, share: float = 1.0) -> int:
        """Number of rows with this many columns that fit into a share of the cache."""
        return int(share * self.cache / (np.dtype(dtype).itemsize * max(columns, 1)))


class Rows:
    """Kernel values of some samples, used to solve one problem after another."""

    model: SupportVectorMachine

    def minimise(self, problem: Any, task: str, slack: float = 1.0) -> Any:
        """Solve a problem; `slack` multiplies the tolerance."""
        raise NotImplementedError

    def exact(self, stride: int) -> np.ndarray:
        """The kernel matrix of every `stride`-th sample, in double precision."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """Number of variables."""
        raise NotImplementedError

    @property
    def scale(self) -> float:
        """With an offset, the size of squared distances in the kernel's space; otherwise that of k(x, x)."""
        K = self.exact(-(-self.size // 256))
        size = float(np.mean(np.abs(np.diagonal(K))))
        spread = float(np.mean(np.diagonal(K)) - np.mean(K)) if self.model.fit_intercept else size
        return spread if spread > 1e-12 * size else size or 1.0

    def without_box(
        self, problem_of: Callable[[float], BoxProblem], task: str, unit: float = 1.0
    ) -> tuple[float, BoxSolution] | None:
        """The hard-margin solution and its C, a bound that no variable reaches; None if there is none.

        For classes with margin γ, Σ|β| = 4/γ². The dual value is a lower bound of ½‖f‖² for all f without errors, even
        if a run has not converged. `unit` is the unit of the targets.
        """
        solution: BoxSolution | None = None
        for count, factor in enumerate(HARD, 1):
            C = factor * unit / self.scale
            problem = problem_of(C)
            if solution is not None:
                problem.start, problem.near = solution.beta, (solution.beta, solution.values)
            solution = self.minimise(problem, f"{task}, run {count}")
            impossible = -solution.objective > HARD[-1] * unit**2 / self.scale / 2
            if not impossible and (not solution.converged or np.abs(solution.beta).max() < 0.999 * C):
                return C, solution
        return None


class HeldRows(Rows):
    """Rows on the full matrix of the samples `order`; `index` is the position of each variable's sample in it.

    Each problem is one compiled call.
    """

    def __init__(
        self, model: SupportVectorMachine, sample: Sample, order: np.ndarray, index: np.ndarray, context: Context
    ):
        self.model, self.context, self.index = model, context, index
        evaluator = sample.gram.evaluator.cast(np.float64)
        self.K = np.ascontiguousarray(evaluator.take(order, order).quick(model.n_jobs), dtype=np.float64)
        model._check_diagonal(sample, np.diagonal(self.K))

    @property
    def size(self) -> int:
        return len(self.index)

    def exact(self, stride: int) -> np.ndarray:
        some = self.index[::stride]
        return self.K[np.ix_(some, some)]

    def take(self, part: slice) -> HeldRows:
        """Restrict to some of the variables."""
        taken = copy(self)
        taken.index = self.index[part]
        return taken

    def minimise(self, problem: Any, task: str, slack: float = 1.0) -> Any:
        solution = self.minimise_all(problem, np.array([0, self.size]), slack, self.context.monitor(task))[0]
        self.context.done(task, {})
        return solution

    def minimise_all(
        self, problem: BoxProblem, edges: np.ndarray, slack: float = 1.0, monitor: Monitor | None = None
    ) -> BoxSolutions:
        """Solve concatenated problems, the k-th on the variables edges[k] to edges[k + 1]."""
        model, limit = self.model, -1 if self.model.max_iter is None else self.model.max_iter
        try:
            settings = slack * model.tol, limit, monitor or self.context, model.n_jobs
            return minimise(self.K, self.index, edges, problem, *settings)
        except OverflowError as error:
            raise ValueError(f"{where(model)}: {error}.") from None


class KernelRows(Rows):
    """Rows computed on demand with a cache; in double once single precision fails.

    Each sample stands for `copies` variables. `segments` and `grid` are given if rows are shared with other problems.
    """

    def __init__(
        self,
        model: SupportVectorMachine,
        sample: Sample,
        index: np.ndarray,
        workers: Workers,
        context: Context,
        copies: int = 1,
        segments: list[Segment] | None = None,
        grid: list[list[Block]] | None = None,
    ):
        self.model, self.sample, self.index, self.copies = model, sample, index, copies
        self.workers, self.context = workers, context
        if segments is not None and grid is not None:
            self.segments, self.grid = segments, grid
        else:
            self._build(model._precision(copies * len(index)))

    def _build(self, dtype: DType) -> None:
        segment = self.model._segment(self.sample, dtype).take(self.index)
        block = Block(segment, segment, self.sample.capacity(segment.n, dtype), dtype)
        self.segments = [segment] * self.copies
        self.grid = [[block] * self.copies for _ in range(self.copies)]

    @property
    def size(self) -> int:
        return sum(s.n for s in self.segments)

    def exact(self, stride: int) -> np.ndarray:
        some = np.concatenate([s.index for s in self.segments])[::stride]
        return np.asarray(self.segments[0].exact(some, some))

    @property
    def computed(self) -> int:
        """Number of rows computed so far."""
        return sum(block.computed for block in {id(b): b for row in self.grid for b in row}.values())

    def minimise(self, problem: Any, task: str, slack: float = 1.0) -> Any:
        """Solve a `BoxProblem` or a `MulticlassProblem`, resuming the task from the checkpoint if there is one.

        `slack` multiplies the tolerance.
        """
        saved = self.context.checkpoint.get(task) if self.context.checkpoint else None
        if saved is not None:
            problem = self._resumed(problem, saved, task, slack * self.model.tol)
        model, monitor = self.model, self.context.monitor(task)
        while True:
            settings = slack * model.tol, self.workers, -1 if model.max_iter is None else model.max_iter, monitor
            try:
                solution = problem.minimise(self.segments, self.grid, *settings)
            except OverflowError as error:
                raise ValueError(f"{where(model)}: {error}.") from None
            if solution.status is not Status.PRECISION or self.grid[0][0].K.dtype == np.float64:
                break
            self._build(np.float64)
            problem = problem.started(solution.beta, solution.values)
        self.context.done(task, {"beta": solution.beta, "values": solution.values})
        return solution

    def _resumed(self, problem: Any, saved: dict[str, np.ndarray], task: str, tol: float) -> Any:
        """The problem, starting from a saved state, which must be feasible.

        The saved Kβ is reused if it is correct up to `tol`, checked at all variables or at a random subset if there
        are too many; the run then continues as if uninterrupted. Otherwise Kβ is recomputed.
        """
        fault = _fault(problem, saved)
        if fault:
            assert self.context.checkpoint is not None
            raise self.context.checkpoint.error(f"holds a state of {task!r} {fault}")
        return problem.resumed(saved["beta"], saved["values"], self.segments, tol, self.workers)


class FactorRows(KernelRows):
    """Rows of a matrix ZZᵀ with thin Z: problems of linear machines are solved on Z."""

    def minimise(self, problem: Any, task: str, slack: float = 1.0) -> Any:
        if not factored.suits(problem):
            return super().minimise(problem, task, slack)
        Z, model = host(self.sample.gram.factor())[self.index], self.model
        limit = -1 if model.max_iter is None else model.max_iter
        monitor = self.context.monitor(task)
        solution = factored.minimise(Z, problem, self.copies, slack * model.tol, monitor, limit)
        self.context.done(task, {"beta": solution.beta, "values": solution.values})
        return solution


def _fault(problem: Any, saved: dict[str, np.ndarray]) -> str | None:
    """The reason why a saved state does not fit the problem, or None."""
    lower, upper = problem.box
    shape = lower.shape
    for name in ("beta", "values"):
        part = saved.get(name)
        if part is None or part.dtype != np.float64 or part.shape != shape or not np.all(np.isfinite(part)):
            return f"whose {name} are not finite numbers of shape {shape}"
    beta = saved["beta"]
    size = np.abs(beta).max(initial=0.0)
    if np.any((beta < lower - 1e-9 * size) | (beta > upper + 1e-9 * size)):
        return "whose beta exceed their bounds"
    sums = problem.sums(beta)
    return "whose beta do not have the required sum" if np.any(np.abs(sums) > 1e-8 * np.abs(beta).sum()) else None


def rescaled(last: BoxSolution, problem: BoxProblem, ratio: float) -> np.ndarray:
    """The best feasible multiple of a solution, for bounds `ratio` times its own."""
    squared_norm, ridge = float(last.beta @ last.values), 0.0 if problem.ridge is None else problem.ridge
    best = float(problem.linear @ last.beta) / (squared_norm + float(np.sum(ridge * last.beta**2)) or 1.0)
    start = np.clip(last.beta * (min(ratio, best) if problem.ridge is None else best), problem.lower, problem.upper)
    ends = np.where(last.beta > 0, problem.upper, problem.lower)
    # after scaling, β at a bound may miss the new bound by rounding, and would count as free
    return np.where(np.isclose(start, ends, rtol=1e-14, atol=0), ends, start)
