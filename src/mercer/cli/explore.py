"""``mercer kpca``, ``cluster`` and ``outliers``: structure without targets."""

from __future__ import annotations

import csv
from typing import Any

import click
import numpy as np

import mercer

from ._columns import DataError, conform, kind_of
from ._data import read, stem
from ._output import Finite, Output, command, replacing, writable
from .choose import axes, picture_place, save_picture
from .fit import data_options, names, rounded, say_left_out

WIDE = 2.0  # for outliers: with a narrow kernel no point has neighbours, and all lie on the boundary
SAME = 1e-6  # negligible difference of log-densities


@command(examples=["mercer kpca wine.csv --colour cultivar"])
@click.argument("data", type=click.Path())
@click.option("--components", "-n", type=click.IntRange(1), default=2, show_default=True, help="Number of components.")
@click.option("--kernel", "-k", help="As for `fit`.")
@click.option("--colour", help="Column for the colours of the plot; not used in the analysis.")
@click.option("--out", "-o", type=click.Path(), help="File for the scores.  [default: NAME.kpca.csv]")
@click.option("--picture", type=click.Path(), help="The plot.  [default: NAME.kpca.png]")
@data_options
def kpca(
    output: Output,
    data: str,
    components: int,
    kernel: str | None,
    colour: str | None,
    out: str | None,
    picture: str | None,
    **columns: Any,
) -> None:
    """Kernel principal components.

    Writes the scores of all rows and plots the first two components.
    """
    place = writable(out or f"{stem(data)}.kpca.csv", [data])
    image = picture_place(output, picture, f"{stem(data)}.kpca.png", [data], [place])
    X, named, _, sample, groups = _rows(output, data, kernel, colour, **columns)
    if components > sample.n:
        raise DataError(f"--components {components} is more than the {sample.n} rows.")
    model = mercer.KernelPCA(components, kernel=named, random_state=0).fit(X)
    scores = np.asarray(model.transform(X))
    found = scores.shape[1]
    _write(place, [f"component {j + 1}" for j in range(found)], scores.tolist())
    shares = np.asarray(model.explained_variance_ratio_, dtype=float)
    output.result |= {"kernel": str(model.kernel_), "explained_variance_ratio": shares, "scores": str(place)}
    output.say("explained variance: " + ", ".join(f"{100 * s:.3g} %" for s in shares))
    output.say(f"scores:  {place}")
    if image:
        from mercer.plot import ComponentsDisplay

        shown, colours = _drawable(output, X, groups)
        display = ComponentsDisplay.from_estimator(model, shown, colours, ax=axes((6.4, 4.8)))
        if display.colorbar_ is not None and colour is not None:
            display.colorbar_.set_label(colour)
        save_picture(output, display, image)


@command(examples=["mercer cluster customers.csv --method spectral"])
@click.argument("data", type=click.Path())
@click.option("--clusters", type=click.IntRange(2), help="Number of clusters.  [default: chosen by the silhouette]")
@click.option("--method", type=click.Choice(["kmeans", "spectral"]), default="kmeans", show_default=True)
@click.option("--kernel", "-k", help="As for `fit`.")
@click.option("--out", "-o", type=click.Path(), help="File for the labels.  [default: NAME.clusters.csv]")
@data_options
def cluster(
    output: Output, data: str, clusters: int | None, method: str, kernel: str | None, out: str | None, **columns: Any
) -> None:
    """Kernel k-means or spectral clustering.

    Without --clusters, the silhouette chooses the number.
    """
    from mercer import selection

    place = writable(out or f"{stem(data)}.clusters.csv", [data])
    X, named, _, sample, _ = _rows(output, data, kernel, **columns)
    model: Any = mercer.KernelKMeans(kernel=named, random_state=0)
    if method == "spectral":
        model = mercer.SpectralClustering(affinity=named, random_state=0)
    if clusters is None:
        if sample.n < 3:
            raise DataError(f"{data} has {sample.n} rows, too few to choose a number of clusters; pass --clusters.")
        choice = selection.choose_clusters(model, X, n_clusters=range(2, min(11, sample.n)), random_state=0)
        clusters = choice.n_clusters
        output.result["silhouettes"] = dict(zip(choice.candidates.tolist(), choice.scores, strict=True))
        rows = [[int(k), float(s)] for k, s in zip(choice.candidates, choice.scores, strict=True)]
        output.table(["clusters", "silhouette"], rows)
        if clusters == max(choice.candidates):
            output.note(f"{clusters} is the largest number tried; more may be better, see --clusters")
    if clusters > sample.n:
        raise DataError(f"--clusters {clusters} is more than the {sample.n} rows.")
    model.set_params(n_clusters=clusters)
    labels = np.asarray(model.fit(X).labels_)
    _write(place, ["cluster"], [[int(v)] for v in labels])
    sizes = np.bincount(labels, minlength=clusters)
    output.result |= {"clusters": clusters, "sizes": sizes, "labels": str(place)}
    output.say(f"{clusters} clusters with {', '.join(map(str, sizes))} rows")
    output.say(f"labels:  {place}")


@command(examples=["mercer outliers sensors.csv --fraction 0.02"])
@click.argument("data", type=click.Path())
@click.option("--fraction", type=Finite(0, 1, min_open=True, max_open=True), default=0.05,
              show_default=True, help="Fraction of rows that may be outliers.")  # fmt: skip
