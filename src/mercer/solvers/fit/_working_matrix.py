"""The small dense problem on a working set: its matrix, kept between rounds, and the inner steps on it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ..._threads import Workers
from ..._units import exponent
from ...losses import FAR
from ._rows import Block
from ._smo import CHUNK, gather, mirror, smo, smo_groups, smo_single, total
from ._working_set import seat
from .rounds import OVERFLOW

WRONG = 1e-3  # relative error of k(x, x) in single precision above which rows are not trusted, as for unscaled data

Parts = list[tuple[slice, np.ndarray]]
Slots = dict[tuple[int, int], np.ndarray]


class WorkingMatrix:
    """(K + R)/2^unit between the variables of the working set; those that stay keep their row and column.

    A working set has at most `largest` variables. `blocks` are the kernel rows of each segment over the columns of each
    segment; `diagonal` is the diagonal of K + R, and `ridge` that of R.
    """

    def __init__(
        self, largest: int, blocks: Sequence[Sequence[Block]], diagonal: np.ndarray, ridge: np.ndarray, workers: Workers
    ):
        width = -(-largest // CHUNK) * CHUNK
        self.blocks, self.diagonal, self.ridge, self.workers = blocks, diagonal, ridge, workers
        # rows a power of 2 apart would compete for the same cache lines
        self.Q = np.zeros((width, width + 32), blocks[0][0].K.dtype)
        self.seats = np.full(width, -1)  # the variable of each row of Q; −1 is a free row
        self.unit: int | None = None

    def admit(self, working: np.ndarray, parts: Parts, slots: Slots) -> bool:
        """Admit these (sorted) variables, with kernel rows at `slots`; return whether the rows can be trusted."""
        Q, dtype = self.Q, self.Q.dtype
        fresh, at = seat(self.seats, working, len(self.diagonal))
        self.at, new = at, working[fresh]
        self.width = width = -(-(int(at.max()) + 1) // CHUNK) * CHUNK
        if self.unit is None:  # a zero diagonal, as for a negative distance, gives no scale
            some = [self.blocks[k][k].K[slots[k, k][:8]].ravel() for k in range(len(parts))]
            self.unit = exponent(np.concatenate([self.diagonal, *some]))
        scale = dtype.type(np.ldexp(1.0, -self.unit))
        for s, (mine, _) in enumerate(parts):
            enter = fresh[mine]
            for t, (other, columns) in enumerate(parts):
                K = self.blocks[s][t].K
                copy = partial(gather, Q, scale, K, slots[s, t][enter], at[mine][enter], columns, at[other])
                self.workers(copy, int(enter.sum()), 64)
        if not fresh.all():
            entered = np.zeros(width, dtype=bool)
            entered[at[fresh]] = True
            self.workers(partial(mirror, Q, at[fresh], entered), width, 256)
        Q[at[fresh], at[fresh]] += np.ldexp(self.ridge[new], -self.unit).astype(dtype)
        known = np.ldexp(self.diagonal[new], -self.unit)
        missed = np.abs(Q[at[fresh], at[fresh]] - known) > WRONG * np.abs(known)
        # the sum of finite values may overflow
        finite = bool(np.isfinite(total(Q, at[fresh], width)) or np.isfinite(Q[at[fresh], :width]).all())
        if dtype == np.float32:
            return finite and not missed.any()
        if not finite:
            raise OverflowError(OVERFLOW)
        return True

    def minimise(
        self,
        working: np.ndarray,
        f: np.ndarray,
        beta: np.ndarray,
        box: tuple[np.ndarray, np.ndarray],
        group: np.ndarray,
        groups: int,
        tol: float,
        most: int,
    ) -> tuple[np.ndarray, int]:
        """β on the working set after inner steps, and their number; from f, β and the bounds of all variables."""
        # in units of 2^size for f and 2^(size − unit) for β all numbers are about 1, and the compiled constants fit
        at, dtype = self.at, self.Q.dtype
        assert self.unit is not None
        size = exponent(f[working])
        of_beta = self.unit - size
        given = np.stack([values[working] for values in (f, self.diagonal, beta, *box)])
        rows = np.zeros((5, self.width))  # a free row has lower = upper = 0 and cannot move
        rows[:, at] = np.ldexp(given, np.array([-size, -self.unit, of_beta, of_beta, of_beta])[:, None])
        slope, diagonal, inner, lower, upper = rows
        np.clip(rows[3:], -FAR, FAR, out=rows[3:])
        before, tol, diagonal = inner[at], float(np.ldexp(tol, -size)), diagonal.astype(dtype)
        if groups == 0:
            count = smo_single(self.Q, slope, inner, lower, upper, diagonal, tol, most)
        elif groups == 1:
            count = smo(self.Q, slope.astype(dtype), inner, lower, upper, diagonal, dtype.type(tol), most)
        else:
            of_group = np.zeros(self.width, np.int64)
            of_group[at] = group[working]
            count = smo_groups(self.Q, slope, inner, lower, upper, diagonal, of_group, groups, tol, most)
        moved = inner[at]
        return np.where(moved == before, given[2], np.ldexp(moved, -of_beta)), int(count)
