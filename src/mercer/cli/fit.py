"""``mercer fit``: from a file to a saved model."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import click
import numpy as np

import mercer

from .._errors import optional
from ._data import read, stem
from ._output import INTERRUPTED, Output, command, writable

__all__ = ["categories_option", "data_options", "encoding_option", "fit_file", "names", "register", "say_left_out"]

METHOD_NAMES = "svc, logistic, ridge, lssvc, means for classes; ridge, svr, median, robust for numbers"


def names(text: str | None) -> tuple[str, ...]:
    """``'a, "b, c"'`` → ("a", "b, c")."""
    cells = next(csv.reader([text], skipinitialspace=True)) if text else []
    return tuple(cell.strip() for cell in cells if cell.strip())


encoding_option = click.option("--encoding", help="Of a text file; UTF-8 unless it says otherwise.")
categories_option = click.option("--categories", help="Columns of numbers that are codes, with commas between.")


def data_options(function: Any) -> Any:
    """What every command that reads all columns of a table takes."""
    drop = click.option("--drop", help="Columns to leave out, with commas between.")
    return drop(categories_option(encoding_option(function)))


def register(app: click.Group) -> None:
    """Add the command."""

    @command(
        app,
        examples=[
            "mercer fit houses.csv --target price",
            'mercer fit a1a.libsvm --method svc --kernel "gaussian(lengthscale=5)" --seconds 60',
        ],
    )
    @click.argument("data", type=click.Path())
    @click.option("--target", "-t", help="The column to predict; of a matrix, its number (the last).")
    @click.option("--method", "-m", help=f"Of: {METHOD_NAMES}. By default svc and ridge.")
    @click.option("--kernel", "-k", help='Such as "gaussian + 0.1*linear". What it writes is kept, the rest tuned.')
    @click.option("--task", type=click.Choice(["classification", "regression"]), help="Instead of the guess.")
    @click.option("--tune/--no-tune", default=True, show_default=True, help="Try widths and strengths on folds.")
    @click.option("--seconds", type=click.FloatRange(0, min_open=True), help="For tuning; the best so far is kept.")
    @click.option("--probability", is_flag=True, help="So that `predict --probability` works with svc.")
    @click.option("--out", "-o", type=click.Path(), help="The model file.  [default: NAME.mercer]")
    @click.option("--report", type=click.Path(), help="An HTML report of the model and its data.")
    @data_options
    def fit(output: Output, data: str, target: str | None, out: str | None, **options: Any) -> int:
        """Tune, judge and save a model.

        Predicts one column by the others.

        Reads CSV, TSV, Parquet, LIBSVM and NumPy files, also .gz. Says what it guesses; every guess has an option.
        """
        return fit_file(output, data, target, out or f"{stem(data)}.mercer", **options)


def fit_file(
    output: Output,
    data: str,
    target: str | None,
    out: str,
    method: str | None = None,
    kernel: str | None = None,
    task: str | None = None,
    tune: bool = True,
    seconds: float | None = None,
    probability: bool = False,
    report: str | None = None,
    encoding: str | None = None,
    drop: str | None = None,
    categories: str | None = None,
) -> int:
    """Do it, and return the exit code."""
    from ._guess import plan, prepare
    from ._model import FileModel
    from ._tune import tune as search

    place, page = writable(out, data), writable(report, data)
    maker = report_maker() if page else None
    content = read(data, encoding)
    sample = prepare(content, data, target, task, names(drop), names(categories))
    chosen = plan(sample, method, kernel, probability)
    _say_guesses(output, data, content, sample, chosen)
    tuned = search(sample, chosen, output, seconds, tune)
    result: dict[str, Any] = {
        "settings_tried": tuned.tried,
        "settings": tuned.settings,
        "params": {_short(name): value for name, value in tuned.params.items()},
        "scores": {},
    }
    if 0 < tuned.tried < tuned.settings:
        output.note(f"{tuned.tried} of {tuned.settings} settings were tried")
    elif tune and not tuned.tried and tuned.settings > 1:
        output.note("no setting was tried in all folds; the default one is used")
    scoring = "accuracy" if sample.task == "classification" else "r2"
    found = None if tuned.interrupted else _judged(output, sample, chosen, tuned)
    if found is not None:
        result["scores"] = {name: {"mean": v.mean(), "std": v.std(ddof=1)} for name, v in found.scores.items()}
        _say_scores(output, found, tuned)
    elif tuned.tried:
        result["scores"] = {chosen.method: {"mean": tuned.score, "std": tuned.spread}}
        score = f"{_pair(tuned.score, tuned.spread)} {scoring}"
        output.say(f"  tuned     {_settings(tuned.params)} (best so far): {score}")
    result["interrupted"] = found is None
    output.result |= {"scoring": scoring, **result}
    model = FileModel(
        tuned.estimator,
        sample.task,
        sample.target,
        sample.columns,
        sample.n_features,
        not sample.is_matrix,
        {"scoring": scoring, "scores": {k: {n: float(x) for n, x in v.items()} for k, v in result["scores"].items()}},
    )
    mercer.save(model, place)
    output.result["model"] = str(place)
    output.say(f"model:  {place}")
    if page and maker and found is not None:
        from ._tune import reported

        made = maker(*reported(sample, chosen, tuned), title=f"{sample.target} of {Path(data).name}")
        _save_report(output, made, page)
    return INTERRUPTED if found is None else 0


def _save_report(output: Output, made: Any, page: Path) -> None:
    made.save(page)
    output.result |= {"warnings": [str(caution) for caution in made.warnings], "report": str(page)}
    for caution in made.warnings:
        output.note(f"{caution.title} ({caution.level}; see the report)")
    output.say(f"report: {page}")


def _judged(output: Output, sample: Any, chosen: Any, tuned: Any) -> Any:
    """The comparison with the baselines; None after Ctrl-C, which leaves the model as it is."""
    from ._tune import judge

    try:
        return judge(sample, chosen, tuned.params)
    except KeyboardInterrupt:
        output.note("interrupted: the model is kept, but not judged")
        return None


def report_maker() -> Any:
    """`mercer.reports.report`; an error where it cannot be had, before the work and not after it."""
    optional("matplotlib", "plot", "A report")
    from mercer.reports import report

    return report


def _say_guesses(output: Output, path: str, content: Any, sample: Any, chosen: Any) -> None:
    kinds: dict[str, list[str]] = {}
    for name, kind in (sample.columns or {}).items():
        kinds.setdefault(kind, []).append(name)
    count = sample.n_features if sample.columns is None else len(sample.columns)
    width = f"{count} column{'' if count == 1 else 's'}"
    labels = np.unique(sample.y) if sample.task == "classification" else None
    what = "regression" if labels is None else f"classification, {len(labels)} classes"
    output.result |= {
        "data": {"path": str(Path(path)), "format": content.note, "rows": sample.n, "columns": sample.columns},
        "task": sample.task,
        "target": sample.target,
        "classes": None if labels is None else labels.tolist(),
        "method": chosen.method,
        "estimator": type(chosen.estimator).__name__,
        "kernel": chosen.kernel,
    }
    output.say(f"{path}: {sample.n} rows, {width} ({content.note})")
    output.say(f"  task      {what} of {sample.target!r}" + (f": {_listed(labels)}" if labels is not None else ""))
    for kind, members in kinds.items():
        plural = {"number": "numbers", "date": "dates", "category": "categories"}[kind]
        output.say(f"  {plural:<9} {_listed(members)}")
    say_left_out(output, sample)
    scaling = "mean 0, deviation 1" if not sample.is_sparse else "largest value 1"
    output.say(f"  scaling   {'within the kernel' if chosen.scaler is None else scaling}")
    output.say(f"  method    {chosen.method} ({type(chosen.estimator).__name__}), kernel {chosen.kernel}")
    if sample.n > chosen.rows:
        output.say(f"  tuning on {chosen.rows} rows drawn at random")
    if sample.n > chosen.exact:
        output.say("  the kernel matrix is approximated by landmarks (Nyström)")


def say_left_out(output: Output, sample: Any) -> None:
    """Which columns are not used, and what else is to be known of the others."""
    output.result["left_out"] = output.result.get("left_out", {}) | sample.left_out
    for name, reason in sample.left_out.items():
        output.say(f"  left out  {name}: {reason}")
    for note in sample.notes:
        output.note(note)


def _listed(values: Any, most: int = 8) -> str:
    texts = [str(v) for v in values]
    return ", ".join(texts[:most]) + (f", … ({len(texts)} in all)" if len(texts) > most else "")


def _short(name: str) -> str:
    return name.removeprefix("kernel__")


def _settings(params: dict[str, Any]) -> str:
    return ", ".join(f"{_short(name)} = {value:.4g}" for name, value in params.items())


def _pair(mean: float, spread: float) -> str:
    return f"{mean:.4f} ± {spread:.4f}"


def _say_scores(output: Output, found: Any, tuned: Any) -> None:
    if tuned.params:
        output.say(f"  tuned     {_settings(tuned.params)} (best of {tuned.tried})")
    splits = len(next(iter(found.scores.values())))
    rows = [[name, _pair(float(v.mean()), float(v.std(ddof=1)))] for name, v in found.scores.items()]
    output.table(["", f"{found.scoring}, mean ± deviation over {splits} folds"], rows)
    pair = {(d.first, d.second) for d in found.not_ranked}
    first = next(iter(found.scores))
    if (first, "linear model") in pair or ("linear model", first) in pair:
        output.note("these folds do not tell the kernel method from a linear model")
