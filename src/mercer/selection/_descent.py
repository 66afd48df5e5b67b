"""Minimisation of a criterion over the logarithms of its parameters, from several starts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from .._array import doubles
from .._errors import where
from ..context import Context, Status, StoppedError
from ..solvers.hyper import Descent, Objective, Parameters, contract, descend
from ..solvers.leave_one_out import FormulaError
from ..types import EstimatorLike

SPREAD = 10.0  # further starts are drawn within this factor of the given one
FLAT = 1e-9  # a step that lowers the criterion by a smaller fraction ends the search
NEAR = 1e-6  # within this distance, in the logarithm, a parameter counts as at its bound
NOWHERE = 1e-12  # derivatives below this mean that the criterion is flat
TINY = float(np.finfo(np.float64).tiny)


class Coordinates(Parameters):
    """The tuned parameters and their bounds."""

    def __init__(self, tuner: EstimatorLike, form: Objective):
        self.owner = tuner
        start = self._starts(form)
        if not start:
            raise ValueError(f"{where(tuner)}: parameters = {tuner.parameters!r} names nothing to tune.")
        super().__init__(start, whole=True)
        limits = self.limits.copy()
        for name in [name for name, v in start.items() if v.ndim == 0 and v == 0 and not self._falls(form, name)]:
            limits[self._place(name), 0] = 0.0
        if tuner.bounds is not None and not isinstance(tuner.bounds, Mapping):
            raise TypeError(
                f"{where(tuner)}: bounds = {tuner.bounds!r} must be a dict of pairs, such as {{{next(iter(start))!r}: "
                "(0.1, 10.0)}, or None."
            )
        for name, pair in (tuner.bounds or {}).items():
            place = self._place(name)
            limits[place] = self._pair(name, pair, bool(self.positive[place].all()))
        self.limit(limits)

    def _starts(self, form: Objective) -> dict[str, np.ndarray]:
        """The parameters and their values; reject those without a derivative."""
        asked, strength = self.owner.parameters, form.criterion.strength
        names = np.iterable(asked) and not isinstance(asked, str) and all(isinstance(name, str) for name in asked)
        if not (names or asked is None):
            raise TypeError(f"{where(self.owner)}: parameters = {asked!r} must be a list of names, or None.")
        wanted = None
        if asked is not None:
            wanted = frozenset(name.removeprefix("kernel__") for name in asked if name.startswith("kernel__"))
        try:
            n = form.kernel.domain.size(form.X)
            found = contract(form.kernel, form.X, np.zeros((n, n)), wanted)
        except AttributeError as error:
            raise ValueError(
                f"{where(self.owner)}: {error} Name the others to tune, as in parameters=[{strength!r}]."
            ) from None
        known = [strength, *(f"kernel__{name}" for name in found)]
        for name in known if asked is None else asked:
            if name not in known:
                raise ValueError(
                    f"{where(self.owner)}: parameters: {name!r} has no derivative for {form.kernel}; parameters=None "
                    "tunes all that do."
                )
        given = {f"kernel__{name}": v for name, v in form.kernel.get_params().items()} | {strength: form.strength}
        return {n: doubles(given[n]) for n in known if asked is None or n in asked}

    def _falls(self, form: Objective, name: str) -> bool:
        """Whether a parameter at zero may become negative."""
        try:
            form.kernel_with({name.removeprefix("kernel__"): -1e-6})
        except ValueError:
            return False
        return True

    def _place(self, name: str) -> slice:
        if name not in self.start:
            listed = ", ".join(map(repr, self.start))
            raise ValueError(f"{where(self.owner)}: bounds: {name!r} is not tuned; tuned parameters: {listed}.")
        before = sum(self.sizes[: list(self.start).index(name)])
        return slice(before, before + self.start[name].size)

    def _pair(self, name: str, pair: Any, positive: bool) -> tuple[float, float]:
        try:
            low, high = (float(v) for v in pair)
        except (TypeError, ValueError):
            low = high = np.nan
        if not (low < high and (low > 0 or not positive)):
            rule = "0 < low < high" if positive else "low < high"
            raise ValueError(f"{where(self.owner)}: bounds of {name!r} = {pair!r} must be two numbers, {rule}.")
        return low, high

    def drawn(self, rng: np.random.Generator) -> np.ndarray:
        """A random start; values that are not positive move by up to max(|value|, 1)."""
        move = rng.uniform(-1, 1, size=len(self.origin))
        step = np.where(self.positive, np.log(SPREAD), np.maximum(np.abs(self.origin), 1.0))
        return np.clip(self.origin + move * step, *self.bounds)

    def named_bounds(self) -> dict[str, tuple[Any, Any]]:
        """(low, high) of each parameter."""
        named = {}
        for name, v in self.start.items():
            low, high = self.limits[self._place(name)].T
            named[name] = (low.reshape(v.shape), high.reshape(v.shape)) if v.ndim else (float(low[0]), float(high[0]))
        return named


class Search:
    """Descents from several starts, and the best point found by any of them."""

    def __init__(self, form: Objective, coordinates: Coordinates, context: Context, max_iter: int, tol: float):
        self.form, self.coordinates, self.context, self.max_iter, self.tol = form, coordinates, context, max_iter, tol
        self.place, self.lowest, self.slope = coordinates.origin, np.inf, np.inf
        self.status, self.flat, self.evaluations = Status.CONVERGED, False, 0
        self.history: list[list[float]] = []

    def score(self, value: Any) -> Any:
        """The score, in the units of the criterion, for a value of the minimised function."""
        return -np.exp(value) if self.form.criterion.positive else -value

    def run(self, n_init: int, rng: np.random.Generator) -> None:
        """Descend from the given start and from random ones, and from the guide's minimum for each."""
        criterion, origin = self.form.criterion, self.coordinates.origin
        refused: ValueError | None = None
        try:
            self._keep(Descent(origin, *self._evaluate(criterion, origin)))
        except FormulaError as error:
            refused = ValueError(f"{where(self.coordinates.owner)}: {error}.")
        except ValueError as error:
            refused = error
        if status := self.context({"value": self.lowest}):  # a solver may have stopped early because of it
            self.status, self.lowest = status, np.inf
            return
        if refused is not None:
            raise refused
        try:
            for k in range(n_init):
                start = self.coordinates.drawn(rng) if k else origin
                self._descend(criterion, start)
                if self.form.guide is not None:
                    self._descend(criterion, self._descend(self.form.guide, start))
        except StoppedError as stopped:
            self.status = stopped.status

    @property
    def ended_early(self) -> bool:
        """Whether the search stopped for another reason than convergence or lack of descent."""
        return self.status not in (Status.CONVERGED, Status.NO_DESCENT)

    def _evaluate(self, criterion: Any, u: np.ndarray) -> tuple[float, np.ndarray]:
        self.evaluations += 1
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            value, gradient = self.form(criterion, self.coordinates.values(u))
        slope = self.coordinates.slope(u, gradient)
        if not (np.isfinite(value) and np.all(np.isfinite(slope))):
            raise ValueError(
                f"{where(self.coordinates.owner)}: the criterion is not a finite number; scale X and y, "
                "or start from other parameters."
            )
        if criterion.positive:
            value, slope = (np.log(value), slope / value) if value > TINY else (np.log(TINY), 0.0 * slope)
        return float(value), slope

    def _keep(self, found: Descent) -> None:
        """Store the best point so far."""
        (low, high), u, slope = self.coordinates.bounds, found.place, found.slope
        outward = ((u <= low + NEAR) & (slope > 0)) | ((u >= high - NEAR) & (slope < 0))
        self.place, self.lowest, self.flat = u, found.value, bool(np.abs(slope).max() <= NOWHERE)
        self.slope = float(np.abs(np.where(outward, 0.0, slope)).max())

    def _descend(self, criterion: Any, start: np.ndarray) -> np.ndarray:
        """The best point found from a start: the start itself if the criterion cannot be evaluated there."""
        found = descend(
            partial(self._evaluate, criterion),
            start,
            self.coordinates.bounds,
            lambda state: self.context({"value": min(self.lowest, state["value"])}),
            maxiter=self.max_iter,
            gtol=self.tol,
            ftol=FLAT,
        )
        if criterion is self.form.criterion:
            if found.value < self.lowest or not self.history:
                self.status = found.status
            if found.value < self.lowest:
                self._keep(found)
            self.history.append(found.history)
        if found.status.external:
            raise StoppedError(found.status)
        return found.place
