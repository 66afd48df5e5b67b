"""The displays of `mercer.plot` on the page: matrix, function, solver and search."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .._array import host
from ..plot import (
    CanonicalDisplay,
    ComponentsDisplay,
    DecisionDisplay,
    DensityDisplay,
    GramDisplay,
    GridDisplay,
    HistoryDisplay,
    PathDisplay,
    SpectrumDisplay,
    SplineDisplay,
    WeightsDisplay,
)
from ..plot.weights import kernel_names
from ..types import Axis
from ._case import Case, rows
from ._cautions import is_number
from ._html import number
from ._pictures import short, tick

PLANE = (4.6, 3.2)  # inches
CELLS = 200  # per side of a matrix
NAMED = 20  # maximum number of classes with their own colour
CURVES = 8
PARTS = 12  # maximum number of terms in a sum of functions


# ---- the matrix


def gram(case: Case) -> list[str]:
    """The kernel matrix, ordered by class or cluster."""
    if case.K is None or case.spectrum is None:
        return []
    m, groups = len(case.K), case.labels
    ordered = "" if groups is None else f", ordered by {'class' if case.kind == 'classifier' else 'cluster'}"
    some = f"{m} of {case.n} samples, at random" if m < case.n else f"All {m} samples"
    alt = f"The kernel matrix of {m} samples{ordered}; mean similarity {case.spectrum.similarity:.3g}."
    labels = None if groups is None or len(np.unique(groups)) > NAMED else groups[case.drawn]
    if labels is not None and labels.dtype.kind in "OU":
        names = np.array([short(label) for label in labels])
        labels = names if len(np.unique(names)) == len(np.unique(labels)) else labels

    def plot(ax: Axis) -> None:
        GramDisplay.from_kernel("precomputed", case.K, labels, max_size=CELLS, ax=ax)

    return [case.pictures.drawn(plot, "Kernel matrix", alt, f"{some}{ordered}.", (3.8, 3.1))]


def spectrum(case: Case) -> list[str]:
    """The eigenvalues, and the effective dimension if there is a penalty."""
    if case.spectrum is None or not case.spectrum.eigenvalues.any():
        return []
    m = len(case.spectrum.eigenvalues)
    values = case.spectrum.eigenvalues * (case.n / m)
    display = SpectrumDisplay(eigenvalues=values, alpha=case.alpha or None)

    def plot(ax: Axis) -> None:
        display.plot(ax, panels=["eigenvalues"])
        ax.set(ylabel="eigenvalue of K")

    negative = f", {int((values < 0).sum())} negative" if (values < 0).any() else ""
    alt = f"The {m} eigenvalues of the kernel matrix, from {values[0]:.3g} to {values[-1]:.3g}{negative}."
    words = [f"Of {m} samples, scaled to all {case.n}."] if m < case.n else []
    words += ["The penalty damps directions below the line."] if case.alpha else []
    found = [case.pictures.drawn(plot, "Spectrum", alt, " ".join(words))]
    if case.alpha:
        title = "Effective dimension over the penalty"
        said = f"At α = {number(case.alpha)}, {number(case.spectrum.dimension)} of {m} directions remain."
        found.append(case.pictures.drawn(partial(display.plot, panels=["dimension"]), title, said, said))
    return found


# ---- the function


def function(case: Case) -> list[str]:
    """The fitted function, if it can be drawn: regions, curves, densities, components, weights."""
    return [*_decision(case), *_curves(case), *_density(case), *_components(case), *_weights(case)]


def _decision(case: Case) -> list[str]:
    columns = list(case.columns.values())
    flat = len(columns) == 2 and all(c.dtype.kind == "f" and np.isfinite(c).all() for c in columns)
    if not flat or case.kind not in ("classifier", "outliers", "clusterer") or not hasattr(case.fitted, "predict"):
        return []
    if case.labels is not None and len(np.unique(case.labels)) > NAMED:
        return []
    # all samples in their own order, so that the display finds its support vectors
    some = np.arange(case.n) if case.n == len(case.drawn) else case.drawn
    y = None if case.labels is None else case.labels[some]

    def plot(ax: Axis) -> None:
        DecisionDisplay.from_estimator(case.fitted, rows(case.X, some), y, ax=ax, resolution=200)
        ax.set(**dict(zip(("xlabel", "ylabel"), map(tick, case.columns), strict=True)))

    alt = f"Regions in the plane of the two columns, and {len(some)} samples."
    return [case.pictures.drawn(plot, "In the plane", alt, "", PLANE)]


def _curves(case: Case) -> list[str]:
    """A curve with its band, quantiles, or ANOVA components."""
    model = case.model
    levels = hasattr(model, "quantiles") or hasattr(model, "expectiles")
    if case.kind != "regressor" or np.ndim(case.y) != 1:
        return []
    columns = list(case.columns.values())
    single = len(columns) == 1 and columns[0].dtype.kind == "f" and np.isfinite(columns[0]).all()
    if not single and not hasattr(model, "terms_"):
        return []
    with case.pictures.axes() as (_, ax):
        whole = SplineDisplay.from_estimator(case.fitted, rows(case.X, case.drawn), case.y[case.drawn], ax=ax)
    found = []
    for part in whole.parts[:PARTS]:
        one = SplineDisplay(parts=[part], level=whole.level, levels=whole.levels)
        title = part.name.replace(r"\$", "$") or ("Levels of y" if levels else "The curve")
        alt = f"{title}, from {np.min(part.values):.4g} to {np.max(part.values):.4g}."
        band = f"The band has level {whole.level:.0%}" if part.deviation is not None else ""
        points = "points are partial residuals" if band and part.name else ""
        said = "; ".join(filter(None, (band, points)))
        found.append(case.pictures.drawn(one.plot, title, alt, f"{said}." if said else ""))
    return found


def _density(case: Case) -> list[str]:
    if case.kind != "density" or case.dimension not in (1, 2) or not hasattr(case.model, "log_normalizer_"):
        return []

    def plot(ax: Axis) -> None:
        display = DensityDisplay.from_estimator(case.fitted, ax=ax)
        if not case.steps:  # otherwise the axes are not columns of X
            display.ax_.set(**dict(zip(("xlabel", "ylabel"), map(tick, case.columns), strict=False)))

    alt = f"The density over {case.dimension} column{'s'[: case.dimension - 1]}, and the samples."
    return [case.pictures.drawn(plot, "The density", alt)]


def _components(case: Case) -> list[str]:
    """The samples in the plane of two components, or the pairs of canonical variables."""
    model = case.model
    if hasattr(model, "correlations_"):
        values = host(model.correlations_)
        said = f"Penalised correlations: {', '.join(f'{v:.3g}' for v in values[:6].tolist())}."
        if len(model.scores_) != 2:
            return [case.pictures.curve(values, "Canonical correlations", ("component", "correlation"), said, said)]
        title = "Canonical variables"
        return [case.pictures.drawn(lambda ax: CanonicalDisplay.from_estimator(model, ax=ax), title, said, said)]
    if case.kind != "transformer" or not hasattr(case.fitted, "transform"):
        return []
    y = case.y[case.drawn] if isinstance(case.y, np.ndarray) and case.y.ndim == 1 else None
    if y is not None and y.dtype.kind not in "fiu" and len(np.unique(y)) > NAMED:
        y = None

    def plot(ax: Axis) -> None:
        ComponentsDisplay.from_estimator(case.fitted, rows(case.X, case.drawn), y, ax=ax)

    return [case.pictures.drawn(plot, "Components", "Samples in the plane of the first two components.", "", PLANE)]


def _weights(case: Case) -> list[str]:
    if not hasattr(case.model, "alignments_"):
        return []
    order = np.argsort(-host(case.model.weights_), kind="stable")[:NAMED]
    names = kernel_names(case.model)
    said = ", ".join(f"{names[j]}: {case.model.weights_[j]:.3g}" for j in order)

    def plot(ax: Axis) -> None:
        WeightsDisplay(
            weights=host(case.model.weights_)[order],
            names=[names[j] for j in order],
            alignments=host(case.model.alignments_)[order],
        ).plot(ax)

    return [
        case.pictures.drawn(plot, "Weights of the kernels", f"Weights: {said}.", "", (5.0, 0.9 + 0.24 * len(order)))
    ]


# ---- the solver and the search


def history(case: Case) -> list[str]:
    """The solver's history; a direct solver has none."""
    try:
        with case.pictures.axes() as (_, ax):
            display = HistoryDisplay.from_estimator(case.model, ax=ax)
    except TypeError:  # raised for methods without a history
        return []
    found = []
    for name, lines in display.lines_.items():
        longest = max((line.get_ydata() for line in lines), key=len)
        if len(longest) < 3:
            continue
        runs = f" in the longest of {len(lines)} runs" if len(lines) > 1 else ""
        alt = f"The {name} over {len(longest)} iterations{runs}, from {longest[0]:.3g} to {longest[-1]:.3g}."
        title = f"Solver history: {name.replace('working', 'working set')}"
        found.append(case.pictures.drawn(partial(display.plot, quantities=[name]), title, alt))
    return found


