"""Pre-images under any differentiable kernel, by gradient descent."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import check_number, where
from ..context import current
from ._base import PreImage, Targets

STEPS = 500  # the default of max_iter
HALVINGS = 40  # halvings after which a step is below rounding
ENOUGH = 1e-4  # required fraction of the decrease predicted by the gradient (Armijo)


class Gradient(PreImage):
    r"""Pre-images under any kernel with `gradient_x`, by L-BFGS from several starts.

    .. math:: \min_y\; \|\phi(y) - t\|^2 = k(y, y) - 2\, t(y) + \|t\|^2

    Parameters
    ----------
    n_init : int >= 0
        Number of sample points nearest to the target to try as starts, besides `start`; the best result is returned.
        More starts find the global minimum more often.
    max_iter : int >= 1, optional
        Maximum number of evaluations of the distance per start; None means 500.
    tol : float > 0
        Tolerance of the gradient, times the spread of the sample and relative to k(y, y).
    memory : int >= 1
        Number of pairs of steps and gradient changes used to approximate second derivatives.
    time_budget : float > 0, optional
        Time limit in seconds; on expiry the current points are returned, with a warning.

    Notes
    -----
    All targets are processed together, each with its own steps and Hessian approximation; distances never increase.
    Coordinates stay within the bounds of the kernel's domain. `fallback` is set if all starts stop before reaching
    `tol`, because of `max_iter` or a kink; the best point found is then returned.

    An evaluation costs O(mnd) for kernels of the distance or the inner product; others need an array of derivatives of
    shape (block, n, d).

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
        n_init: int = 3,
        max_iter: int | None = None,
        tol: float = 1e-6,
        memory: int = 8,
        *,
        time_budget: float | None = None,
    ):
        self.n_init, self.max_iter, self.tol, self.memory = n_init, max_iter, tol, memory
        self.time_budget = time_budget

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Accept states of earlier versions, in which `n_init` was `starts`."""
        super().__setstate__({"n_init" if name == "starts" else name: value for name, value in state.items()})

    def _find(self, targets: Targets) -> tuple[np.ndarray, np.ndarray, str]:
        check_number(self, "n_init", self.n_init, at_least=0 if targets.start is not None else 1, integer=True)
        check_number(self, "max_iter", self.max_iter, at_least=1, integer=True, besides=(None,))
        check_number(self, "tol", self.tol, above=0)
        check_number(self, "memory", self.memory, at_least=1, integer=True)
        if "gradient_x" not in targets.kernel.provides:
            raise TypeError(
                f"{where(self)} needs a kernel that provides gradient_x; {targets.kernel} does not. "
                "Try DistanceBased or Learned."
            )
        rows = np.arange(targets.m)
        begin = [] if targets.start is None else [targets.inside(targets.start)]
        if self.n_init:
            begin += list(np.swapaxes(targets.X[targets.nearest(rows, self.n_init)], 0, 1))
        ends = [self._descend(targets, rows, Y) for Y in begin]
        points, values, settled = (np.stack(part) for part in zip(*ends, strict=True))
        # among ends equal up to rounding, prefer one that converged
        best = np.argmin(values - 1e-12 * np.abs(values) * settled, axis=0)
        fallback = ~settled[best, rows]
        open_ = int(np.sum(fallback))
        advice = "" if current().heard else "; raise max_iter, n_init or tol"
        said = f"{open_} of {targets.m} descents did not converge{advice}"
        return points[best, rows], fallback, said if open_ else ""

    def _descend(self, targets: Targets, index: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        """The points, k(y, y) − 2t(y), and whether they are stationary."""
        m, d = Y.shape
        Y = Y.copy()
        spread = float(np.sqrt(np.sum(np.var(targets.X, axis=0)))) or 1.0
        size = np.maximum(np.abs(targets.kernel.evaluate_diag(Y)), 1e-300)
        # sums of this many terms are equal up to rounding
        bound = np.sqrt(size * float(np.max(np.abs(targets.diagonal)))) * np.sum(np.abs(targets.G), axis=0)
        slack = 4 * np.finfo(float).eps * (size + bound)
        value, slope = _look(targets, index, Y)
        S, C, held = np.zeros((self.memory, m, d)), np.zeros((self.memory, m, d)), np.zeros((self.memory, m))
        step, settled = np.ones(m), np.zeros(m, dtype=bool)
        toward, context = _first(slope, spread), current()
        for _ in range(self.max_iter or STEPS):
            if context({"settled": settled}) is not None:
                break
            allowed = targets.inside(Y - slope) - Y  # −gradient, projected to the domain
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
            # the newest pair comes first, unless its curvature is negative
            up = bend > 1e-10 * np.linalg.norm(move[good], axis=1) * np.linalg.norm(change, axis=1)
            for memory, newest in ((S, move[good][up]), (C, change[up]), (held, 1.0 / bend[up])):
                memory[1:, taken[up]] = memory[:-1, taken[up]]
                memory[0, taken[up]] = newest
            Y[taken], value[taken], slope[taken] = trial[good], new[good], new_slope[good]
            free = targets.inside(Y[taken] - slope[taken]) != Y[taken]  # other coordinates stay at their bounds
            toward[taken] = free * _direction(S[:, taken], C[:, taken], held[:, taken], free * slope[taken], spread)
            step[taken] = 1.0
        return Y, value, settled


def _first(slope: np.ndarray, spread: float) -> np.ndarray:
    """A steepest-descent step, a tenth of the spread of the data long."""
    length = np.linalg.norm(slope, axis=1, keepdims=True)
    return -0.1 * spread * slope / np.where(length > 0, length, 1.0)


def _direction(S: np.ndarray, C: np.ndarray, held: np.ndarray, slope: np.ndarray, spread: float) -> np.ndarray:
    """−H·gradient by the L-BFGS two-loop recursion, with one H per row; steepest descent without pairs."""
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
        G = targets.coefficients[:, index[rows]].T
        t, pull = targets.ascent(Y[rows], G)
        value[rows] -= 2 * t
        slope[rows] = 2 * (targets.own_ascent(Y[rows]) - pull)
    return value, slope
