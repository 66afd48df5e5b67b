"""Pre-images under any differentiable kernel, by descent."""

from __future__ import annotations

import numpy as np

from .._errors import check_number, where
from ..context import current
from ._base import PreImage, Targets

HALVINGS = 40  # of a step, after which only rounding is left of it
ENOUGH = 1e-4  # of the decrease that the gradient promises (Armijo)


class Gradient(PreImage):
    r"""Pre-images under any kernel with `gradient_x`, by L-BFGS from several starts.

    .. math:: \min_y\; \|\phi(y) - t\|^2 = k(y, y) - 2\, t(y) + \|t\|^2

    Parameters
    ----------
    starts : int >= 0
        How many of the sample points nearest to the target in the space are tried, besides `start` where it is given;
        the best end is taken. More starts miss the nearest point of the image less often.
    max_iter : int >= 1
        Evaluations of the distance at most, for each start.
    tol : float > 0
        Of the gradient, times the spread of the sample and relative to k(y, y).
    memory : int >= 1
        The pairs of steps and changes of the gradient that stand for the second derivatives. More model them better.
    time_budget : float > 0, optional
        Seconds after which the points so far are taken, with a warning.

    Notes
    -----
    All targets and starts are minimised at once, each with its own steps and its own model of the second derivatives;
    the distance never rises. Coordinates that the kernel's domain bounds are held at their bounds. `fallback` is set
    where all starts stop before `tol` is met, by `max_iter` or at a kink: the point is then the best that was seen.

    An evaluation costs O(mnd) for kernels of the distance or the inner product, and an array of derivatives of shape
    (block, n, d) for others.

    References
    ----------
    Nocedal, Wright, *Numerical Optimization* (2006), algorithms 7.4 and 3.1.

    Examples
    --------
    >>> from mercer import RKHS
    >>> H = RKHS("gaussian + 0.1 * linear")
    >>> target = H.function([[0.0], [1.0]], [0.5, 0.5])
    >>> Gradient().find(target).points.round(4)
    array([[0.5]])
    """

    def __init__(
        self,
        starts: int = 3,
        max_iter: int = 500,
        tol: float = 1e-6,
        memory: int = 8,
        *,
        time_budget: float | None = None,
    ):
        self.starts, self.max_iter, self.tol, self.memory = starts, max_iter, tol, memory
        self.time_budget = time_budget

    def _find(self, targets: Targets) -> tuple[np.ndarray, np.ndarray, str]:
        check_number(self, "starts", self.starts, at_least=0 if targets.start is not None else 1, integer=True)
        check_number(self, "max_iter", self.max_iter, at_least=1, integer=True)
        check_number(self, "tol", self.tol, above=0)
        check_number(self, "memory", self.memory, at_least=1, integer=True)
        if "gradient_x" not in targets.kernel.provides:
            raise TypeError(
                f"{where(self)} needs a kernel that provides gradient_x; {targets.kernel} does not. "
                "Try DistanceBased or Learned."
            )
        rows = np.arange(targets.m)
        begin = [] if targets.start is None else [targets.inside(targets.start)]
        if self.starts:
            begin += list(np.swapaxes(targets.X[targets.nearest(rows, self.starts)], 0, 1))
        ends = [self._descend(targets, rows, Y) for Y in begin]
        points, values, settled = (np.stack(part) for part in zip(*ends, strict=True))
        # among ends that are equal but for rounding, one that settled
        best = np.argmin(values - 1e-12 * np.abs(values) * settled, axis=0)
        fallback = ~settled[best, rows]
        open_ = int(np.sum(fallback))
        advice = "" if current().heard else "; raise max_iter, starts or tol"
        said = f"{open_} of {targets.m} descents had not settled when they stopped{advice}"
        return points[best, rows], fallback, said if open_ else ""

    def _descend(self, targets: Targets, index: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        """The points, k(y, y) − 2t(y) there, and whether it is stationary."""
        m, d = Y.shape
        Y = Y.copy()
        spread = float(np.sqrt(np.sum(np.var(targets.X, axis=0)))) or 1.0
        size = np.maximum(np.abs(targets.kernel.evaluate_diag(Y)), 1e-300)
        # sums of so many terms are equal but for rounding
        bound = np.sqrt(size * float(np.max(np.abs(targets.diagonal)))) * np.sum(np.abs(targets.G), axis=0)
        slack = 4 * np.finfo(float).eps * (size + bound)
        value, slope = _look(targets, index, Y)
        S, C, held = np.zeros((self.memory, m, d)), np.zeros((self.memory, m, d)), np.zeros((self.memory, m))
        step, settled = np.ones(m), np.zeros(m, dtype=bool)
        toward, context = _first(slope, spread), current()
        for _ in range(self.max_iter):
            if context({"settled": settled}) is not None:
                break
            allowed = targets.inside(Y - slope) - Y  # −gradient, without what the domain forbids
            settled |= np.linalg.norm(allowed, axis=1) * spread <= self.tol * size
            rows = np.flatnonzero(~settled & (step > 0.5**HALVINGS))
            if not rows.size:
                break
            trial = targets.inside(Y[rows] + step[rows, None] * toward[rows])
            new, new_slope = _look(targets, index[rows], trial)
            move = trial - Y[rows]
            promised = np.einsum("jd,jd->j", slope[rows], move)
            good = new <= value[rows] + ENOUGH * np.minimum(promised, 0.0) + slack[rows]
            step[rows[~good]] /= 2
            taken = rows[good]
            change = new_slope[good] - slope[taken]
            bend = np.einsum("jd,jd->j", move[good], change)
            self._remember(S, C, held, taken, move[good], change, bend)
            Y[taken], value[taken], slope[taken] = trial[good], new[good], new_slope[good]
            free = targets.inside(Y[taken] - slope[taken]) != Y[taken]  # the others stay at their bounds
            toward[taken] = free * _direction(S[:, taken], C[:, taken], held[:, taken], free * slope[taken], spread)
            step[taken] = 1.0
        return Y, value, settled

    @staticmethod
    def _remember(
        S: np.ndarray,
        C: np.ndarray,
        held: np.ndarray,
        rows: np.ndarray,
        move: np.ndarray,
        change: np.ndarray,
        bend: np.ndarray,
    ) -> None:
        """Put the newest pair first, unless it says that the function bends downwards."""
        up = bend > 1e-10 * np.linalg.norm(move, axis=1) * np.linalg.norm(change, axis=1)
        rows = rows[up]
        for memory, newest in ((S, move[up]), (C, change[up]), (held, 1.0 / bend[up])):
            memory[1:, rows] = memory[:-1, rows]
            memory[0, rows] = newest


def _first(slope: np.ndarray, spread: float) -> np.ndarray:
    """Down the gradient, by a tenth of the spread of the data."""
    length = np.linalg.norm(slope, axis=1, keepdims=True)
    return -0.1 * spread * slope / np.where(length > 0, length, 1.0)


def _direction(S: np.ndarray, C: np.ndarray, held: np.ndarray, slope: np.ndarray, spread: float) -> np.ndarray:
    """−H·gradient by the two loops of L-BFGS, one model H for each row; steepest descent where nothing is held."""
    q, weights = slope.copy(), []
    for s, c, r in zip(S, C, held, strict=True):
        a = r * np.einsum("jd,jd->j", s, q)
        q -= a[:, None] * c
        weights.append(a)
    bend = np.einsum("jd,jd->j", C[0], C[0]) * held[0]
    q /= np.where(bend > 0, bend, 1.0)[:, None]
    for s, c, r, a in zip(S[::-1], C[::-1], held[::-1], weights[::-1], strict=True):
        q += (a - r * np.einsum("jd,jd->j", c, q))[:, None] * s
    downhill = (bend > 0) & (np.einsum("jd,jd->j", q, slope) > 0)
    return np.where(downhill[:, None], -q, _first(slope, spread))


def _look(targets: Targets, index: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """k(y, y) − 2t(y) and its gradient, for the targets at `index`."""
    value, slope = targets.kernel.evaluate_diag(Y), np.empty_like(Y)
    for rows in targets.blocks(len(Y), 1 if targets.form else targets.d):
        G = targets.G[:, index[rows]].T
        t, pull = targets.ascent(Y[rows], G)
        value[rows] -= 2 * t
        slope[rows] = 2 * (targets.own_ascent(Y[rows]) - pull)
    return value, slope
