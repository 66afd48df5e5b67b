"""``mercer fit``: from a file to a saved model."""

from __future__ import annotations

import csv
import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import click
import numpy as np

import mercer

from .._threads import one_blas_thread
from ._data import existing, read, stem
from ._model import FileModel
from ._output import INTERRUPTED, Finite, Output, can_draw, command, writable

LISTED = 8  # maximum number of names in a line, and of lines for dropped columns
PLURALS = {"number": "numbers", "date": "dates", "category": "categories"}
METHOD_NAMES = "svc, logistic, ridge, lssvc, means for classes; ridge, svr, median, robust for numbers"


def names(text: str | None) -> tuple[str, ...]:
    """``'a, "b, c"'`` → ("a", "b, c")."""
    cells = next(csv.reader([text], skipinitialspace=True)) if text else []
    return tuple(cell.strip() for cell in cells if cell.strip())


encoding_option = click.option("--encoding", help="Encoding of a text file.  [default: UTF-8, or UTF-16 by its mark]")
target_option = click.option(
    "--target", "-t", help="The column to predict; for a matrix, its number.  [default for a matrix: the last]"
)
categories_option = click.option(
    "--categories", help="Columns of numbers that are category codes, separated by commas."
)


device_option = click.option("--device", help="Where to compute, such as cuda.  [default: the host]")


def data_options(function: Callable[..., Any]) -> Any:
    """Options of every command that reads all columns of a table."""
    drop = click.option("--drop", help="Columns to drop, separated by commas.")
    return drop(categories_option(encoding_option(function)))


