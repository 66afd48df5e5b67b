"""The outer level of the working-set solvers: rounds, until the optimality conditions hold in double precision.

Each round looks at how far the conditions are violated, chooses a working set, most of the last one and the worst
violators outside it, and solves the inner problem on it. Kernel rows may be in single precision; before a run ends, f
is compared with its value in double precision, and computed anew where they differ.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._threads import Workers
from ...context import Monitor, Status, current
from ..solution import Certificate, Solution

FRESH = 0.25  # of the working set are new variables each round, at most
INNER = 0.1  # of the gap: how far the inner problem is solved
PATIENCE = 30  # corrections in double precision, or rounds without a lower objective or gap, before giving up
ROUNDING = 2e-15  # of the objective: a smaller decrease is none
IDLE = 3  # rounds without a step, before giving up
STEPS = 10_000_000  # of two variables, LIBSVM's limit
OVERFLOW = "kernel values or their sums overflow; scale the data to mean 0 and variance 1, or lower C"


@dataclass(frozen=True, kw_only=True)
class DualSolution(Solution):
    """β, f and Kβ at the end, and how good they are.

    `objective` is the value of the dual problem, which is minimised, and `duality_gap` the difference between the
    primal value and its negative. `gap` is the largest violation of the optimality conditions, which `tol` bounds.
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
    """One run. Subclasses hold the state, β and f, and say how it is judged and moved."""

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
        """Go round until the conditions hold, or nothing more is gained, or someone asks to stop."""
        working, born = np.empty(0, dtype=np.int64), np.zeros(self.n, dtype=np.int64)
        corrections, stalled, started = 0, 0, time.perf_counter()
        least = narrowest = np.inf
        while True:
            state = self.state()
            gap, objective = self.gap(state), self.objective()
            self.history.append(
                {
                    "gap": gap,
                    "objective": objective,
                    "violators": self.violators(state),
                    "working": len(working),
                    "seconds": time.perf_counter() - started,
                }
            )
            if not np.isfinite(gap + objective):
                raise OverflowError(OVERFLOW)
            lower = objective < least - ROUNDING * abs(objective)
            stalled = 0 if lower or gap < narrowest else stalled + 1
            least, narrowest = objective if lower else least, min(gap, narrowest)
            if gap <= self.tol:
                if self.settled(state, gap):
                    return self.finish(Status.CONVERGED)
                corrections += 1
                self.correct()
                least = np.inf
                if corrections > PATIENCE:
                    return self.finish(Status.PRECISION)
                continue
            # in the rows' precision there is no gap where in double precision there is one, or steps are of rounding
            if self.idle >= IDLE or stalled > PATIENCE:
                return self.finish(Status.PRECISION)
            if status := self.monitor({"gap": gap, "round": self.rounds, "beta": self.shown, "values": self.values}):
                return self.finish(status)
            if self.inner >= self.most:
                return self.finish(Status.MAX_ITER)
            working = self.choose(working, born, state)
            self.step(working, gap)
            self.rounds += 1

    def correct(self) -> None:
        """f in double precision."""
        self.f = self.exact(np.arange(self.n))

    # ---- what subclasses say

    @property
    def shown(self) -> np.ndarray:
        """β, as callbacks and checkpoints see it."""
        return self.beta

    @property
    def values(self) -> np.ndarray:
        """Kβ, in the same form."""
        raise NotImplementedError

    def state(self) -> Any:
        """What the judgement of a round rests on."""
        raise NotImplementedError

    def gap(self, state: Any) -> float:
        """The largest violation of the optimality conditions."""
        raise NotImplementedError

    def violators(self, state: Any) -> int:
        """How many variables violate a condition by more than `tol`."""
        raise NotImplementedError

    def objective(self) -> float:
        """The value of the dual problem."""
        raise NotImplementedError

    def settled(self, state: Any, gap: float) -> bool:
        """Whether the gap is below `tol` in double precision too."""
        raise NotImplementedError

    def exact(self, columns: np.ndarray) -> np.ndarray:
        """f at the given samples, in double precision."""
        raise NotImplementedError

    def choose(self, working: np.ndarray, born: np.ndarray, state: Any) -> np.ndarray:
        """The next working set."""
        raise NotImplementedError

    def step(self, working: np.ndarray, gap: float) -> None:
        """Solve the inner problem on the working set and move f along."""
        raise NotImplementedError

    def ended(self, status: Status) -> dict[str, Any]:
        """The parts of the solution that all runs have."""
        how = {"status": status, "n_iter": self.rounds, "inner_iter": self.inner, "history": self.history}
        return how | {"objective": self.objective(), "gap": self.gap(self.state())}

    def finish(self, status: Status) -> Any:
        """The solution."""
        raise NotImplementedError
