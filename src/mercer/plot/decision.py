"""Decision regions in the plane, with margins, slack and support vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.ndimage import gaussian_filter

from .._array import host
from .._errors import check_choice, check_number
from .._palette import COLOURS, GREY, INK
from .._steps import last, unwrapped
from ..types import Array, Axis, Data, EstimatorLike
from ._base import Display, as_given, check_grid, colours, contours, dense, plain, plane, scatter_classes
from ._base import legend as draw_legend

VISIBLE = 0.01  # smaller slack is within the solver's tolerance, and too short to see


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionDisplay(Display):
    r"""Regions of a classifier in the plane: boundary, margins, support vectors and slack.

    The plot shows the class regions, the boundary f = 0, the margins f = ±1 (dashed), and rings around the support
    vectors. A line connects each point on the wrong side of its margin with the margin: the slack
    :math:`\xi_i = \max(0, 1 - y_i f(x_i)) > 0`. Use `from_estimator`.

    Parameters
    ----------
    xx0, xx1 : array of shape (rows, columns)
        The grid.
    response : array of shape (rows, columns, n_classes)
        Positive where the class is predicted: ±f for two classes; with more classes, or without f, ±½ smoothed over
        one cell.
    labels : sequence
        Names of the classes.
    X : array of shape (n_samples, 2)
        The points.
    y : array of int of shape (n_samples,), optional
        Their classes, if known.
    margins : bool
        Whether f = ±1 are margins.
    slack : array of shape (n_samples,)
        ξ; zeros are not drawn.
    support : array of int
        Positions of the support vectors.
    xlabel, ylabel : str

    Attributes
    ----------
    ax_, figure_
        The axes and the figure.
    regions_ : list of QuadContourSet
        One per class.
    boundary_ : list of QuadContourSet
        One for two classes, otherwise one per class.
    margins_ : QuadContourSet or None
    points_ : list of PathCollection
        One per class.
    support_ : PathCollection or None
        The rings.
    slack_ : LineCollection or None
        From each point to the nearest point on its margin.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.svm import SVC
    >>> X = np.array([[-2.0, 0.0], [-1.0, 1.0], [1.0, -1.0], [2.0, 0.0]])
    >>> model = SVC(kernel="linear", C=10).fit(X, [0, 0, 1, 1])
    >>> display = DecisionDisplay.from_estimator(model, X, [0, 0, 1, 1], ax=Figure().subplots())
    >>> display.margins_.levels
    array([-1., 1.])
    """

    xx0: np.ndarray
    xx1: np.ndarray
    response: np.ndarray
    labels: Sequence[Any]
    X: np.ndarray
    y: np.ndarray | None = None
    margins: bool = False
    slack: np.ndarray | None = None
    support: np.ndarray | None = None
    xlabel: str = ""
    ylabel: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        X: Data,
        y: Array = None,
        *,
        features: tuple[Any, Any] = (0, 1),
        margins: bool | None = None,
        resolution: int = 300,
        padding: float = 0.08,
        ax: Axis = None,
        **options: Any,
    ) -> Self:
        """Compute the regions around X, and draw them.

        Parameters
        ----------
        estimator : fitted classifier or outlier detector
            With `decision_function` or just `predict`; may be a pipeline or a search.
        X : array of shape (n_samples, n_features)
            Points to draw. Support vectors get rings if these are the training data.
        y : array of shape (n_samples,), optional
            Their labels.
        features : pair of int or of column names
            The two columns to draw. Regions are computed with any others at their mean over X; slack is then not
            drawn, because the points do not lie in that plane.
        margins : bool, optional
            Whether to draw f = ±1 and slack. None draws them for two classes if the estimator has support vectors.
        resolution : int >= 2
            Points of the grid along each axis.
        padding : float >= 0
            Space around the points, as a fraction of their range.
        ax, **options
            Passed to `plot`.
        """
        if isinstance(estimator, type) or not hasattr(estimator, "predict"):
            raise TypeError(f"{cls.__name__}: {estimator!r:.60} does not predict classes; pass a fitted classifier.")
        kind = estimator.__sklearn_tags__().estimator_type if hasattr(estimator, "__sklearn_tags__") else None
        if kind == "regressor":
            raise TypeError(f"{cls.__name__}: {type(estimator).__name__} is a regressor; pass a classifier.")
        check_grid(cls.__name__, resolution, padding)
        check_choice(cls.__name__, "margins", margins, (True, False, None))
        names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        A = _points(cls.__name__, X)
        if y is not None and np.shape(host(y)) != A.shape[:1]:
            raise ValueError(f"{cls.__name__}: y has shape {np.shape(host(y))}; expected {A.shape[:1]}.")
        pair = [_position(f, names, A.shape[1]) for f in features]
        if len(pair) != 2 or pair[0] == pair[1]:
            raise ValueError(f"{cls.__name__}: features = {features!r} must be two different columns.")

        xx0, xx1, mesh = plane(A, pair, resolution, padding)
        grid = as_given(mesh, X)
        classes = _classes(estimator, kind, grid, y)
        response = _response(estimator, grid, classes, xx0.shape)
        binary = len(classes) == 2 and hasattr(estimator, "decision_function")
        if margins and not binary:
            raise ValueError(f"{cls.__name__}: margins need two classes and a decision_function.")
        if margins is None:
            margins = binary and kind == "classifier" and hasattr(last(estimator), "support_")
        index = None if y is None else _index(host(y), classes)
        slack = None
        if margins and index is not None and A.shape[1] == 2:
            f = np.ravel(host(estimator.decision_function(X)))
            slack = np.maximum(0.0, 1.0 - np.where(index == 1, f, -f))
        if kind == "outlier_detector":
            options.setdefault("colors", (GREY, COLOURS[0]))
        label = [names[j] if names else f"feature {j}" for j in pair]
        display = cls(
            xx0=xx0,
            xx1=xx1,
            response=response,
            labels=["outlier", "inlier"] if kind == "outlier_detector" else list(classes),
            X=A[:, pair],
            y=index,
            margins=margins,
            slack=slack,
            support=_support(estimator, X),
            xlabel=label[0],
            ylabel=label[1],
        )
        return display.plot(ax=ax, **options)

    def plot(self, ax: Axis = None, *, colors: Sequence[Any] | None = None, legend: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            None creates a figure.
        colors : sequence of colours, optional
            One per class.
        legend : bool
        """
        k = len(self.labels)
        if colors is not None and len(colors) != k:
            raise ValueError(f"{type(self).__name__}: {len(colors)} colors for {k} classes.")
        ax = self._axes(ax, (6.4, 4.8))
        tints = list(colors) if colors is not None else colours(k)
        top = float(np.abs(self.response).max()) + 1.0
        self.regions_ = [self._contours(ax.contourf, c, [0, top], colors=[tints[c]], alpha=0.14) for c in range(k)]
        curves = [1] if k == 2 else range(k)
        self.boundary_ = [self._contours(ax.contour, c, [0], colors=[INK], linewidths=1.6) for c in curves]
        self.margins_: Any = None
        self.slack_: Any = None
        self.support_: Any = None
        if self.margins:
            self.margins_ = self._contours(
                ax.contour, 1, [-1, 1], colors=[INK], linewidths=1.0, linestyles=[(0, (5, 3))], alpha=0.8
            )
            self._draw_slack(ax, tints)
        self._draw_points(ax, tints)
        if legend and self.y is not None:
            draw_legend(ax)
        ax.set(xlabel=plain(self.xlabel), ylabel=plain(self.ylabel))
        ax.set(xlim=(self.xx0.min(), self.xx0.max()), ylim=(self.xx1.min(), self.xx1.max()))
        return self

    def _contours(self, draw: Any, c: int, levels: list[float], **style: Any) -> Any:
        return contours(draw, self.xx0, self.xx1, self.response[..., c], levels=levels, **style)

    def _draw_slack(self, ax: Axis, tints: list[Any]) -> None:
        """A line from each point with slack to the nearest place on the margin of its class."""
        from matplotlib.collections import LineCollection

        if self.slack is None or self.y is None or self.margins_ is None:
            return
        lines, shades = [], []
        # nearest on the page, not in data units
        unit = np.array([np.ptp(self.xx0) / ax.bbox.width, np.ptp(self.xx1) / ax.bbox.height])
        unit = unit if ax.get_aspect() == "auto" else np.array([ax.get_aspect(), 1.0])
        for c, curve in enumerate(self.margins_.allsegs):
            for i in np.flatnonzero((self.y == c) & (self.slack > VISIBLE)):
                if len(curve):
                    lines.append([self.X[i], unit * _nearest(self.X[i] / unit, [s / unit for s in curve])])
                    shades.append(tints[c])
        self.slack_ = LineCollection(lines, colors=shades, linewidths=1.0, alpha=0.7, zorder=1.8)
        ax.add_collection(self.slack_, autolim=False)

    def _draw_points(self, ax: Any, tints: list[Any]) -> None:
        size = float(np.clip(5000 / len(self.X), 12, 34))
        rim = 0.5 if size > 15 else 0.2  # narrower for small markers
        style: dict[str, Any] = {"edgecolors": "white", "linewidths": rim, "zorder": 2.5}
        if self.y is None:
            self.points_ = [ax.scatter(*self.X.T, s=size, color="#555555", **style)]
        else:
            self.points_ = scatter_classes(ax, self.X, self.y, self.labels, tints, size, **style)
        if self.support is not None:
            ring = {"facecolors": "none", "edgecolors": INK, "linewidths": 0.8, "zorder": 2.6}
            self.support_ = ax.scatter(*self.X[self.support].T, s=2.8 * size, label="support vector", **ring)


