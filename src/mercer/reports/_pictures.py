"""Figures inside the page: matplotlib's SVG without superfluous parts, in the colours of the page."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._palette import BLUE, GREEN, GREY, INK, ORANGE
from ._html import text

# The page replaces these with colours that are readable on light and dark backgrounds.
PAPER = {
    INK: "currentColor",
    GREY: "var(--grey)",
    BLUE: "var(--blue)",
    ORANGE: "var(--orange)",
    GREEN: "var(--green)",
    "#ffffff": "var(--paper)",
}
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "mercer",
    "savefig.dpi": 160,  # for parts stored as an image
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "legend.frameon": False,
    "legend.fontsize": 8,
}
SIZE = (3.6, 2.5)  # inches
WIDE = 5.5  # inches; on a small screen, wider pictures scroll instead of shrinking
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Pictures:
    """Draws the figures of one page with unique identifiers."""

    def __init__(self) -> None:
        self.count = itertools.count(1)

    @contextmanager
    def axes(self, width: float = SIZE[0], height: float = SIZE[1]) -> Iterator[Any]:
        """A figure and its axes in the style of the page; call `svg` inside."""
        from matplotlib import style
        from matplotlib.figure import Figure

        with style.context(["default", STYLE]):  # regardless of the session's style
            figure = Figure(figsize=(width, height), layout="constrained")
            yield figure, figure.subplots()

    def drawn(
        self, plot: Callable[[Any], Any], title: str, alt: str, caption: str = "", size: tuple[float, float] = SIZE
    ) -> str:
        """The plot of a display, with its own title replaced by one above the figure."""
        with self.axes(*size) as (figure, ax):
            plot(ax)
            ax.set_title("", loc="left")
            if not ax.axison:  # it was divided into panels of this size
                rows, columns = figure.axes[1].get_subplotspec().get_gridspec().get_geometry()
                figure.set_size_inches(size[0] * columns, size[1] * rows)
            return self.svg(figure, title, alt, caption)

    def svg(self, figure: Any, title: str, alt: str, caption: str = "") -> str:
        """The figure as an element with a title and alternative text."""
        for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
            if axis.get_scale() == "log":
                _plain_ticks(axis)
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
        drawn = out.getvalue()
        drawn = drawn[drawn.index("<svg") :]
        drawn = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", drawn, flags=re.S)
        drawn = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", drawn)
        # two decimals are enough
        drawn = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\d+\.\d{2})\d+", r"\1", tag[0]), drawn)
        drawn = re.sub(r"(font(?:-family)?: [^;\"]*?)'DejaVu Sans'[^;\"]*", r"\1system-ui, sans-serif", drawn)
        mark = f"f{next(self.count)}-"
        drawn = re.sub(r'\bid="', f'id="{mark}', drawn)
        drawn = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{mark}", drawn)
        surface, wide = _has_surface(figure), bool(figure.get_figwidth() > WIDE)
        for colour, name in PAPER.items() if not surface else ():
            drawn = drawn.replace(colour, name)
        kind = " ".join(name for name, holds in (("surface", surface), ("wide", wide)) if holds)
        drawn = drawn.replace("<svg ", f'<svg class="{kind}" role="img" aria-label="{text(alt, 600)}" ', 1)
        below = f"<figcaption>{caption}</figcaption>" if caption else ""
        return f"<figure><h3>{text(title)}</h3>{drawn.strip()}{below}</figure>"

    # ---- figures that several sections use

    def histogram(self, values: np.ndarray, title: str, label: str) -> str:
        """A histogram of finite values."""
        with self.axes() as (figure, ax):
            ax.hist(values, bins=min(30, max(6, int(np.sqrt(len(values))))), color=BLUE, alpha=0.85, rwidth=0.94)
            ax.set(xlabel=label, ylabel="samples")
            ax.yaxis.get_major_locator().set_params(integer=True)
            low, middle, high = np.quantile(values, [0, 0.5, 1])
            alt = f"Histogram of {label}: from {low:.4g} to {high:.4g}, median {middle:.4g}."
            return self.svg(figure, title, alt)

    def counts(self, names: Sequence[str], values: Sequence[float], title: str, label: str) -> str:
        """Horizontal bars, labelled with their values."""
        with self.axes(3.6, 0.75 + 0.27 * len(names)) as (figure, ax):
            places = np.arange(len(names))[::-1]
            ax.barh(places, values, color=BLUE, alpha=0.85, height=0.7)
            for place, value in zip(places, values, strict=True):
                ax.annotate(f"{value:.4g}", (value, place), (3, 0), textcoords="offset points", va="center")
            ax.set_yticks(places, [tick(n) for n in names])
            ax.set(xlabel=label, ylim=(-0.6, len(names) - 0.4))
            ax.xaxis.get_major_locator().set_params(integer=True)
            ax.margins(x=0.15)
            said = ", ".join(f"{n}: {v:.4g}" for n, v in zip(names, values, strict=True))
            return self.svg(figure, title, f"{title}: {said}.")

    def curve(self, values: np.ndarray, title: str, labels: tuple[str, str], alt: str, caption: str = "") -> str:
        """Values in order, as a curve."""
        with self.axes() as (figure, ax):
            many = len(values) > 60
            ax.plot(
                np.arange(1, len(values) + 1), values, "-" if many else ".-", color=BLUE, markersize=5, linewidth=1.4
            )
            ax.set(xlabel=labels[0], ylabel=labels[1])
            ax.xaxis.get_major_locator().set_params(integer=True)
            return self.svg(figure, title, alt, caption)


def short(name: Any) -> str:
    """A name that fits next to an axis."""
    words = str(name)
    return words if len(words) <= 18 else f"{words[:16]}…"


def tick(name: Any) -> str:
    """A short name with escaped dollar signs."""
    return short(name).replace("$", r"\$")


def _has_surface(figure: Any) -> bool:
    """Whether areas are filled from a colour scale, which is kept on dark backgrounds."""
    from matplotlib.collections import QuadMesh
    from matplotlib.contour import ContourSet

    return any(ax.images or any(isinstance(c, (QuadMesh, ContourSet)) for c in ax.collections) for ax in figure.axes)


def _plain_ticks(axis: Any) -> None:
    """Powers of ten as plain text, because the page's fonts cannot show mathematics."""
    from matplotlib.ticker import LogFormatter

    class Plain(LogFormatter):
        def __call__(self, x: float, pos: Any = None) -> str:
            return _power(x) if super().__call__(x, pos) else ""

    axis.set_major_formatter(Plain())
    axis.set_minor_formatter(Plain())


def _power(x: float) -> str:
    if 1e-3 <= x < 1e5:
        return f"{x:g}"
    digits, exponent = f"{x:.0e}".split("e")
    raised = f"10{str(int(exponent)).translate(RAISED)}"
    return raised if digits == "1" else f"{digits}·{raised}"
