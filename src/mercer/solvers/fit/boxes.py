"""Solvers of box-constrained problems: which of them is best for some samples, and the kernel values it works with.

From a problem to a single step, in the order of reading:

    BoxProblem, MulticlassProblem          p, the box and the equalities     working_set, multiclass
      ─ box_solver ─▶ the first row of TABLE that applies to `Samples`       here
    Held: the whole matrix, one compiled call                                held ─▶ _held
    Factored: the primal machine on Z, where K = ZZᵀ                         factored ─▶ primal
    WorkingSet: kernel rows on demand, in a cache                            _rows: Segment, Block
      ─ rounds: judge the state, stop or choose a working set, step          rounds ─▶ working_set, multiclass
        ─ the inner problem, on the matrix of the working set                _working_matrix, _multiclass
          ─ steps of two variables                                           _smo

A solver is chosen for samples and bound to them by `on`; `solve` then takes one problem after another, and all of them
share the kernel values. Pairs of classes share rows through `Pairs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import local
from typing import Any, ClassVar, Self

import numpy as np

from ... import _memory
from ..._array import host, on_host
from ..._errors import where
from ..._threads import Workers, n_threads, one_blas_thread
from ...context import Context, Monitor, Status, current
from ...evaluation import TILE
from ...gram import Gram
from ...gram.dense import DenseGram
from ...kernels import Precomputed
from ...types import DType
from ..protocol import Choice, Solver, choose
from . import factored, held
from ._rows import Arena, Block, Segment
from .working_set import SINGLE, SMALL, BoxProblem

__all__ = ["BoxSolver", "Device", "Factored", "Held", "Pairs", "Samples", "WorkingSet", "box_solver"]

HELD = 2048  # variables up to which the whole matrix is cheaper than rows, if kernel values are cheap
MANY = 8000  # samples above which solving on few features is cheaper than rows
SHARE = 0.125  # of the cache for each block of rows between two classes


@dataclass
class Samples:
    """What problems have in common: samples, the order of their variables, and the resources.

    `index` holds the samples that have variables (None: all); each has as many as there are `copies`, which stand one
    after another. `cache_size` is in megabytes; "auto" is a quarter of the total memory, but at most half of the free
    memory, or half of a device's memory.
    """

    operator: Gram
    index: np.ndarray | None = None
    copies: int = 1
    cache_size: float | str = np.inf
    n_jobs: int | None = None
    context: Context = field(default_factory=current)

    @classmethod
    def of(cls, K: np.ndarray) -> Samples:
        """The samples whose matrix is K."""
        return cls(DenseGram(Precomputed(), K, K))

    @property
    def chosen(self) -> np.ndarray:
        """The samples that have variables."""
        return np.arange(self.operator.n) if self.index is None else self.index

    @cached_property
    def cache(self) -> float:
        """Bytes for kernel rows."""
        if isinstance(self.cache_size, str):
            return _memory.of_device(self.operator.X) // 2 or min(_memory.limit() // 4, _memory.free() // 2)
        return self.cache_size * 2**20

    def capacity(self, columns: int, dtype: DType, share: float = 1.0) -> int:
        """Number of rows with this many columns that fit into a share of the cache."""
        return int(min(share * self.cache / (np.dtype(dtype).itemsize * max(columns, 1)), self.operator.n))


class BoxSolver(Solver[Samples, Any]):
    """Base: a solver `suits` samples, and solves problems on them to `tol`, the largest violation of the conditions.

    `max_iter` limits the steps; −1 is LIBSVM's limit, 10⁷ or 100 per variable.
    """

    in_one_call: ClassVar[bool] = False  # whether `solve_all` solves many problems at once

    def __init__(self, tol: float = 1e-3, max_iter: int = -1):
        self.tol, self.max_iter = tol, max_iter

    def on(self, samples: Samples) -> Self:
        """Bind the solver to samples."""
        if not self.suits(samples):
            raise self.refusal(samples)
        self.samples, self.context = samples, samples.context
        return self

    def solve(self, problem: Any, start: Any = None, slack: float = 1.0, monitor: Monitor | None = None) -> Any:
        """The solution, to `slack` times the tolerance, from an earlier solution on the same samples if given.

        `monitor` is called every round, and ends the run by returning a status; by default it is the context.
        """
        problem = problem if start is None else problem.started(start.beta, start.values)
        return self._minimise(problem, slack * self.tol, monitor or self.context)

    def perform(self, problem: Any, task: str, slack: float = 1.0) -> Any:
        """Solve a problem as a task of the context, which watches it and keeps its state."""
        solution = self.solve(problem, None, slack, self.context.monitor(task))
        self.context.done(task, {"beta": solution.beta, "values": solution.values})
        return solution

    def run(self, work: Callable[[], Any]) -> Any:
        """The result of `work`, which solves problems; with threads, if the solver uses them."""
        return work()

    def take(self, variables: np.ndarray) -> Any:
        """The solver of problems on some of the variables."""
        return self

    @property
    def diagonal(self) -> np.ndarray:
        """k(x, x) of the samples."""
        raise NotImplementedError

    def part(self, most: int) -> np.ndarray:
        """The kernel matrix of at most so many of the variables, evenly spaced, in double precision."""
        raise NotImplementedError

    def _minimise(self, problem: Any, tol: float, monitor: Monitor) -> Any:
        raise NotImplementedError


class Held(BoxSolver):
    """The whole matrix in double precision; any number of problems in one compiled call. Checkpoints need rows."""

    name: ClassVar[str] = "held"
    in_one_call: ClassVar[bool] = True

    def suits(self, samples: Samples) -> bool:
        return samples.context.checkpoint is None

    def refusal(self, samples: Samples) -> Exception:
        return ValueError(f'{where(self)} keeps no state for a checkpoint. Try solver="auto".')

    def on(self, samples: Samples) -> Self:
        super().on(samples)
        evaluator, index = samples.operator.evaluator.cast(np.float64), samples.index
        evaluator = evaluator if index is None else evaluator.take(index, index)
        self.K: Any = np.ascontiguousarray(evaluator.quick(samples.n_jobs), dtype=np.float64)
        self.rows = np.arange(samples.copies * len(self.K)) % len(self.K)  # of each variable
        return self

    def take(self, variables: np.ndarray) -> Held:
        taken = copy(self)
        taken.rows = self.rows[variables]
        return taken

    @property
    def diagonal(self) -> np.ndarray:
        return np.asarray(self.K.diagonal())

    def part(self, most: int) -> np.ndarray:
        some = self.rows[:: -(-len(self.rows) // most)]
        return self.K[np.ix_(some, some)]

    def solve_all(self, problem: BoxProblem, edges: np.ndarray, variables: np.ndarray) -> held.BoxSolutions:
        """Solve concatenated problems, the k-th on the variables at edges[k] to edges[k + 1] of `variables`."""
        return self._solve_all(problem, edges, self.rows[variables], self.tol, self.context)

    def _solve_all(
        self, problem: BoxProblem, edges: np.ndarray, rows: np.ndarray, tol: float, monitor: Monitor
    ) -> held.BoxSolutions:
        return held.minimise(self.K, rows, edges, problem, tol, self.max_iter, monitor, self.samples.n_jobs)

    def _minimise(self, problem: BoxProblem, tol: float, monitor: Monitor) -> Any:
        return self._solve_all(problem, np.array([0, len(self.rows)]), self.rows, tol, monitor)[0]


class Device(Held):
    """The matrix on the device of the samples, or the rows that fit into the cache; all problems advance together."""

    name: ClassVar[str] = "device"

    def suits(self, samples: Samples) -> bool:
        return not on_host(samples.operator.X) and super().suits(samples)

    @staticmethod
    def compiled(X: Any) -> bool:
        """Whether there are programs for the device of X."""
        from .device import compiled

        return compiled(X)

    def refusal(self, samples: Samples) -> Exception:
        if on_host(samples.operator.X):
            return ValueError(f"{where(self)} needs samples on a device; give tensors.")
        return ValueError(f"{where(self)} keeps no state for a checkpoint; leave it out, or give NumPy arrays.")

    def on(self, samples: Samples) -> Self:
        BoxSolver.on(self, samples)
        from .device import DeviceMatrix

        evaluator, index = samples.operator.evaluator, samples.index
        self.evaluator = evaluator if index is None else evaluator.take(index, index)
        self.K = DeviceMatrix(self.evaluator, np.float32 if self.tol >= SINGLE else np.float64, samples.cache)
        self.rows = np.tile(np.arange(self.evaluator.shape[0]), samples.copies)
        return self

    @property
    def computed(self) -> int:
        """Number of rows computed so far."""
        return int(self.K.computed)

    def _solve_all(
        self, problem: BoxProblem, edges: np.ndarray, rows: np.ndarray, tol: float, monitor: Monitor
    ) -> held.BoxSolutions:
        found = super()._solve_all(problem, edges, rows, tol, monitor)
        if Status.PRECISION not in found.ends or not self.K.single:
            return found
        self.K = type(self.K)(self.evaluator, np.float64, self.K.room)
        return super()._solve_all(replace(problem, start=found.beta), edges, rows, tol, monitor)

    @property
    def diagonal(self) -> np.ndarray:
        return host(self.evaluator.diagonal()).astype(np.float64)

    def part(self, most: int) -> np.ndarray:
        some = self.rows[:: -(-len(self.rows) // most)]
        return host(self.evaluator.exact(some, some))


class WorkingSet(BoxSolver):
    """Rows on demand, in a cache: in single precision where it suffices, and in double once it fails, or if `double`.

    It solves a `BoxProblem` or a `MulticlassProblem` of all variables, and resumes tasks from a checkpoint.
    """

    name: ClassVar[str] = "working_set"

    def __init__(self, tol: float = 1e-3, max_iter: int = -1, double: bool = False):
        super().__init__(tol, max_iter)
        self.double, self.workers = double, Workers()

    def precision(self, variables: int) -> Any:
        """Precision of the rows: double for small tolerances, and for small problems, where it saves a check."""
        return np.float32 if self.tol >= SINGLE and variables > SMALL and not self.double else np.float64

    @cached_property
    def rows(self) -> tuple[list[Segment], list[list[Block]]]:
        """The segments of samples, and the blocks of rows between them."""
        return self._rows(self.precision(self.samples.copies * len(self.samples.chosen)))

    def _rows(self, dtype: DType) -> tuple[list[Segment], list[list[Block]]]:
        samples, copies, segment = self.samples, self.samples.copies, Segment(self.samples.operator.evaluator, dtype)
        segment = segment if samples.index is None else segment.take(samples.index)
        block = Block(segment, segment, samples.capacity(segment.n, dtype), dtype)
        return [segment] * copies, [[block] * copies] * copies

    @property
    def diagonal(self) -> np.ndarray:
        return self.rows[0][0].diagonal

    @property
    def computed(self) -> int:
        """Number of rows computed so far."""
        return self.rows[1][0][0].computed

    def part(self, most: int) -> np.ndarray:
        variables = np.tile(self.samples.chosen, self.samples.copies)
        some = variables[:: -(-len(variables) // most)]
        return np.asarray(self.samples.operator.evaluator.exact(some, some))

    def run(self, work: Callable[[], Any]) -> Any:
        count = n_threads(self.samples.n_jobs)
        # one extra thread, which waits for those it gave work to
        with one_blas_thread, ThreadPoolExecutor(count + 1) as pool:
            self.workers = Workers(pool, count)
            try:
                return self.context.run(pool, work)
            finally:
                self.workers = Workers()

    def perform(self, problem: Any, task: str, slack: float = 1.0) -> Any:
        checkpoint = self.context.checkpoint
        if checkpoint and (saved := checkpoint.get(task)) is not None:
            if fault := _fault(problem, saved):
                raise checkpoint.error(f"holds a state of {task!r} {fault}")
            tol = slack * self.tol
            problem = problem.resumed(saved["beta"], saved["values"], self.rows[0], tol, self.workers)
        return super().perform(problem, task, slack)

    def _minimise(self, problem: Any, tol: float, monitor: Monitor) -> Any:
        solution = problem.minimise(*self.rows, tol, self.workers, self.max_iter, monitor)
        if solution.status is not Status.PRECISION or self.rows[1][0][0].K.dtype == np.float64:
            return solution
        self.rows = self._rows(np.float64)
        return self._minimise(problem.started(solution.beta, solution.values), tol, monitor)


class Factored(WorkingSet):
    """The features Z of a factor: problems of linear machines are solved in the primal, all others by rows of ZZᵀ."""

    name: ClassVar[str] = "factored"
    requires: ClassVar[frozenset[str]] = frozenset({"factor"})

    def _minimise(self, problem: Any, tol: float, monitor: Monitor) -> Any:
        if not factored.suits(problem):
            return super()._minimise(problem, tol, monitor)
        Z = host(self.samples.operator.factor())[self.samples.chosen]
        return factored.minimise(Z, problem, self.samples.copies, tol, monitor, self.max_iter)


def _few(samples: Samples) -> bool:
    """Whether the whole matrix is cheaper than rows that are selected, and fits into the cache."""
    n = samples.copies * samples.operator.n
    most = HELD if samples.copies == 1 else 2 * HELD // 3  # rows shared by copies are computed once
    cheap = n <= SMALL or (n <= most and samples.operator.kernel.tile >= TILE)
    return cheap and (samples.cache_size == "auto" or 8 * n * n <= samples.cache)


def _thin(samples: Samples) -> bool:
    """Whether there are many samples with few features, and no state to keep."""
    gram = samples.operator
    many = gram.n > MANY and "factor" in gram.provides and samples.context.checkpoint is None
    return many and gram.factor().shape[1] <= gram.n // 8


TABLE = (
    Choice(lambda samples: not on_host(samples.operator.X), Device),
    Choice(lambda samples: Held().suits(samples) and _few(samples), Held),
    Choice(_thin, Factored),
    Choice(lambda samples: True, WorkingSet),
)


def box_solver(solver: str | BoxSolver, samples: Samples, tol: float = 1e-3, max_iter: int = -1) -> BoxSolver:
    """A solver object, its name, or "auto" → the solver, bound to the samples.

    ====================================================================  ============
    "auto", the first that holds                                          choice
    ====================================================================  ============
    samples on another device                                             `Device`
    at most 2,048 cheap variables, or 768, and no checkpoint              `Held`
    more than 8,000 samples, at most n/8 features, and no checkpoint      `Factored`
    otherwise                                                             `WorkingSet`
    ====================================================================  ============
    """
    found: BoxSolver = choose(solver, samples, TABLE, BoxSolver)
    if found is not solver:
        found.tol, found.max_iter = tol, max_iter
    return found.on(samples)


class Pairs:
    """The solvers of pairs of classes; all pairs of a class share the rows within it, if these fit into the cache."""

    def __init__(self, solver: WorkingSet, members: list[np.ndarray]):
        self.solver, self.members, samples = solver, members, solver.samples
        self.dtype = dtype = solver.precision(int(np.sort([len(m) for m in members])[-2:].sum()))
        whole, item = Segment(samples.operator.evaluator, dtype), np.dtype(dtype).itemsize
        self.diagonal, self.segments = whole.diagonal, [whole.take(m) for m in members]
        # within-class rows serve all pairs of the class: keep them all if they fit into half of the cache
        shared = item * sum(s.n**2 for s in self.segments) <= 0.5 * samples.cache
        self.own = [Block(s, s, s.n, dtype, shared=True) for s in self.segments] if shared else []
        # the number of cached rows affects the solver's steps: it must not depend on the number of threads
        largest = max(s.n for s in self.segments)
        need = min(max(samples.capacity(largest, dtype, SHARE), 4), largest) * largest * item
        self.at_once = int(min(n_threads(samples.n_jobs), max(2, 0.25 * samples.cache / need)))
        self.arenas = local()

    def __getitem__(self, pair: tuple[int, int]) -> WorkingSet:
        """The solver of a pair, the first class first, until this thread asks for another: it reuses the memory."""
        solver = copy(self.solver)
        solver.samples = copy(solver.samples)
        solver.samples.index = np.concatenate([self.members[c] for c in pair])
        blocks = [[self._block(a, b, f"{i}{j}") for j, b in enumerate(pair)] for i, a in enumerate(pair)]
        solver.rows = [self.segments[c] for c in pair], blocks
        return solver

    def _block(self, a: int, b: int, place: str) -> Block:
        if a == b and self.own:
            return self.own[a]
        S, T, arena = self.segments[a], self.segments[b], vars(self.arenas).setdefault(place, Arena())
        return Block(S, T, self.solver.samples.capacity(T.n, self.dtype, SHARE), self.dtype, arena)

    def gather(self, work: Callable[..., Any], tasks: Iterable[tuple[Any, ...]]) -> list[Any]:
        """The results of work on the tasks, as many at a time as fit into the cache."""
        with ThreadPoolExecutor(self.at_once) as pool:
            return self.solver.context.gather(pool, work, list(tasks))


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
