"""``mercer predict`` and ``mercer info``: apply and describe a model file."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import click
import numpy as np

from ._columns import DataError
from ._data import read_blocks, sniff_names
from ._output import Output, command, replacing, writable
from .fit import encoding_option, listed, rounded, shortened, spread_text


@command(examples=["mercer predict houses.mercer new.csv --out prices.csv"])
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path())
@click.option("--out", "-o", type=click.Path(), help="A CSV file.  [default: standard output]")
@click.option("--probability", is_flag=True, help="Add a column with the probability of each class.")
@encoding_option
def predict(output: Output, model: str, data: str, out: str | None, probability: bool, encoding: str | None) -> None:
    """Apply a model to new rows.

    Works in batches: the file may be larger than memory.
    """
    place = writable(None if out == "-" else out, [data, model])
    if place is None and output.as_json:
        raise DataError("--json and predictions cannot share standard output; name a file with --out.")
    fitted = open_model(model)
    if probability and not hasattr(fitted.estimator, "predict_proba"):
        raise DataError(f"the model {model} has no probabilities; fit it with --probability or with --method logistic.")
    blocks = read_blocks(data, columns=fitted.columns, n_features=fitted.n_features, encoding=encoding)
    if fitted.columns is None and fitted.task:  # from `mercer fit`, which rejects them too
        blocks = _finite(blocks, data)
    first = next(blocks, None)
    if first is None:
        raise DataError(f"{data} has no rows below its header.")
    _note_others(output, fitted, data, encoding)
    head = ["score", "label"] if fitted.task == "outliers" else ["prediction"]
    head += [f"p({label})" for label in fitted.machine.classes_] if probability else []
    rows = 0
    with replacing(place) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(head)
        for block in chain([first], blocks):
            answers = _answers(fitted, block, probability)
            writer.writerows(zip(*answers, strict=True))
            rows += len(answers[0])
    output.result |= {"rows": rows, "predictions": None if place is None else str(place)}
    if place is not None:
        output.say(f"{rows} predictions: {place}")


@command()
@click.argument("model", type=click.Path())
def info(output: Output, model: str) -> None:
    """Describe a model file.

    Estimator, kernel, parameters, columns and scores.
    """
    from mercer.io.model import describe

    from ._model import loaded

    header = describe(model)
    fitted = loaded(model)
    versions = header.get("versions")
    written = ", ".join(f"{name} {v}" for name, v in versions.items()) if isinstance(versions, dict) else "unknown"
    inner = getattr(fitted, "machine", fitted)
    facts: dict[str, Any] = {
        "file": str(Path(model)),
        "class": header.get("class", type(fitted).__name__),
        "estimator": type(inner).__name__,
        "written by": written,
    }
    for name in ("task", "target", "columns", "n_features"):
        if getattr(fitted, name, None) is not None:
            facts[name] = getattr(fitted, name)
    if hasattr(inner, "classes_"):
        facts["classes"] = np.asarray(inner.classes_).tolist()
    if hasattr(inner, "kernel_"):
        facts["kernel"] = shortened(inner.kernel_, 300)
    if hasattr(inner, "n_support_"):
        facts["support vectors"] = int(np.sum(inner.n_support_))
    elif hasattr(inner, "function_"):
        facts["function"] = str(inner.function_).replace(str(inner.function_.kernel), "the kernel")
    facts["parameters"] = _own_parameters(inner)
    result = getattr(fitted, "result", {})
    if result:
        facts[result["scoring"]] = result["scores"]
    output.result |= facts
    if "columns" in facts:
        facts["columns"] = _by_kind(facts["columns"])
    for name, value in facts.items():
        for k, line in enumerate(_lines(value)):
            output.say(f"{name if not k else '':<16}{line if name == result.get('scoring') else rounded(line)}")


def open_model(path: str) -> Any:
    """The `FileModel` in a file; an estimator saved from Python is wrapped in one."""
    from ._model import FileModel, loaded

    model = loaded(path)
    if isinstance(model, FileModel):
        return model
    if not hasattr(model, "predict"):
        raise DataError(f"{path} contains a {type(model).__name__}, which cannot predict.")
    return FileModel(model, "", "", n_features=getattr(model, "n_features_in_", None))


def _finite(blocks: Iterator[Any], data: str) -> Iterator[Any]:
    """Blocks of a matrix; reject missing values, which would silently be filled with means."""
    for block in blocks:
        if not np.isfinite(block.data if hasattr(block, "nnz") else block).all():
            raise DataError(f"{data} has non-finite values; fit and predict with CSV, where cells may be empty.")
        yield block


def _note_others(output: Output, fitted: Any, data: str, encoding: str | None) -> None:
    if fitted.columns is None:
        return
    known = {*fitted.columns, fitted.target}
    others = [name for name in sniff_names(data, encoding, fitted.columns) if name not in known]
    if others:
        output.note(f"columns that the model does not use: {listed(others)}")


def _answers(fitted: Any, block: Any, probability: bool) -> list[list[Any]]:
    """Columns of text and numbers."""
    X = fitted.samples(block)
    if fitted.task == "outliers":
        return [column.tolist() for column in fitted.mark(X)]
    columns = [np.asarray(fitted.estimator.predict(X)).tolist()]
    if probability:
        columns += np.asarray(fitted.estimator.predict_proba(X)).T.tolist()
    return columns


def _own_parameters(estimator: Any) -> dict[str, Any]:
    """Parameters that differ from their defaults."""
    from inspect import signature

    if not hasattr(estimator, "get_params"):
        return {}
    defaults = {name: p.default for name, p in signature(type(estimator)).parameters.items()}
    params = estimator.get_params(deep=False)
    return {name: str(v) for name, v in params.items() if repr(v) != repr(defaults.get(name))}


def _by_kind(columns: dict[str, str]) -> dict[str, str]:
    kinds = dict.fromkeys(columns.values())
    return {kind: listed(name for name, own in columns.items() if own == kind) for kind in kinds}


def _lines(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [f"{k}: {spread_text(**v) if isinstance(v, dict) else v}" for k, v in value.items()] or ["none"]
    return [", ".join(map(str, value)) if isinstance(value, list) else str(value)]