@command(
    examples=[
        "mercer fit houses.csv --target price",
        'mercer fit a1a.libsvm --method svc --kernel "gaussian(lengthscale=5)" --seconds 60',
    ],
)
@click.argument("data", type=click.Path())
@target_option
@click.option("--method", "-m", help=f"One of {METHOD_NAMES}.  [default: svc or ridge]")
@click.option(
    "--kernel", "-k", help='Such as "gaussian + 0.1*linear". Parameters that you set are kept, others are tuned.'
)
@click.option("--task", type=click.Choice(["classification", "regression"]), help="Override the guess.")
@click.option(
    "--tune/--no-tune",
    default=True,
    show_default=True,
    help="Tune kernel width and regularisation by cross-validation.",
)
@click.option("--seconds", type=Finite(0, min_open=True), help="Time limit; steps that would exceed it are skipped.")
@click.option("--probability", is_flag=True, help="Make `predict --probability` work with svc.")
@click.option("--out", "-o", type=click.Path(), help="The model file.  [default: NAME.mercer]")
@click.option("--report", type=click.Path(), help="The HTML report.  [default: NAME.report.html next to the model]")
@click.option("--no-report", is_flag=True, help="Write no report.")
@device_option
@data_options
def fit(output: Output, data: str, target: str | None, out: str | None, **options: Any) -> int:
    """Tune, evaluate and save a model.

    Predicts one column from the others.

    Reads CSV, TSV, Parquet, LIBSVM and NumPy files, also .gz. Prints its guesses; every guess has an option.
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
    no_report: bool = False,
    encoding: str | None = None,
    drop: str | None = None,
    categories: str | None = None,
) -> int:
    """Run ``mercer fit``, and return the exit code."""
    from ._guess import plan
    from ._sample import prepare
    from ._tune import TUNING, Clock, fitted
    from ._tune import tune as search

    clock = Clock(seconds)
    existing(data)
    place = writable(out, [data])
    if report and no_report:
        raise click.UsageError("--report and --no-report are mutually exclusive.")
    page = None
    if place is not None and not no_report and can_draw(output, "A report", report is not None):
        page = writable(report or place.with_suffix(".report.html"), [data], [place])
    content = read(data, encoding)
    sample = prepare(content, data, target, task, names(drop), names(categories))
    chosen = plan(sample, method, kernel, probability)
    _say_guesses(output, data, content, sample, chosen)
    tuned = search(chosen, output, None if clock.left is None else TUNING * clock.left, tune)
    if tuned.interrupted:
        output.note("interrupted: the best setting so far is kept (press Ctrl-C again to exit at once)")
    elif 0 < tuned.tried < tuned.settings:
        output.note(f"{tuned.tried} of {tuned.settings} settings were tried")
    if tune and not tuned.tried and tuned.settings > 1:
        output.note("no setting was tried in all folds; the default setting is used")
    with output.progress("fitting"):
        estimator = fitted(chosen, tuned.params, clock)
    complete, found, fold = (False, None, 0.0) if tuned.interrupted else _judged(output, chosen, tuned, clock)
    result = _say_result(output, sample, chosen, tuned, found)
    model = FileModel(
        estimator, sample.task, sample.target, sample.columns, sample.n_features, not sample.is_matrix, result
    )
    assert place is not None
    mercer.save(model, place)
    output.result["model"] = str(place)
    output.say(f"model:  {place}")
    if page:
        from ._tune import reported

        what = f"{sample.target} of {os.fsencode(Path(data).name).decode(errors='replace')}"  # may be any bytes
        subject = reported(chosen, tuned, estimator, clock, fold) if complete else None
        if complete and subject is None:
            output.note("there was no time for a report; raise --seconds")
        elif subject is not None:
            complete = _report(output, subject, what, page)
        if not complete:
            output.note("interrupted: no report was written")
    output.result["interrupted"] = not complete
    return 0 if complete else INTERRUPTED


def _say_result(output: Output, sample: Any, chosen: Any, tuned: Any, found: Any) -> dict[str, Any]:
    """Print the scores, and return those to store in the model file."""
    scoring = "accuracy" if sample.task == "classification" else "r2"
    scores: dict[str, dict[str, float]] = {}
    if found is not None:
        scores = {k: {"mean": float(v.mean()), "std": float(v.std(ddof=1))} for k, v in found.scores.items()}
        _say_scores(output, found, scores, tuned)
    elif tuned.tried:
        scores = {chosen.method: {"mean": tuned.score, "std": tuned.spread}}
        score = f"{spread_text(tuned.score, tuned.spread)} {scoring}"
        output.say(f"  tuned      {settings_text(tuned.params)} (best so far): {score}")
    output.result |= {
        "scoring": scoring,
        "settings_tried": tuned.tried,
        "settings": tuned.settings,
        "params": {_short(name): value for name, value in tuned.params.items()},
        "scores": scores,
    }
    return {"scoring": scoring, "scores": scores}


def _report(output: Output, subject: Any, title: str, page: Path) -> bool:
    """Write the report; False after Ctrl-C, which keeps the model."""
    from mercer import reports

    try:
        with one_blas_thread, output.progress("report"), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*valid feature names.*")  # not relevant to the report
            warnings.filterwarnings("ignore", message=".*has feature names.*")
            made = reports.report(subject.estimator, subject.X, subject.y, title=title + subject.remark, cv=subject.cv)
    except KeyboardInterrupt:
        return False
    made.save(page)
    output.result |= {"warnings": [str(caution) for caution in made.warnings], "report": str(page)}
    if subject.cv is None:
        output.note("there was no time for the error estimate of the report; raise --seconds")
    for caution in made.warnings:
        output.note(f"{caution.title} ({caution.level}; see the report)")
    output.say(f"report: {page}")
    return True


def _judged(output: Output, chosen: Any, tuned: Any, clock: Any) -> tuple[bool, Any, float]:
    """Whether it completed (Ctrl-C keeps the model), the comparison with the baselines, and the seconds per fold."""
    from ._tune import JUDGES, judge

    started = perf_counter()
    try:
        found = judge(chosen, tuned.params, output, clock.left)
    except KeyboardInterrupt:
        output.note("interrupted: the model is kept, but was not evaluated")
        return False, None, 0.0
    except TimeoutError:
        output.note("there was no time to evaluate the model; raise --seconds")
        return True, None, perf_counter() - started
    done = len(next(iter(found.scores.values())))
    if clock.left is not None and done < JUDGES:
        output.note(f"there was time for {done} folds of the evaluation")
    return True, found, (perf_counter() - started) / done


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
        "estimator": chosen.name,
        "kernel": chosen.kernel,
    }
    output.say(f"{path}: {sample.n} rows, {width} ({content.note})")
    output.say(f"  task       {what} of {sample.target!r}" + (f": {listed(labels)}" if labels is not None else ""))
    for kind, members in kinds.items():
        output.say(f"  {PLURALS[kind]:<10} {listed(members)}")
    say_left_out(output, sample)
    scaling = "mean 0, standard deviation 1" if not sample.is_sparse else "largest value 1"
    output.say(f"  scaling    {'within the kernel' if chosen.scaler is None else scaling}")
    output.say(f"  method     {chosen.method} ({chosen.name}), kernel {rounded(chosen.kernel)}")
    if sample.n > chosen.rows:
        output.say(f"  tuning on {chosen.tuned} random rows, evaluation on {chosen.rows}")
    elif sample.n > chosen.tuned:
        output.say(f"  tuning on {chosen.tuned} random rows")
    if sample.n > chosen.exact:
        output.say("  the kernel matrix is approximated by landmarks (Nyström)")


def say_left_out(output: Output, sample: Any) -> None:
    """Print the unused columns with the reasons, and notes on the others."""
    output.result["left_out"] = output.result.get("left_out", {}) | sample.left_out
    for name, reason in list(sample.left_out.items())[:LISTED]:
        output.say(f"  dropped    {name}: {reason}")
    if len(sample.left_out) > LISTED:
        output.say(f"  dropped    {len(sample.left_out) - LISTED} more; --json lists them with the reasons")
    for note in sample.notes:
        output.note(note)


def listed(values: Any) -> str:
    """The first few values, and their number."""
    texts = [str(v) for v in values]
    return ", ".join(texts[:LISTED]) + (f", … ({len(texts)} in total)" if len(texts) > LISTED else "")


def rounded(text: Any) -> str:
    """A kernel's text, with numbers rounded to four digits."""
    return re.sub(r"\d+\.\d{4,}(e[+-]?\d+)?", lambda number: f"{float(number[0]):.4g}", str(text))