def landscape(case: Case) -> list[str]:
    """The score over the values that a search tried, or a method's selection criterion."""
    results = getattr(case.search, "cv_results_", None)
    if not isinstance(results, dict) or "mean_test_score" not in results:
        return _path(case)
    levels = {name: _levels(results, name) for name in results["params"][0]}
    numbers = [n for n, v in levels.items() if len(v) > 1 and all(map(is_number, v))]
    numbers = sorted(numbers, key=lambda n: -len(levels[n]))
    if not numbers or not np.isfinite(results["mean_test_score"]).any():
        return []
    title = "Score over the values tried"
    contour = [n for n in numbers if min(levels[n]) > 0 and len(levels[n]) > 2][:2]
    if len(contour) == 2:
        x, y = sorted(contour, key=list(levels).index)
        rest = sum(len(v) > 1 for v in levels.values()) > 2
        more = " Each point shows the best score over the other parameters." if rest else ""
        alt = f"Contours of the score over {x} and {y}."
        caption = f"The star marks the best score.{more}"
        return [
            case.pictures.drawn(
                lambda ax: GridDisplay.from_cv_results(results, x, y, ax=ax), title, alt, caption, PLANE
            )
        ]
    display = _curve_of_scores(results, numbers[0], levels)
    return [case.pictures.drawn(display.plot, title, f"The score over {numbers[0]}.", "", PLANE)]


