r"""The working-set solver for machines that separate all classes at once: Crammer, Singer and Weston, Watkins.

    minimise ½ Σₘ‖fₘ‖² + Σᵢ boundᵢ · (sum of the s largest over m ≠ cᵢ of max(0, μ − f_{cᵢ}(xᵢ) + fₘ(xᵢ)))

with s = 1, μ = 1 for Crammer and Singer, and s = k − 1, μ = 2 for Weston and Watkins ("kbb" in BSVM and kernlab). The
dual has a coefficient β for each sample and class:

    minimise ½ Σₘ βₘᵀKβₘ − μ Σᵢ β_{i,cᵢ}   with   Σₘ β_{im} = 0,   −boundᵢ ≤ β_{im} ≤ 0 (m ≠ cᵢ),   β_{i,cᵢ} ≤ s·boundᵢ,

so the two differ only in two numbers, and every sample is a group of k variables with one equality. With f = μδ − Kβ it
is solved when, for each sample, max{f : β < upper} − min{f : β > lower} ≤ tol. The outer level is that of
`working_set`, for samples instead of variables; the inner level minimises exactly over one sample at a time, the worst
(`_multiclass`).

Crammer, Singer, *On the algorithmic implementation of multiclass kernel-based vector machines* (2001), equations 7 and
14; Weston, Watkins, *Multi-class support vector machines* (1998); Hsu, Lin, *A comparison of methods for multiclass
support vector machines* (2002), section III, for the penalised offset.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._array import host
from ..._errors import check_choice, check_number
from ..._threads import Workers
from ..._units import exponent
from ...context import Monitor, Status
from ...losses import FAR
from ._multiclass import descend, project
from ._rows import Block, Segment
from .rounds import FRESH, IDLE, INNER, OVERFLOW, DualSolution, Rounds

SIZE = 512  # samples in a working set: for more, the search for the worst one costs more than the rounds saved
TILE = 1024  # columns of one product: with a few hundred rows in double precision it stays in the cache


@dataclass
class MulticlassProblem:
    r"""Labels, the weight of each sample's loss, and the form of the loss.

    Parameters
    ----------
    labels : int array of shape (n,), in 0 … n_classes − 1
    bound : array of shape (n,), finite and >= 0
        C times the weight of each sample. Larger values fit the sample more closely; 0 leaves it out.
    n_classes : int >= 2
    form : {"crammer_singer", "kbb"}
        The loss: for the worst rival class, with margin 1; or the sum over all rivals, with margin 2.
    offset : bool
        Whether each function has a constant, penalised like the rest: the kernel is then k + 1.
    start : array of shape (n, n_classes), optional
        β of a similar problem for a warm start; it is projected onto the constraints.

    Notes
    -----
    For two classes, f₀ = −f₁. The binary machine without an offset and with the same C is f₁ for "kbb"; for
    "crammer_singer", f₁ − f₀ is the binary machine with 2C. A margin of 1 instead of 2 for "kbb", used by some authors,
    gives f/2 with C/2 for C.

    kernlab's ``kbb-svc`` is ``form="kbb", offset=True`` with the same C: its ``alpha`` contains −β without the column
    of the sample's own class, and its ``b`` contains column sums of ``alpha``, which are not offsets.
    """

    labels: np.ndarray
    bound: np.ndarray
    n_classes: int
    form: str = "crammer_singer"
    offset: bool = False
    start: np.ndarray | None = None

    def __post_init__(self) -> None:
        check_number(self, "n_classes", self.n_classes, at_least=2, integer=True)
        check_choice(self, "form", self.form, ("crammer_singer", "kbb"))
        for name, ends in (("labels", (0, self.n_classes - 1)), ("bound", (0, np.finfo(float).max))):
            values = getattr(self, name)
            wrong = ~((values >= ends[0]) & (values <= ends[1]))
            if wrong.any():
                rule = f"in 0 … {ends[1]}" if name == "labels" else ">= 0 and finite"
                at = int(np.argmax(wrong))
                raise ValueError(f"MulticlassProblem: {name}[{at}] = {values[at]} must be {rule}.")
        shape = len(self.labels), self.n_classes
        if self.start is not None and self.start.shape != shape:
            raise ValueError(f"MulticlassProblem: start has shape {self.start.shape}; it must be {shape}.")

    @property
    def margin(self) -> float:
        """The margin μ by which the sample's own class should win."""
        return 1.0 if self.form == "crammer_singer" else 2.0

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """The bounds of β."""
        own, bound = self.labels[:, None] == np.arange(self.n_classes), self.bound[:, None]
        return np.where(own, 0.0, -bound), np.where(own, self.rivals * bound, 0.0)

    @property
    def rivals(self) -> int:
        """The number s of rival classes that count, worst first."""
        return 1 if self.form == "crammer_singer" else self.n_classes - 1

    def sums(self, beta: np.ndarray) -> np.ndarray:
        """The residual of each equality."""
        return np.asarray(beta.sum(axis=1))

    def minimise(self, segments: Any, blocks: Any, *settings: Any) -> MulticlassSolution:
        """The solution by rows of the single block; `settings` as in `minimise_multiclass`."""
        return minimise_multiclass(segments[0], blocks[0][0], self, *settings)

    def started(self, beta: np.ndarray, values: np.ndarray) -> MulticlassProblem:
        """The problem with start β; the run recomputes Kβ."""
        return replace(self, start=beta)

    def resumed(self, beta: np.ndarray, values: np.ndarray, *checks: Any) -> MulticlassProblem:
        """The problem with start β from a file."""
        return self.started(beta, values)


