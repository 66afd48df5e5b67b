"""``mercer convert``: convert data and models from and to LIBSVM's formats; scale data and draw subsets."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import click
import numpy as np

import mercer

from .. import _files
from ._columns import DataError, conform, kind_of, unknown_column
from ._data import FOREIGN, RENUMBER, Data, read, require_dense, split_target
from ._output import Output, command, replacing, writable
from .fit import encoding_option, listed

SEED = click.IntRange(0, 2**32 - 1)


@command(
    examples=[
        "mercer convert heart.libsvm heart.csv",
        "mercer convert train.csv train.libsvm --target y --scale -1,1 --save-range train.range",
        "mercer convert machine.mercer machine.model",
        "mercer convert model.mercer model.onnx",
    ],
)
@click.argument("source", type=click.Path())
@click.argument("destination", type=click.Path())
@click.option("--target", "-t", help="The target column of a table or .npy matrix.  [default: the last]")
@click.option("--scale", help="Scale every column to this interval, such as -1,1.")
@click.option("--save-range", type=click.Path(), help="File for the column ranges, like svm-scale -s.")
@click.option("--range", "ranges", type=click.Path(), help="Scale by saved ranges, like svm-scale -r.")
@click.option("--subset", type=click.IntRange(1), help="Draw this many random rows, stratified by class.")
@click.option("--rest", type=click.Path(), help="File for the other rows.")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Random seed of the subset.")
@encoding_option
def convert(output: Output, source: str, destination: str, **options: Any) -> None:
    """Convert, scale and split data; convert models.

    Data: LIBSVM, CSV, TSV, Parquet, NumPy. Models: LIBSVM and .mercer, both ways, and export to ONNX.

    The suffix sets the output format: .csv, .tsv, .npz, .libsvm (also .gz); for models .mercer, .model and .onnx.
    """
    place = writable(destination, [source, options["ranges"]])
    kind = _kind_of_model(Path(source))
    if kind:
        given = [f"--{name}".replace("ranges", "range") for name, v in options.items() if v and name != "seed"]
        if given:
            raise DataError(f"{source} is a model, but {given[0]} applies to data.")
        _convert_model(output, source, kind, place)
    else:
        _convert_data(output, source, place, **options)


def _kind_of_model(path: Path) -> str | None:
    """The kind of model, by the first bytes; a zip archive may also belong to another program."""
    if not path.is_file() or path.stat().st_size == 0:
        return None
    try:
        with open(path, "rb") as stream:
            start = stream.read(64)
    except OSError:
        return None
    if start.startswith(b"PK") and path.suffix not in (".npz", *FOREIGN):
        return "mercer"
    return "libsvm" if start.startswith(b"svm_type") else None


def _convert_model(output: Output, source: str, kind: str, place: Any) -> None:
    from mercer.io import libsvm, save_onnx

    from ._model import FileModel, loaded

    endings = [".mercer" if kind == "libsvm" else ".model", ".onnx"]
    if place.suffix not in endings:
        raise DataError(f"{place}: the suffix must be {' or '.join(endings)} for the model in {source}.")
    model = libsvm.load_model(source) if kind == "libsvm" else loaded(source)
    machine = getattr(model, "machine", model)
    if place.suffix == ".onnx":
        save_onnx(getattr(model, "estimator", model), place)
    elif kind == "libsvm":
        mercer.save(machine, place)
    elif isinstance(model, FileModel) and hasattr(model.estimator, "steps"):
        raise DataError(
            f"{source} scales its columns first, which LIBSVM's format cannot store; write .onnx, or scale the data "
            "with `mercer convert --scale` and fit SVC in Python."
        )
    else:
        libsvm.save_model(machine, place)
    output.result |= {"model": str(place), "estimator": type(machine).__name__}
    output.say(f"{type(machine).__name__}: {place}")


def _convert_data(
    output: Output,
    source: str,
    place: Any,
    target: str | None,
    scale: str | None,
    save_range: str | None,
    ranges: str | None,
    subset: int | None,
    rest: str | None,
    seed: int,
    encoding: str | None,
) -> None:
    from mercer.io import libsvm

    kept = writable(save_range, [source], [place])
    other = writable(rest, [source], [place, kept])
    if scale and ranges:
        raise click.UsageError("--scale and --range are mutually exclusive.")
    if rest and subset is None:
        raise click.UsageError("--rest needs --subset.")
    if save_range and not scale:
        raise click.UsageError("--save-range needs --scale.")
    endings = {_ending(where) for where in (place, other) if where is not None}
    content = read(source, encoding)
    if content.is_table and not scale and not ranges and endings <= {".csv", ".tsv"}:
        column = _target(content.X, target, source)
        kind = float if kind_of(column) == "number" else str
        X, y, columns, name = content.X, column.astype(kind).to_numpy(), None, ""
    else:
        X, y, columns, name = _numbers(output, content, source, target)
    if ranges or scale:
        require_dense(X, source, RENUMBER, whole=False)
    if ranges:
        X = libsvm.Range.load(ranges).apply(X)
    elif scale:
        low, high = _interval(scale)
        X, range_ = libsvm.scale(X, lower=low, upper=high)
        if kept:
            range_.save(kept)
    pieces = [(place, X, y)]
    if subset is not None:
        if subset > X.shape[0]:
            raise DataError(f"--subset {subset} is more than the {X.shape[0]} rows of {source}.")
        part, others = libsvm.subset(X, y, subset, random_state=seed, stratified=_are_classes(y, subset))
        pieces = [(place, *part)] + ([(other, *others)] if other else [])
    for where, A, b in pieces:
        _write(where, A, b, columns, name)
        output.say(f"{A.shape[0]} rows, {A.shape[1]} columns: {where}")
    output.result |= {"rows": pieces[0][1].shape[0], "columns": X.shape[1], "data": str(place)}


def _are_classes(y: np.ndarray, rows: int) -> bool:
    """Whether the targets are classes: few enough values, and whole numbers if numeric."""
    return len(np.unique(y)) <= rows and (y.dtype.kind not in "f" or bool(np.all(y == np.round(y))))


def _target(frame: Any, target: str | None, source: str) -> Any:
    """The column of that name, or the last."""
    name = frame.columns[-1] if target is None else target
    if name not in frame.columns:
        raise unknown_column(source, name, frame.columns)
    return frame[name]


def _numbers(output: Output, content: Data, source: str, target: str | None) -> tuple[Any, np.ndarray, list[str], str]:
    """X, y, the column names and the target's name; a matrix, which may be very wide, has no column names."""
    if content.is_table:
        name = _target(content.X, target, source).name
        kinds = {c: kind_of(content.X[c]) for c in content.X.columns}
        text = [c for c, kind in kinds.items() if kind == "category"]
        if text:
            raise DataError(f"{source}: the column {text[0]!r} is text, but a matrix contains only numbers.")
        frame = conform(content.X, kinds, source)
        gaps = [c for c in frame.columns if frame[c].isna().any()]
        if gaps:
            raise DataError(f"{source}: the column {gaps[0]!r} has empty cells, which a matrix cannot represent.")
        dates = [c for c, kind in kinds.items() if kind == "date"]
        if dates:
            output.note(f"dates become days since 1970: {listed(dates)}")
        columns = [c for c in frame.columns if c != name]
        return frame[columns].to_numpy(), frame[name].to_numpy(), columns, str(name)
    X, y = split_target(content, target, source)
    if y.dtype.kind not in "iufb":
        raise DataError(f"{source}: y is text, such as {y[0]!s}, but a matrix contains only numbers.")
    return X, y, [], "y"


