"""Shared parts of the displays: axes, colours, legends, styles, grids over the plane."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._array import host, is_array, is_sparse, like
from .._errors import check_number, optional
from .._palette import BLUE, COLOURS, INK, MARKERS, ORANGE
from .._steps import Unwrapped, last, unwrapped
from ..gram import Centered, Gram, Representation
from ..kernels import KernelLike
from ..kernels.expression import as_kernel
from ..types import Array, Axis, Data, EstimatorLike, RandomState

Keywords = dict[str, Any] | None  # for matplotlib's functions

MANY = 12  # a legend with more entries has small text
LARGER = {"^": 1.3, "v": 1.3, "P": 1.3, "X": 1.3, "*": 2.0}  # markers that look small beside a square


class Display:
    """Base class: `plot` draws on given or new axes, and stores them in `ax_` and `figure_`."""

    ax_: Any
    axes_: list[Any]
    figure_: Any

    def _axes(self, ax: Axis, figsize: tuple[float, float]) -> Any:
        """The axes to draw on, given or new."""
        optional("matplotlib", "plot", type(self).__name__)
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots(figsize=figsize, layout="constrained")
        self.ax_, self.axes_, self.figure_ = ax, [ax], ax.figure
        return ax

    def _panels(self, ax: Any, count: int, size: tuple[float, float], columns: int | None = None) -> list[Any]:
        """`count` axes, stored in `axes_`: given ones, parts of a single given axes, or those of a new figure."""
        optional("matplotlib", "plot", type(self).__name__)
        if count == 1 and (ax is None or hasattr(ax, "get_subplotspec")):
            return [self._axes(ax, size)]
        columns = min(count, columns or count)
        rows = -(-count // columns)
        if ax is None:
            from matplotlib import pyplot

            figure = pyplot.figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
            axes = [figure.add_subplot(rows, columns, k + 1) for k in range(count)]
        elif hasattr(ax, "get_subplotspec"):
            place = ax.get_subplotspec()
            if place is None:
                raise ValueError(
                    f"{type(self).__name__}: axes without a subplot grid cannot be divided into {count} panels; pass "
                    f"{count} axes."
                )
            ax.set_axis_off()
            # without a layout engine, leave room for titles and tick labels
            room = {} if ax.figure.get_layout_engine() is not None else {"hspace": 0.65, "wspace": 0.4}
            grid = place.subgridspec(rows, columns, **room)
            axes = [ax.figure.add_subplot(grid[k // columns, k % columns]) for k in range(count)]
        else:
            axes = list(np.ravel(ax))
            if len(axes) != count:
                raise ValueError(f"{type(self).__name__}: {len(axes)} axes for {count} panels.")
        self.ax_, self.axes_, self.figure_ = axes[0], axes, axes[0].figure
        return axes


def colours(n: int) -> list[Any]:
    """n colours: Mercer's own if enough, ten distinct ones for digits, otherwise from a colour map."""
    if n <= len(COLOURS):
        return list(COLOURS[:n])
    from matplotlib import colormaps

    if n <= 10:
        return list(colormaps["tab10"](np.arange(n)))
    return list(colormaps["turbo"](np.linspace(0.03, 0.97, n)))


def contours(draw: Any, *data: Any, **style: Any) -> Any:
    """Call ``ax.contour`` or similar, without its warning about levels outside the data."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="No contour levels were found")
        return draw(*data, **style)


def style(given: Keywords, **defaults: Any) -> dict[str, Any]:
    """The defaults, overridden by the user's keywords, which may use matplotlib's abbreviations (``c``, ``lw``)."""
    from matplotlib import cbook, collections, lines, text

    kinds: tuple[Any, ...] = (collections.Collection, lines.Line2D, text.Text)
    for artist in kinds:
        given = cbook.normalize_kwargs(given or {}, artist)
    return {**defaults, **(given or {})}


def plain(label: Any) -> str:
    """A name from the data as plain text: dollar signs escaped, and a leading underscore does not hide it."""
    words = str(label).replace("$", r"\$")
    return f" {words}" if words.startswith("_") else words


def legend(ax: Axis, **place: Any) -> None:
    """Draw a legend: beside the axes if the figure has a layout engine, otherwise over the data."""
    count = len(ax.get_legend_handles_labels()[1])
    beside = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0, "frameon": False, **place}
    within = {"loc": "best", "framealpha": 0.8}
    roomy = ax.figure.get_layout_engine() is not None
    ax.legend(fontsize=None if roomy and count <= MANY else "small", **(beside if roomy else within))


def scatter_classes(
    ax: Axis, X: np.ndarray, y: np.ndarray, labels: Any, tints: Any, size: float, **look: Any
) -> list[Any]:
    """Draw the points of each class in its own colour and marker; a size in `look` applies to all."""
    drawn = []
    for c, (label, tint) in enumerate(zip(labels, tints, strict=True)):
        shape = MARKERS[c % len(MARKERS)]
        named = {"color": tint, "marker": shape, "label": plain(label), "s": size * LARGER.get(shape, 1.0), **look}
        drawn.append(ax.scatter(*X[y == c].T, **named))
    return drawn


def dress(ax: Axis, title: str = "", **labels: Any) -> None:
    """Set the title at the left and axis labels; remove the top and right spines."""
    ax.spines[["top", "right"]].set_visible(False)
    if title:
        ax.set_title(title, loc="left", fontsize=11)
    ax.set(**labels)


def whole_ticks(*axes: Any) -> None:
    """Put ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    for axis in axes:
        axis.set_major_locator(MaxNLocator(integer=True))


