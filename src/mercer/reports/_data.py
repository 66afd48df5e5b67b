"""The section on the data: size, columns, missing values and the target."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import is_array, is_sparse
from ..domains import Graph
from ..domains.tables import is_missing
from ._case import Case
from ._cautions import contradictions, twins
from ._estimate import Estimate
from ._html import bars, figures, number, paragraph, table, text, tiles

SHOWN = 30  # maximum number of columns listed
BINS = 16


def data(case: Case, estimate: Estimate) -> str:
    """The section."""
    first: list[tuple[str, Any]] = [("samples", case.n)]
    if case.columns:
        first.append(("columns", len(case.columns)))
        missing = float(np.mean([is_missing(v).mean() for v in case.columns.values()]))
        first.append(("missing values", f"{missing:.1%}" if missing else "none"))
    if case.identity is not None:
        repeated = case.n - len(np.unique(case.identity))
        first.append(("duplicate samples" if repeated != 1 else "duplicate sample", repeated))
    if case.kind == "classifier" and np.ndim(case.y) == 1:
        first.append(("classes", len(case.classes[0])))
    second = paragraph("The second view:") + _table(case.second) if case.second else ""
    return tiles(first) + _inputs(case) + second + _repeats(case, estimate) + _target(case)


def _repeats(case: Case, estimate: Estimate) -> str:
    share = twins(case, estimate)
    if not share:
        return ""
    words = f"{share:.1%} of the held-out samples have an identical one in the training set"
    against = contradictions(case)
    return paragraph(f"{words}; {against} samples have an identical one of another class." if against else f"{words}.")


# ---- inputs


def _inputs(case: Case) -> str:
    if case.columns:
        return _table(case.columns)
    if case.pairwise:
        return paragraph(f"The data are a precomputed kernel matrix, {case.n} × {case.n}.")
    if is_sparse(case.X):
        n, d = case.X.shape
        filled = case.X.nnz / max(n * d, 1)
        return paragraph(
            f"The data are a sparse matrix with {number(d)} columns; {filled:.3%} of the entries are non-zero."
        )
    return _members(case)


def _table(columns: dict[str, np.ndarray]) -> str:
    rows = []
    for name, column in list(columns.items())[:SHOWN]:
        missing = is_missing(column)
        known = column[~missing]
        share = f"{missing.mean():.1%}" if missing.any() else "0"
        rows.append(
            [text(name, 60), *(_numbers(name, known) if column.dtype.kind == "f" else _words(name, known)), share]
        )
    head = ["column", "kind", "distribution", "minimum", "median", "maximum", "standard deviation", "missing"]
    rest = len(columns) - SHOWN
    more = paragraph(f"{rest} more columns are not listed.", "quiet") if rest > 0 else ""
    return table(head, rows, plain=(1, 2)) + more


def _numbers(name: str, values: np.ndarray) -> list[Any]:
    if not values.size:
        return ["numbers", "", None, None, None, None]
    whole = bool(np.all(values == np.round(values)))
    low, middle, high = np.quantile(values, [0, 0.5, 1])
    counts = np.histogram(values, BINS)[0]
    label = f"Histogram of {name}, from {low:.4g} to {high:.4g}"
    return ["whole numbers" if whole else "numbers", bars(counts, label), low, middle, high, values.std()]


def _words(name: str, values: np.ndarray) -> list[Any]:
    if not values.size:
        return ["labels", "", None, None, None, None]
    labels, counts = np.unique([str(v) for v in values], return_counts=True)
    order = np.argsort(-counts, kind="stable")
    most = ", ".join(f"{text(labels[k], 24)} ({counts[k]})" for k in order[:3])
    said = f"{most}{', …' if len(labels) > 3 else ''}"
    shown = bars(counts[order][:BINS], f"Counts of the labels of {name}")
    return [f"{len(labels)} labels: {said}", shown, None, None, None, None]


def _members(case: Case) -> str:
    """Strings, graphs and other samples that are not vectors."""
    if isinstance(case.X, tuple):
        return paragraph(f"Each sample has {len(case.X)} parts.")
    members = list(case.X) if not is_array(case.X) else []
    kinds, counts = np.unique([type(x).__name__ for x in members], return_counts=True)
    said = paragraph(
        f"Samples are of type {', '.join(f'<code>{text(k)}</code> ({c})' for k, c in zip(kinds, counts, strict=True))}."
    )
    measures: dict[str, list[float]] = {}
    if members and all(isinstance(x, Graph) or hasattr(x, "number_of_nodes") for x in members):
        own = isinstance(members[0], Graph)
        measures["nodes"] = [x.n if own else x.number_of_nodes() for x in members]
        measures["edges"] = [x.n_edges if own else x.number_of_edges() for x in members]
    elif members and all(hasattr(x, "__len__") for x in members):
        measures["length"] = [len(x) for x in members]
    if not measures:
        return said
    rows = [
        [name, bars(np.histogram(v, BINS)[0], f"Histogram of {name}"), *np.quantile(v, [0, 0.5, 1])]
        for name, v in measures.items()
    ]
    return said + table(["measure", "distribution", "minimum", "median", "maximum"], rows, plain=(1,))


# ---- targets


def _target(case: Case) -> str:
    if not case.labelled or case.y is None:
        return ""
    if np.ndim(case.y) != 1:
        return paragraph(f"Each sample has {case.y.shape[1]} targets.")
    if case.kind == "regressor":
        y = np.asarray(case.y, dtype=np.float64)
        rows = [["y", float(y.min()), float(np.median(y)), float(y.mean()), float(y.max()), float(y.std())]]
        words = table(["target", "minimum", "median", "mean", "maximum", "standard deviation"], rows)
        return words + figures(case.pictures.histogram(y, "Target", "y"))
    labels, counts = case.classes
    rows = [[text(label, 60), int(c), f"{c / case.n:.1%}"] for label, c in zip(labels[:SHOWN], counts, strict=False)]
    picture = case.pictures.counts([str(c) for c in labels[:SHOWN]], counts[:SHOWN].tolist(), "Classes", "samples")
    rest = len(labels) - SHOWN
    more = paragraph(f"{rest} more classes are not listed.", "quiet") if rest > 0 else ""
    return figures(picture, table(["class", "samples", "share"], rows)) + more