@dataclass(frozen=True, kw_only=True)
class MulticlassSolution(DualSolution):
    """The solution, with arrays of shape (n, k): f = μδ − values and values = (K + offset)β.

    The values are the functions at the samples, and `intercept` their constant parts.
    """

    intercept: np.ndarray
    method: str = "multiclass"


def minimise_multiclass(
    segment: Segment,
    block: Block,
    problem: MulticlassProblem,
    tol: float = 1e-3,
    workers: Workers | None = None,
    max_iter: int = -1,
    monitor: Monitor | None = None,
) -> MulticlassSolution:
    r"""All classes at once: f_m = Σᵢ β_{im} (k(·, xᵢ) + offset).

    .. math::

        \min_f\; \tfrac12 \sum_m \|f_m\|^2 + \sum_i C_i \max_m \bigl(1 - \delta_{m c_i} + f_m(x_i) - f_{c_i}(x_i)\bigr)
        \quad\text{or}\quad
        \sum_i C_i \sum_{m \ne c_i} \max\bigl(0,\; 2 - f_{c_i}(x_i) + f_m(x_i)\bigr)

    Parameters
    ----------
    segment : Segment
        The samples.
    block : Block
        Storage for rows of their matrix: `segment` against itself. With more storage, fewer rows are recomputed.
    problem : MulticlassProblem
    tol : float > 0
        The largest violation of the optimality conditions, in units of f. Larger values save steps but cost accuracy.
    workers : Workers, optional
        Threads for rows and products.
    max_iter : int
        Maximum number of steps of the inner problem; −1 for LIBSVM's limit, 10⁷ or 100 per sample.
    monitor : callable, optional
        Called every round with the state (gap, round, beta, values); it ends the run by returning a status. β is then
        the best so far, since every step lowers the objective.

    Examples
    --------
    Three points, each its own class, with the kernel k(x, y) = [x = y]: by symmetry β has a on its diagonal and −a/2
    elsewhere, and 3a/2 is the margin.

    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.solvers.fit import Block, Segment
    >>> from mercer.solvers.fit.multiclass import MulticlassProblem, minimise_multiclass
    >>> X, kernel = np.array([[0.0], [100.0], [200.0]]), Gaussian()
    >>> S = Segment(kernel.bind(X))
    >>> problem = MulticlassProblem(np.arange(3), np.full(3, 10.0), 3)
    >>> minimise_multiclass(S, Block(S, S, 3, np.float64), problem, tol=1e-9).beta.round(3)
    array([[ 0.667, -0.333, -0.333],
           [-0.333,  0.667, -0.333],
           [-0.333, -0.333,  0.667]])
    """
    with np.errstate(over="ignore", invalid="ignore"):  # overflow raises later
        return _Run(segment, block, problem, tol, workers, max_iter, monitor).solve()


