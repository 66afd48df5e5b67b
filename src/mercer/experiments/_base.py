"""An experiment: a name, its source, and a function that produces a table and figures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._palette import GREY

# sources
THESIS = "Cao, Useful Applications in Statistical Learning with RKHS (2016)"
SLIDES = "Fukumizu, Various Kernel Methods, slides (2010)"
CLASSIFIER_NOTES = "Statistical Learning I, notes of a course (2019)"
REPRESENTER_NOTES = "Reproducing Kernel Hilbert Spaces, lecture notes on the representer theorem"
INTERPOLATION_NOTES = "Introduction to Kernel Methods, lecture notes"

EXPERIMENTS: dict[str, Experiment] = {}
Draw = Callable[..., AbstractContextManager[Any]]  # ``with draw(name, ncols=2) as (figure, axes)``

STYLE: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "font.size": 10,
}


@dataclass(frozen=True)
class Row:
    """One quantity: the reported value, ours, and a remark, such as the reason for a difference."""

    quantity: str
    reported: str
    ours: str
    remark: str = ""


@dataclass
class Result:
    """The table, the figure files, and notes."""

    rows: list[Row] = field(default_factory=list)
    figures: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, quantity: str, reported: Any, ours: Any, remark: str = "") -> None:
        """Add a row to the table."""
        self.rows.append(Row(quantity, str(reported), str(ours), remark))

    def note(self, text: str) -> None:
        """Add a note below the table."""
        self.notes.append(text)


@dataclass(frozen=True)
class Experiment:
    """A named experiment of the lectures or the thesis.

    Parameters
    ----------
    name : str
        Its name for ``mercer reproduce``.
    title : str
        What it shows, in one line.
    source : str
        Where it was reported.
    minutes : float
        Approximate duration of the full run, on two cores.
    function : callable
        ``function(result, quick, draw)`` fills in the result; ``with draw(name, ncols=2) as (figure, axes)`` makes a
        figure and saves it under that name; options are ``figsize`` and those of ``Figure.subplots``.
    """

    name: str
    title: str
    source: str
    minutes: float
    function: Callable[[Result, bool, Draw], None]

    def run(self, quick: bool = False, out: Any = ".") -> Result:
        """Run it and save the figures in the folder `out`; `quick` uses less data or fewer settings."""
        folder = Path(out)
        folder.mkdir(parents=True, exist_ok=True)
        result = Result()

        @contextmanager
        def draw(name: str, *, figsize: tuple[float, float] = (7.0, 4.2), **options: Any) -> Iterator[tuple[Any, Any]]:
            """A figure in the style of the library, and its axes; saved and added to the result after drawing."""
            from matplotlib import rc_context
            from matplotlib.figure import Figure

            path = folder / f"{self.name}_{name}.png"
            with rc_context(STYLE):
                figure = Figure(figsize=figsize, layout="constrained")  # without pyplot, no figure stays open
                yield figure, figure.subplots(**options)
                figure.savefig(path, dpi=150)
            result.figures.append(path)

        start = time.perf_counter()
        self.function(result, quick, draw)
        result.seconds = time.perf_counter() - start
        return result


def experiment(name: str, title: str, source: str, minutes: float) -> Callable[[Any], Experiment]:
    """Register a function as an experiment."""

    def enter(function: Callable[..., Any]) -> Experiment:
        EXPERIMENTS[name] = Experiment(name, title, source, minutes, function)
        return EXPERIMENTS[name]

    return enter


def standard_error(search: Any) -> float:
    """The standard error of the best setting's mean score, treating folds as independent."""
    spread = search.cv_results_["std_test_score"][search.best_index_]
    return float(spread / np.sqrt(search.n_splits_ - 1))  # scikit-learn's standard deviation divides by n, not n − 1
