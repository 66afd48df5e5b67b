"""``mercer compare`` and ``mercer grid``: choose a method, and its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from .. import _files
from ._columns import DataError
from ._data import read, stem
from ._output import INTERRUPTED, Finite, Output, can_draw, command, writable
from .fit import data_options, device_option, names, say_left_out, settings_text, target_option

PICTURES = (".png", ".pdf", ".svg", ".jpg", ".jpeg", ".webp", ".eps", ".tif", ".tiff")
MOST = 1000  # maximum number of values on an axis of a grid
LARGEST = 1000  # largest absolute exponent of two


@command(examples=["mercer compare houses.csv --target price --methods ridge,svr,linear"])
@click.argument("data", type=click.Path())
@target_option
@click.option("--methods", "-m", help="Methods of `fit`, linear and trivial, separated by commas.  [default: all]")
@click.option("--kernel", "-k", help="The kernel of all kernel methods.")
@click.option("--task", type=click.Choice(["classification", "regression"]), help="Override the guess.")
@click.option("--tune/--no-tune", default=True, show_default=True, help="As for `fit`.")
@click.option("--seconds", type=Finite(0, min_open=True), help="Time limit for tuning each method.")
@click.option("--repeats", type=click.IntRange(1), default=3, show_default=True, help="Repetitions of the five folds.")
@device_option
@data_options
def compare(
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
    """Compare methods on the same folds.

    Tunes each method and tests the differences.
    """
    from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

    from ._guess import METHODS, linear_baseline, plan, trivial_baseline
    from ._sample import prepare
    from ._tune import compare_models, folds

    sample = prepare(read(data, encoding), data, target, task, names(drop), names(categories))
    baselines = {"linear": linear_baseline, "trivial": trivial_baseline}
    asked = tuple(dict.fromkeys(names(methods) or (*METHODS[sample.task], *baselines)))
    if len(asked) < 2:
        raise DataError(f"--methods {methods} is one method; name at least two, such as svc,linear.")
    unknown = [name for name in asked if name not in (*METHODS[sample.task], *baselines)]
    if unknown:
        known = ", ".join((*METHODS[sample.task], *baselines))
        raise DataError(f"--methods: {unknown[0]} is not available for {sample.task}; choose from {known}.")
    plans = {name: plan(sample, name, kernel) for name in asked if name not in baselines}
    rows = min([sample.n, *(made.rows for made in plans.values())])
    output.say(f"{data}: {sample.n} rows, {sample.task} of {sample.target!r}")
    say_left_out(output, sample)
    if rows < sample.n:
        output.say(f"  comparing on {rows} random rows")
    params = {name: _tuned(output, name, made, seconds, tune) for name, made in plans.items()}
    models = {name: made.whole(made.chosen(params[name])) for name, made in plans.items()}
    models |= {name: baselines[name](sample) for name in asked if name in baselines}
    X, y = sample.some(rows)
    labels = sample.task == "classification"
    splitter = (RepeatedStratifiedKFold if labels else RepeatedKFold)(
        n_splits=folds(sample, y, 1).get_n_splits(), n_repeats=repeats, random_state=1
    )
    found = compare_models(sample, models, X, y, splitter, output)
    output.say(str(found))
    output.result |= {
        "data": {"path": str(Path(data)), "rows": sample.n},
        "task": sample.task,
        "target": sample.target,
        "rows": rows,
        "scoring": found.scoring,
        "scores": {name: {"mean": v.mean(), "std": v.std(ddof=1)} for name, v in found.scores.items()},
        "differences": [vars(d) for d in found.differences],
        "not_ranked": [[d.first, d.second] for d in found.not_ranked],
        "params": {name: {p.removeprefix("kernel__"): v for p, v in own.items()} for name, own in params.items()},
    }
    return 0


@command(examples=["mercer grid heart.libsvm --resume heart.grid"])
@click.argument("data", type=click.Path())
@click.option(
    "--target", "-t", help="The column of classes; for a matrix, its number.  [default for a matrix: the last]"
)
@click.option("--log2c", default="-5,15,2", show_default=True, help="Start, end and step of log2 C.")
@click.option("--log2g", default="-15,3,2", show_default=True, help="Start, end and step of log2 gamma.")
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True, help="Number of folds.")
@click.option("--picture", type=click.Path(), help="The contour plot.  [default: NAME.grid.png]")
@click.option("--resume", type=click.Path(), help="Save results in this file and resume from it.")
@click.option("--seconds", type=Finite(0, min_open=True), help="Time limit for the search.")
@device_option
@data_options
def grid(
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
    """Search C and gamma, like LIBSVM's grid.py.

    Fits an SVM with the Gaussian kernel to scaled columns; prints the best pair and draws a contour plot.
    """
    from sklearn.metrics import make_scorer

    from mercer import SVC
    from mercer.selection import KernelSearchCV

    from ._guess import vectors
    from ._sample import prepare
    from ._tune import Counted, searching
    from ._tune import folds as splits

    settings = {"C": _powers("--log2c", log2c), "gamma": _powers("--log2g", log2g)}
    kept = writable(resume, [data])
    place = picture_place(output, picture, f"{stem(data)}.grid.png", [data], [kept])
    sample = prepare(read(data, encoding), data, target, "classification", names(drop), names(categories))
    output.say(f"{data}: {sample.n} rows, {len(np.unique(sample.y))} classes of {sample.target!r}")
    say_left_out(output, sample)
    Z = vectors(sample).fit_transform(sample.X)
    Z = Z if hasattr(Z, "nnz") else np.ascontiguousarray(Z)
    cv = splits(sample, sample.y, seed=0, most=folds)
    total = len(settings["C"]) * len(settings["gamma"]) * cv.get_n_splits()
    with output.progress("grid", total) as tell:
        judge = make_scorer(Counted("classification", tell=tell))
        search = KernelSearchCV(
            SVC(), settings, scoring=judge, cv=cv, refit=False, time_budget=seconds, checkpoint=kept
        )
        try:
            with searching():
                search.fit(Z, sample.y)
        except KeyboardInterrupt:
            where = (
                f"run it again with --resume {resume} to continue" if resume else "results are kept only with --resume"
            )
            output.note(f"interrupted; {where}")
            return INTERRUPTED
    means = search.cv_results_["mean_test_score"]
    if not np.isfinite(means).any():
        raise DataError(f"--seconds {seconds:g} was not enough for any setting; raise it.")
    _say_best(output, sample, search.cv_results_)
    if place and _has_plane(search.cv_results_):
        from mercer.plot import GridDisplay

        save_picture(output, GridDisplay.from_cv_results(search.cv_results_, ax=axes((6.4, 4.8))), place)
    elif place:
        output.note("no contour plot: it needs at least two values of both C and gamma")
    return 0


def _tuned(output: Output, name: str, made: Any, seconds: float | None, tune: bool) -> dict[str, Any]:
    """The best parameters of a method."""
    from ._tune import tune as search

    tuned = search(made, output, seconds, tune)
    if tuned.interrupted:
        raise KeyboardInterrupt
    if tuned.params:
        output.say(f"  {name}: {settings_text(tuned.params)}")
    return tuned.params


def _say_best(output: Output, sample: Any, results: Any) -> None:
    """Print the best pair, its score's mean and standard deviation over folds, and the share of the largest class."""
    means = results["mean_test_score"]
    best = int(np.nanargmax(means))
    params, mean, spread = results["params"][best], float(means[best]), float(results["std_test_score"][best])
    share = float(np.unique(sample.y, return_counts=True)[1].max() / sample.n)
    tried = int(np.isfinite(means).sum())
    if tried < len(means):
        output.note(f"{tried} of {len(means)} settings were tried; raise --seconds, or continue with --resume")
    values = {p: [setting[p] for setting in results["params"]] for p in ("C", "gamma")}
    edges = [p for p, tried in values.items() if params[p] in (min(tried), max(tried))]
    if edges and _has_plane(results):
        options = " and ".join({"C": "--log2c", "gamma": "--log2g"}[p] for p in edges)
        lie = "lie" if len(edges) > 1 else "lies"
        output.note(f"the best {' and '.join(edges)} {lie} at the edge of the grid; widen {options}")
    output.result |= {"rows": sample.n, "classes": np.unique(sample.y), "target": sample.target}
    output.result |= {"C": params["C"], "gamma": params["gamma"], "accuracy": mean, "std": spread, "tried": tried}
    output.result["most_frequent_class"] = share
    output.say(
        f"best C = {params['C']:g}, gamma = {params['gamma']:g}: accuracy {100 * mean:.2f} ± {100 * spread:.1f} % "
        f"(most frequent class: {100 * share:.2f} %)"
    )


