"""The fixed-point iteration for radial kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import host, namespace
from .._errors import check_number, where
from ..context import current
from ._base import PreImage, Targets

STEPS = 500  # the default of max_iter
HALVINGS = 30  # halvings after which a step is below rounding


class FixedPoint(PreImage):
    r"""Pre-images under a radial kernel, by the fixed-point iteration of Mika et al.

    If :math:`k(x, y) = \varphi(s)` with :math:`s = \|\Lambda^{-1}(x - y)\|^2`, the distance
    :math:`\|\phi(y) - \sum_i \gamma_i \phi(x_i)\|` is stationary exactly if

    .. math:: y = \frac{\sum_i \gamma_i\, \varphi'(s_i)\, x_i}{\sum_i \gamma_i\, \varphi'(s_i)},
              \qquad s_i = \|\Lambda^{-1}(y - x_i)\|^2

    and y is replaced by the right-hand side until it converges. For the Gaussian kernel the weights are
    :math:`\gamma_i k(y, x_i)`.

    Parameters
    ----------
    max_iter : int >= 1, optional
        Maximum number of steps; None means 500.
    tol : float > 0
        A point has converged if the next step is shorter than this, in lengthscales.
    n_init : int >= 1
        Maximum number of starts, if iterations leave the data: the given one, then the nearest sample points.
    time_budget : float > 0, optional
        Time limit in seconds; the current points are then returned, with a warning.

    Notes
    -----
    If the denominator is negative, as φ′ is, the step is a descent step. It is halved until the distance does not
    increase. Far from the data the denominator may be positive, or t(y) ≤ 0, so that infinity is as close as y. The
    iteration then restarts at the sample point nearest to the target in feature space, then at the next one. If all
    starts leave the data, the nearest sample point is returned and `fallback` is set.

    All targets are iterated together, in O(mnd) per step and blocks of bounded size.

    References
    ----------
    Mika, Schölkopf, Smola, Müller, Scholz, Rätsch, *Kernel PCA and de-noising in feature spaces* (1999).

    Examples
    --------
    >>> from mercer import RKHS
    >>> H = RKHS("gaussian(lengthscale=2)")
    >>> target = H.function([[0.0, 0.0], [1.0, 0.0]], [0.5, 0.5])  # the mean of two images
    >>> found = FixedPoint().find(target)
    >>> found.points.round(4), found.distance.round(3), bool(found.fallback.any())
    (array([[0.5, 0. ]]), array([0.053]), False)
    """

    def __init__(
        self, max_iter: int | None = None, tol: float = 1e-6, n_init: int = 4, *, time_budget: float | None = None
    ):
        self.max_iter, self.tol, self.n_init, self.time_budget = max_iter, tol, n_init, time_budget

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Accept states of earlier versions, which did not count the first start."""
        state = dict(state)
        if "restarts" in state:
            state["n_init"] = 1 + state.pop("restarts")
        super().__setstate__(state)

    def _find(self, targets: Targets) -> tuple[np.ndarray, np.ndarray, str]:
        check_number(self, "max_iter", self.max_iter, at_least=1, integer=True, besides=(None,))
        check_number(self, "tol", self.tol, above=0)
        check_number(self, "n_init", self.n_init, at_least=1, integer=True)
        if targets.form != "distance" or "gradient_x" not in targets.kernel.provides:
            raise TypeError(
                f"{where(self)} needs a differentiable kernel of the Euclidean distance; {targets.kernel} is not known "
                "to be one. Try Gradient, DistanceBased or Learned."
            )
        rows = np.arange(targets.m)
        Y = targets.X[targets.nearest(rows, 1)[:, 0]] if targets.start is None else targets.start.copy()
        Y, lost, settled = self._iterate(targets, rows, Y)
        left, again = rows[lost], rows[lost]
        for attempt in range(self.n_init - 1):
            if not again.size or current()():
                break
            starts = targets.nearest(again, attempt + 1)
            place = starts[:, min(attempt, starts.shape[1] - 1)]
            Y[again], lost[again], settled[again] = self._iterate(targets, again, targets.X[place])
            again = again[lost[again]]
        if again.size:
            Y[again] = targets.X[targets.nearest(again, 1)[:, 0]]
        return Y, lost, self._message(targets.m, left.size, again.size, int(np.sum(~settled & ~lost)))

    def _message(self, m: int, left: int, fell: int, open_: int) -> str:
        parts = []
        if left:
            parts.append(f"{left} of {m} iterations left the data and were restarted at the nearest sample points")
        if fell:
            parts.append(f"for {fell} that failed too, and the nearest sample point is returned")
        if open_:
            early = current().heard is not None
            after = "in time" if early else f"after {self.max_iter or STEPS} steps; raise max_iter"
            parts.append(f"{open_} of {m} did not converge {after}")
        return "; ".join(parts)

    def _iterate(self, targets: Targets, index: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        """The points, and whether each left the data or converged, for the targets at `index`."""
        parts = [self._block(targets, index[rows], Y[rows]) for rows in targets.blocks(len(index))]
        if not parts:
            return Y, np.zeros(0, dtype=bool), np.zeros(0, dtype=bool)
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))

    def _block(self, targets: Targets, index: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, ...]:
        kernel = targets.kernel
        G = targets.coefficients.T[index]
        # sums of this many terms are equal up to rounding
        slack = 4 * np.finfo(float).eps * targets.diagonal[0] * np.sum(np.abs(targets.G[:, index]), axis=0)
        Y = Y.copy()
        value, goal, held = _look(targets, G, Y)
        lost, settled = ~held, np.zeros(len(Y), dtype=bool)
        step, context = np.ones(len(Y)), current()
        for _ in range(self.max_iter or STEPS):
            if context({"settled": settled}) is not None:
                break
            length = np.linalg.norm(kernel.scaled(goal - Y) - kernel.scaled(0 * Y), axis=1)
            settled |= ~lost & ((length <= self.tol) | (step < 0.5**HALVINGS))
            rows = np.flatnonzero(~lost & ~settled)
            if not rows.size:
                break
            trial = Y[rows] + step[rows, None] * (goal[rows] - Y[rows])
            new, next_goal, held = _look(targets, G[rows], trial)
            good = held & (new >= value[rows] - slack[rows])
            step[rows] = np.where(good, 1.0, step[rows] / 2)
            taken = rows[good]
            Y[taken], value[taken], goal[taken] = trial[good], new[good], next_goal[good]
        return Y, lost, settled


def _look(targets: Targets, G: Any, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """t(y), the right-hand side of the fixed-point equation, and whether y is among the data."""
    kernel, xp = targets.native, namespace(G)
    s = kernel.scaled_distances(targets.sent(Y), targets.points)
    weights = kernel.slope(s, xp) * G
    value, total = host(xp.einsum("ji,ji->j", kernel.profile(s, xp), G)), host(xp.sum(weights, axis=1))
    held = (total < 0) & (value > 0)
    goal = host(weights @ targets.points) / np.where(held, total, 1.0)[:, None]
    held &= np.all(np.isfinite(goal), axis=1)
    return value, np.where(held[:, None], goal, Y), held
