"""What an experiment is: a name, where it was reported, and a function that gives a table and pictures."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXPERIMENTS: dict[str, Experiment] = {}


@dataclass(frozen=True)
class Row:
    """One quantity: what was reported, what was found here, and why they differ where they do."""

    quantity: str
    reported: str
    ours: str
    remark: str = ""


@dataclass
class Result:
    """The table, the files of the figures, and what a reader should know besides."""

    rows: list[Row] = field(default_factory=list)
    figures: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, quantity: str, reported: Any, ours: Any, remark: str = "") -> None:
        """A row of the table."""
        self.rows.append(Row(quantity, str(reported), str(ours), remark))

    def note(self, text: str) -> None:
        """A sentence below the table."""
        self.notes.append(text)


@dataclass(frozen=True)
class Experiment:
    """A named experiment of the lectures or the thesis.

    Parameters
    ----------
    name : str
        Under which ``mercer reproduce`` knows it.
    title : str
        What is shown, in one line.
    source : str
        Where it was reported.
    minutes : float
        About what the full run takes, on two cores.
    function : callable
        ``function(result, quick, draw)`` fills in the result; ``draw(name)`` is a context that gives a new matplotlib
        figure and saves it under that name.
    """

    name: str
    title: str
    source: str
    minutes: float
    function: Callable[[Result, bool, Callable[..., Any]], None]

    def run(self, quick: bool = False, out: Any = ".") -> Result:
        """Run it, the figures going to the folder `out`; `quick` takes less data or fewer settings."""
        folder = Path(out)
        folder.mkdir(parents=True, exist_ok=True)
        result = Result()
        start = time.perf_counter()
        self.function(result, quick, _Drawing(self.name, folder, result))
        result.seconds = time.perf_counter() - start
        return result


class _Drawing:
    """Makes figures in the style of the library, and keeps them."""

    def __init__(self, experiment: str, folder: Path, result: Result):
        self.experiment, self.folder, self.result = experiment, folder, result

    def __call__(self, name: str, **options: Any) -> _Figure:
        return _Figure(self, name, options)


class _Figure:
    """``with draw("boundary", ncols=2, figsize=(8, 4)) as (figure, axes): …``"""

    def __init__(self, drawing: _Drawing, name: str, options: dict[str, Any]):
        self.drawing, self.name, self.options = drawing, name, options

    def __enter__(self) -> Any:
        from matplotlib import rc_context
        from matplotlib.figure import Figure

        style: Any = {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#9a9a9a"}
        self._style = rc_context(style | {"font.size": 10, "axes.titlelocation": "left", "axes.titlesize": 11})
        self._style.__enter__()
        size = self.options.pop("figsize", (7.0, 4.2))
        self.figure = Figure(figsize=size, layout="constrained")  # no pyplot: nothing is left open
        return self.figure, self.figure.subplots(**self.options)

    def __exit__(self, kind: Any, *error: Any) -> None:
        self._style.__exit__(kind, *error)
        if kind is None:
            path = self.drawing.folder / f"{self.drawing.experiment}_{self.name}.png"
            self.figure.savefig(path, dpi=150)
            self.drawing.result.figures.append(path)


def experiment(name: str, title: str, source: str, minutes: float) -> Callable[[Any], Experiment]:
    """Enter a function as an experiment."""

    def enter(function: Any) -> Experiment:
        EXPERIMENTS[name] = Experiment(name, title, source, minutes, function)
        return EXPERIMENTS[name]

    return enter