def _has_plane(results: Any) -> bool:
    """Whether the settings with a score have at least two values of both parameters."""
    tried = [p for p, mean in zip(results["params"], results["mean_test_score"], strict=True) if np.isfinite(mean)]
    return all(len({p[name] for p in tried}) > 1 for name in ("C", "gamma"))


def picture_place(
    output: Output, asked: str | None, default: str, reads: Sequence[Any], writes: Sequence[Any] = ()
) -> Path | None:
    """The path of the picture; None, with a note, if matplotlib is missing and no picture was requested."""
    if not can_draw(output, "A picture", asked is not None):
        return None
    place = writable(asked or default, reads, writes)
    if place is not None and place.suffix.lower() not in PICTURES:
        raise DataError(f"--picture {place} must end in {', '.join(PICTURES)}.")
    return place


def save_picture(output: Output, display: Any, place: Path) -> None:
    """Write the display's figure completely or not at all."""
    with _files.replacing(place) as stream:
        display.figure_.savefig(stream, format=place.suffix[1:].lower(), dpi=150)
    output.result["picture"] = str(place)
    output.say(f"picture: {place}")


def axes(size: tuple[float, float]) -> Any:
    """Axes of a figure that opens no window."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained").subplots()


def _powers(option: str, text: str) -> list[float]:
    """``"-5,15,2"`` → 2⁻⁵, 2⁻³, …, 2¹⁵."""
    try:
        begin, end, step = (float(part) for part in text.split(","))
        if abs((end - begin) / step) > MOST:
            raise click.UsageError(f"{option} {text!r} has more than {MOST} values; use a larger step.")
        values = np.arange(begin, end + 0.5 * step, step)
    except (ValueError, ZeroDivisionError):
        values = np.empty(0)
    if not len(values) or np.abs(values).max() > LARGEST:
        raise click.UsageError(f"{option} {text!r} must be start,end,step such as -5,15,2.")
    return (2.0**values).tolist()
