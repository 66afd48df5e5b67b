"""Minimisation over a few parameters by L-BFGS-B, in the logarithms of the positive ones.

Zhu, Byrd, Lu, Nocedal, *L-BFGS-B* (1997).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import optimize

from ...context import Monitor, Status, StoppedError, current

REACH = 1e5  # maximum factor between a parameter and its start, in either direction
ENDS = (Status.CONVERGED, Status.MAX_ITER, Status.NO_DESCENT)  # in SciPy's order


class Parameters:
    """Named numbers and arrays as one vector: logarithms of positive entries, the others unchanged.

    With `whole`, an array is transformed only if all of its entries are positive. `limits` are the smallest and largest
    value of each entry, `bounds` those of the vector, and `origin` is the vector at the start.
    """

    def __init__(self, start: dict[str, np.ndarray], whole: bool = False):
        self.start, self.sizes = start, [v.size for v in start.values()]
        self.flat = np.concatenate([v.ravel() for v in start.values()])
        entries = [np.full(v.size, np.all(v > 0)) if whole else v.ravel() > 0 for v in start.values()]
        self.positive = np.concatenate(entries)
        low = np.where(self.positive, self.flat / REACH, -np.inf)
        self.limit(np.stack([low, np.where(self.positive, self.flat * REACH, np.inf)], axis=1))

    def limit(self, limits: np.ndarray) -> None:
        """Set the limits, and move the start within them."""
        self.limits = limits
        self.bounds = self._vector(limits[:, 0]), self._vector(limits[:, 1])
        self.origin = np.clip(self._vector(self.flat), *self.bounds)

    def _vector(self, flat: np.ndarray) -> np.ndarray:
        return np.where(self.positive, np.log(np.where(self.positive, flat, 1.0)), flat)

    def _flat(self, u: np.ndarray) -> np.ndarray:
        values = np.where(self.positive, np.exp(np.where(self.positive, u, 0.0)), u)
        for limit, bound in zip(self.limits.T, self.bounds, strict=True):
            values = np.where(u == bound, limit, values)  # exact, since the logarithm rounds
        return values

    def values(self, u: np.ndarray) -> dict[str, Any]:
        """The parameters of a vector, by name."""
        parts = np.split(self._flat(u), np.cumsum(self.sizes)[:-1])
        shapes = zip(self.start.items(), parts, strict=True)
        return {name: part.reshape(v.shape) if v.ndim else float(part[0]) for (name, v), part in shapes}

    def slope(self, u: np.ndarray, gradient: dict[str, Any]) -> np.ndarray:
        """The derivatives with respect to the vector, from those with respect to the parameters."""
        flat = np.concatenate([np.ravel(gradient[name]) for name in self.start])
        return np.where(self.positive, self._flat(u) * flat, flat)


@dataclass
class Descent:
    """The lowest point of a descent, its value and slope, why it ended, and the value after each step."""

    place: np.ndarray
    value: float = np.inf
    slope: Any = None
    status: Status = Status.CONVERGED
    history: list[float] = field(default_factory=list)


def descend(
    function: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    bounds: Any,
    monitor: Monitor | None = None,
    **options: Any,
) -> Descent:
    """Minimise a function that returns its value and gradient, with the options of SciPy's L-BFGS-B.

    The function may raise a ValueError for too long a step: parameters out of range, or a matrix no longer definite.
    The monitor, or the context, is called after each evaluation; if it returns a status, the evaluation is discarded.

    Examples
    --------
    >>> found = descend(lambda u: (float(u @ u), 2 * u), np.ones(2), (np.zeros(2), np.full(2, 9.0)))
    >>> found.place.round(6), found.status.name
    (array([0., 0.]), 'CONVERGED')
    """
    ask, found, barrier = monitor or current(), Descent(start), 0.0

    def guarded(u: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal barrier
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                value, slope = function(u)
        except ValueError:
            value, slope = np.inf, np.zeros_like(u)
        if status := ask({"value": found.value}):  # a solver may have stopped early because of it
            raise StoppedError(status)
        if value < found.value:
            found.place, found.value, found.slope = u.copy(), float(value), slope
            barrier = max(barrier, value + 1e3 * (1 + abs(value)))
        return min(value, barrier), slope

    def step(intermediate_result: optimize.OptimizeResult) -> None:
        found.history.append(float(intermediate_result.fun))

    try:
        end = optimize.minimize(
            guarded,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=optimize.Bounds(*bounds),
            callback=step,
            options=options,
        )
        found.status = ENDS[int(end.status)]
        if found.status is Status.NO_DESCENT and _promises_no_more(function, found, bounds):
            found.status = Status.CONVERGED  # as far as the function can be computed
    except StoppedError as stopped:
        found.status = stopped.status
    return found


def _promises_no_more(function: Callable[[np.ndarray], tuple[float, np.ndarray]], found: Descent, bounds: Any) -> bool:
    """Whether a step along the slope would gain less than the rounding of the function."""
    u, (low, high) = found.place.copy(), bounds
    slope = np.where(((u <= low) & (found.slope > 0)) | ((u >= high) & (found.slope < 0)), 0.0, found.slope)
    length = float(np.linalg.norm(slope))
    if length == 0:
        return True
    near = [np.clip(u + k * 1e-9 * np.maximum(1.0, np.abs(u)), low, high) for k in (-2, -1, 1, 2)]
    ahead = np.clip(u - 1e-3 * slope / length, low, high)
    try:
        rounding = max(abs(function(v)[0] - found.value) for v in near)
        curvature = float((slope - function(ahead)[1]) @ (u - ahead)) / float((u - ahead) @ (u - ahead))
    except ValueError:  # at the edge of its domain
        return False
    return 0.5 * length**2 <= curvature * rounding
