"""The small dense problem on a working set: its matrix, kept between rounds, and the inner steps on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..._threads import Workers
from ..._units import exponent
from ...types import Array, DType
from . import _working_set
from ._smo import CHUNK, mirror, smo, smo_groups, smo_single, total
from .rounds import OVERFLOW

WRONG = 1e-3  # relative error of k(x, x) in single precision above which rows are not trusted, as for unscaled data


@dataclass(frozen=True)
class Rows:
    """Kernel rows between segments of variables: block s·m + t of m² has those of segment s over the columns of t.

    Row i of segment s is at slots[s·m + t][i] in that block; the variables of segment s are edges[s] … edges[s + 1].
    """

    blocks: tuple[np.ndarray, ...]
    slots: tuple[np.ndarray, ...]
    edges: np.ndarray

    def cuts(self, variables: np.ndarray) -> np.ndarray:
        """Where the variables of each segment begin among these (sorted) ones."""
        return np.searchsorted(variables, self.edges)

    def follow(self, f: np.ndarray, variables: np.ndarray, change: np.ndarray, workers: Workers) -> None:
        """Subtract K times a change of these variables from f."""
        parts = self.blocks, self.slots, self.edges, variables, self.cuts(variables), change
        workers(partial(_working_set.follow, f, *parts), len(f), 4096)


class WorkingMatrix:
    """(K + R)/2^unit between the variables of the working set; those that stay keep their row and column.

    `diagonal` is the diagonal of K + R, and `ridge` that of R.
    """

    def __init__(self, dtype: DType, rows: Rows, diagonal: np.ndarray, ridge: np.ndarray, workers: Workers):
        self.rows, self.diagonal, self.ridge, self.workers = rows, diagonal, ridge, workers
        self.Q = np.zeros((0, 0), dtype)
        self.seats = np.zeros(0, dtype=np.int64)  # the variable of each row of Q; −1 is a free row
        self.unit: int | None = None

    def reserve(self, most: int) -> None:
        """Have room for so many variables."""
        held, width = len(self.seats), -(-most // CHUNK) * CHUNK
        if held < width:
            # rows a power of 2 apart would compete for the same cache lines
            Q = np.zeros((width, width + 32), self.Q.dtype)
            Q[:held, :held] = self.Q[:, :held]
            self.Q, self.seats = Q, np.append(self.seats, np.full(width - held, -1))

    def admit(self, working: np.ndarray) -> bool:
        """Admit these (sorted) variables, whose rows are there; return whether the rows can be trusted."""
        Q, rows, cuts = self.Q, self.rows, self.rows.cuts(working)
        fresh, at = _working_set.seat(self.seats, working, len(self.diagonal))
        self.at, who = at, np.flatnonzero(fresh)
        self.width = width = -(-(int(at.max()) + 1) // CHUNK) * CHUNK
        if self.unit is None:  # a zero diagonal, as for a negative distance, gives no scale
            self.unit = exponent(np.concatenate([self.diagonal, *self._some(working, cuts)]))
        scale = Q.dtype.type(np.ldexp(1.0, -self.unit))
        parts = rows.blocks, rows.slots, rows.edges, (working, at), cuts, who
        self.workers(partial(_working_set.gather, Q, scale, *parts), len(who), 64)
        entered = at[who]
        if len(who) < len(at):
            new = np.zeros(width, dtype=bool)
            new[entered] = True
            self.workers(partial(mirror, Q, entered, new), width, 256)
        missed = _working_set.admit(Q, working, at, who, self.ridge, self.diagonal, self.unit, WRONG)
        # the sum of finite values may overflow
        finite = bool(np.isfinite(total(Q, entered, width)) or np.isfinite(Q[entered, :width]).all())
        if Q.dtype == np.float32:
            return finite and not missed
        if not finite:
            raise OverflowError(OVERFLOW)
        return True

    def _some(self, working: np.ndarray, cuts: np.ndarray) -> list[np.ndarray]:
        """Eight rows of each segment."""
        rows, own = self.rows, range(0, len(self.rows.blocks), len(cuts))
        some = [working[cuts[s] : cuts[s + 1]][:8] - rows.edges[s] for s in range(len(own))]
        return [rows.blocks[k][rows.slots[k][i]].ravel() for k, i in zip(own, some, strict=True)]

    def minimise(
        self, working: np.ndarray, variables: tuple[np.ndarray, ...], group: Array, groups: int, tol: float, most: int
    ) -> tuple[np.ndarray, int]:
        """β on the working set after inner steps, and their number; from f, β and the bounds of all `variables`."""
        Q, at, dtype = self.Q, self.at, self.Q.dtype
        assert self.unit is not None
        slope, x, *rest, size = _working_set.enter(Q, working, at, variables, self.diagonal, self.width, self.unit)
        box: Any = x, *rest
        tol = float(np.ldexp(tol, -size))
        if groups == 0:
            count = smo_single(Q, slope, *box, tol, most)
        elif groups == 1:
            count = smo(Q, slope.astype(dtype), *box, dtype.type(tol), most)
        else:
            of_group = np.zeros(self.width, np.int64)
            of_group[at] = group[working]
            count = smo_groups(Q, slope, *box, of_group, groups, tol, most)
        return _working_set.leave(x, working, at, variables[1], size - self.unit), int(count)
