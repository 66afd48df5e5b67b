"""``mercer compare`` and ``mercer grid``: which method, and which parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from .._errors import optional
from ._data import DataError, read, stem
from ._output import INTERRUPTED, Output, command, writable
from .fit import data_options, names

__all__ = ["axes", "picture_place", "register"]

LARGEST = 1000  # exponent of two, on either side


def register(app: click.Group) -> None:
    """Add the commands."""

    @command(app, examples=["mercer compare houses.csv --target price --methods ridge,svr,linear"])
    @click.argument("data", type=click.Path())
    @click.option("--target", "-t", help="The column to predict; of a matrix, its number (the last).")
    @click.option("--methods", "-m", help="With commas between; as for `fit`, and linear.  [default: all]")
    @click.option("--kernel", "-k", help="For all kernel methods.")
    @click.option("--task", type=click.Choice(["classification", "regression"]), help="Instead of the guess.")
    @click.option("--tune/--no-tune", default=True, show_default=True)
    @click.option("--seconds", type=click.FloatRange(0, min_open=True), help="For tuning each method.")
    @click.option("--repeats", type=click.IntRange(1), default=3, show_default=True, help="Of the five folds.")
    @data_options
    def compare(output: Output, data: str, **options: Any) -> int:
        """Compare methods on the same folds.

        Tunes each, and says which differences are none.
        """
        return _compare(output, data, **options)

    @command(app, examples=["mercer grid heart.libsvm --resume heart.grid"])
    @click.argument("data", type=click.Path())
    @click.option("--target", "-t", help="The column of classes; of a matrix, its number (the last).")
    @click.option("--log2c", default="-5,15,2", show_default=True, help="Begin, end, step of log2 C.")
    @click.option("--log2g", default="-15,3,2", show_default=True, help="Begin, end, step of log2 gamma.")
    @click.option("--folds", type=click.IntRange(2), default=5, show_default=True)
    @click.option("--picture", type=click.Path(), help="[default: NAME.grid.png]")
    @click.option("--resume", type=click.Path(), help="Keep results in this file, and go on from it.")
    @click.option("--seconds", type=click.FloatRange(0, min_open=True))
    @data_options
    def grid(output: Output, data: str, **options: Any) -> int:
        """Search C and gamma, as LIBSVM's grid.py.

        A Gaussian machine on scaled columns; a contour picture and the best pair.
        """
        return _grid(output, data, **options)


def _compare(
    output: Output,
    data: str,
    target: str | None,
    methods: str | None,
    kernel: str | None,
    task: str | None,
    tune: bool,
    seconds: float | None,
    repeats: int,
    encoding: str | None,
    drop: str | None,
    categories: str | None,
) -> int:
    from sklearn.base import clone
    from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

    from mercer import selection

    from ._guess import METHODS, linear_baseline, plan, prepare, trivial_baseline
    from ._tune import folds, some_rows
    from ._tune import tune as search

    sample = prepare(read(data, encoding), data, target, task, names(drop), names(categories))
    asked = names(methods) or (*METHODS[sample.task], "linear")
    output.say(f"{data}: {sample.n} rows, {sample.task} of {sample.target!r}")
    models: dict[str, Any] = {}
    chosen: dict[str, Any] = {}
    rows = 0
    if len(set(asked)) < 2:
        raise DataError(f"--methods {methods} is one method; name at least two, such as svc,linear.")
    baselines = {"linear": linear_baseline, "trivial": trivial_baseline}
    plans = {name: plan(sample, name, kernel) for name in asked if name not in baselines}
    for name in dict.fromkeys(asked):
        if name in baselines:
            models[name] = baselines[name](sample)
            continue
        made = plans[name]
        tuned = search(sample, made, output, seconds, tune)
        if tuned.interrupted:
            raise KeyboardInterrupt
        chosen[name] = {p.removeprefix("kernel__"): v for p, v in tuned.params.items()}
        models[name] = made.whole(clone(made.estimator).set_params(**clone(tuned.params, safe=False)))
        rows = min(rows, made.rows) if rows else made.rows
        output.say(f"  {name}: " + (", ".join(f"{p} = {v:.4g}" for p, v in chosen[name].items()) or "nothing to tune"))
    X, y = some_rows(sample, rows or sample.n)
    n_splits = folds(sample, y, 1).get_n_splits()
    labels = sample.task == "classification"
    splitter = (RepeatedStratifiedKFold if labels else RepeatedKFold)(
        n_splits=n_splits, n_repeats=repeats, random_state=1
    )
    found = selection.compare(models, X, y, cv=splitter)
    output.say(str(found))
    output.result |= {
        "scoring": found.scoring,
        "scores": {name: {"mean": v.mean(), "std": v.std(ddof=1)} for name, v in found.scores.items()},
        "differences": [vars(d) for d in found.differences],
        "not_ranked": [[d.first, d.second] for d in found.not_ranked],
        "params": chosen,
    }
    return 0


def _grid(
    output: Output,
    data: str,
    target: str | None,
    log2c: str,
    log2g: str,
    folds: int,
    picture: str | None,
    resume: str | None,
    seconds: float | None,
    encoding: str | None,
    drop: str | None,
    categories: str | None,
) -> int:
    from sklearn.metrics import make_scorer

    from mercer import SVC
    from mercer.selection import KernelSearchCV

    from ._guess import prepare, vectors
    from ._tune import Counted
    from ._tune import folds as splits

    place = picture_place(output, picture, f"{stem(data)}.grid.png")
    sample = prepare(read(data, encoding), data, target, "classification", names(drop), names(categories))
    Z = vectors(sample).fit_transform(sample.X)
    Z = Z if hasattr(Z, "nnz") else np.ascontiguousarray(Z)
    settings = {"C": _powers("--log2c", log2c), "gamma": _powers("--log2g", log2g)}
    cv = splits(sample, sample.y, seed=0, most=folds)
    total = len(settings["C"]) * len(settings["gamma"]) * cv.get_n_splits()
    with output.progress("grid", total) as tell:
        search = KernelSearchCV(
            SVC(),
            settings,
            scoring=make_scorer(Counted("classification", tell)),
            cv=cv,
            refit=False,
            time_budget=seconds,
            checkpoint=None if resume is None else Path(resume),
        )
        try:
            search.fit(Z, sample.y)
        except KeyboardInterrupt:
            where = f"run it again with --resume {resume} to go on" if resume else "nothing is kept without --resume"
            output.note(f"interrupted; {where}")
            return INTERRUPTED
    means = search.cv_results_["mean_test_score"]
    if not np.isfinite(means).any():
        raise DataError(f"--seconds {seconds:g} sufficed for no setting; raise it.")
    best = search.cv_results_["params"][int(np.nanargmax(means))]
    score = float(np.nanmax(means))
    output.result |= {"C": best["C"], "gamma": best["gamma"], "accuracy": score, "tried": int(np.isfinite(means).sum())}
    output.say(f"best C = {best['C']:g}, gamma = {best['gamma']:g}: accuracy {100 * score:.4g} %")
    if place and min(map(len, settings.values())) > 1:
        from mercer.plot import GridDisplay

        display = GridDisplay.from_cv_results(search.cv_results_, ax=axes((6.4, 4.8)))
        display.figure_.savefig(place, dpi=150)
        output.result["picture"] = str(place)
        output.say(f"picture: {place}")
    return 0


def picture_place(output: Output, asked: str | None, default: str) -> Path | None:
    """Where the picture goes; None, with a note, where matplotlib is missing and no picture was asked for."""
    try:
        optional("matplotlib", "plot", "A picture")
    except ImportError as error:
        if asked is not None:
            raise
        output.note(str(error))
        return None
    return writable(asked or default)


def axes(size: tuple[float, float]) -> Any:
    """Axes of a figure that no window shows."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained").subplots()


def _powers(option: str, text: str) -> list[float]:
    """``"-5,15,2"`` → 2⁻⁵, 2⁻³, …, 2¹⁵."""
    try:
        begin, end, step = (float(part) for part in text.split(","))
        values = np.arange(begin, end + 0.5 * step, step)
    except (ValueError, ZeroDivisionError):
        values = np.empty(0)
    if not len(values) or np.abs(values).max() > LARGEST:
        raise click.UsageError(f"{option} {text!r} must be begin,end,step such as -5,15,2.")
    return (2.0**values).tolist()
