"""What the displays share: axes on demand, colours, markers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._errors import optional

INK, GREY = "#222222", "#9a9a9a"
# Told apart by brightness as well as by hue; a marker for each, so that colour is not needed.
COLOURS = ("#1f6fb2", "#d1601f", "#2f8f5b", "#8a4fa3", "#b8860b", "#17899b", "#c0447a", "#6b6b6b")
MARKERS = "osD^vP*X"


class Display:
    """Base: `plot` draws on given or new axes, and keeps them as `ax_` and `figure_`."""

    ax_: Any
    figure_: Any

    def _axes(self, ax: Any, figsize: tuple[float, float]) -> Any:
        """The axes to draw on: those given, or those of a new figure."""
        optional("matplotlib", "plot", type(self).__name__)
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots(figsize=figsize, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def colours(n: int) -> list[Any]:
    """n colours: the house's as far as they go, else evenly from a colour map."""
    if n <= len(COLOURS):
        return list(COLOURS[:n])
    from matplotlib import colormaps

    return list(colormaps["turbo"](np.linspace(0.03, 0.97, n)))


def contours(draw: Any, *data: Any, **style: Any) -> Any:
    """`draw` is ``ax.contour`` or one of its relatives; levels that the data do not reach are no reason to warn."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="No contour levels were found")
        return draw(*data, **style)
