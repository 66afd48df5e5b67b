"""The outer level of the working-set solvers: rounds, until the optimality conditions hold in double precision.

Each round measures the violation of the conditions, chooses a working set (most of the last one and the worst violators
outside it), and solves the inner problem on it. Kernel rows may be in single precision; before a run ends, f is
compared with its value in double precision, and recomputed if they differ.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._threads import Workers
from ...context import Monitor, Status, current
from ..solution import Certificate, Solution

FRESH = 0.25  # maximum fraction of new variables in the working set per round
INNER = 0.1  # accuracy of the inner problem, relative to the gap
PATIENCE = 30  # corrections in double precision, or rounds without a lower objective or gap, before giving up
ROUNDING = 2e-15  # relative to the objective: a smaller decrease counts as none
IDLE = 3  # rounds without a step before giving up
STEPS = 10_000_000  # two-variable steps, LIBSVM's limit
OVERFLOW = "kernel values or their sums overflow; scale the data to mean 0 and variance 1, or lower C"


@dataclass(frozen=True, kw_only=True)
class DualSolution(Solution):
    """The final β, f and Kβ, and their accuracy.

    `objective` is the value of the dual problem, which is minimised, and `duality_gap` the difference between the
    primal value and its negative. `gap` is the largest violation of the optimality conditions, bounded by `tol`.
    """

    beta: np.ndarray
    f: np.ndarray
    values: np.ndarray
    objective: float
    gap: float
    duality_gap: float
    inner_iter: int
    history: list[dict[str, float]] = field(default_factory=list)

    @property
    def certificate(self) -> Certificate:
        return Certificate("violation", self.gap)


class Rounds:
    """One run. Subclasses hold the state, β and f, and define how it is assessed and updated."""

    f: np.ndarray
    beta: np.ndarray
    n: int

    def __init__(self, n: int, tol: float, workers: Workers | None, max_iter: int, monitor: Monitor | None):
        self.n, self.tol, self.workers = n, tol, workers or Workers()
        self.most = max_iter if max_iter >= 0 else max(STEPS, 100 * n)
        self.monitor = monitor or current()
        self.inner = self.rounds = self.idle = 0
        self.history: list[dict[str, float]] = []

    def solve(self) -> Any:
        """Iterate until the conditions hold, there is no more progress, or a stop is requested."""
        working, born = np.empty(0, dtype=np.int64), np.zeros(self.n, dtype=np.int64)
        corrections, stalled, started = 0, 0, time.perf_counter()
        least = narrowest = np.inf
        while True:
            gap, objective, violators = self.assess()
            seconds = time.perf_counter() - started
            now = {"gap": gap, "objective": objective, "violators": violators, "working": len(working)}
            self.history.append(now | {"seconds": seconds})
            if not np.isfinite(gap + objective):
                raise OverflowError(OVERFLOW)
            lower = objective < least - ROUNDING * abs(objective)
            stalled = 0 if lower or gap < narrowest else stalled + 1
            least, narrowest = objective if lower else least, min(gap, narrowest)
            if gap <= self.tol:
                if self.settled(gap):
                    return self.finish(Status.CONVERGED)
                corrections += 1
                self.correct()
                least = np.inf
                if corrections > PATIENCE:
                    return self.finish(Status.PRECISION)
                continue
            # the precision of the rows hides a gap that exists in double precision, or the steps are only rounding
            if self.idle >= IDLE or stalled > PATIENCE:
                return self.finish(Status.PRECISION)
            if status := self.monitor({"gap": gap, "round": self.rounds, "beta": self.shown, "values": self.values}):
                return self.finish(status)
            if self.inner >= self.most:
                return self.finish(Status.MAX_ITER)
            working = self.choose(working, born)
            self.step(working, gap)
            self.rounds += 1

    def correct(self) -> None:
        """Recompute f in double precision."""
        self.f = self.exact(np.arange(self.n))

    # ---- defined by subclasses

    @property
    def shown(self) -> np.ndarray:
        """β in the form passed to callbacks and checkpoints."""
        return self.beta

    @property
    def values(self) -> np.ndarray:
        """Kβ, in the same form."""
        raise NotImplementedError

    def assess(self) -> tuple[float, float, int]:
        """The largest violation, the objective, and the number of variables that violate a condition by over `tol`."""
        raise NotImplementedError

    def settled(self, gap: float) -> bool:
        """Whether the gap is below `tol` also in double precision."""
        raise NotImplementedError

    def exact(self, columns: np.ndarray) -> np.ndarray:
        """f at the given samples, in double precision."""
        raise NotImplementedError

    def choose(self, working: np.ndarray, born: np.ndarray) -> np.ndarray:
        """The next working set."""
        raise NotImplementedError

    def step(self, working: np.ndarray, gap: float) -> None:
        """Solve the inner problem on the working set and update f."""
        raise NotImplementedError

    def ended(self, status: Status) -> dict[str, Any]:
        """The parts of the solution common to all runs."""
        how = {"status": status, "n_iter": self.rounds, "inner_iter": self.inner, "history": self.history}
        return how | dict(zip(("gap", "objective"), self.assess(), strict=False))

    def finish(self, status: Status) -> Any:
        """The solution."""
        raise NotImplementedError
