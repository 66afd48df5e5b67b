"""Box-constrained problems on a torch device: all of them advance together, on one kernel matrix.

The problem is that of `working_set`. The matrix is stored in single precision, as far as there is memory. In each round
every problem that still runs chooses the worst violators, half of them kept from the last round, solves the small
problem on them (`_steps`), and updates its f. Before a problem ends, f is recomputed from β in double precision, by one
product for all problems; its gap, objective and duality gap refer to that f.

Joachims, *Making large-scale SVM learning practical* (1999); Wen, Shi, Li, He, Chen, *ThunderSVM* (2018).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..._array import all_finite, device_of, host
from ..._threads import slices
from ..._units import exponent
from ...evaluation import Evaluator
from ...types import DType
from . import _steps
from ._held import CONVERGED, MAX_ITER, PRECISION, RUNNING, UNSEEN
from .rounds import INNER, OVERFLOW, PATIENCE, ROUNDING

try:
    from . import _triton_steps, device_path
except ImportError:  # without Triton, or where it has no driver, steps are operations of torch
    _triton_steps = device_path = None  # type: ignore[assignment]

__all__ = ["DeviceMatrix", "compiled"]

SIZE = 512  # variables of a working set
WHOLE = 1024  # variables up to which the whole problem is one
CALL = 16  # rounds between looks at the clock
BLOCK = 1 << 28  # entries of the matrix that are computed together
INF = float("inf")


def compiled(values: torch.Tensor) -> bool:
    """Whether the steps on the device of a tensor are Triton programs."""
    return _triton_steps is not None and values.is_cuda


class DeviceMatrix:
    """Kernel values of samples on a device, in the precision `dtype`.

    They are the whole matrix if it fits into `room` bytes; else rows as they are needed, and the least recently used
    make room for others.

    Attributes
    ----------
    K : tensor of shape (capacity, n)
        The matrix, or the rows that are there.
    computed : int
        Number of rows computed.
    """

    splits = False

    def __init__(self, evaluator: Evaluator, dtype: DType, room: float = INF):
        self.evaluator, self.values, self.room = evaluator, evaluator.cast(dtype), room
        self.n, device = self.values.shape[0], device_of(self.values.like)
        kind = getattr(torch, np.dtype(dtype).name)
        capacity = int(min(self.n, max(room // (kind.itemsize * self.n), WHOLE)))
        self.K = torch.empty((capacity, self.n), dtype=kind, device=device)
        self.computed = 0
        if self.whole:
            for r in slices(self.n, max(1, BLOCK // self.n)):  # the matrix is symmetric
                self.K[r, r.start :] = self.values.tile(r, slice(r.start, None))
                self.K[r.stop :, r] = self.K[r, r.stop :].T
            self.computed = self.n
        self.place = torch.full((self.n,), -1, device=device)  # of each sample's row in K
        self.owner = torch.full((capacity,), -1, device=device)
        self.used, self.clock = torch.zeros_like(self.owner), 0  # when each row was last needed
        self.steps: Any = _triton_steps if compiled(self.K) else _steps

    @property
    def whole(self) -> bool:
        """Whether K is the whole matrix."""
        return len(self.K) == self.n

    def places(self, samples: torch.Tensor) -> torch.Tensor:
        """The rows of K that belong to these samples, no more than K holds; missing ones are computed."""
        if self.whole:
            return samples
        wanted, self.clock = torch.unique(samples), self.clock + 1
        known = self.place[wanted]
        self.used[known[known >= 0]] = self.clock
        missing = wanted[known < 0]
        free = self.used.argsort()[: len(missing)]
        before = self.owner[free]
        self.place[before[before >= 0]] = -1
        self.place[missing], self.owner[free], self.used[free] = free, missing, self.clock
        for part in slices(len(missing), max(1, BLOCK // self.n)):
            rows = self.values.tile(host(missing[part]))
            if not all_finite(rows):
                raise OverflowError(OVERFLOW)
            self.K[free[part]] = rows.to(self.K.dtype)
        self.computed += len(missing)
        return self.place[samples]

    def diagonal(self) -> torch.Tensor:
        """k(x, x)."""
        return self.K.diagonal() if self.whole else self.values.diagonal()

    @property
    def single(self) -> bool:
        """Whether the values are in single precision."""
        return self.K.dtype == torch.float32

    @property
    def finite(self) -> bool:
        """Whether all values are finite."""
        return all_finite(self.K if self.whole else self.diagonal())

    @property
    def unit(self) -> int:
        """The exponent of the diagonal and of some rows."""
        some = self.K[:8] if self.whole else self.values.tile(slice(0, 8))
        return exponent(torch.cat([some.ravel(), self.diagonal()]))

    def product(self, coefficients: torch.Tensor) -> torch.Tensor:
        """K times coefficients of the samples in double precision; most rows are zero."""
        moving = torch.nonzero(coefficients.any(dim=1)).ravel()
        if not len(moving):
            return torch.zeros_like(coefficients)
        part, weights = self.evaluator.cast(np.float64).take(slice(None), host(moving)), coefficients[moving]
        rows = slices(len(coefficients), max(1, BLOCK // len(moving)))
        return torch.cat([part.tile(r) @ weights for r in rows])

    def solve_pairs(
        self, parts: list[Any], weights: list[np.ndarray], strengths: np.ndarray, tol: float, stop: np.ndarray
    ) -> list[Any]:
        """The machines of all pairs of classes of several training parts for each C, if steps are programs."""
        return device_path.solve_pairs(self.K, self.unit, parts, weights, strengths, tol, stop)

    def start(self, unit: float, index: Any, edges: Any, box: Any, groups: int, state: Any, report: Any) -> Any:
        """A function of the tolerance, the most steps and the quota that continues problems, as `_held.solve`."""
        return _Batch(self, unit, index, edges, box, groups, state, report)


class _Batch:
    """Problems with one row each in arrays of shape (problems, variables of the largest)."""

    def __init__(
        self, matrix: DeviceMatrix, unit: float, index: Any, edges: Any, box: Any, groups: int, state: Any, report: Any
    ):
        self.matrix, self.unit, self.groups, self.state, self.report = matrix, unit, groups, state, report
        sizes = np.diff(edges)
        inside = np.arange(sizes.max()) < sizes[:, None]
        self.place = np.where(inside, edges[:-1, None] + np.arange(sizes.max()), 0)
        self.inside, device = inside, matrix.K.device

        self.real, places = (torch.as_tensor(values, device=device) for values in (inside, self.place))

        def rows(values: np.ndarray) -> torch.Tensor:
            return torch.where(self.real, torch.as_tensor(values, device=device)[places], 0)

        self.index, self.group = rows(index), rows(box[4])
        self.p, self.lower, self.upper, self.ridge, self.beta = map(rows, (*box[:4], state[0]))
        self.diagonal = unit * matrix.diagonal().to(torch.float64)[self.index] + self.ridge
        count = len(sizes)
        self.corrections, self.solved = np.zeros(count, np.int64), np.zeros(count, bool)  # in the precision of the rows
        self.steps, self.stalled = torch.zeros((2, count), dtype=torch.int64, device=device)
        self.course = torch.full((count, 2), INF, dtype=torch.float64, device=device)  # least objective, narrowest gap
        self.kept: torch.Tensor | None = None
        self.f = self.exact(torch.arange(count, device=device))

    # ---- what a round needs

    def exact(self, live: torch.Tensor) -> torch.Tensor:
        """p − (K + R)β of some problems, in double precision."""
        index, beta = self.index[live], self.beta[live]
        coefficients = torch.zeros((len(live), self.matrix.n), dtype=torch.float64, device=beta.device)
        coefficients.scatter_add_(1, index, beta)
        values = self.unit * self.matrix.product(coefficients.T.contiguous())
        f = self.p[live] - values.T.gather(1, index) - self.ridge[live] * beta
        return torch.where(self.real[live], f, 0.0)

    def extremes(self, live: Any = slice(None)) -> tuple[torch.Tensor, ...]:
        """f where variables may rise and fall (∓∞ elsewhere), and the two values that each is compared with."""
        f, beta = self.f[live], self.beta[live]
        up = torch.where(beta < self.upper[live], f, -INF)
        low = torch.where(beta > self.lower[live], f, INF)
        top, bottom = torch.zeros_like(f), torch.zeros_like(f)
        for g in range(self.groups):
            mine = self.group[live] == g
            top = torch.where(mine, torch.where(mine, up, -INF).amax(1, keepdim=True), top)
            bottom = torch.where(mine, torch.where(mine, low, INF).amin(1, keepdim=True), bottom)
        return up, low, top, bottom

    def gaps(self, live: Any = slice(None)) -> torch.Tensor:
        """The largest violation in each problem."""
        up, low, top, bottom = self.extremes(live)
        if not self.groups:
            return torch.maximum(up.amax(1), -low.amin(1)).clamp(min=0.0)
        return torch.where(self.real[live], top - bottom, 0.0).amax(1).clamp(min=0.0)

    def choose(self, live: torch.Tensor) -> torch.Tensor:
        """The working set of each problem: all variables, or half of the last one and the worst violators."""
        n = self.f.shape[1]
        if n <= WHOLE:
            return torch.arange(n, device=live.device).expand(len(live), n)
        up, low, top, bottom = self.extremes(live)
        # what cannot move comes last, but before what is chosen already
        rise, fall = (v.to(torch.float32).clamp(min=-1e38) for v in (up - bottom, top - low))
        kept = None if self.kept is None else self.kept[live]
        half = (SIZE - (0 if kept is None else kept.shape[1])) // 2
        if kept is not None:
            rise, fall = rise.scatter(1, kept, -INF), fall.scatter(1, kept, -INF)
        rising = rise.topk(half, dim=1, sorted=False).indices
        falling = fall.scatter(1, rising, -INF).topk(half, dim=1, sorted=False).indices
        new = torch.cat([rising, falling], dim=1)
        chosen = new if kept is None else torch.cat([new, kept], dim=1)
        if self.kept is None:
            self.kept = torch.zeros((len(self.f), SIZE // 2), dtype=torch.int64, device=live.device)
        self.kept[live] = chosen[:, : SIZE // 2]
        return chosen

    def advance(self, live: torch.Tensor, gaps: torch.Tensor, tol: float) -> None:
        """One round of some problems, as many at a time as K has rows for."""
        most = len(live) if self.matrix.whole else len(self.matrix.K) // max(WHOLE, SIZE)
        for part in slices(len(live), max(1, most)):
            self.move(live[part], gaps[part], tol)

    def move(self, live: torch.Tensor, gaps: torch.Tensor, tol: float) -> None:
        """Choose working sets, minimise on them, and update f."""
        chosen = self.choose(live)
        take = [values[live].gather(1, chosen) for values in (self.index, self.f, self.beta, self.lower, self.upper)]
        rest = [values[live].gather(1, chosen) for values in (self.diagonal, self.ridge, self.group)]
        target = torch.maximum(0.5 * tol * torch.ones_like(gaps), INNER * gaps)
        K, steps, rows = self.matrix.K, self.matrix.steps, self.matrix.places(take[0])
        after, count = steps.minimise(K, self.unit, rows, *take, *rest, self.groups, target, 4 * chosen.shape[1])
        change = after - take[2]
        self.steps[live] += count
        beta, f = self.beta[live].scatter(1, chosen, after), self.f[live]
        f.scatter_add_(1, chosen, -rest[1] * change)
        steps.follow(K, self.unit, rows, change, self.index[live], f)
        self.beta[live], self.f[live] = beta, torch.where(self.real[live], f, 0.0)

    # ---- the calls

    def __call__(self, tol: float, most: int, quota: int) -> None:
        status = self.report[0]
        device = self.f.device
        if (status == UNSEEN).any():
            status[:] = RUNNING
            self.tell(0, tol)
        for _ in range(CALL if quota else 0):
            live = np.flatnonzero((status == RUNNING) & ~self.solved)
            if not len(live):
                if not self.solved.any():
                    break
                self.settle(tol)
                continue
            place = torch.as_tensor(live, device=device)
            gaps = self.gaps(place)
            ends = gaps <= tol, self.steps[place] >= most, self.watch(place, gaps) > PATIENCE
            self.solved[live], late, stuck = host(torch.stack(ends))
            status[live[stuck & ~self.solved[live]]] = PRECISION
            status[live[late & ~self.solved[live]]] = MAX_ITER
            going = torch.as_tensor((status[live] == RUNNING) & ~self.solved[live], device=device)
            self.advance(place[going], gaps[going], tol)
        if quota == 0 or (status > RUNNING).all():
            self.finish(tol)

    def watch(self, live: torch.Tensor, gaps: torch.Tensor) -> torch.Tensor:
        """The number of rounds in which neither the objective nor the gap has fallen."""
        least, narrowest = self.course[live].T
        objective = -0.5 * (self.beta[live] * (self.f[live] + self.p[live])).sum(1)
        lower = objective < least - ROUNDING * objective.abs()
        self.stalled[live] = torch.where(lower | (gaps < narrowest), 0, self.stalled[live] + 1)
        self.course[live] = torch.stack([torch.where(lower, objective, least), torch.minimum(narrowest, gaps)], dim=1)
        return self.stalled[live]

    def settle(self, tol: float) -> None:
        """Recompute f of problems that seem solved, and end those that are, or that the rows cannot improve."""
        status, seem = self.report[0], np.flatnonzero(self.solved)
        place = torch.as_tensor(seem, device=self.f.device)
        self.f[place] = self.exact(place)
        self.corrections[seem] += 1
        solved = host(self.gaps(place) <= tol)
        status[seem[solved]] = CONVERGED
        status[seem[~solved & (self.corrections[seem] > PATIENCE)]] = PRECISION
        self.course[place, 0] = INF  # the objective was that of a less accurate f
        self.solved[:] = False

    def finish(self, tol: float) -> None:
        """Report the state, with f in double precision."""
        status, (beta, f) = self.report[0], self.state
        inexact = torch.as_tensor(np.flatnonzero(status != CONVERGED), device=self.f.device)
        if len(inexact):
            self.f[inexact] = self.exact(inexact)
        self.tell(3, tol)
        for out, values in ((beta, self.beta), (f, self.f)):
            out[self.place[self.inside]] = host(values)[self.inside]

    def tell(self, first: int, tol: float) -> None:
        """Report gap, objective and violators of all problems from column `first` on; at the end also the rest."""
        _, steps, numbers, offsets, _ = self.report
        up, low, top, bottom = self.extremes()
        numbers[:, first] = host(self.gaps())
        numbers[:, first + 1] = host(-0.5 * (self.beta * (self.f + self.p)).sum(1))
        numbers[:, first + 2] = host((((up - bottom) > tol) | ((top - low) > tol)).sum(1))
        if first == 0:
            return
        steps[:] = host(self.steps)
        free = (self.beta > self.lower) & (self.beta < self.upper)
        offset = torch.zeros_like(self.f)
        for g in range(self.groups):
            mine = (self.group == g) & self.real
            inside = free & mine
            mean = torch.where(inside, self.f, 0.0).sum(1) / inside.sum(1)
            ends = torch.stack([torch.where(mine, v, e).amax(1) for v, e in ((up, -INF), (-low, -INF))])
            high, bound = ends[0], -ends[1]
            middle = torch.where(high.isinf(), bound, torch.where(bound.isinf(), high, 0.5 * (high + bound)))
            value = torch.where(inside.any(1), mean, torch.where(middle.isinf(), 0.0, middle))
            offsets[:, g] = host(value)
            offset = torch.where(mine, value[:, None], offset)
        u = self.f + self.ridge * self.beta - offset
        best = torch.minimum(torch.maximum(u / self.ridge, self.lower), self.upper)
        best = torch.where(best.isnan(), self.beta, best)  # where u = R = 0, every point of the box is optimal
        parts = (u - 0.5 * self.ridge * (best + self.beta)) * (best - self.beta)
        numbers[:, 6] = host(torch.where(self.real, parts, 0.0).sum(1))
