"""Choosing parameters with progress, a time limit, and Ctrl-C that keeps the best so far; and judging the choice."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import accuracy_score, make_scorer, r2_score
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from mercer.selection import KernelSearchCV, compare

from ._guess import Plan, Sample, linear_baseline, rest, trivial_baseline
from ._output import Output

__all__ = ["Counted", "Tuned", "folds", "judge", "reported", "some_rows", "tune"]

FOLDS = 5
JUDGES = 10  # folds to judge by
NESTED = 20.0  # seconds of tuning up to which a report tunes again in each of its folds
AT_ONCE = 1e-9  # seconds: only what the checkpoint holds


@dataclass(frozen=True)
class Tuned:
    """The fitted estimator for all rows, and how it was found."""

    estimator: Any
    params: dict[str, Any]
    score: float
    spread: float
    tried: int
    settings: int
    interrupted: bool
    seconds: float


class Counted:
    """A score that tells of every call; copies of it in a checkpoint's marks are all alike."""

    def __init__(self, task: str, tell: Callable[[], None] = lambda: None):
        self.task, self.tell = task, tell
        self.__name__ = "accuracy" if task == "classification" else "r2"

    def __reduce__(self) -> Any:
        return Counted, (self.task,)

    def __call__(self, y: Any, prediction: Any) -> float:
        self.tell()
        return float((accuracy_score if self.task == "classification" else r2_score)(y, prediction))


def folds(sample: Sample, y: Any, seed: int, most: int = FOLDS) -> Any:
    """At most so many, if the rarest class allows it; R² needs two rows in each."""
    if sample.task != "classification":
        return KFold(min(most, len(y) // 2), shuffle=True, random_state=seed)
    rarest = int(np.unique(y, return_counts=True)[1].min())
    return StratifiedKFold(max(2, min(most, rarest)), shuffle=True, random_state=seed)


def some_rows(sample: Sample, rows: int) -> tuple[Any, Any]:
    """At most so many rows, at random, each class with its share."""
    if sample.n <= rows:
        return sample.X, sample.y
    labels = sample.y if sample.task == "classification" else None
    part, _ = train_test_split(np.arange(sample.n), train_size=rows, random_state=0, stratify=labels)
    part = np.sort(part)
    return (sample.X.iloc[part] if hasattr(sample.X, "iloc") else sample.X[part]), sample.y[part]


def tune(sample: Sample, plan: Plan, output: Output, seconds: float | None, search: bool = True) -> Tuned:
    """Try the settings on folds, and fit the best to all rows."""
    X, y = some_rows(sample, plan.rows)
    scaler = None if plan.scaler is None else clone(plan.scaler).fit(X)
    Z = X if scaler is None else scaler.transform(X)
    probability = {"calibration": None} if "calibration" in plan.estimator.get_params(deep=False) else {}
    plain = clone(plan.estimator).set_params(**probability)  # folds need no probabilities
    settings = sum(int(np.prod([len(v) for v in part.values()])) for part in plan.grid)
    params: dict[str, Any] = {}
    score = spread = np.nan
    tried, interrupted, started = 0, False, perf_counter()
    if search and settings > 1:
        found, interrupted = _search(sample, plan, plain, Z, y, output, seconds, settings)
        means = found["mean_test_score"]
        tried = int(np.isfinite(means).sum())
        if tried:
            best = int(np.nanargmax(means))
            params, score, spread = found["params"][best], float(means[best]), float(found["std_test_score"][best])
    seconds_taken = perf_counter() - started
    chosen = clone(plan.estimator).set_params(**clone(params, safe=False))
    estimator = _final(sample, plan, chosen, scaler, Z, y)
    return Tuned(estimator, params, score, spread, tried, settings, interrupted, seconds_taken)


def _search(
    sample: Sample, plan: Plan, plain: Any, Z: Any, y: Any, output: Output, seconds: float | None, settings: int
) -> tuple[dict[str, Any], bool]:
    """Results of the settings that there was time for, and whether Ctrl-C ended it."""
    cv = folds(sample, y, seed=0)
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        for late in (".*time budget.*", ".*non-finite.*"):  # settings that there was no time for; said by the caller
            warnings.filterwarnings("ignore", message=late)

        def run(limit: float | None, tell: Callable[[], None]) -> dict[str, Any]:
            scoring = make_scorer(Counted(sample.task, tell))
            options: dict[str, Any] = {"scoring": scoring, "cv": cv, "refit": False, "time_budget": limit}
            place = Path(folder) / "search"
            return KernelSearchCV(plain, plan.grid, checkpoint=place, **options).fit(Z, y).cv_results_

        try:
            with output.progress("tuning", settings * cv.get_n_splits()) as tell:
                return run(seconds, tell), False
        except KeyboardInterrupt:
            output.note("interrupted: the best setting so far is kept (Ctrl-C again leaves at once)")
            return run(AT_ONCE, lambda: None), True


def _final(sample: Sample, plan: Plan, chosen: Any, scaler: Any, Z: Any, y: Any) -> Any:
    if sample.n == len(y):
        model = chosen.fit(Z, y)
        if scaler is None:
            return model
        whole = plan.whole(model)
        whole.steps[0] = (whole.steps[0][0], scaler)
        return whole
    tuned_on = clone(chosen).fit(Z, y) if hasattr(chosen, "alphas") else None
    return plan.whole(rest(sample, chosen, plan, tuned_on)).fit(sample.X, sample.y)


def judge(sample: Sample, plan: Plan, params: dict[str, Any]) -> Any:
    """Compare the chosen setting, a linear model and the trivial one on folds that were not tuned on."""
    X, y = some_rows(sample, plan.rows)
    chosen = clone(plan.estimator).set_params(**clone(params, safe=False))
    if "calibration" in chosen.get_params(deep=False):
        chosen.set_params(calibration=None)
    trivial = "most frequent class" if sample.task == "classification" else "mean"
    models = {
        plan.method: plan.whole(chosen),
        "linear model": linear_baseline(sample),
        trivial: trivial_baseline(sample),
    }
    return compare(models, X, y, cv=folds(sample, y, seed=1, most=JUDGES))


def reported(sample: Sample, plan: Plan, tuned: Tuned) -> tuple[Any, Any, Any]:
    """What a report is about: the search as a whole where that is quick, else the chosen estimator; and its rows."""
    X, y = some_rows(sample, plan.rows)
    if tuned.tried < tuned.settings or tuned.settings == 1 or tuned.seconds > NESTED:
        return tuned.estimator, X, y
    search = KernelSearchCV(plan.estimator, plan.grid, cv=folds(sample, y, seed=0))
    return plan.whole(search), X, y
