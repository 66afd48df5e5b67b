"""Scores of kernel PCA, Fisher discriminants, PLS, CCA and ICA, and component functions over the plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import type_of_target

from .._array import host
from .._errors import check_number
from .._palette import BLUE, INK
from .._steps import last
from ..types import Array, Axis, Data, EstimatorLike
from ._base import (
    Display,
    Keywords,
    about_zero,
    as_given,
    check_grid,
    colours,
    contours,
    dense,
    dress,
    fitted,
    plain,
    plane,
    scatter_classes,
    style,
)
from ._base import legend as draw_legend

PANEL = (4.4, 3.9)
ABOVE = 44  # number of characters that fit above a panel


@dataclass(kw_only=True, eq=False, repr=False)
class ComponentsDisplay(Display):
    r"""The components of a transformer: scatter plots of pairs, coloured by label.

    Component j of a point is :math:`f_j(x) - \bar f_j`, with f_j a function in the RKHS. A pair of components is drawn
    as a scatter plot, a single one as a histogram. For two-dimensional data, contour lines of each f_j can be added.
    Use `from_estimator`.

    Parameters
    ----------
    scores : array of shape (n_samples, n_components)
    components : list of (int, int) and (int,)
        One panel each.
    y : array of shape (n_samples,), optional
        Positions in `labels`, or numbers if `labels` is None.
    labels : sequence, optional
        Names of the classes.
    names : list of str
        Names of the components.
    surfaces : array of shape (rows, columns, n_components), optional
        Values of the components over the plane.
    xx0, xx1 : array of shape (rows, columns), optional
        The grid of the plane.
    X : array of shape (n_samples, 2), optional
        The points in the plane.

    Attributes
    ----------
    ax_, figure_, axes_
        The first axes, the figure, and all axes: the pairs, then the surfaces.
    points_ : list of lists
        For each panel one PathCollection, or histogram (StepPatch), per class.
    contours_ : list of QuadContourSet
        The contour lines of each component in the plane.
    colorbar_ : Colorbar or None
        Present if y is numeric.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mercer import KernelPCA
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]])
    >>> model = KernelPCA(n_components=2).fit(X)
    >>> display = ComponentsDisplay.from_estimator(model, X, list("aabb"), ax=Figure().subplots())
    >>> np.abs(display.points_[0][0].get_offsets()[:, 0]).round(6)  # signs are free
    masked_array(data=[1.0, 1.0], ...
    """

    scores: np.ndarray
    components: Sequence[tuple[int, ...]]
    y: np.ndarray | None = None
    labels: Sequence[Any] | None = None
    names: Sequence[str]
    surfaces: np.ndarray | None = None
    xx0: np.ndarray | None = None
    xx1: np.ndarray | None = None
    X: np.ndarray | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        X: Data,
        y: Array = None,
        *,
        components: Any = None,
        contours: bool = False,
        view: int | None = None,
        resolution: int = 120,
        padding: float = 0.1,
        ax: Axis = None,
        **options: Any,
    ) -> Self:
        """Compute the features of X, and draw them.

        Parameters
        ----------
        estimator : fitted transformer
            `KernelPCA`, `KernelFisher`, `KernelPLS`, `KernelCCA`, `KernelICA`, any other estimator with `transform`, or
            a pipeline.
        X : samples
            Any data that the estimator accepts.
        y : array of shape (n_samples,), optional
            Labels, or numbers, which are shown on a colour scale.
        components : (int, int), int, or list of them, optional
            Components to draw, counted from 0; by default the first two, or the only one.
        contours : bool
            Whether to add a panel with the contour lines of each component; for data with two columns.
        view : int, optional
            For `KernelCCA`, the view of X.
        resolution, padding
            Grid settings in the plane, as in `DecisionDisplay`.
        ax, **options
            Passed to `plot`.
        """
        who = cls.__name__
        check_grid(who, resolution, padding)
        fitted(who, estimator, "transform", remedy="pass a transformer such as KernelPCA")
        given = {} if view is None else {"view": view}
        found = estimator.transform(X, **given)
        if isinstance(found, tuple):
            raise ValueError(f"{who}: the estimator has {len(found)} views; pass view=j, the view of X.")
        scores = dense(found)
        p = scores.shape[1]
        chosen = _chosen(components, p)
        n = len(scores)
        index, labels = _coded(y, n)
        surfaces: dict[str, Any] = {}
        if contours:
            A = dense(X) if hasattr(X, "shape") else np.asarray(X)
            if A.ndim != 2 or A.shape[1] != 2 or A.dtype.kind not in "fiu":
                raise ValueError(f"{who}: contours=True needs data of two columns; X has shape {A.shape}.")
            xx0, xx1, mesh = plane(A, [0, 1], resolution, padding)
            values = dense(estimator.transform(as_given(mesh, X), **given)).reshape(*xx0.shape, p)
            surfaces = {"surfaces": values, "xx0": xx0, "xx1": xx1, "X": A}
        share = getattr(last(estimator), "explained_variance_ratio_", None)
        names = [f"component {j + 1}" for j in range(p)]
        if share is not None and len(share) == p:
            names = [f"{name} ({100 * s:.3g} %)" for name, s in zip(names, host(share), strict=True)]
        display = cls(scores=scores, components=chosen, y=index, labels=labels, names=names, **surfaces)
        return display.plot(ax=ax, **options)

    def plot(
        self,
        ax: Axis = None,
        *,
        scatter_kw: Keywords = None,
        contour_kw: Keywords = None,
        cmap: Any = "viridis",
        legend: bool = True,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or array of them, optional
            A single axes is divided into panels; None creates a figure.
        scatter_kw, contour_kw : dict, optional
            For ``Axes.scatter`` and ``Axes.contour``.
        cmap : str or Colormap
            For numerical y.
        legend : bool
        """
        named = sorted({j for pair in self.components for j in pair}) if self.surfaces is not None else []
        axes = self._panels(ax, len(self.components) + len(named), PANEL, 3)
        self.points_: list[list[Any]] = []
        self.contours_: list[Any] = []
        for panel, pair in zip(axes, self.components, strict=False):
            if len(pair) == 2:
                self.points_.append(self._scatter(panel, self.scores[:, list(pair)], scatter_kw, cmap))
                dress(panel, xlabel=self.names[pair[0]], ylabel=self.names[pair[1]])
            else:
                self.points_.append(self._histograms(panel, self.scores[:, pair[0]]))
                dress(panel, xlabel=self.names[pair[0]], ylabel="samples")
        for panel, j in zip(axes[len(self.components) :], named, strict=True):
            surface = self.surfaces[..., j]  # type: ignore[index]
            panel.contourf(self.xx0, self.xx1, surface, levels=14, **about_zero(surface, pale=1.6))
            lines = style(contour_kw, levels=14, colors=[INK], linewidth=0.6)
            lines["linewidths"] = lines.pop("linewidth")
            self.contours_.append(contours(panel.contour, self.xx0, self.xx1, surface, **lines))
            self.points_.append(self._scatter(panel, self.X, {"s": 12, **(scatter_kw or {})}, cmap))
            dress(panel, self.names[j].capitalize())
        self.colorbar_ = None
        if self.y is not None and self.labels is None:
            self.colorbar_ = self.figure_.colorbar(self.points_[0][0], ax=axes, label="y")
        elif self.labels is not None and legend:
            columns = ABOVE // max(7 + len(str(label)) for label in self.labels)
            above = {"bbox_to_anchor": (0, 1), "loc": "lower left", "borderaxespad": 0.2, "handletextpad": 0.2}
            if len(self.labels) <= 2 * columns:
                draw_legend(axes[0], ncols=min(columns, len(self.labels)), columnspacing=1.2, **above)
            else:
                draw_legend(axes[-1])
        return self

    def _scatter(self, ax: Any, points: Any, given: Keywords, cmap: Any) -> list[Any]:
        size = float(np.clip(5000 / len(points), 10, 30))
        rim = 0.4 if size > 15 else 0.2  # narrower for small markers
        look = style(given, edgecolor="white", linewidth=rim)
        if self.y is None or self.labels is None:
            paint = {"color": BLUE} if self.y is None else {"c": self.y, "cmap": cmap}
            if "color" in look:
                paint = {}
            return [ax.scatter(*points.T, **{"s": size, **paint, **look})]
        return scatter_classes(ax, points, self.y, self.labels, colours(len(self.labels)), size, **look)

    def _histograms(self, ax: Axis, values: np.ndarray) -> list[Any]:
        edges = np.histogram_bin_edges(values, "auto")
        if self.y is None or self.labels is None:
            return [ax.stairs(np.histogram(values, edges)[0], edges, fill=True, color=BLUE, alpha=0.6)]
        drawn = []
        for c, (label, tint) in enumerate(zip(self.labels, colours(len(self.labels)), strict=True)):
            counts = np.histogram(values[self.y == c], edges)[0]
            drawn.append(ax.stairs(counts, edges, fill=True, color=tint, alpha=0.55, label=plain(label)))
        return drawn


def _chosen(components: Any, p: int) -> list[tuple[int, ...]]:
    """The panels, as tuples of one or two components."""
    if components is None:
        return [(0, 1)] if p > 1 else [(0,)]
    if isinstance(components, Integral):
        components = [(components,)]
    elif isinstance(components, tuple) and all(isinstance(j, Integral) for j in components):
        components = [components]
    panels = [tuple(entry) if isinstance(entry, Sequence) else (entry,) for entry in components]
    for panel in panels:
        if len(panel) not in (1, 2):
            raise ValueError(f"ComponentsDisplay: components = {panel!r} must be one component or a pair.")
        for j in panel:
            check_number("ComponentsDisplay", "components", j, at_least=0, at_most=p - 1, integer=True)
    return [tuple(int(j) for j in panel) for panel in panels]


def _coded(y: Array, n: int) -> tuple[np.ndarray | None, list[Any] | None]:
    """Positions among the classes and the classes; or numbers and None."""
    if y is None:
        return None, None
    values = host(y)
    if values.shape != (n,):
        raise ValueError(f"ComponentsDisplay: y has shape {values.shape}; expected ({n},).")
    if type_of_target(values).startswith("continuous") or (values.dtype.kind in "fiu" and len(np.unique(values)) > 20):
        return values.astype(np.float64), None
    labels, index = np.unique(values, return_inverse=True)
    return index, labels.tolist()
