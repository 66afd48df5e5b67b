"""The sections on the error and on what the fitted model looks like."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, confusion_matrix

from .._array import host
from ..selection import silhouette
from ._case import MOST, Case, rows
from ._estimate import OURS, Estimate
from ._html import figures, number, paragraph, table, text, tiles
from ._pictures import BLUE, GREY, ORANGE, plain_ticks

SHOWN = 10  # samples in a list of the worst
CLASSES = 20  # of a confusion matrix
LOWER = {"root mean squared error", "mean absolute error", "log loss", "share called outliers"}


# ---- the error


def error(case: Case, estimate: Estimate) -> str:
    """The section."""
    if estimate.failure:
        return paragraph(text(estimate.failure, 600))
    count, sizes = len(estimate.splits), [len(test) for _, test in estimate.splits]
    words = f"{count} folds of {_range(sizes)} samples; every model is fitted to the others and judged on these."
    parts = [paragraph(words), _scores(estimate)]
    if estimate.left_out is not None:
        parts.append(_left_out(estimate.left_out))
    drawn = [
        _confusion(case, estimate),
        *_residuals(case, estimate),
        _calibration(case, estimate),
        _densities(case, estimate),
    ]
    return "".join(parts) + figures(*drawn)


def _range(sizes: list[int]) -> str:
    return str(sizes[0]) if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"


def _scores(estimate: Estimate) -> str:
    """Means over the folds, with standard deviation and range below them."""
    metrics, first = list(estimate.scores), estimate.scores[estimate.metric]
    names = sorted(first, key=lambda who: who != OURS)
    rows: list[list[Any]] = [
        [who, *(_spread(estimate.scores[m].get(who)) for m in metrics), _wins(estimate, who)] for who in names
    ]
    rows.append(["this model, on the samples of the fit", *(number(estimate.training.get(m)) for m in metrics), ""])
    head = ["model", *(f"{m} ({'lower' if m in LOWER else 'higher'} is better)" for m in metrics)]
    head.append(f"folds in which this model is better by {estimate.metric}")
    return table(head, rows, "Mean ± standard deviation over the folds, and range", ours=0)


def _spread(values: np.ndarray | None) -> str:
    if values is None:
        return "–"
    spread = np.std(values, ddof=1) if np.ptp(values) > 1e-12 * np.abs(values).max() else 0.0
    deviation = f" ± {number(float(f'{spread:.2g}'))}" if len(values) > 1 else ""
    low, middle, high = (number(float(v)) for v in (values.min(), values.mean(), values.max()))
    return f"{middle}{deviation}<small>{low} to {high}</small>"


def _wins(estimate: Estimate, who: str) -> str:
    ours, theirs = estimate.scores[estimate.metric][OURS], estimate.scores[estimate.metric][who]
    better = ours < theirs if estimate.metric in LOWER else ours > theirs
    return "" if who == OURS else f"{better.sum()} of {len(ours)}"


def _left_out(found: Any) -> str:
    spread = f" ± {number(found.standard_error)}" if np.isfinite(found.standard_error) else ""
    kinds = {
        "closed_form": "in closed form",
        "newton": f"by one Newton step, off by at most {number(found.approximation_error)}",
        "active_set": "exactly, along the path of active sets",
    }
    return paragraph(
        f"<strong>Leave-one-out</strong>, {kinds[found.method]}: the mean {text(found.loss.replace('_', '–'))} loss is "
        f"<strong>{number(found.estimate)}</strong>{spread}. What the fit takes from all samples at once, such as a "
        "median lengthscale or the scaling of columns, stays as it is."
    )


def _confusion(case: Case, estimate: Estimate) -> str:
    if case.kind != "classifier" or np.ndim(case.y) != 1 or len(case.classes[0]) > CLASSES:
        return ""
    labels, seen = case.classes[0], estimate.tested
    M = confusion_matrix(case.y[seen], estimate.predicted[seen], labels=labels)
    wrong = int(M.sum() - np.trace(M))
    alt = f"Confusion matrix of {len(labels)} classes on held-out samples: {wrong} of {M.sum()} are wrong."
    return case.pictures.matrix(
        M.astype(float),
        "Confusion matrix",
        alt,
        f"Held-out samples; {wrong} of {M.sum()} are wrong.",
        [str(c) for c in labels],
    )


def _residuals(case: Case, estimate: Estimate) -> list[str]:
    if case.kind != "regressor" or np.ndim(case.y) != 1 or np.shape(estimate.predicted) != case.y.shape:
        return []
    seen = np.flatnonzero(estimate.tested)
    shown = seen if len(seen) <= 4 * MOST else np.random.default_rng(0).choice(seen, 4 * MOST, replace=False)
    y, f = np.asarray(case.y, dtype=np.float64), np.asarray(estimate.predicted, dtype=np.float64)
    style = {"markersize": 3.5, "markeredgewidth": 0, "alpha": 0.55}
    with case.pictures.axes() as (figure, ax):
        ax.plot(f[shown], y[shown], "o", color=BLUE, **style)
        ends = [min(y[seen].min(), f[seen].min()), max(y[seen].max(), f[seen].max())]
        ax.plot(ends, ends, color=GREY, linewidth=1)
        ax.set(xlabel="predicted, held out", ylabel="y")
        first = case.pictures.svg(
            figure, "Predicted and true", "Targets over predictions at held-out samples.", "On the line, both agree."
        )
    with case.pictures.axes() as (figure, ax):
        ax.plot(f[shown], (y - f)[shown], "o", color=BLUE, **style)
        ax.axhline(0, color=GREY, linewidth=1)
        ax.set(xlabel="predicted, held out", ylabel="y − predicted")
        deviation = float(np.std((y - f)[seen]))
        alt = f"Residuals over predictions at held-out samples; their standard deviation is {deviation:.4g}."
        second = case.pictures.svg(
            figure, "Residuals", alt, "A bend or a funnel is structure that the method has missed."
        )
    return [first, second]


def _calibration(case: Case, estimate: Estimate) -> str:
    """How often the predicted class is right, over the probability that it was given."""
    if estimate.probability is None:
        return ""
    seen = estimate.tested
    P = estimate.probability[seen]
    sure = P.max(axis=1)
    right = case.classes[0][P.argmax(axis=1)] == case.y[seen]
    order = np.argsort(sure)
    parts = [part for part in np.array_split(order, max(2, min(10, len(order) // 20))) if len(part)]
    x, z = [sure[p].mean() for p in parts], [right[p].mean() for p in parts]
    with case.pictures.axes() as (figure, ax):
        low = min(*x, *z, 0.5)
        ax.plot([low, 1], [low, 1], color=GREY, linewidth=1)
        ax.plot(x, z, "o-", color=BLUE, markersize=5)
        ax.set(xlabel="probability of the predicted class", ylabel="share that is right")
        off = float(np.mean(np.abs(np.array(x) - z)))
        alt = f"Calibration at held-out samples: mean distance from the diagonal {off:.3g}."
        return case.pictures.svg(figure, "Calibration", alt, "Below the line, the method is too sure of itself.")


def _densities(case: Case, estimate: Estimate) -> str:
    if estimate.values is None or case.kind not in ("density", "outliers"):
        return ""
    values = estimate.values[estimate.tested & np.isfinite(estimate.values)]
    label = "log density" if case.kind == "density" else "score"
    return case.pictures.histogram(values, "Held-out samples", f"{label}, held out") if values.size else ""


# ---- the model


def diagnostics(case: Case, estimate: Estimate) -> str:
    """The section."""
    first = _tiles(case)
    parts = [tiles(first)] if first else []
    parts.append(figures(*_matrix(case), *_margins(case), *_components(case), *_clusters(case)))
    parts.append(_worst(case, estimate))
    return "".join(parts) or paragraph("There is nothing to show of this method beyond its results.")


def _tiles(case: Case) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    spectrum, model = case.spectrum, case.model
    if spectrum is not None:
        matrix = "K + αI" if case.alpha else "K"
        found.append((f"condition number of {matrix}", spectrum.condition))
        if spectrum.dimension is not None:
            found.append(("effective dimension, tr K(K + αI)⁻¹", spectrum.dimension))
        found.append((f"participation ratio, of {len(spectrum.eigenvalues)}", spectrum.participation))
        found.append(("mean similarity of two samples", spectrum.similarity))
    for name, what in (
        ("support_", "support vectors"),
        ("relevance_", "relevance vectors"),
        ("import_", "import vectors"),
    ):
        kept = getattr(model, name, None)
        if kept is not None and np.ndim(kept) == 1:
            total = getattr(model, "shape_fit_", (case.n,))[0]
            found.append((what, f"{len(kept)} of {total} ({len(kept) / total:.0%})"))
    for name, what in (
        ("edf_", "degrees of freedom"),
        ("noise_variance_", "variance of the noise"),
        ("inertia_", "sum of squares within clusters"),
    ):
        value = getattr(model, name, None)
        if isinstance(value, (int, float, np.number)):
            found.append((what, float(value)))
    return found


def _matrix(case: Case) -> list[str]:
    if case.K is None or case.spectrum is None:
        return []
    m = len(case.K)
    some = f"{m} of {case.n} samples, by chance" if m < case.n else f"All {m} samples"
    ordered = (
        ", ordered by class"
        if case.kind == "classifier"
        else ", ordered by cluster"
        if case.kind == "clusterer"
        else ""
    )
    small = case.K[:: max(1, m // 200), :: max(1, m // 200)]
    alt = f"The kernel matrix of {m} samples{ordered}; mean similarity {case.spectrum.similarity:.3g}."
    picture = case.pictures.matrix(small, "Kernel matrix", alt, f"{some}{ordered}.")
    values = case.spectrum.eigenvalues
    top = values[0] if len(values) and values[0] > 0 else 1.0
    shown = np.where(values > 1e-17 * top, values, np.nan)
    if not np.isfinite(shown).any():
        return [picture]
    with case.pictures.axes() as (figure, ax):
        ax.plot(np.arange(1, m + 1), shown, "." if m <= 60 else "-", color=BLUE)
        scaled = (case.alpha or 0.0) * m / case.n
        if scaled:
            ax.axhline(scaled, color=ORANGE, linewidth=1.2)
            ax.annotate("α", (m, scaled), (-4, 3), textcoords="offset points", color=ORANGE, ha="right")
        ax.set(xlabel="index", ylabel="eigenvalue", yscale="log")
        plain_ticks(ax.yaxis)
        negative = f", {int((values < 0).sum())} negative" if (values < 0).any() else ""
        said = f"The {m} eigenvalues of the kernel matrix, from {values[0]:.3g} to {values[-1]:.3g}{negative}."
        caption = "Directions below the line are damped by the penalty." if scaled else ""
        return [picture, case.pictures.svg(figure, "Spectrum", said, caption)]


def _margins(case: Case) -> list[str]:
    """Decision values of the right class against the best other, at the samples of the fit."""
    if case.kind != "classifier" or not hasattr(case.fitted, "decision_function") or np.ndim(case.y) != 1:
        return []
    values = np.asarray(host(case.fitted.decision_function(case.X)), dtype=np.float64)
    place = np.searchsorted(case.classes[0], case.y)
    if values.ndim == 1:
        margin, label = np.where(place == 1, values, -values), "y f(x)"
    elif values.shape[1] == len(case.classes[0]):
        own = np.take_along_axis(values, place[:, None], axis=1)[:, 0]
        others = values.copy()
        np.put_along_axis(others, place[:, None], -np.inf, axis=1)
        margin, label = own - others.max(axis=1), "value of the right class − best other"
    else:
        return []
    wrong = int(np.sum(margin < 0))
    with case.pictures.axes() as (figure, ax):
        ax.hist(margin, bins=30, color=BLUE, alpha=0.85, rwidth=0.94)
        ax.axvline(0, color=ORANGE, linewidth=1.2)
        ax.set(xlabel=label, ylabel="samples")
        alt = f"Histogram of margins at the samples of the fit; {wrong} are below zero, which is wrong."
        return [
            case.pictures.svg(
                figure, "Margins", alt, f"At the samples of the fit; {wrong} of {case.n} are on the wrong side."
            )
        ]


def _components(case: Case) -> list[str]:
    model = case.model
    found = []
    for name, title in (
        ("explained_variance_ratio_", "Explained variance"),
        ("correlations_", "Canonical correlations"),
    ):
        values = getattr(model, name, None)
        if values is None or np.ndim(host(values)) != 1 or not len(values):
            continue
        values = np.asarray(host(values), dtype=np.float64)
        share = f"; together {values.sum():.1%}" if title.startswith("Explained") else ""
        alt = f"{title} of {len(values)} components: {', '.join(f'{v:.3g}' for v in values[:6])}{share}."
        found.append(case.pictures.curve(values, title, ("component", "share" if share else "correlation"), alt, alt))
    if case.kind == "transformer":
        found += _scatter(case)
    return found


def _scatter(case: Case) -> list[str]:
    try:
        T = np.asarray(host(case.fitted.transform(case.X)), dtype=np.float64)
    except (AttributeError, TypeError, ValueError):
        return []
    if T.ndim != 2 or T.shape[1] < 2:
        return []
    labels = case.y if case.y is not None and np.ndim(case.y) == 1 and len(np.unique(case.y)) <= 8 else np.zeros(case.n)
    with case.pictures.axes(3.6, 2.9) as (figure, ax):
        for k, label in enumerate(np.unique(labels)):
            mine = labels == label
            colour = (BLUE, ORANGE, "#3a8f5c", "#8a4fa3", "#b8860b", "#17899b", "#c0447a", "#6b6b6b")[k]
            ax.plot(
                *T[mine][: 4 * MOST, :2].T,
                "osD^vP*X"[k],
                color=colour,
                markersize=3.5,
                markeredgewidth=0,
                alpha=0.7,
                label=str(label),
            )
        if len(np.unique(labels)) > 1:
            ax.legend(fontsize=8, handletextpad=0.1)
        ax.set(xlabel="component 1", ylabel="component 2")
        return [
            case.pictures.svg(figure, "The first two components", "Samples in the plane of the first two components.")
        ]


def _clusters(case: Case) -> list[str]:
    labels = getattr(case.model, "labels_", None)
    if case.kind != "clusterer" or labels is None or len(labels) != case.n:
        return []
    labels = np.asarray(labels)
    names, counts = np.unique(labels, return_counts=True)
    found = [case.pictures.counts([str(c) for c in names[:20]], counts[:20].tolist(), "Clusters", "samples")]
    kernel = getattr(case.model, "kernel_", None)
    if kernel is not None and case.K is not None and len(names) > 1:
        order = case.drawn
        points = case.K if case.pairwise else rows(case.Z, order)
        widths = silhouette(points, labels[order], kernel="precomputed" if case.pairwise else kernel)
        mean = float(np.mean(widths))
        with case.pictures.axes() as (figure, ax):
            place = np.lexsort((widths, labels[order]))
            ax.fill_betweenx(np.arange(len(place)), widths[place], color=BLUE, alpha=0.85, step="mid", linewidth=0)
            ax.axvline(mean, color=ORANGE, linewidth=1.2)
            ax.set(xlabel="silhouette", ylabel="samples, by cluster", yticks=[])
            below = f"{int((widths < 0).sum())} of {len(widths)} below zero"
            said = f"Silhouettes in the kernel's space: mean {mean:.3f}, {below}."
            found.append(case.pictures.svg(figure, "Silhouettes", said, said))
    if case.y is not None and np.ndim(case.y) == 1:
        index = adjusted_rand_score(case.y, labels)
        words = f"The adjusted Rand index with the given labels is {number(index)}."
        found.append(f"<figure><h3>Against y</h3><p>{words}</p></figure>")
    return found


def _worst(case: Case, estimate: Estimate) -> str:
    """The samples that the method understands least."""
    if not case.labelled or np.ndim(case.y) != 1:
        return ""
    left_out = estimate.left_out
    if left_out is not None and left_out.values is not None and left_out.loss != "zero_one":
        loss, how = np.asarray(left_out.values, dtype=np.float64), "loss when left out"
    elif case.kind == "regressor" and np.shape(estimate.predicted) == np.shape(case.y):
        loss, how = np.abs(case.y - estimate.predicted).astype(np.float64), "absolute error, held out"
        loss[~estimate.tested] = np.nan
    elif estimate.probability is not None:
        own = estimate.probability[np.arange(case.n), np.searchsorted(case.classes[0], case.y)]
        loss, how = np.where(estimate.tested, 1 - own, np.nan), "1 − probability of its class, held out"
    else:
        return _wrong(case, estimate)
    order = [k for k in np.argsort(-np.nan_to_num(loss, nan=-np.inf), kind="stable")[:SHOWN] if np.isfinite(loss[k])]
    predicted = estimate.predicted if np.shape(estimate.predicted) == np.shape(case.y) else None
    rows = [
        [str(k), _value(case.y[k]), "–" if predicted is None else _value(predicted[k]), float(loss[k])] for k in order
    ]
    return table(
        ["sample", "y", "predicted, held out", how],
        rows,
        "The samples that the method understands least; rows are counted from 0",
    )


def _value(value: Any) -> str:
    return number(float(value)) if isinstance(value, (float, np.floating)) else text(value, 40)


def _wrong(case: Case, estimate: Estimate) -> str:
    if case.kind != "classifier" or estimate.predicted is None or np.shape(estimate.predicted) != np.shape(case.y):
        return ""
    wrong = np.flatnonzero(estimate.tested & (estimate.predicted != case.y))
    if not wrong.size:
        return ""
    rows = [[str(k), text(case.y[k], 40), text(estimate.predicted[k], 40)] for k in wrong[:SHOWN]]
    said = (
        f"{min(SHOWN, len(wrong))} of the {len(wrong)} samples that were wrong when held out; rows are counted from 0"
    )
    return table(["sample", "y", "predicted, held out"], rows, said)
