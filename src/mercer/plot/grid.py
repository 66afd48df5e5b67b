"""The cross-validated score over two parameters, as drawn by LIBSVM's grid.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from .._palette import INK
from ..types import Axis
from ._base import Display, contours, star, whole_ticks

GREEK = {"gamma": r"\gamma", "alpha": r"\alpha", "nu": r"\nu", "epsilon": r"\epsilon", "sigma": r"\sigma"}


class GridDisplay(Display):
    r"""Contours of a cross-validated score over the logarithms of two parameters, with the best point.

    Use `from_cv_results`.

    Parameters
    ----------
    x, y : array of shape (n_points,)
        log₂ of the two parameters.
    score : array of shape (n_points,)
        Larger is better.
    best : int
        Position of the best point.
    xname, yname : str
        Names of the parameters.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure.
    regions_, lines_ : ContourSet
        Filled contours, and contour lines.
    best_ : Line2D
        The mark of the best point.
    text_ : Text
        Parameters and score of the best point.
    colorbar_ : Colorbar or None

    Notes
    -----
    Levels follow LIBSVM: they start at the best score, rounded to two digits, minus 0.03, and increase in steps of
    0.005. For scores outside [0, 1], there are seven equal steps from the median to the best.

    References
    ----------
    Hsu, Chang, Lin, *A practical guide to support vector classification* (2003), section 3.2.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.svm import SVC
    >>> search = GridSearchCV(SVC(), {"C": [0.5, 2, 8, 32], "gamma": [2**-7, 2**-4, 0.5]}, cv=3)
    >>> results = search.fit(*load_iris(return_X_y=True)).cv_results_
    >>> display = GridDisplay.from_cv_results(results, ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    '$\\log_2\\, C$'
    """

    def __init__(self, *, x: np.ndarray, y: np.ndarray, score: np.ndarray, best: int, xname: str, yname: str):
        self.x, self.y, self.score, self.best, self.xname, self.yname = x, y, score, best, xname, yname

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Any,
        x: str = "C",
        y: str = "gamma",
        *,
        score: str = "mean_test_score",
        ax: Axis = None,
        **options: Any,
    ) -> Self:
        """Read the score of each pair of values, and draw it.

        Parameters
        ----------
        cv_results : dict
            `cv_results_` of a fitted search, over a grid or scattered points. Each point shows the best score over all
            other parameters; candidates that lack one of the two, or whose score is NaN, are omitted.
        x, y : str
            Names of two parameters with positive values; the last part of a nested name is enough (``"C"``).
        score : str
            The column with the score.
        ax, **options
            Passed to `plot`.
        """
        if not isinstance(cv_results, Mapping):
            raise TypeError(f"{cls.__name__}: {type(cv_results).__name__} is not a dict; pass cv_results_ of a search.")
        if score not in cv_results:
            known = ", ".join(name for name in cv_results if name.startswith("mean_test"))
            raise ValueError(f"{cls.__name__}: cv_results has no score = {score!r}; it has {known}.")
        values = np.asarray(cv_results[score], dtype=np.float64)
        logs = np.stack([_logarithms(cv_results, name) for name in (x, y)], axis=1)
        order = np.argsort(-values, kind="stable")  # the first in a tie, as in scikit-learn
        order = order[np.isfinite(values[order]) & np.isfinite(logs[order]).all(axis=1)]
        if len(order) == 0:
            raise ValueError(f"{cls.__name__}: no candidate has a finite {score}.")
        _, first = np.unique(logs[order], axis=0, return_index=True)
        kept = order[first]
        if min(len(np.unique(logs[kept, k])) for k in (0, 1)) < 2:
            raise ValueError(f"{cls.__name__}: a contour needs at least two values of {x} and of {y}.")
        best = int(np.flatnonzero(kept == order[0])[0])
        display = cls(x=logs[kept, 0], y=logs[kept, 1], score=values[kept], best=best, xname=x, yname=y)
        return display.plot(ax=ax, **options)

    def plot(self, ax: Axis = None, *, levels: Any = None, cmap: Any = "viridis", colorbar: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            None creates a figure.
        levels : ascending array, optional
            Scores at the contour lines; as in LIBSVM by default.
        cmap : str or Colormap
        colorbar : bool
        """
        ax = self._axes(ax, (6.4, 4.8))
        levels = self._levels() if levels is None else np.asarray(levels, dtype=np.float64)
        columns, rows = np.unique(self.x), np.unique(self.y)
        if len(columns) * len(rows) == len(self.x):  # sorted by x, then y
            data = (columns, rows, self.score.reshape(len(columns), len(rows)).T)
            fill, draw = ax.contourf, ax.contour
        else:
            data = (self.x, self.y, self.score)
            fill, draw = ax.tricontourf, ax.tricontour
            ax.plot(self.x, self.y, ".", color=INK, markersize=2, alpha=0.5)
        self.regions_ = contours(fill, *data, levels=levels, cmap=cmap, extend="both")
        self.lines_ = contours(draw, *data, levels=levels, colors="white", linewidths=0.8, alpha=0.8)
        self._draw_best(ax)
        self.colorbar_ = None
        if colorbar:
            self.colorbar_ = ax.figure.colorbar(self.regions_, ax=ax, label="cross-validated score")
        whole_ticks(ax.xaxis, ax.yaxis)
        ax.set(xlabel=rf"$\log_2\, {_symbol(self.xname)}$", ylabel=rf"$\log_2\, {_symbol(self.yname)}$")
        return self

    def _levels(self) -> np.ndarray:
        best = self.score.max()
        if self.score.min() >= 0 and best <= 1:
            start = round(100 * best) / 100 - 0.03
            return start + 0.005 * np.arange(1 + int((best - start) / 0.005 + 1e-9))
        low = next((v for v in (np.median(self.score), self.score.min()) if v < best), best - 1)
        return np.linspace(low, best, 8)[:-1]

    def _draw_best(self, ax: Any) -> None:
        a, b, value = self.x[self.best], self.y[self.best], self.score[self.best]
        (self.best_,) = star(ax, a, b, markersize=15, markeredgewidth=1.0, clip_on=False, zorder=4)
        s, t = _symbol(self.xname), _symbol(self.yname)
        self.text_ = ax.set_title(
            rf"best: $\log_2\, {s} = {a:.4g}$, $\log_2\, {t} = {b:.4g}$, score ${value:.4g}$"
            f"\n${s} = {2.0**a:.4g}$, ${t} = {2.0**b:.4g}$",
            loc="left",
            fontsize=10,
        )


def _logarithms(cv_results: Any, name: str) -> np.ndarray:
    """log₂ of a parameter for all candidates; NaN if they lack it."""
    columns = [c for c in cv_results if c == f"param_{name}" or (c.startswith("param_") and c.endswith(f"__{name}"))]
    if len(columns) != 1:
        known = ", ".join(c.removeprefix("param_") for c in cv_results if c.startswith("param_"))
        raise ValueError(f"GridDisplay: {name!r} matches {len(columns)} parameters of the search, which has {known}.")
    column = np.ma.asarray(cv_results[columns[0]]).astype(object)
    missing = np.ma.getmaskarray(column)
    try:
        values = np.asarray(np.ma.filled(column, np.nan), dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros(len(column))
    if not np.all(values[~missing] > 0) or not np.isfinite(values[~missing]).all():
        raise ValueError(f"GridDisplay: {name} must have positive values for a logarithmic axis.")
    return np.log2(values)


def _symbol(name: str) -> str:
    """A parameter's name for mathematical typesetting."""
    short = name.split("__")[-1]
    return GREEK.get(short, short if len(short) == 1 else rf"\mathrm{{{short}}}".replace("_", r"\_"))