@click.option("--method", type=click.Choice(["machine", "density"]), default="machine", show_default=True,
              help="One-class machine or robust density.")  # fmt: skip
@click.option("--kernel", "-k", help="As for `fit`.")
@click.option("--out", "-o", type=click.Path(), help="File for scores and labels.  [default: NAME.outliers.csv]")
@click.option("--model", "saved", type=click.Path(), help="Save the model for `predict`.")
@data_options
def outliers(
    output: Output,
    data: str,
    fraction: float,
    method: str,
    kernel: str | None,
    out: str | None,
    saved: str | None,
    **columns: Any,
) -> None:
    """Mark unusual rows.

    Every row gets a score, larger for usual rows, and a label: -1 outside, 1 inside.
    """
    from sklearn.pipeline import make_pipeline

    from ._guess import vectors
    from ._model import FileModel

    place = writable(out or f"{stem(data)}.outliers.csv", [data])
    file = writable(saved, [data], [place])
    if method == "density":
        for option, given in (("--model", file), ("--kernel", kernel)):
            if given is not None:
                raise DataError(f"{option} needs --method machine; a density has no boundary and uses its own kernel.")
    X, named, scaler, sample, _ = _rows(output, data, kernel, width=WIDE, **columns)
    if method == "machine":
        machine = mercer.OneClassSVM(kernel=named, nu=fraction, tol=1e-6).fit(X)
        whole = machine if scaler is None else make_pipeline(scaler, machine)
        model = FileModel(whole, "outliers", "", sample.columns, sample.n_features, not sample.is_matrix)
        scores, labels = model.mark(sample.X)
    else:
        Z = vectors(sample).fit_transform(sample.X)
        scores = np.asarray(mercer.RobustKernelDensity().fit(Z).score_samples(Z))
        if np.ptp(scores) < SAME:
            raise DataError(
                f"{data}: with {Z.shape[1]} columns, all rows are equally far from each other, so a density is not "
                "informative; use --method machine, or --drop columns."
            )
        labels = np.where(scores < np.quantile(scores, fraction), -1, 1)
    _write(place, ["score", "label"], [[float(s), int(v)] for s, v in zip(scores, labels, strict=True)])
    outside = np.flatnonzero(labels < 0)
    worst = outside[np.argsort(scores[outside])][:10]
    output.result |= {"outliers": len(outside), "worst": worst + 1, "worst_scores": scores[worst], "scores": str(place)}
    output.say(f"{len(outside)} of {sample.n} rows are outliers")
    if len(worst):
        output.table(["row", "score"], [[int(i) + 1, float(scores[i])] for i in worst], "most unusual rows")
    output.say(f"scores:  {place}")
    if file is not None:
        mercer.save(model, file)
        output.result["model"] = str(file)
        output.say(f"model:   {file}")


def _rows(
    output: Output,
    data: str,
    kernel: str | None,
    colour: str | None = None,
    width: float = 1.0,
    *,
    encoding: Any,
    drop: Any,
    categories: Any,
) -> tuple[Any, Any, Any, Any, Any]:
    """Samples for the kernel, the kernel, the scaler (or None), the sample, and the column for the colours."""
    from ._guess import choose_kernel
    from ._sample import prepare

    content = read(data, encoding)
    if colour is not None and not content.is_table:
        raise DataError(f"{data} is a matrix; --colour {colour} needs a table with named columns.")
    sample = prepare(content, data, colour, None, names(drop), names(categories), supervised=False)
    groups = content.y if colour is None else _groups(content.X[[colour]], data)
    scaler, chosen, _ = choose_kernel(sample, kernel, width)
    output.result |= {"rows": sample.n, "kernel": str(chosen)}
    output.say(f"{data}: {sample.n} rows, kernel {rounded(chosen)}")
    say_left_out(output, sample)
    X = sample.X if scaler is None else scaler.fit_transform(sample.X)
    return X, chosen, scaler, sample, groups


def _groups(column: Any, path: str) -> np.ndarray:
    """The values for the colours: numbers, or text with few distinct values."""
    from ._sample import CLASSES

    name, kind = column.columns[0], kind_of(column.iloc[:, 0])
    if kind in ("number", "date"):
        return conform(column, {name: kind}, path)[name].to_numpy()
    if column[name].nunique() > CLASSES:
        raise DataError(f"--colour {name} has {column[name].nunique()} distinct texts; the maximum is {CLASSES}.")
    return column[name].astype(object).fillna("unknown").to_numpy().astype(str)


def _drawable(output: Output, X: Any, groups: Any) -> tuple[Any, Any]:
    """The rows with a colour; whole numbers become integers, and count as classes if they are few."""
    if groups is None or groups.dtype.kind != "f":
        return X, groups
    known = np.isfinite(groups)
    if not known.all():
        output.note(f"{(~known).sum()} rows without a --colour value are not plotted")
        X, groups = X[known], groups[known]
    return X, groups.astype(np.int64) if np.all(groups == np.round(groups)) else groups


def _write(place: Any, head: list[str], rows: list[list[Any]]) -> None:
    with replacing(place) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)