class _Run(Rounds):
    """The state of one run; arrays have a row for each class and a column for each sample."""

    def __init__(self, segment: Segment, block: Block, problem: MulticlassProblem, *settings: Any):
        super().__init__(segment.n, *settings)
        self.segment, self.block, self.problem, k = segment, block, problem, problem.n_classes
        self.own = problem.labels == np.arange(k)[:, None]
        self.linear = problem.margin * self.own
        self.lower, self.upper = (np.ascontiguousarray(side.T) for side in problem.box)
        self.f = self.linear.copy()
        if problem.start is None:
            self.beta = np.zeros((k, self.n))
        else:
            self.beta = np.array(problem.start.T, dtype=np.float64, order="C")
            project(self.beta, self.lower, self.upper)
            self.f = self.exact(np.arange(self.n))
        if not block.whole:
            block.stamp[:] = -1  # rows left by an earlier run are older than any of this one
        self.size = min(SIZE, self.n, block.capacity)

    # ---- how far from the optimum

    @property
    def shown(self) -> np.ndarray:
        return self.beta.T

    @property
    def values(self) -> np.ndarray:
        return (self.linear - self.f).T

    def assess(self) -> tuple[float, float, int]:
        up = np.where(self.beta < self.upper, self.f, -np.inf).max(axis=0)
        low = np.where(self.beta > self.lower, self.f, np.inf).min(axis=0)
        self.violation = up - low  # of each sample; negative if all its coefficients are at their optimal bounds
        gap, objective = self.violation.max(initial=0.0), -0.5 * np.vdot(self.beta, self.f + self.linear)
        return float(gap), float(objective), int(np.sum(self.violation > self.tol))

    def duality_gap(self) -> float:
        """The sum of each sample's loss, the maximum of f·β over its constraints, minus f·β."""
        short = np.maximum(np.where(self.own, self.f, 0.0).sum(axis=0) - self.f, 0.0)  # 0 for its own class
        others = self.problem.n_classes - self.problem.rivals
        loss = np.partition(short, others, axis=0)[others:].sum(axis=0)
        return float(self.problem.bound @ loss - np.vdot(self.beta, self.f))

    # ---- double precision

    def exact(self, columns: np.ndarray) -> np.ndarray:
        """μδ − (K + offset)β at the given samples, in double precision."""
        moving = np.flatnonzero(self.beta.any(axis=0))
        weights, samples = self.beta[:, moving].T, self.segment.index
        out = self.linear[:, columns]
        if self.problem.offset:
            out -= weights.sum(axis=0)[:, None]

        def work(start: int, stop: int) -> None:
            for c in range(start, stop, 256):
                part = slice(c, min(stop, c + 256))
                matrix = host(self.segment.exact(samples[columns[part]], samples[moving]))
                out[:, part] -= (matrix @ weights).T

        if len(moving):
            self.workers(work, len(columns), 256, align=256)
        return out

    def settled(self, gap: float) -> bool:
        drift = self.drift()
        return drift <= 0.05 * self.tol and gap + 2.0 * drift <= self.tol

    def drift(self) -> float:
        """The largest error of f at the samples that determine the gap, and at some others."""
        k = min(24, self.n - 1)
        columns = np.union1d(np.argpartition(-self.violation, k)[: k + 1], np.arange(0, self.n, self.n // 16 + 1))
        return float(np.abs(self.exact(columns) - self.f[:, columns]).max())

    # ---- the rounds

    def finish(self, status: Status) -> MulticlassSolution:
        return MulticlassSolution(
            beta=np.ascontiguousarray(self.beta.T),
            f=np.ascontiguousarray(self.f.T),
            values=np.ascontiguousarray(self.values),
            intercept=self.beta.sum(axis=1) * self.problem.offset,
            duality_gap=self.duality_gap(),
            **self.ended(status),
        )

    def choose(self, working: np.ndarray, born: np.ndarray) -> np.ndarray:
        """The next working set: most of the last one, and the worst samples outside it."""
        state = self.violation
        want = max(1, int(FRESH * self.size), self.size - len(working))
        outside = state > 0.5 * self.tol
        outside[working] = False
        new = np.flatnonzero(outside)
        if len(new) > want:
            new = new[np.argpartition(-state[new], want)[:want]]
        excess = len(working) + len(new) - self.size
        if excess > 0:
            # samples at bounds that are far from moving leave first, then the oldest
            mine = state[working]
            slack = np.where(mine < 0, -mine, -1e9 - born[working])
            working = np.delete(working, np.argpartition(-slack, excess - 1)[:excess])
        born[new] = self.rounds
        return np.sort(np.concatenate([working, new]))

    def step(self, working: np.ndarray, gap: float) -> None:
        """Solve the inner problem on the working set and update f."""
        rows, slots = self.block.K, self.block.require(working, self.rounds, self.workers)
        Q = rows[slots[:, None], working]
        Q += self.problem.offset
        f, beta, lower, upper = (a[:, working] for a in (self.f, self.beta, self.lower, self.upper))
        # shorter rounds accumulate less rounding
        most = min(200 * len(working) // 10**self.idle, self.most - self.inner)
        rounding = 4.0 * np.finfo(Q.dtype).eps * np.abs(f).max()
        if not np.isfinite(Q).all():
            if Q.dtype == np.float64:
                raise OverflowError(OVERFLOW)
            self.idle = IDLE
            return
        # f/2^size has β·2^(unit − size): in these units all numbers are about 1, and the compiled constants fit
        unit, size = exponent(Q), exponent(f)
        tol = max(0.5 * self.tol, INNER * gap, rounding)
        scaled = [np.ldexp(f, -size), *(np.clip(np.ldexp(v, unit - size), -FAR, FAR) for v in (beta, lower, upper))]
        self.inner += int(descend(np.ldexp(Q, -unit), *scaled, float(np.ldexp(tol, -size)), most))
        beta = np.ldexp(scaled[1], size - unit)
        if not np.isfinite(beta).all():
            self.idle = IDLE
            return
        change = beta - self.beta[:, working]
        # each sample's change sums to 0 up to rounding, which f would magnify: its mean is subtracted where it matters
        share = np.abs(change)
        f -= np.sum(share * f, axis=0) / np.maximum(share.sum(axis=0), np.finfo(float).tiny)
        if np.vdot(change, f - 0.5 * (change @ Q)) <= 0:  # no decrease of the objective: only rounding
            self.idle += 1
            return
        self.beta[:, working] = beta
        moved = np.flatnonzero(change.any(axis=0))
        steps, slots = change[:, moved], slots[moved]
        constant = steps.sum(axis=1, keepdims=True) * self.problem.offset

        def work(start: int, stop: int) -> None:
            for c in range(start, stop, TILE):
                part = slice(c, min(stop, c + TILE))
                self.f[:, part] -= steps @ rows[slots, part].astype(np.float64) + constant

        self.workers(work, self.n, TILE, align=TILE)
