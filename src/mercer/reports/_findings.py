"""The sections on the error and on the diagnostics of the fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, confusion_matrix

from .._array import doubles
from .._palette import BLUE, GREY, ORANGE
from ..selection import silhouette
from ._case import MOST, Case, rows
from ._displays import function, gram, spectrum
from ._estimate import OURS, Estimate, levels_of
from ._html import figures, number, paragraph, table, text, tiles
from ._pictures import tick

SHOWN = 10  # number of worst samples listed
CLASSES = 20  # maximum number of classes in a confusion matrix
LOWER = {"root mean squared error", "mean absolute error", "log loss"}
HIGHER = {"accuracy", "balanced accuracy", "R²", "D²", "mean log density", "score"}
NUMBERS = {
    "edf_": "degrees of freedom",
    "noise_variance_": "noise variance",
    "inertia_": "sum of squares within clusters",
}


# ---- the error


def error(case: Case, estimate: Estimate) -> str:
    """The section."""
    if estimate.failure:
        return paragraph(text(estimate.failure, 600))
    count, sizes = len(estimate.splits), [len(test) for _, test in estimate.splits]
    size = str(sizes[0]) if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
    words = f"{count} folds of {size} samples; every model is fitted to the rest and tested on these."
    parts = [paragraph(words), _scores(estimate)]
    if estimate.left_out is not None:
        parts.append(_left_out(estimate.left_out))
    drawn = (_confusion(case, estimate), *_residuals(case, estimate), _calibration(case, estimate))
    return "".join(parts) + figures(*drawn, _densities(case, estimate))


def _scores(estimate: Estimate) -> str:
    """Means over the folds, with standard deviation and range below them."""
    metrics, first = list(estimate.scores), estimate.scores[estimate.metric]
    names = sorted(first, key=lambda who: who != OURS)
    rows: list[list[Any]] = [
        [who, *(_spread(estimate.scores[m].get(who)) for m in metrics), _wins(estimate, who)] for who in names
    ]
    rows.append(["this model, on the training samples", *(number(estimate.training.get(m)) for m in metrics), ""])
    head = ["model", *map(_judged, metrics), f"folds in which this model is better by {estimate.metric}"]
    if len(names) == 1:  # no other model to compare with
        head, rows = head[:-1], [row[:-1] for row in rows]
    meant = "; D² is 1 − loss / loss of the best constant" if estimate.metric == "D²" else ""
    return table(head, rows, f"Mean ± standard deviation over the folds, and range{meant}", ours=0)


def _judged(metric: str) -> str:
    side = "lower" if metric in LOWER else "higher" if metric in HIGHER else ""
    return f"{metric} ({side} is better)" if side else metric


def _spread(values: np.ndarray | None) -> str:
    if values is None or not np.isfinite(values).all():
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
    spread = f", with standard error {number(found.standard_error)}" if np.isfinite(found.standard_error) else ""
    kinds = {
        "closed_form": "in closed form",
        "newton": f"by one Newton step, with an error of at most {number(found.approximation_error)}",
        "active_set": "exactly, along the path of active sets",
    }
    return paragraph(
        f"<strong>Leave-one-out</strong>, {kinds[found.method]}: the mean {text(found.loss.replace('_', '–'))} loss is "
        f"<strong>{number(found.estimate)}</strong>{spread}. Quantities that depend on all samples, such as a tuned "
        "penalty, a median lengthscale or the scaling of columns, are kept fixed; the folds above recompute them."
    )


def _confusion(case: Case, estimate: Estimate) -> str:
    if case.kind != "classifier" or np.ndim(case.y) != 1:
        return ""
    labels, seen = case.classes[0], estimate.tested
    M = confusion_matrix(case.y[seen], estimate.predicted[seen], labels=labels)
    wrong = int(M.sum() - np.trace(M))
    said = f"Held-out samples; {wrong} of {M.sum()} are misclassified."
    if len(labels) > CLASSES:
        off = M - np.diag(np.diag(M))
        worst = [np.unravel_index(k, off.shape) for k in np.argsort(-off, axis=None, kind="stable")[:SHOWN]]
        rows = [[text(labels[i], 40), text(labels[j], 40), int(off[i, j])] for i, j in worst if off[i, j]]
        return table(["true class", "predicted", "samples"], rows, f"Classes most often confused. {said}", plain=(1,))
    alt = f"Confusion matrix of {len(labels)} classes: {said}"
    size = min(5.2, 2.0 + 0.32 * len(labels))
    return case.pictures.drawn(lambda ax: _cells(ax, M, labels), "Confusion matrix", alt, said, (size + 0.6, size))


def _cells(ax: Any, M: np.ndarray, labels: np.ndarray) -> None:
    ax.imshow(M, interpolation="none", cmap="Blues", vmin=0)
    ax.spines[:].set_visible(False)
    places, names = range(len(labels)), [tick(c) for c in labels]
    slanted = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if len("".join(names)) > 24 else {}
    ax.set_xticks(places, names, **slanted)
    ax.set_yticks(places, names)
    ax.tick_params(length=0)
    ax.set(xlabel="predicted", ylabel="true")
    for i, j in np.argwhere(M).tolist():
        colour = "white" if M[i, j] > 0.65 * M.max() else "black"
        ax.text(j, i, M[i, j], ha="center", va="center", color=colour, fontsize=8 if M.max() < 1000 else 6.5)


def _residuals(case: Case, estimate: Estimate) -> list[str]:
    if case.kind != "regressor" or np.ndim(case.y) != 1 or np.shape(estimate.predicted) != case.y.shape:
        return []
    seen = np.flatnonzero(estimate.tested)
    shown = seen if len(seen) <= 2 * MOST else np.random.default_rng(0).choice(seen, 2 * MOST, replace=False)
    y, f = np.asarray(case.y, dtype=np.float64), np.asarray(estimate.predicted, dtype=np.float64)
    style = {"markersize": 3.5, "markeredgewidth": 0, "alpha": 0.55}
    level = levels_of(case.fitted) is not None  # a quantile or expectile curve need not be near y
    caption = "Below the line, y is below its level." if level else "On the line, both agree."
    with case.pictures.axes() as (figure, ax):
        ax.plot(f[shown], y[shown], "o", color=BLUE, **style)
        ends = [min(y[seen].min(), f[seen].min()), max(y[seen].max(), f[seen].max())]
        ax.plot(ends, ends, color=GREY, linewidth=1)
        ax.set(xlabel="predicted, held out", ylabel="y")
        alt = "Targets over predictions at held-out samples."
        first = case.pictures.svg(figure, "Predicted and true", alt, caption)
    if level:
        return [first]
    with case.pictures.axes() as (figure, ax):
        ax.plot(f[shown], (y - f)[shown], "o", color=BLUE, **style)
        ax.axhline(0, color=GREY, linewidth=1)
        ax.set(xlabel="predicted, held out", ylabel="y − predicted")
        deviation = float(np.std((y - f)[seen]))
        alt = f"Residuals over predictions at held-out samples; their standard deviation is {deviation:.4g}."
        second = case.pictures.svg(figure, "Residuals", alt, "A bend or a funnel is a sign of missed structure.")
    return [first, second]


def _calibration(case: Case, estimate: Estimate) -> str:
    """How often the predicted class is correct, against its predicted probability."""
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
        ax.set(xlabel="probability of the predicted class", ylabel="fraction correct")
        off = float(np.mean(np.abs(np.array(x) - z)))
        alt = f"Calibration at held-out samples: mean distance from the diagonal {off:.3g}."
        return case.pictures.svg(figure, "Calibration", alt, "Below the line, the method is overconfident.")


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
    drawn = (*function(case), *_margins(case), *_shares(case), *_clusters(case), *gram(case), *spectrum(case))
    parts.append(figures(*drawn))
    parts.append(_worst(case, estimate))
    return "".join(parts) or paragraph("There are no diagnostics for this method.")


def _tiles(case: Case) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    spectrum, model = case.spectrum, case.model
    if spectrum is not None:
        matrix = "K + αI" if case.alpha else "K"
        beyond = spectrum.condition > 1 / np.finfo(float).eps  # the limit of double precision
        m = len(spectrum.eigenvalues)
        some = f", from {m} samples" if m < case.n else ""
        condition = "above 10<sup>15</sup>" if beyond else spectrum.condition
        found.append((f"condition number of {matrix}{some}", condition))
        if spectrum.dimension is not None:
            found.append((f"effective dimension, tr K(K + αI)⁻¹{some}", spectrum.dimension))
        found.append((f"participation ratio, of {m}", spectrum.participation))
        found.append(("mean similarity of two samples", spectrum.similarity))
    for kind in ("support", "relevance", "import"):
        kept = getattr(model, f"{kind}_", None)
        if kept is not None and np.ndim(kept) == 1:
            total = getattr(model, "shape_fit_", (case.n,))[0]
            found.append((f"{kind} vectors", f"{len(kept)} of {total} ({len(kept) / total:.0%})"))
    for name, what in NUMBERS.items():
        value = getattr(model, name, None)
        if isinstance(value, (int, float, np.number)):
            found.append((what, float(value)))
    return found


def _margins(case: Case) -> list[str]:
    """Decision value of the true class minus the best other, at the training samples."""
    if case.kind != "classifier" or not hasattr(case.fitted, "decision_function") or np.ndim(case.y) != 1:
        return []
    values = doubles(case.fitted.decision_function(case.X))
    place = np.searchsorted(case.classes[0], case.y)
    if values.ndim == 1:
        margin, label = np.where(place == 1, values, -values), "y f(x)"
    elif values.shape[1] == len(case.classes[0]):
        own = np.take_along_axis(values, place[:, None], axis=1)[:, 0]
        others = values.copy()
        np.put_along_axis(others, place[:, None], -np.inf, axis=1)
        margin, label = own - others.max(axis=1), "value of the true class − best other"
    else:
        return []
    wrong = int(np.sum(margin < 0))
    with case.pictures.axes() as (figure, ax):
        ax.hist(margin, bins=30, color=BLUE, alpha=0.85, rwidth=0.94)
        ax.axvline(0, color=ORANGE, linewidth=1.2)
        ax.set(xlabel=label, ylabel="samples")
        ax.yaxis.get_major_locator().set_params(integer=True)
        alt = f"Histogram of margins at the training samples; {wrong} are negative (misclassified)."
        said = f"At the training samples; {wrong} of {case.n} are on the wrong side."
        return [case.pictures.svg(figure, "Margins", alt, said)]


def _shares(case: Case) -> list[str]:
    """The variance that each component explains."""
    values = getattr(case.model, "explained_variance_ratio_", None)
    if values is None or not len(values):
        return []
    values = doubles(values)
    shares = ", ".join(f"{v:.1%}" for v in values[:6])
    more = ", …" if len(values) > 6 else ""
    said = f"{len(values)} component{'s' * (len(values) > 1)}: {shares}{more}; together {values.sum():.1%}."
    return [case.pictures.curve(values, "Explained variance", ("component", "share"), said, said)]


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
    """The samples with the largest errors."""
    if not case.labelled or np.ndim(case.y) != 1:
        return ""
    left_out = estimate.left_out
    if left_out is not None and left_out.values is not None and left_out.loss != "zero_one":
        loss, how = np.asarray(left_out.values, dtype=np.float64), "leave-one-out loss"
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
    said = "The samples with the largest errors; rows are counted from 0"
    return table(["sample", "y", "predicted, held out", how], rows, said)


def _value(value: Any) -> str:
    return number(float(value)) if isinstance(value, (float, np.floating)) else text(value, 40)


def _wrong(case: Case, estimate: Estimate) -> str:
    if case.kind != "classifier" or estimate.predicted is None or np.shape(estimate.predicted) != np.shape(case.y):
        return ""
    wrong = np.flatnonzero(estimate.tested & (estimate.predicted != case.y))
    if not wrong.size:
        return ""
    rows = [[str(k), text(case.y[k], 40), text(estimate.predicted[k], 40)] for k in wrong[:SHOWN]]
    some = "All" if len(wrong) <= SHOWN else f"{SHOWN} of the"
    said = f"{some} {len(wrong)} samples that were misclassified when held out; rows are counted from 0"
    return table(["sample", "y", "predicted, held out"], rows, said)
