"""Smooth functions with their uncertainty: splines with bands, ANOVA components, quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.stats import norm
from sklearn.base import is_regressor

from .._array import host
from .._errors import check_instance, check_number
from .._palette import BLUE, GREY, INK
from .._steps import last, unwrapped
from ..types import Array, Axis, Data, EstimatorLike
from ._base import (
    Display,
    Keywords,
    about_zero,
    as_given,
    check_grid,
    contours,
    dense,
    dress,
    interval,
    plain,
    style,
    unnamed,
)


class Part(NamedTuple):
    """The contents of a panel.

    Attributes
    ----------
    name : str
    x : array of shape (m,), or pair of arrays of shape (rows, columns)
        The grid, on a line or in the plane.
    values : array of shape (m,), (m, n_levels) or (rows, columns)
    deviation : array of shape (m,), optional
        Standard deviations.
    points : pair of arrays of shape (n_samples,), optional
        Samples: x and y on a line, or the two coordinates in the plane.
    xlabel, ylabel : str
    """

    name: str
    x: Any
    values: np.ndarray
    deviation: np.ndarray | None = None
    points: tuple[np.ndarray, np.ndarray] | None = None
    xlabel: str = "x"
    ylabel: str = ""


class SplineDisplay(Display):
    r"""A function of one variable with its band, the components of an ANOVA spline, or several quantiles.

    Bands are :math:`f(x) \pm z_{(1+c)/2}\, s(x)` with s the standard deviation from ``predict(return_std=True)`` and z
    the normal quantile. For smoothing splines they are Wahba's, whose average coverage over x is c. Points in the
    panel of an ANOVA component t are partial residuals, :math:`y_i - f(x_i) + f_t(x_i)`. Use `from_estimator`.

    Parameters
    ----------
    parts : list of Part
        One panel each.
    level : float between 0 and 1
        c.
    levels : sequence of float, optional
        Levels of quantiles or expectiles, one per column of the values.

    Attributes
    ----------
    ax_, figure_, axes_
        The first axes, the figure, and all axes.
    lines_ : list of lists of Line2D
        The curves of each panel; empty for a surface.
    bands_ : list of lists of PolyCollection
        The bands of each panel: one, or one per pair of levels, the outermost first.
    points_ : list of PathCollection or None
        For each panel.
    surfaces_ : list of QuadContourSet or None
        For each panel.

    References
    ----------
    Wahba, *Bayesian "confidence intervals" for the cross-validated smoothing spline* (1983). Gu, *Smoothing Spline
    ANOVA Models* (2013).

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mercer import SmoothingSpline
    >>> x = np.linspace(0, 1, 30)
    >>> model = SmoothingSpline(df=5).fit(x, np.sin(6 * x) + 0.1 * np.cos(50 * x))
    >>> display = SplineDisplay.from_estimator(model, ax=Figure().subplots())
    >>> len(display.lines_[0]), len(display.bands_[0])
    (1, 1)
    """

    def __init__(self, *, parts: Sequence[Part], level: float = 0.95, levels: Sequence[float] | None = None):
        self.parts, self.level, self.levels = list(parts), level, levels

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        X: Data = None,
        y: Array = None,
        *,
        level: float = 0.95,
        resolution: int = 200,
        padding: float = 0.03,
        names: Sequence[str] | None = None,
        ax: Axis = None,
        **options: Any,
    ) -> Self:
        """Compute curves, bands and components, and draw them.

        Parameters
        ----------
        estimator : fitted estimator
            `SmoothingSpline`; `AnovaSpline`, with a panel for each main effect and each interaction of two columns;
            `KernelQuantileRegression` or `KernelExpectileRegression` on one column; or any regression on one column,
            with a band if its ``predict`` supports ``return_std`` (`KernelRidge`, `RelevanceVectorMachine`).
        X, y : samples and targets, optional
            Points to draw. By default, splines draw their training data; for other estimators, the points of the
            fitted function set the range.
        level : float between 0 and 1
            c; larger values give wider bands.
        resolution, padding
            Grid settings, as in `DecisionDisplay`.
        names : sequence of str, optional
            Names of the columns; by default those of the data frame X, or of the training data.
        ax, **options
            Passed to `plot`.
        """
        who = cls.__name__
        check_instance(who, "estimator", estimator)
        model = last(estimator)
        check_grid(who, resolution, padding)
        check_number(who, "level", level, above=0, at_most=1 - 1e-12)
        if (y is not None) and X is None:
            raise ValueError(f"{who}: y was given without X.")
        names = _names(X, estimator) if names is None else [plain(name) for name in names]
        if hasattr(model, "components") and hasattr(model, "terms_"):
            Z = None if X is None else dense(unwrapped(estimator, X).X)
            with unnamed():
                parts = _terms(model, Z, y, resolution, names)
            return cls(parts=parts, level=level).plot(ax=ax, **options)
        levels = getattr(model, "quantiles", getattr(model, "expectiles", None))
        if not is_regressor(model):
            raise TypeError(
                f"{who}: {type(model).__name__} is not a regression; pass one on one column, such as SmoothingSpline, "
                "KernelQuantileRegression or KernelRidge, or an AnovaSpline."
            )
        x, points = _line(who, estimator, X, y)
        grid = interval(x, resolution, padding)
        label = names[0] if names else "x"
        with unnamed():
            reached = unwrapped(estimator, as_given(grid[:, None], X)).X
            banded = levels is None and "return_std" in signature(model.predict).parameters
            found = model.predict(reached, return_std=True) if banded else (model.predict(reached), None)
        values, deviation = found
        if levels is None:
            if np.ndim(values) != 1:
                raise ValueError(f"{who}: the model has {np.shape(values)[1]} targets; only one can be drawn.")
            parts = [Part("", grid, host(values), None if deviation is None else host(deviation), points, label, "y")]
            return cls(parts=parts, level=level).plot(ax=ax, **options)
        values = host(values).reshape(len(grid), -1)
        order = np.argsort(np.atleast_1d(levels))
        parts = [Part("", grid, values[:, order], None, points, label, "y")]
        return cls(parts=parts, level=level, levels=np.atleast_1d(levels)[order].tolist()).plot(ax=ax, **options)

    def plot(
        self, ax: Axis = None, *, line_kw: Keywords = None, band_kw: Keywords = None, scatter_kw: Keywords = None
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or array of them, optional
            A single axes is divided into panels; None creates a figure.
        line_kw, band_kw, scatter_kw : dict, optional
            For ``Axes.plot``, ``Axes.fill_between`` and ``Axes.scatter``.
        """
        single = len(self.parts) == 1
        panels = self._panels(
            ax, len(self.parts), (6.2, 4.0) if single else (4.0, 3.3), 2 if len(self.parts) == 4 else 3
        )
        self.lines_: list[list[Any]] = []
        self.bands_: list[list[Any]] = []
        self.points_: list[Any] = []
        self.surfaces_: list[Any] = []
        for panel, part in zip(panels, self.parts, strict=True):
            look = style(scatter_kw, s=10, color=GREY, linewidth=0, alpha=0.8)
            points = None if part.points is None else panel.scatter(*part.points, **look)
            self.points_.append(points)
            self.lines_.append([])
            self.bands_.append([])
            self.surfaces_.append(None)
            if isinstance(part.x, tuple):
                self.surfaces_[-1] = panel.contourf(
                    *part.x, part.values, levels=15, zorder=0.5, **about_zero(part.values)
                )
                contours(panel.contour, *part.x, part.values, levels=[0.0], colors=[INK], linewidths=0.8)
                self.figure_.colorbar(self.surfaces_[-1], ax=panel, shrink=0.85)
            elif self.levels is not None:
                self._draw_levels(panel, part, line_kw, band_kw)
            else:
                self._draw_band(panel, part, line_kw, band_kw)
            dress(panel, part.name, xlabel=part.xlabel, ylabel=part.ylabel)
        return self

    def _draw_band(self, ax: Axis, part: Part, line_kw: Any, band_kw: Any) -> None:
        if part.deviation is not None:
            reach = float(norm.ppf((1 + self.level) / 2)) * part.deviation
            look = style(band_kw, color=BLUE, alpha=0.18, linewidth=0)
            self.bands_[-1].append(ax.fill_between(part.x, part.values - reach, part.values + reach, **look))
        self.lines_[-1] += ax.plot(part.x, part.values, **style(line_kw, color=BLUE, linewidth=1.8))

    def _draw_levels(self, ax: Axis, part: Part, line_kw: Any, band_kw: Any) -> None:
        levels = self.levels or []
        k = len(levels)
        for j in range(k // 2):
            look = style(band_kw, color=BLUE, alpha=0.14, linewidth=0)
            self.bands_[-1].append(ax.fill_between(part.x, part.values[:, j], part.values[:, k - 1 - j], **look))
        height = 72 * ax.bbox.height / ax.figure.dpi  # in points; a label needs 11
        places = _apart(part.values[-1], 11 / height * float(np.ptp(part.values)))
        for j, level in enumerate(levels):
            middle = k % 2 == 1 and j == k // 2
            look = style(line_kw, color=BLUE, linewidth=1.8 if middle else 1.0)
            self.lines_[-1] += ax.plot(part.x, part.values[:, j], **{"label": f"τ = {level:g}", **look})
            place = (part.x[-1], places[j])
            ax.annotate(f"{level:g}", place, (4, 0), textcoords="offset points", va="center", color=INK)


def _names(X: Data, estimator: EstimatorLike) -> list[str]:
    """Names of the columns, if X or the estimator has them."""
    known = getattr(X, "columns", getattr(estimator, "feature_names_in_", ()))
    return [plain(name) for name in known]


def _line(
    who: str, estimator: EstimatorLike, X: Data, y: Array
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray] | None]:
    """The samples of one column, and the points to draw."""
    model = last(estimator)
    if X is None and hasattr(model, "x_") and hasattr(model, "y_"):
        return host(model.x_), (host(model.x_), host(model.y_))
    if X is None:
        X = getattr(getattr(model, "function_", None), "points", None)
        if X is None or model is not estimator:
            raise ValueError(f"{who}: X is needed for the range of the plot.")
    A = dense(X)
    A = A[:, None] if A.ndim == 1 else A
    if A.ndim != 2 or A.shape[1] != 1 or A.dtype.kind not in "fiu":
        raise ValueError(f"{who}: X has shape {A.shape}; a curve is drawn over one column of numbers.")
    return A[:, 0], None if y is None else (A[:, 0], host(y))


