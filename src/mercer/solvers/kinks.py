r"""Leave-one-out values for piecewise linear losses, as in support vector machines.

The second derivative of the loss is infinite at samples on a kink and zero elsewhere. So leaving sample i out moves its
value by aᵢSᵢ², with Sᵢ² the variance of f(xᵢ) given the values at the samples on kinks: the span of the support
vectors. This holds until another sample meets or leaves a kink; `active_set` continues from there.

Chapelle, Vapnik, Bousquet, Mukherjee, *Choosing multiple parameters for support vector machines* (2002), for the span;
Cauwenberghs, Poggio, *Incremental and decremental support vector machine learning* (2001), for the path on which
samples meet and leave the kinks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..types import Array
from .fit._base import FitProblem
from .leave_one_out import FormulaError

SLACK = 1e-2  # relative to the values: how far they may be on the wrong side of a kink
VERTEX = 1e-6  # relative to a bound: a coefficient this near counts as at it
RIDGE = 1e-12  # relative to the largest k(x, x): makes systems with equal samples solvable
Entries = Callable[[np.ndarray, np.ndarray], Any]


def at_vertex(problem: FitProblem, a: np.ndarray) -> np.ndarray:
    """The samples off the kinks of a piecewise linear loss, whose coefficients are slopes of the loss times −w/α."""
    ends = [
        end for part in problem.loss.box(problem.y, problem.weight / problem.alpha) for end in (part.lower, part.upper)
    ]
    vertices = np.stack([np.asarray(end) for end in ends], axis=1)
    scale = np.maximum(np.abs(vertices).max(axis=1), np.finfo(np.float64).tiny)
    return np.min(np.abs(a[:, None] - vertices), axis=1) <= VERTEX * scale


def refuse_inconsistent(problem: FitProblem, a: np.ndarray, f: np.ndarray) -> None:
    """Raise unless each coefficient is −w/α times a subgradient of its loss, up to the accuracy of solvers.

    Equal samples with different targets leave the coefficients undetermined, and a solver may return others.
    """
    worst, rest = 0.0, np.asarray(a, dtype=np.float64)
    size = float(np.max(np.abs(f), initial=0.0))
    for part in problem.loss.box(problem.y, problem.weight / problem.alpha):
        kink, lower, upper = (np.asarray(part[k], dtype=np.float64) for k in range(3))
        beta, near, slack = np.clip(a, lower, upper), VERTEX * (upper - lower), kink - f
        can_grow, can_fall = beta < upper - near, beta > lower + near
        off = np.where(can_grow, slack, 0.0), np.where(can_fall, -slack, 0.0)
        worst, rest = max(worst, float(np.max(off))), rest - beta
        size = max(size, float(np.max(np.abs(slack))))
    bound = float(np.max(problem.weight)) / problem.alpha
    if worst > SLACK * size or float(np.max(np.abs(rest))) > SLACK * bound:
        raise FormulaError("the coefficients are not subgradients of the loss, as happens with equal samples")


def kink_system(K: np.ndarray, H: np.ndarray, largest: float) -> np.ndarray:
    """M = [[K, H], [Hᵀ, 0]] for the samples on a kink, with a ridge that makes it invertible for equal samples.

    `largest` is max |k(x, x)| over all samples.
    """
    m, p = H.shape
    return np.block([[K + RIDGE * largest * np.eye(m), H], [H.T, np.zeros((p, p))]])


def span(block: Entries, diagonal: Array, a: np.ndarray, free: np.ndarray, H: np.ndarray | None = None) -> np.ndarray:
    r"""The change of the value at each sample when it is left out, if no other sample meets or leaves a kink.

    .. math:: f_i - f_i^{(-i)} = a_i S_i^2, \qquad S_i^2 = 1 / (M^{-1})_{ii} \text{ or } k_{ii} - v_i^\top M^{-1} v_i,
              \qquad M = \begin{pmatrix} K_{FF} & H_F \\ H_F^\top & 0 \end{pmatrix}

    for a sample among the free ones F, on a kink, and for any other, with v = (k(x_F, xᵢ), h(xᵢ)); NaN where the
    remaining free samples do not determine the free functions. `block` returns a block of the kernel matrix by rows and
    columns.
    """
    H, diagonal = np.zeros((len(a), 0)) if H is None else H, np.asarray(diagonal, dtype=np.float64)
    moved, largest = np.zeros(len(a)), float(np.abs(diagonal).max())
    inside, held = np.flatnonzero(free & (a != 0)), np.flatnonzero(~free & (a != 0))
    m, p = len(inside), H.shape[1]
    if m < p or (p and np.linalg.matrix_rank(H[inside]) < p):
        return np.where(a != 0, np.nan, 0.0)
    K = np.asarray(block(inside, np.concatenate([inside, held])), dtype=np.float64)
    v = np.concatenate([K[:, m:], H[held].T])
    inverse = np.linalg.inv(kink_system(K[:, :m], H[inside], largest))
    own = np.diagonal(inverse)[:m]
    alone = own <= 1e-9 / max(largest, np.finfo(np.float64).tiny)
    moved[inside] = a[inside] * np.where(alone, np.nan, 1 / np.where(alone, 1.0, own))
    moved[held] = a[held] * np.maximum(diagonal[held] - np.einsum("ij,ij->j", v, inverse @ v), 0.0)
    return moved


class _Kinks:
    """Box-constrained variables β, one for each sample and kink of its loss; free variables are on the kink."""

    def __init__(self, problem: FitProblem, a: np.ndarray, f: np.ndarray):
        parts = problem.loss.box(problem.y, problem.weight / problem.alpha)
        kink, lower, upper = (np.concatenate([np.asarray(part[k]) for part in parts]) for k in range(3))
        n, copies = len(a), len(parts)
        moving = np.flatnonzero(upper > lower)
        self.owner = np.tile(np.arange(n), copies)[moving]
        self.kink, self.lower, self.upper = kink[moving], lower[moving], upper[moving]
        # the ranges of two kinks lie on either side of 0, so that only one of them contributes to the coefficient
        self.beta = np.clip(a[self.owner], self.lower, self.upper)
        near = VERTEX * (self.upper - self.lower)
        self.low, self.high = self.beta <= self.lower + near, self.beta >= self.upper - near
        self.K = np.asarray(problem.gram.dense(), dtype=np.float64)
        self.H = np.zeros((n, 0)) if problem.H is None else problem.H
        self.offset = self.H.shape[1] == 1 and float(np.ptp(self.H)) == 0.0
        self.largest = float(np.abs(np.diagonal(self.K)).max())
        self.a, self.f = a, f

    def system(self, free: np.ndarray) -> np.ndarray:
        """M for the free variables."""
        rows = self.owner[free]
        return kink_system(self.K[np.ix_(rows, rows)], self.H[rows], self.largest)

    def without(self, i: int) -> float:
        """The value at sample i as its coefficient is driven to zero; NaN where the path is lost."""
        others = self.owner != i
        owner, kink = self.owner[others], self.kink[others]
        lower, upper, beta = self.lower[others], self.upper[others], self.beta[others].copy()
        low, high = self.low[others].copy(), self.high[others].copy()
        index, f, p, rest = np.flatnonzero(others), self.f.copy(), self.H.shape[1], 1.0 * (self.a[i] != 0)
        for _ in range(10 * len(owner)):
            if rest <= 0:
                break
            free = np.flatnonzero(~low & ~high)
            slack = kink - f[owner]  # ≤ 0 at the lower bound, ≥ 0 at the upper bound
            slack = np.where(low, np.minimum(slack, 0.0), np.where(high, np.maximum(slack, 0.0), 0.0))
            if len(free) < p:
                # the offset moves until another variable can absorb the change in i
                able = np.flatnonzero(low if self.a[i] > 0 else high)
                if p > 1 or not len(able):
                    return np.nan
                first = able[np.argmin(np.abs(slack[able]))]
                f += slack[first]
                low[first] = high[first] = False
                continue
            right = self.a[i] * np.concatenate([self.K[owner[free], i], self.H[i]])
            try:
                change = np.linalg.solve(self.system(index[free]), right)
            except np.linalg.LinAlgError:
                return np.nan
            db, dc = change[: len(free)], change[len(free) :]
            df = self.K[:, owner[free]] @ db + self.H @ dc - self.K[:, i] * self.a[i]
            speed = df[owner]
            with np.errstate(divide="ignore", invalid="ignore"):
                meets = np.where((low & (speed < 0)) | (high & (speed > 0)), slack / speed, np.inf)
                ends = np.where(db > 0, upper[free] - beta[free], lower[free] - beta[free]) / db
            meets[free] = np.where(db != 0, np.maximum(ends, 0.0), np.inf)
            first = int(np.argmin(meets)) if len(meets) else -1
            step = min(rest, float(meets[first])) if len(meets) else rest
            f += step * df
            beta[free] += step * db
            rest -= step
            if rest > 0 and (low[first] or high[first]):
                low[first] = high[first] = False
            elif rest > 0:
                high[first] = db[np.searchsorted(free, first)] > 0
                low[first] = not high[first]
        else:
            return np.nan
        return float(f[i]) + self._centred(beta, lower, upper, kink - f[owner])

    def _centred(self, beta: np.ndarray, lower: np.ndarray, upper: np.ndarray, slack: np.ndarray) -> float:
        """The shift of the offset to the midpoint of its optimal range, as in the solvers, if no sample is on a kink;
        NaN where more than an offset is undetermined.
        """
        near = VERTEX * (upper - lower)
        low, high = beta <= lower + near, beta >= upper - near
        if np.sum(~low & ~high) >= self.H.shape[1]:
            return 0.0
        if not self.offset or not low.any() or not high.any():
            return np.nan
        return float(slack[low].max() + slack[high].min()) / 2


def active_set(problem: FitProblem, a: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Exact leave-one-out values at each sample, for a piecewise linear loss.

    The coefficient of a sample is driven to zero along a piecewise linear path. On each piece, samples on a kink keep
    their value and the others their coefficient, until one meets or leaves a kink. The first piece is that of `span`.
    NaN where the path is lost: equal samples, or too few samples to determine several free functions.
    """
    kinks = _Kinks(problem, a, f)
    return np.array([kinks.without(i) for i in range(len(a))])