def _curve_of_scores(results: dict[str, Any], x: str, levels: dict[str, list[Any]]) -> PathDisplay:
    """The best score at each value of one parameter, with one curve per value of a second one."""
    others = [n for n, v in levels.items() if n != x and 1 < len(v) <= CURVES]
    other = max(others, key=lambda n: len(levels[n]), default=None)
    names = [_key(v) for v in levels[other]] if other else [""]
    best = np.full((len(names), len(levels[x])), np.nan)
    for setting, score in zip(results["params"], results["mean_test_score"], strict=True):
        row = names.index(_key(setting.get(other))) if other else 0
        column = levels[x].index(setting[x])
        best[row, column] = np.fmax(best[row, column], score)
    places = np.array(levels[x], dtype=np.float64)
    return PathDisplay(
        parameter=places,
        curves={name[:40]: curve for name, curve in zip(names, best, strict=True)},
        name=x,
        ylabel="score",
        best=float(places[np.nanargmax(np.nanmax(best, axis=0))]),
        log=bool(places.min() > 0 and places.max() > 20 * places.min()),
    )


def _levels(results: dict[str, Any], name: str) -> list[Any]:
    """The distinct values of a parameter; empty if some candidates lack it."""
    if not all(name in setting for setting in results["params"]):
        return []
    values = list({_key(setting[name]): setting[name] for setting in results["params"]}.values())
    return sorted(values) if all(map(is_number, values)) else values


def _key(value: Any) -> str:
    return repr(float(value)) if is_number(value) else str(value)


def _path(case: Case) -> list[str]:
    try:
        with case.pictures.axes() as (_, ax):
            display = PathDisplay.from_estimator(case.model, ax=ax)
    except TypeError:  # raised for methods that choose nothing
        return []
    chosen = "" if display.best is None else f"; {display.best:.4g} was chosen"
    what = next(iter(display.curves)) if len(display.curves) == 1 else display.ylabel or "criterion"
    what = what[:1].upper() + what[1:]
    alt = f"{what} over {display.name}{chosen}."
    return [case.pictures.drawn(display.plot, f"{what}, over the values tried", alt, "", PLANE)]
