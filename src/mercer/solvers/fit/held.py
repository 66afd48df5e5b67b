"""Box-constrained problems on a dense kernel matrix in memory: any number of them in one compiled call.

The problem is that of `working_set`. Up to some two thousand samples the whole matrix costs less than the choice of
working sets, and all pairs of classes share it. Everything is in double precision: f = p − (K + R)β is recomputed
after each round of steps, so that the final gap is exact for β.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from ..._array import all_finite
from ..._threads import n_threads, run
from ..._units import exponent
from ...context import Monitor, Status, current
from ...losses import FAR
from ._held import CONVERGED, MAX_ITER, PRECISION, RUNNING, UNSEEN, solve
from .rounds import OVERFLOW, STEPS
from .working_set import BoxProblem, BoxSolution

__all__ = ["BoxSolutions", "joined", "minimise", "offsets_of"]

ALONE = 1 << 20  # total entries of the matrices up to which one thread is fastest
QUOTA = 1 << 17  # steps between checks of the clock
ENDS = {CONVERGED: Status.CONVERGED, PRECISION: Status.PRECISION, MAX_ITER: Status.MAX_ITER}


@dataclass(frozen=True, eq=False)
class BoxSolutions(Sequence[BoxSolution]):
    """The solutions of several problems, as arrays over all of them and individually as `BoxSolution`.

    Attributes
    ----------
    edges : array of int
        Problem k has the variables ``edges[k]`` to ``edges[k + 1]`` of `beta`, `f` and `values`.
    offsets : array of shape (problems, groups)
    numbers : array of shape (problems, 7)
        Gap, objective and violators at the start, the same at the end, and the duality gap.
    steps : array of int
    ends : tuple of Status
    rounds : int
        Number of compiled calls.
    seconds : float
        Their total time.
    """

    edges: np.ndarray
    beta: np.ndarray
    f: np.ndarray
    values: np.ndarray
    offsets: np.ndarray
    numbers: np.ndarray
    steps: np.ndarray
    ends: tuple[Status, ...]
    rounds: int
    seconds: float

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def early(self) -> list[BoxSolution]:
        """The solutions that have not converged."""
        return [self[k] for k, end in enumerate(self.ends) if end is not Status.CONVERGED]

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        if not -len(self) <= k < len(self):
            raise IndexError(f"there are {len(self)} solutions, but none at {k}.")
        k = range(len(self))[k]
        (start, stop), numbers = self.edges[k : k + 2].tolist(), self.numbers[k].tolist()
        part, course = slice(start, stop), ((*numbers[:3], 0), (*numbers[3:6], stop - start))
        return BoxSolution(
            beta=self.beta[part],
            f=self.f[part],
            values=self.values[part],
            offsets=self.offsets[k],
            gap=numbers[3],
            objective=numbers[4],
            duality_gap=numbers[6],
            inner_iter=int(self.steps[k]),
            n_iter=self.rounds,
            status=self.ends[k],
            history=[
                {"gap": gap, "objective": value, "violators": int(v), "working": n, "seconds": self.seconds * (n > 0)}
                for gap, value, v, n in course
            ],
            method="held",
        )


class Matrix(Protocol):
    """A kernel matrix somewhere, with a solver of problems on it."""

    splits: bool  # whether problems are shared by threads

    @property
    def finite(self) -> bool:
        """Whether all values are finite."""

    @property
    def unit(self) -> int:
        """The exponent of the diagonal and of some rows."""

    def start(self, unit: float, index: Any, edges: Any, box: Any, groups: int, state: Any, report: Any) -> Any:
        """A function of the tolerance, the most steps and the quota that continues problems, as `_held.solve`."""


class HostMatrix:
    """A matrix in main memory."""

    splits = True

    def __init__(self, K: np.ndarray):
        self.K = K

    @property
    def finite(self) -> bool:
        return all_finite(self.K)

    @property
    def unit(self) -> int:
        K = self.K
        # a zero diagonal, as for a negative distance, gives no scale
        return exponent(np.concatenate([K[:8].ravel(), K.diagonal()]))

    def start(self, *given: Any) -> Any:
        *problems, state, report = given
        return lambda *ends: solve(self.K, *problems, ends, state, report)


def minimise(
    K: np.ndarray | Matrix,
    index: np.ndarray,
    edges: np.ndarray,
    problem: BoxProblem,
    tol: float = 1e-3,
    max_iter: int = -1,
    monitor: Monitor | None = None,
    n_jobs: int | None = 1,
) -> BoxSolutions:
    """Solve problems that are concatenated in `problem`, on the matrix K of all samples.

    Parameters
    ----------
    K : array of shape (n, n), float64, or Matrix
        Symmetric; on the host, or elsewhere.
    index : array of int
        The sample of each variable.
    edges : array of int
        Problem k has the variables edges[k] to edges[k + 1].
    problem : BoxProblem
        Group numbers start from 0 in each problem.
    tol, max_iter
        As in `working_set.minimise`, for each problem.
    monitor : callable
        Called before each compiled call of 2¹⁷ steps; it ends the run by returning a status.
    n_jobs : int, optional
        Threads that share the problems; None uses all cores.

    Examples
    --------
    >>> x, y = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> problem = BoxProblem(y, np.minimum(0, 10 * y), np.maximum(0, 10 * y), np.zeros(4, dtype=int))
    >>> found = minimise(np.outer(x, x), np.arange(4), np.array([0, 4]), problem, tol=1e-6)
    >>> found[0].beta.round(3).tolist(), found[0].status.name
    ([0.0, -0.5, 0.5, 0.0], 'CONVERGED')
    """
    matrix = HostMatrix(K) if isinstance(K, np.ndarray) else K
    if not matrix.finite:
        raise OverflowError(OVERFLOW)
    monitor, started = monitor or current(), perf_counter()
    sizes, groups = edges[1:] - edges[:-1], problem.groups
    count, nothing = len(sizes), np.zeros(len(index))
    first = nothing if problem.start is None else problem.start
    # in units of 2ᵉ for K and 2ˢ for f all numbers are about 1, and the compiled constants fit
    e, s = matrix.unit, exponent(problem.linear)
    if first is not nothing and first.any():
        s = max(s, exponent(first) + e)
    scaled: Any = np.ldexp if e or s else _unchanged
    with np.errstate(over="ignore"):  # FAR stands for no bound
        lower, upper = (np.minimum(np.maximum(scaled(bound, e - s), -FAR), FAR) for bound in problem.box)
    start = scaled(first, e - s)
    beta, ridge = start.copy(), nothing if problem.ridge is None else np.ldexp(problem.ridge, -e)
    group = np.zeros(len(index), np.int64) if problem.group is None else problem.group
    f, offsets, numbers = np.zeros(len(index)), np.zeros((count, groups)), np.zeros((count, 7))
    status, steps = np.full(count, UNSEEN), np.zeros(count, np.int64)
    course = np.zeros((count, 4))
    course[:, 2:] = 1e300
    most = max_iter if max_iter >= 0 else max(STEPS, 100 * int(sizes.max()))
    box = scaled(problem.linear, -s), lower, upper, ridge, group
    unit, aim = float(scaled(1.0, -e)), float(scaled(tol, -s))

    def begin(part: slice) -> Any:
        own = status[part], steps[part], numbers[part], offsets[part], course[part]
        return matrix.start(unit, index, edges[part.start : part.stop + 1], box, groups, (beta, f), own)

    runs = [begin(part) for part in (_shares(edges, n_jobs) if matrix.splits else [slice(0, count)])]
    rounds, early, running = 0, None, True
    while running and early is None:
        try:
            early = monitor({"round": rounds})
            rounds += 1
            calls = [partial(one, aim, most, 0 if early else QUOTA) for one in runs]
            run(calls, lambda call: call(), n_jobs) if len(calls) > 1 else calls[0]()
        except KeyboardInterrupt:  # in a callback, or after the compiled call, whose results are kept
            current().interrupt()
        running = bool((status <= RUNNING).any())
    if not (np.isfinite(f).all() and np.isfinite(numbers).all()):
        raise OverflowError(OVERFLOW)
    if e or s:
        beta, f, offsets = np.where(beta == start, first, np.ldexp(beta, s - e)), np.ldexp(f, s), np.ldexp(offsets, s)
        with np.errstate(over="ignore"):  # objectives scale with the square of the unit
            numbers = np.ldexp(numbers, np.array([s, 2 * s - e, 0, s, 2 * s - e, 0, 2 * s - e]))
    values = problem.linear - f if problem.ridge is None else problem.linear - f - problem.ridge * beta
    other = early or Status.CONVERGED
    ends = tuple([ENDS.get(code, other) for code in status.tolist()])
    return BoxSolutions(edges, beta, f, values, offsets, numbers, steps, ends, rounds, perf_counter() - started)


def _unchanged(values: Any, exponents: Any) -> Any:
    return values


def _shares(edges: np.ndarray, n_jobs: int | None) -> list[slice]:
    """Consecutive problems in parts of about equal work, one for each thread; small problems stay together."""
    sizes = edges[1:] - edges[:-1]
    if len(sizes) == 1 or sizes @ sizes <= ALONE:
        return [slice(0, len(sizes))]
    work = np.cumsum(sizes.astype(np.float64) ** 2)
    threads = min(n_threads(n_jobs), len(work))
    cuts = np.searchsorted(work, work[-1] * np.arange(1, threads) / threads)
    return [slice(a, b) for a, b in pairwise([0, *np.unique(cuts[cuts > 0]).tolist(), len(work)])]


def joined(problems: list[BoxProblem]) -> BoxProblem:
    """Concatenate problems with the same optional parts."""
    first = problems[0]
    names = ("linear", "lower", "upper", "group", "start", "ridge")
    given = [name for name in names if getattr(first, name) is not None]
    parts: dict[str, Any] = {name: np.concatenate([getattr(p, name) for p in problems]) for name in given}
    return BoxProblem(**parts)


def offsets_of(solutions: Sequence[BoxSolution]) -> np.ndarray:
    """The offsets of several solutions, of shape (problems, groups)."""
    return solutions.offsets if isinstance(solutions, BoxSolutions) else np.array([s.offsets for s in solutions])
