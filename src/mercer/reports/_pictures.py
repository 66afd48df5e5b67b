"""Pictures inside the page: matplotlib's SVG without what is not needed, in colours that follow the page."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._errors import optional
from ._html import text

# Stand-ins, which the page replaces by colours that are readable on light and on dark paper.
INK, GREY, BLUE, ORANGE, GREEN = "#222222", "#9a9a9a", "#1f6fb2", "#d1601f", "#3a8f5c"
PAPER = {INK: "currentColor", BLUE: "var(--blue)", ORANGE: "var(--orange)", GREEN: "var(--green)", GREY: "var(--grey)"}
STYLE = {
    "svg.fonttype": "none",
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
}


class Pictures:
    """Draws figures of one page, so that no two of them share an identifier."""

    def __init__(self) -> None:
        self.count = itertools.count(1)

    @contextmanager
    def axes(self, width: float = 3.6, height: float = 2.5, columns: int = 1) -> Iterator[Any]:
        """A figure and its axes in the style of the page; `svg` is to be called within."""
        matplotlib = optional("matplotlib", "plot", "report")
        from matplotlib.figure import Figure

        with matplotlib.rc_context({**STYLE, "svg.hashsalt": "mercer"}):
            figure = Figure(figsize=(width, height), layout="constrained")
            yield figure, figure.subplots(1, columns)

    def svg(self, figure: Any, title: str, alt: str, caption: str = "") -> str:
        """The figure as an element with a title, and words for those who do not see it."""
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
        drawn = out.getvalue()
        drawn = drawn[drawn.index("<svg") :]
        drawn = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", drawn, flags=re.S)
        drawn = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", drawn)
        drawn = re.sub(
            r"<[^>]+>", lambda tag: re.sub(r"(\d+\.\d{2})\d+", r"\1", tag[0]), drawn
        )  # hundredths of a point
        drawn = re.sub(r"(font(?:-family)?: [^;\"]*?)'DejaVu Sans'[^;\"]*", r"\1system-ui, sans-serif", drawn)
        mark = f"f{next(self.count)}-"
        drawn = re.sub(r'\bid="', f'id="{mark}', drawn)
        drawn = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{mark}", drawn)
        for colour, name in PAPER.items():
            drawn = drawn.replace(colour, name)
        drawn = drawn.replace("<svg ", f'<svg role="img" aria-label="{text(alt, 600)}" ', 1)
        below = f"<figcaption>{caption}</figcaption>" if caption else ""
        return f"<figure><h3>{text(title)}</h3>{drawn.strip()}{below}</figure>"

    # ---- the kinds that several sections use

    def histogram(self, values: np.ndarray, title: str, label: str, caption: str = "") -> str:
        """Of finite values."""
        with self.axes() as (figure, ax):
            ax.hist(values, bins=min(30, max(6, int(np.sqrt(len(values))))), color=BLUE, alpha=0.85, rwidth=0.94)
            ax.set(xlabel=label, ylabel="samples")
            low, middle, high = np.quantile(values, [0, 0.5, 1])
            alt = f"Histogram of {label}: from {low:.4g} to {high:.4g}, median {middle:.4g}."
            return self.svg(figure, title, alt, caption)

    def counts(self, names: Sequence[str], values: Sequence[float], title: str, label: str) -> str:
        """Horizontal bars with their numbers."""
        with self.axes(3.6, 0.75 + 0.27 * len(names)) as (figure, ax):
            places = np.arange(len(names))[::-1]
            ax.barh(places, values, color=BLUE, alpha=0.85, height=0.7)
            for place, value in zip(places, values, strict=True):
                ax.annotate(f"{value:.4g}", (value, place), (3, 0), textcoords="offset points", va="center")
            ax.set_yticks(places, [_plain(n) for n in names])
            ax.set(xlabel=label)
            ax.margins(x=0.15)
            said = ", ".join(f"{n}: {v:.4g}" for n, v in zip(names, values, strict=True))
            return self.svg(figure, title, f"{title}: {said}.")

    def matrix(self, M: np.ndarray, title: str, alt: str, caption: str = "", names: Sequence[str] = ()) -> str:
        """A square matrix as colours; with names, also as numbers."""
        size = 3.1 if not names else min(5.2, 2.0 + 0.32 * len(names))
        with self.axes(size + 0.6, size) as (figure, ax):
            signed = bool(M.min(initial=0) < -1e-12 * np.abs(M).max(initial=0))
            top = float(np.abs(M).max(initial=0)) or 1.0
            limits = (
                {"cmap": "RdBu", "vmin": -top, "vmax": top} if signed else {"cmap": "Blues", "vmin": 0, "vmax": top}
            )
            shown = ax.imshow(M, interpolation="none", **limits)
            ax.spines[:].set_visible(False)
            if names:
                places = range(len(names))
                ax.set_xticks(places, [_plain(n) for n in names], rotation=45 if len(names) > 3 else 0)
                ax.set_yticks(places, [_plain(n) for n in names])
                ax.set(xlabel="predicted", ylabel="true")
                for i, j in np.ndindex(*M.shape):
                    if M[i, j]:
                        # On light and on dark cells alike, whatever the colours of the page.
                        colour = "#fefefe" if M[i, j] > 0.55 * top else "#101010"
                        ax.text(j, i, f"{M[i, j]:.4g}", ha="center", va="center", color=colour, fontsize=8)
            else:
                ax.set(xticks=[], yticks=[])
                figure.colorbar(shown, ax=ax, shrink=0.8).outline.set_visible(False)
            return self.svg(figure, title, alt, caption)

    def curve(
        self, values: np.ndarray, title: str, labels: tuple[str, str], alt: str, caption: str = "", **scale: Any
    ) -> str:
        """Values in their order."""
        with self.axes() as (figure, ax):
            many = len(values) > 60
            ax.plot(
                np.arange(1, len(values) + 1), values, "-" if many else ".-", color=BLUE, markersize=5, linewidth=1.4
            )
            ax.set(xlabel=labels[0], ylabel=labels[1], **scale)
            ax.xaxis.get_major_locator().set_params(integer=True)
            if scale.get("yscale") == "log":
                plain_ticks(ax.yaxis)
            return self.svg(figure, title, alt, caption)


def plain_ticks(axis: Any) -> None:
    """Powers of ten as numbers, without the mathematics that text in the page's fonts cannot show."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axis.set_minor_formatter(NullFormatter())


def _plain(name: str) -> str:
    """A name as a tick: short, and without the sign that starts mathematics."""
    words = str(name)
    return (words if len(words) <= 18 else f"{words[:16]}…").replace("$", r"\$")