def _interval(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise click.UsageError(f"--scale {text!r} must be two numbers such as -1,1.") from None
    return low, high


def _ending(place: Path) -> str:
    """The suffix that sets the format; an error if it is unknown."""
    compressed = place.suffix == ".gz"
    ending = (Path(place.stem).suffix if compressed else place.suffix).lower()
    if ending in (".libsvm", ".svm", ".scale", ".t", ".txt"):
        return ".libsvm"
    if ending not in (".csv", ".tsv", ".npz"):
        raise DataError(
            f"{place}: the suffix must be .csv, .tsv, .npz or .libsvm for data, .model, .mercer or .onnx for models."
        )
    if compressed:
        raise DataError(f"{place}: only LIBSVM data can be written compressed.")
    return ending


def _write(place: Path, X: Any, y: np.ndarray, columns: list[str] | None, name: str) -> None:
    """Write a matrix and its targets or, without column names, a table as it is."""
    from mercer.io import libsvm

    ending = _ending(place)
    if ending == ".libsvm":
        libsvm.save_data(X, y, place)
        return
    if hasattr(X, "nnz"):
        require_dense(X, place, "write .libsvm, which omits zeros")
        X = X.toarray()
    if ending == ".npz":
        with _files.replacing(place) as stream:
            np.savez(stream, X=X, y=y)
        return
    with replacing(place) as text:
        writer = csv.writer(text, delimiter="," if ending == ".csv" else "\t", lineterminator="\n")
        if columns is None:
            writer.writerow(X.columns)
            writer.writerows(X.astype(object).where(X.notna(), "").to_numpy().tolist())
            return
        writer.writerow([*(columns or (f"x{j + 1}" for j in range(X.shape[1]))), name])
        for row, value in zip(X.tolist(), y.tolist(), strict=True):
            writer.writerow([repr(float(v)).removesuffix(".0") for v in (*row, value)])