def _points(who: str, X: Data) -> np.ndarray:
    """X as a matrix of finite numbers with two columns or more."""
    A = dense(X)
    if A.ndim != 2 or A.shape[1] < 2 or not len(A):
        raise ValueError(f"{who}: X has shape {A.shape}; a plane needs points with two features.")
    if A.dtype.kind not in "fiub" or not np.isfinite(A).all():
        raise ValueError(f"{who}: X must contain finite numbers; a plane needs coordinates.")
    return A


def _position(feature: Any, names: list[str] | None, d: int) -> int:
    if names is not None and feature in names:
        return names.index(feature)
    if isinstance(feature, str):
        raise ValueError(f"DecisionDisplay: X has no column {feature!r}; it has {', '.join(names or ['no names'])}.")
    check_number("DecisionDisplay", "features", feature, at_least=0, at_most=d - 1, integer=True)
    return int(feature)


def _classes(estimator: EstimatorLike, kind: str | None, grid: Any, y: Array) -> np.ndarray:
    """The labels, in the order of the decision function."""
    if getattr(estimator, "classes_", None) is not None:
        return host(estimator.classes_)
    if kind == "outlier_detector":
        return np.array([-1, 1])
    predicted = host(estimator.predict(grid))
    return np.unique(predicted if y is None else np.concatenate([predicted, host(y)]))