def _short(name: str) -> str:
    return name.removeprefix("kernel__")


def settings_text(params: dict[str, Any]) -> str:
    """``C = 10, lengthscale = 2``."""
    return ", ".join(f"{_short(name)} = {value:.4g}" for name, value in params.items())


def shortened(text: Any, most: int) -> str:
    """The first characters of a text."""
    words = str(text)
    return words if len(words) <= most else f"{words[:most]} …"


def spread_text(mean: float, std: float) -> str:
    """``0.9000 ± 0.0100``."""
    return f"{mean:.4f} ± {std:.4f}"


def _say_scores(output: Output, found: Any, scores: dict[str, dict[str, float]], tuned: Any) -> None:
    if tuned.params:
        output.say(f"  tuned      {settings_text(tuned.params)} (best of {tuned.tried})")
    splits = len(next(iter(found.scores.values())))
    rows = [[name, spread_text(**pair)] for name, pair in scores.items()]
    output.table(["", f"{found.scoring}, mean ± standard deviation over {splits} folds"], rows)
    pair = {next(iter(found.scores)), "linear model"}
    told = next(d for d in found.differences if {d.first, d.second} == pair)
    if told in found.not_ranked:
        output.note("the kernel method is not significantly different from a linear model on these folds")
    elif told.first == "linear model":
        output.note("a linear model is better on these data; try --kernel linear")
