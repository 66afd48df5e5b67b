"""The working-set solver for every problem with a box-constrained dual.

    minimise ½βᵀ(K + R)β − pᵀβ   with   lower ≤ β ≤ upper   and   Σβ fixed over each group of variables,

where R is diagonal, most often 0. With f = p − (K + R)β it is solved when, in each group, max{f : β < upper} −
min{f : β > lower} ≤ tol (LIBSVM's criterion); without groups, when |f| ≤ tol wherever β could move that way. The outer
level selects the worst violators for a working set, in array operations; the inner level solves the small dense problem
exactly (`_working_matrix`, `_smo`). Kernel rows are single precision by default, β and f double; before stopping, f is
compared with its value in double precision at the decisive points, and recomputed if they differ.

Joachims, *Making large-scale SVM learning practical* (1999); Fan, Chen, Lin (2005) for the pairs; Wen, Shi, Li, He,
Chen, *ThunderSVM* (2018) for large working sets that are partly kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._array import host
from ..._threads import Workers
from ...context import Monitor, Status
from . import _working_set
from ._rows import Block, Segment, require
from ._working_matrix import Rows, WorkingMatrix
from .rounds import IDLE, INNER, OVERFLOW, DualSolution, Rounds

SMALL = 768  # number of variables up to which the whole problem is the working set
LARGEST = 2048  # larger working sets do not fit in the last-level cache
EXACT = 1e-13  # relative accuracy of a sum in double precision, after some rounds
AFFORDABLE = 1 << 28  # kernel values in double precision for the check of a state from a file
REPORTED = 1 << 26  # kernel values in double precision for the exact report of a run that ended early
GROW = 4  # a working set of which less than one in so many is new may grow
OLD = -(1 << 40)  # rows left by earlier runs are older than any of this one, whose rounds count from 0
SINGLE = 1e-5  # tolerances below this need kernel rows in double precision


@dataclass
class BoxProblem:
    """p, the box (with finite bounds) and the group of each variable (None: no equality), segment after segment.

    `ridge` is the diagonal of R. A run starts at `start`, which must be feasible, or at 0; `near` is a pair β, Kβ from
    an earlier run on the same rows, from which the initial Kβ is updated using only rows of variables that differ.
    """

    linear: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    group: np.ndarray | None = None
    start: np.ndarray | None = None
    ridge: np.ndarray | None = None
    near: tuple[np.ndarray, np.ndarray] | None = None

    def __post_init__(self) -> None:
        for name in ("linear", "lower", "upper", "start", "ridge"):  # may be fractions or have another precision
            if (values := getattr(self, name)) is not None:
                setattr(self, name, np.asarray(values, dtype=np.float64))

    @property
    def groups(self) -> int:
        """The number of equalities."""
        return 0 if self.group is None else int(self.group.max(initial=0)) + 1

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """The bounds of β."""
        return self.lower, self.upper

    def sums(self, beta: np.ndarray) -> np.ndarray:
        """The residual of each equality."""
        if self.group is None:
            return np.zeros(0)
        return np.bincount(self.group, beta if self.start is None else beta - self.start)

    def minimise(self, segments: Sequence[Segment], blocks: Sequence[Sequence[Block]], *settings: Any) -> BoxSolution:
        """The solution by rows of these blocks; `settings` as in the function `minimise`."""
        return minimise(segments, blocks, self, *settings)

    def started(self, beta: np.ndarray, values: np.ndarray) -> BoxProblem:
        """The problem with start β and known Kβ."""
        return replace(self, start=beta, near=(beta, values))

    def resumed(
        self, beta: np.ndarray, values: np.ndarray, segments: Sequence[Segment], tol: float, workers: Workers
    ) -> BoxProblem:
        """The problem with start β from a file; Kβ is used if correct to `tol` at as many samples as can be checked."""
        columns = np.arange(len(beta))
        most = AFFORDABLE // max(1, int(np.count_nonzero(beta)))
        if most < len(columns):
            columns = np.sort(np.random.default_rng().choice(columns, most, replace=False))
        error = np.abs(exact_values(segments, beta, columns, workers) - values[columns]).max(initial=0.0)
        return self.started(beta, values) if error <= tol else replace(self, start=beta)


@dataclass(frozen=True, kw_only=True)
class BoxSolution(DualSolution):
    """The solution, with the offset of each group: the midpoint of f over free variables."""

    offsets: np.ndarray
    method: str = "working_set"


def minimise(
    segments: Sequence[Segment],
    blocks: Sequence[Sequence[Block]],
    problem: BoxProblem,
    tol: float = 1e-3,
    workers: Workers | None = None,
    max_iter: int = -1,
    monitor: Monitor | None = None,
) -> BoxSolution:
    """Solve a problem; `blocks[s][t]` holds the rows of segment s over the columns of segment t.

    `monitor` is called every round with the state (gap, round, beta, values) and ends the run by returning a status; so
    do ``max_iter`` inner steps (−1: LIBSVM's limit, 10⁷ or 100 per variable). β is then the best so far, since every
    step lowers the objective. Kernel values that overflow raise an OverflowError.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # overflow raises later
        return _Run(segments, blocks, problem, tol, workers, max_iter, monitor).solve()


def exact_values(segments: Sequence[Segment], beta: np.ndarray, columns: np.ndarray, workers: Workers) -> np.ndarray:
    """Kβ at the given variables, in double precision; copies of a sample are summed first, to avoid cancellation."""
    samples = np.concatenate([s.index for s in segments])
    total = np.bincount(samples, beta)
    moving = np.flatnonzero(total)
    out, matrix, weights = np.zeros(len(columns)), segments[0].exact, total[moving]

    def work(start: int, stop: int) -> None:
        for c in range(start, stop, 256):
            part = slice(c, min(stop, c + 256))
            out[part] = host(matrix(samples[columns[part]], moving)) @ weights

    if len(moving):
        workers(work, len(columns), 256, align=256)
    return out


class _Run(Rounds):
    """The state of one run."""

    def __init__(
        self,
        segments: Any,
        blocks: Any,
        problem: BoxProblem,
        tol: float,
        workers: Workers | None,
        max_iter: int,
        monitor: Monitor | None,
    ):
        self.edges = np.cumsum([0] + [s.n for s in segments])
        super().__init__(int(self.edges[-1]), tol, workers, max_iter, monitor)
        self.segments, self.blocks, self.problem = segments, blocks, problem
        self.lower, self.upper = problem.lower, problem.upper
        self.groups = problem.groups
        self.group = np.zeros(self.n, dtype=np.int64) if problem.group is None else problem.group
        self.ridge = np.zeros(self.n) if problem.ridge is None else problem.ridge
        self.beta = np.zeros(self.n) if problem.start is None else problem.start.astype(np.float64)
        self.diagonal = np.concatenate([s.diagonal for s in segments]) + self.ridge
        if not np.isfinite(self.diagonal).all():
            raise OverflowError(OVERFLOW)
        self.largest = min(LARGEST, self.n, *(b.capacity for row in blocks for b in row if not b.whole))
        free = int(np.sum((self.beta > self.lower) & (self.beta < self.upper) & (self.beta != 0)))
        self.double = blocks[0][0].K.dtype == np.float64
        self.small = self.n <= min(SMALL, self.largest)
        self.size = self.n if self.small else min(self.largest, max(segments[0].evaluator.batch, 3 * free // 2))
        flat = [b for row in blocks for b in row]
        for block in flat:
            if not block.whole:
                block.stamp[:] = OLD
        self.rows = Rows(tuple(b.K for b in flat), tuple(b.slot for b in flat), self.edges)
        self.matrix = WorkingMatrix(flat[0].K.dtype, self.rows, self.diagonal, self.ridge, self.workers)
        self.seen, count = np.zeros(self.n, dtype=bool), max(self.groups, 1)
        # f where variables may increase or decrease (∓BIG elsewhere), and its maximum and minimum in each group
        self.extremes = np.empty(self.n), np.empty(self.n), np.empty(count), np.empty(count)
        self.f = self.first()

    def first(self) -> np.ndarray:
        """f at the start of the run."""
        if not self.beta.any():
            return self.problem.linear.astype(np.float64)
        if self.problem.near is None:
            return self.exact(np.arange(self.n))
        beta, values = self.problem.near
        f: np.ndarray = self.problem.linear - values - self.ridge * self.beta
        differing = np.flatnonzero(self.beta != beta)
        pieces = np.array_split(differing, -(-len(differing) // self.largest) or 1)
        for k, piece in enumerate(pieces):
            self.require(piece, k - len(pieces))
            self.rows.follow(f, piece, (self.beta - beta)[piece], self.workers)
        return f

    def require(self, variables: np.ndarray, time: int) -> None:
        """Compute the missing rows of these (sorted) variables; `time` records when they were last used."""
        cuts = self.rows.cuts(variables).tolist()
        rows = [variables[start:stop] - edge for start, stop, edge in zip(cuts, cuts[1:], self.edges, strict=False)]
        for columns in zip(*self.blocks, strict=True):
            wanted: dict[Block, np.ndarray] = {}
            for block, own in zip(columns, rows, strict=True):  # segments may share a block
                wanted[block] = np.union1d(wanted[block], own) if block in wanted else own
            require(wanted, time, self.workers)

    # ---- how far from the optimum

    @property
    def variables(self) -> tuple[np.ndarray, ...]:
        """f, β and the bounds."""
        return self.f, self.beta, self.lower, self.upper

    def assess(self) -> tuple[float, float, int]:
        found: tuple[float, float, int] = _working_set.assess(
            self.variables, self.problem.linear, self.group, self.groups, self.tol, self.extremes
        )
        return found

    # ---- double precision

    def exact(self, columns: np.ndarray) -> np.ndarray:
        """p − (K + R)β at the given variables, in double precision."""
        rest = self.problem.linear[columns] - self.ridge[columns] * self.beta[columns]
        return rest - exact_values(self.segments, self.beta, columns, self.workers)

    def settled(self, gap: float) -> bool:
        """Whether f is accurate; in double precision this is checked only if large terms have cancelled."""
        cancelled = EXACT * float(np.abs(self.beta).sum()) * float(np.abs(self.diagonal).max()) > self.tol
        if self.double and not cancelled:
            return True
        return self.drift(*self.extremes[:2]) <= (1.0 if self.double else 0.05) * self.tol

    def drift(self, up: np.ndarray, low: np.ndarray) -> float:
        """The largest error of f at the points that determine the gap, and at some others."""
        k = min(16, self.n - 1)
        deciding = [np.argpartition(-up, k)[:k], np.argpartition(low, k)[:k], np.arange(0, self.n, self.n // 8 + 1)]
        columns = np.unique(np.concatenate(deciding))
        return float(np.abs(self.exact(columns) - self.f[columns]).max())

    # ---- the rounds

    def choose(self, working: np.ndarray, born: np.ndarray) -> np.ndarray:
        """The next working set: most of the last one, and the worst violators outside it."""
        chosen: np.ndarray = _working_set.choose(
            working, born, self.rounds, self.size, self.extremes, self.variables, self.group, self.tol
        )
        return chosen

    def step(self, working: np.ndarray, gap: float) -> None:
        """Solve the inner problem; if few of its variables were new, the next working set may be larger."""
        self.move(working, gap)
        new = len(working) - np.count_nonzero(self.seen[working])
        self.seen[working] = True
        if self.rounds % 4 == 3 and GROW * new < len(working):
            self.size = min(self.largest, 2 * self.size)

    def move(self, working: np.ndarray, gap: float) -> None:
        """Solve the inner problem on the working set and update f."""
        self.matrix.reserve(self.size)
        self.require(working, self.rounds)
        if not self.matrix.admit(working):
            self.idle = IDLE
            return
        tol = 0.5 * self.tol if self.small else max(0.5 * self.tol, INNER * gap)
        most = min(200 * self.matrix.width, self.most - self.inner)
        after, count = self.matrix.minimise(working, self.variables, self.group, self.groups, tol, most)
        self.inner += count
        if not np.isfinite(after).all():
            self.idle = IDLE
            return
        self.idle = 0 if count else self.idle + 1
        change = after - self.beta[working]
        self.beta[working] = after
        self.f[working] -= self.ridge[working] * change
        self.rows.follow(self.f, working, change, self.workers)

    @property
    def values(self) -> np.ndarray:
        """Kβ."""
        return self.problem.linear - self.f - self.ridge * self.beta

    def duality_gap(self, offsets: np.ndarray) -> float:
        """The sum of max(ux − ½Rx²) over each variable's box, u = p − Kβ − offset, minus the value at β."""
        u = self.f + self.ridge * self.beta - (offsets[self.group] if self.groups else 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.clip(u / self.ridge, self.lower, self.upper)
        best = np.where(np.isnan(best), self.beta, best)  # where u = R = 0, every point of the box is optimal
        return float(np.sum((u - 0.5 * self.ridge * (best + self.beta)) * (best - self.beta)))

    def finish(self, status: Status) -> BoxSolution:
        affordable = not self.double and self.n * np.count_nonzero(self.beta) <= REPORTED
        if status is Status.PRECISION or (status is not Status.CONVERGED and affordable):
            self.correct()  # so that the report of an early end is exact
        how = self.ended(status)
        _, _, top, bottom = self.extremes
        free = (self.beta > self.lower) & (self.beta < self.upper)
        offsets = np.zeros(self.groups)
        for g in range(self.groups):
            inside = free & (self.group == g)
            ends = [v for v in (top[g], bottom[g]) if abs(v) < _working_set.BIG]
            # without a free variable, any offset in the interval is optimal: take the midpoint
            offsets[g] = self.f[inside].mean() if inside.any() else float(np.mean(ends)) if ends else 0.0
        return BoxSolution(
            beta=self.beta,
            f=self.f,
            values=self.values,
            offsets=offsets,
            duality_gap=self.duality_gap(offsets),
            **how,
        )