def star(ax: Any, x: float, y: float, **look: Any) -> list[Any]:
    """Mark the best point with a star."""
    return ax.plot([x], [y], "*", **{"color": "white", "markeredgecolor": INK, **look})


def about_zero(values: Array, pale: float = 1.0) -> dict[str, Any]:
    """Orange below zero, white at zero, blue above; `pale` > 1 omits the darkest colours, for plots under points."""
    from matplotlib.colors import LinearSegmentedColormap

    top = pale * float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    cmap = LinearSegmentedColormap.from_list("mercer", [ORANGE, "#f3b48c", "#fafafa", "#93c0e2", BLUE])
    return {"cmap": cmap, "vmin": -top, "vmax": top}


def dense(X: Data) -> np.ndarray:
    """X as a NumPy array."""
    return X.toarray() if is_sparse(X) else host(X)


@contextmanager
def unnamed() -> Iterator[None]:
    """Suppress warnings about missing column names when an estimator fitted to a data frame receives a grid."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def as_given(values: np.ndarray, X: Data) -> Any:
    """The values in the type of X: a data frame with the same columns, a tensor, or an array."""
    if hasattr(X, "columns"):
        return type(X)(values, **{"columns" if hasattr(X, "iloc") else "schema": X.columns})  # pandas, polars
    return like(values, X) if is_array(X) and not isinstance(X, np.ndarray) else values


def plane(A: np.ndarray, pair: list[int], resolution: int, padding: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A grid around the points in two coordinates, and its points, with the other coordinates at their mean."""
    sides = [interval(A[:, j], resolution, padding) for j in pair]
    xx0, xx1 = np.meshgrid(*sides)
    mesh = np.tile(A.mean(axis=0), (xx0.size, 1))
    mesh[:, pair] = np.column_stack([xx0.ravel(), xx1.ravel()])
    return xx0, xx1, mesh.astype(A.dtype if A.dtype.kind == "f" else np.float64)


def around(A: np.ndarray, resolution: int, padding: float) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """A grid around points of one or two coordinates, and its points as rows."""
    if A.shape[1] == 1:
        line = interval(A[:, 0], resolution, padding)
        return (line,), line[:, None].astype(A.dtype)
    *grid, mesh = plane(A, [0, 1], resolution, padding)
    return tuple(grid), mesh


def interval(x: np.ndarray, resolution: int, padding: float) -> np.ndarray:
    """Points on a line that covers x, padded by a fraction of its range on both sides."""
    low, high = x.min(), x.max()
    space = padding * (high - low if high > low else 1.0)
    return np.linspace(low - space, high + space, resolution)


def check_grid(owner: str, resolution: Any, padding: Any) -> None:
    """Check the resolution and the padding."""
    check_number(owner, "resolution", resolution, at_least=2, integer=True)
    check_number(owner, "padding", padding, at_least=0)


def built(
    who: str, kernel: KernelLike, X: Data, recipe: Representation, centred: bool, random_state: RandomState
) -> Gram:
    """The matrix of a kernel on a sample."""
    k = as_kernel(kernel)
    X = k.domain.check(X, who, "X")
    return (Centered(recipe) if centred else recipe).build(k.resolve(X), X, random_state)


def represented(model: EstimatorLike) -> dict[str, Any]:
    """The parameters `gram` and `random_state` of a fitted estimator, if set."""
    given = {name: getattr(model, name, None) for name in ("gram", "random_state")}
    return {name: value for name, value in given.items() if value is not None}


def fitted(owner: str, estimator: EstimatorLike, *names: str, remedy: str) -> Any:
    """The final estimator; an error if it lacks any of these attributes."""
    model = last(estimator)
    lacking = [name for name in names if not hasattr(model, name)]
    if lacking:
        raise TypeError(f"{owner}: {type(model).__name__} has no {' and no '.join(lacking)}; {remedy}.")
    return model


def reached(owner: str, estimator: EstimatorLike, X: Data, *names: str, remedy: str) -> Unwrapped:
    """The final estimator, checked by `fitted`, and X after the steps before it."""
    fitted(owner, estimator, *names, remedy=remedy)
    return unwrapped(estimator, X)