def _apart(values: np.ndarray, least: float) -> np.ndarray:
    """Label heights, in the order of the values and at least `least` apart."""
    order = np.argsort(values, kind="stable")
    steps = np.arange(len(values)) * least
    raised = np.maximum.accumulate(values[order] - steps) + steps
    places = np.empty(len(values))
    places[order] = raised - np.mean(raised - values[order])
    return places


def _terms(model: EstimatorLike, A: np.ndarray | None, y: Array, resolution: int, names: list[str]) -> list[Part]:
    """The components of an ANOVA spline over their columns' intervals."""
    low, high = host(model.lower_), host(model.upper_)
    label = names if len(names) == len(low) else [f"x{j}" for j in range(len(low))]
    own, rest = None, None
    if A is not None:
        own = {t: host(v) for t, v in model.components(A).items()}
        rest = None if y is None else host(y) - host(model.predict(A))
    parts = []
    for t in model.terms_:
        if len(t) > 2:
            continue
        sides = [np.linspace(low[j], high[j], resolution if len(t) == 1 else min(resolution, 60)) for j in t]
        grids = np.meshgrid(*sides)
        mesh = np.tile((low + high) / 2, (grids[0].size, 1))
        mesh[:, list(t)] = np.column_stack([g.ravel() for g in grids])
        curves, deviations = model.components(mesh, return_std=True)
        if len(t) == 1:
            points = None if rest is None else (A[:, t[0]], own[t] + rest)  # type: ignore[index]
            name = f"Main effect of {label[t[0]]}"
            parts.append(Part(name, sides[0], host(curves[t]), host(deviations[t]), points, label[t[0]]))
        else:
            surface = host(curves[t]).reshape(grids[0].shape)
            points = None if A is None else (A[:, t[0]], A[:, t[1]])
            name = f"Interaction of {label[t[0]]} and {label[t[1]]}"
            parts.append(Part(name, tuple(grids), surface, None, points, label[t[0]], label[t[1]]))
    return parts