def _index(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The position of each label among the classes."""
    match = labels[:, None] == classes[None, :]
    if not match.any(axis=1).all():
        strange = labels[~match.any(axis=1)][0]
        known = classes.tolist()
        raise ValueError(f"DecisionDisplay: y contains {strange!r}, which is not one of the classes {known}.")
    return match.argmax(axis=1)


def _response(estimator: EstimatorLike, grid: Any, classes: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """For each class, a number that is positive where the class is predicted; ±f for two classes."""
    if len(classes) == 2 and hasattr(estimator, "decision_function"):
        f = host(estimator.decision_function(grid)).astype(np.float64).reshape(shape)
        return np.stack([-f, f], axis=-1)
    predicted = _index(host(estimator.predict(grid)), classes).reshape(shape)
    # smoothing over one cell hides the steps from −½ to ½ between cells of the grid
    inside = (predicted[..., None] == np.arange(len(classes))) - 0.5
    return gaussian_filter(inside, sigma=(1.0, 1.0, 0.0), mode="nearest")


def _support(estimator: EstimatorLike, X: Data) -> np.ndarray | None:
    """Positions of the support vectors in X; None unless X is the training data."""
    model, reached, *_ = unwrapped(estimator, X)
    index, vectors = getattr(model, "support_", None), getattr(model, "support_vectors_", None)
    if index is None or vectors is None or len(index) == 0 or index.max() >= len(dense(X)):
        return None
    Z, vectors = dense(reached), dense(vectors)
    same = Z.shape[1:] == vectors.shape[1:] and np.allclose(Z[index], vectors, rtol=1e-6, atol=1e-12)
    return np.asarray(index) if same else None


def _nearest(point: np.ndarray, curves: list[np.ndarray]) -> np.ndarray:
    """The nearest point on polylines."""
    best, place = np.inf, point
    for curve in curves:
        a, b = curve[:-1], curve[1:]
        step = b - a
        length = (step**2).sum(axis=1)
        t = np.clip(((point - a) * step).sum(axis=1) / np.where(length > 0, length, 1.0), 0.0, 1.0)
        foot = a + t[:, None] * step
        distance = ((foot - point) ** 2).sum(axis=1)
        if len(distance) and distance.min() < best:
            best, place = distance.min(), foot[distance.argmin()]
    return place
