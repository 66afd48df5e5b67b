"""The history of a solver, round by round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from .._array import host
from .._errors import check_choice
from .._palette import BLUE
from .._steps import last
from ..types import Axis, EstimatorLike
from ._base import Display, Keywords, colours, dress, plain, style, whole_ticks

# Recorded quantities in drawing order: title, and whether it converges to zero.
QUANTITIES = {
    "objective": ("Objective", False),
    "evidence": ("Log evidence", False),
    "gap": ("Gap", True),
    "decrement": ("Newton decrement", True),
    "gradient": ("Norm of the gradient", True),
    "violators": ("Violators", False),
    "working": ("Working set", False),
    "rho": ("Step size ρ", True),
}
MOST = 8  # more runs are drawn without colours and names


class HistoryDisplay(Display):
    r"""Objective, gap, violators and working set per round of a solver.

    For a support vector machine the objective is that of the dual, :math:`\tfrac12 \beta^\top K \beta - p^\top \beta`,
    and the gap is the largest violation of the optimality conditions,
    :math:`\max\{f_i : \beta_i < u_i\} - \min\{f_i : \beta_i > l_i\}` with :math:`f = p - K\beta`, which `tol` bounds.
    Violators are the samples that violate these conditions; a round changes the coefficients of the working set. Use
    `from_estimator`.

    Parameters
    ----------
    histories : dict of str to dict of str to array
        The records of each run by name: "objective", "gap", …, and "seconds" if times were recorded.

    Attributes
    ----------
    ax_, figure_, axes_
        The first axes, the figure, and all axes.
    lines_ : dict of str to list of Line2D
        For each quantity, a line for each run that recorded it.

    Notes
    -----
    `SVC`, `SVR` and similar machines keep their histories in `solutions_`, `KernelMachine` and similar ones in
    `solution_`. `KernelKMeans` and `RobustKernelDensity` record the objective, relevance vector machines the log
    evidence, `MultipleKernel` the gap, `KernelICA` and `KernelDimensionReduction` the contrast.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mercer import SVC
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = SVC().fit(X, X[:, 0] * X[:, 1] > 0)
    >>> display = HistoryDisplay.from_estimator(model, ax=Figure().subplots())
    >>> list(display.lines_), bool(display.lines_["gap"][0].get_ydata()[-1] <= model.tol)
    (['objective', 'gap', 'violators', 'working'], True)
    """

    def __init__(self, *, histories: Mapping[str, Mapping[str, Any]]):
        self.histories = {
            name: {key: host(values).astype(np.float64) for key, values in run.items()}
            for name, run in histories.items()
        }

    @classmethod
    def from_estimator(cls, estimator: EstimatorLike, *, ax: Axis = None, **options: Any) -> Self:
        """Draw the history of a fitted estimator's solver.

        Parameters
        ----------
        estimator : fitted estimator
            From this library; may be a pipeline or a search.
        ax, **options
            Passed to `plot`.
        """
        return cls(histories=_recorded(cls.__name__, last(estimator))).plot(ax=ax, **options)

    def plot(
        self,
        ax: Axis = None,
        *,
        quantities: Sequence[str] | None = None,
        x: str = "round",
        line_kw: Keywords = None,
        legend: bool = True,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or array of them, optional
            A single axes is divided into panels; None creates a figure.
        quantities : sequence of str, optional
            Quantities to draw, one per panel; all by default.
        x : {"round", "seconds"}
            The horizontal axis.
        line_kw : dict, optional
            For ``Axes.plot``.
        legend : bool
            Whether to name the runs, if there are at most eight.
        """
        who = type(self).__name__
        recorded = tuple(q for q in QUANTITIES if any(q in run for run in self.histories.values()))
        chosen = recorded if quantities is None else tuple(quantities)
        for name in chosen:
            check_choice(who, "quantities", name, recorded)
        check_choice(who, "x", x, ("round", "seconds"))
        if x == "seconds" and not all("seconds" in run for run in self.histories.values()):
            raise ValueError(f"{who}: x = 'seconds', but the solver recorded no times; use x = 'round'.")
        panels = self._panels(ax, len(chosen), (4.2, 3.0), 2 if len(chosen) == 4 else 3)
        several = len(self.histories) > 1
        many = len(self.histories) > MOST  # too many for a legend
        tints = [BLUE] * len(self.histories) if many or not several else colours(len(self.histories))
        self.lines_: dict[str, list[Any]] = {name: [] for name in chosen}
        for panel, name in zip(panels, chosen, strict=True):
            title, falls = QUANTITIES[name]
            for (run, history), tint in zip(self.histories.items(), tints, strict=True):
                if name not in history:
                    continue
                values = history[name]
                at = history["seconds"] if x == "seconds" else np.arange(len(values))
                few = {"marker": "o", "markersize": 3} if len(values) <= 40 else {}
                faint = {"alpha": 0.35, "linewidth": 1.0} if many else {"linewidth": 1.4}
                look = style(line_kw, color=tint, **faint, **few)
                self.lines_[name] += panel.plot(at, values, **{"label": plain(run), **look})
            drawn = np.concatenate([line.get_ydata() for line in self.lines_[name]])
            if falls and (drawn > 0).any():
                panel.set_yscale("log", nonpositive="mask")
            if x == "round":
                whole_ticks(panel.xaxis)
            dress(panel, title, xlabel=x)
        if several and legend and not many:
            panels[-1].legend(frameon=False, fontsize=9)
        return self


def _recorded(who: str, model: EstimatorLike) -> dict[str, dict[str, Any]]:
    """The runs of a fitted estimator, by name."""
    if getattr(model, "solutions_", None):
        found = {name: s.history for name, s in zip(_machines(model), model.solutions_, strict=True)}
    elif hasattr(getattr(model, "solution_", None), "history"):
        found = {"fit": model.solution_.history}
        if isinstance(next(iter(found["fit"]), None), float):
            return {"fit": {"objective": found["fit"]}}
    elif isinstance(getattr(model, "solution_", None), list):
        levels = getattr(model, "quantiles", getattr(model, "expectiles", range(len(model.solution_))))
        found = {f"τ = {level:g}": s.history for level, s in zip(levels, model.solution_, strict=True)}
    elif hasattr(model, "history_"):
        return {"fit": {"objective": model.history_}}
    elif hasattr(model, "evidence_history_"):
        return {"fit": {"evidence": model.evidence_history_}}
    elif hasattr(model, "descent_"):
        return {"fit": {"gap": model.descent_.history}}
    else:
        raise TypeError(
            f"{who}: {type(model).__name__} has no history; pass a fitted estimator with an iterative solver, such as "
            "SVC, KernelMachine or KernelKMeans."
        )
    runs = {}
    for name, history in found.items():
        if history:
            runs[name] = {key: np.array([step[key] for step in history]) for key in history[0]}
    if not runs:
        raise TypeError(
            f"{who}: the solver of this {type(model).__name__} records no history (direct, L-BFGS and interior-point "
            "methods do not); choose another one with the parameter `solver`."
        )
    return runs


def _machines(model: EstimatorLike) -> list[str]:
    """Names of the machines of a classifier: pairs of classes, or classes against the rest."""
    m, classes = len(model.solutions_), getattr(model, "classes_", None)
    if m == 1 or classes is None:
        return [f"machine {j}" for j in range(m)] if m > 1 else ["fit"]
    k = len(classes)
    if m == k * (k - 1) // 2:
        return [f"{a} | {b}" for j, a in enumerate(classes) for b in classes[j + 1 :]]
    return [f"{c} | rest" for c in classes] if m == k else [f"machine {j}" for j in range(m)]
