"""Tune parameters with progress, a time limit, and Ctrl-C that keeps the best so far; then evaluate the choice."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import KFold, StratifiedKFold

from mercer.selection import KernelSearchCV, compare

from ._data import DataError
from ._guess import Plan, Sample, linear_baseline, rest, trivial_baseline
from ._output import Output

__all__ = [
    "Counted",
    "Tuned",
    "compare_models",
    "fitted",
    "folds",
    "judge",
    "reported",
    "searching",
    "some_rows",
    "tune",
]

FOLDS = 5
JUDGES = 10  # folds for the evaluation
NESTED = 20.0  # if tuning took less than this many seconds, a report repeats it in each of its folds
AT_ONCE = 1e-9  # seconds: use only the checkpoint


@dataclass(frozen=True)
class Tuned:
    """The best setting that was tried, and how it was found."""

    params: dict[str, Any]
    score: float
    spread: float
    tried: int
    settings: int
    interrupted: bool
    seconds: float


class Counted:
    """Accuracy or R², with a callback per call; all copies have the same fingerprint in a checkpoint.

    R² is 1 − mean squared error / variance, with one variance for all folds: a small fold's own may be near 0.
    """

    def __init__(self, task: str, variance: float = 1.0, tell: Callable[[], None] = lambda: None):
        self.task, self.variance, self.tell = task, variance, tell
        self.__name__ = "accuracy" if task == "classification" else "r2"

    def __reduce__(self) -> Any:
        return type(self), (self.task, self.variance)

    def __call__(self, y: Any, prediction: Any) -> float:
        self.tell()
        if self.task == "classification":
            return float(accuracy_score(y, prediction))
        return 1 - float(np.mean(np.square(np.asarray(y) - prediction))) / self.variance


def scoring(sample: Sample, y: Any, tell: Callable[[], None] = lambda: None) -> Any:
    """The scorer of the task for rows with these targets."""
    variance = float(np.var(y)) if sample.task == "regression" else 1.0
    return make_scorer(Counted(sample.task, variance, tell))


def folds(sample: Sample, y: Any, seed: int, most: int = FOLDS) -> Any:
    """At most `most` folds, fewer if the rarest class is smaller; for regression, at least two rows in each."""
    if sample.task != "classification":
        return KFold(min(most, len(y) // 2), shuffle=True, random_state=seed)
    rarest = int(np.unique(y, return_counts=True)[1].min())
    return StratifiedKFold(max(2, min(most, rarest)), shuffle=True, random_state=seed)


def some_rows(sample: Sample, rows: int) -> tuple[Any, Any]:
    """At most `rows` random rows, stratified by class, with at least two per class for the folds."""
    if sample.n <= rows:
        return sample.X, sample.y
    labels = np.unique(sample.y, return_inverse=True)[1] if sample.task == "classification" else np.zeros(sample.n)
    order = np.random.default_rng(0).permutation(sample.n)
    turn = np.empty(sample.n)  # of each row: the fraction of its class that comes before it
    for label in np.unique(labels):
        own = order[labels[order] == label]
        turn[own] = (np.arange(len(own)) + 0.5) / len(own)
        turn[own[:2]] = 0.0
    part = np.sort(np.argsort(turn, kind="stable")[:rows])
    return (sample.X.iloc[part] if hasattr(sample.X, "iloc") else sample.X[part]), sample.y[part]


def tune(sample: Sample, plan: Plan, output: Output, seconds: float | None, search: bool = True) -> Tuned:
    """Try the settings by cross-validation; Ctrl-C and the time limit stop it and keep what was tried."""
    settings = sum(int(np.prod([len(v) for v in part.values()])) for part in plan.grid)
    params: dict[str, Any] = {}
    score = spread = np.nan
    tried, interrupted, started = 0, False, perf_counter()
    if search and settings > 1:
        found, interrupted = _search(sample, plan, output, seconds, settings)
        means = found["mean_test_score"]
        tried = int(np.isfinite(means).sum())
        if tried:
            best = int(np.nanargmax(means))
            params, score, spread = found["params"][best], float(means[best]), float(found["std_test_score"][best])
    return Tuned(params, score, spread, tried, settings, interrupted, perf_counter() - started)


@contextmanager
def searching() -> Iterator[None]:
    """Suppress warnings about settings without time, which commands count; if all fits failed, raise the reason."""
    with warnings.catch_warnings():
        for late in (".*time budget.*", ".*non-finite.*"):
            warnings.filterwarnings("ignore", message=late)
        try:
            yield
        except ValueError as error:
            reasons = re.findall(r"^\w+Error: (.+)$", str(error), re.MULTILINE)  # in scikit-learn's list of tracebacks
            if reasons:
                raise DataError(reasons[-1]) from error
            raise


def _search(
    sample: Sample, plan: Plan, output: Output, seconds: float | None, settings: int
) -> tuple[dict[str, Any], bool]:
    """Results of the settings that were tried, and whether Ctrl-C stopped the search."""
    X, y = some_rows(sample, plan.rows)
    Z = X if plan.scaler is None else clone(plan.scaler).fit_transform(X)
    plain = _without_probability(clone(plan.estimator))
    cv = folds(sample, y, seed=0)
    with TemporaryDirectory() as folder, searching():

        def run(limit: float | None, tell: Callable[[], None]) -> dict[str, Any]:
            judge = scoring(sample, y, tell)
            options: dict[str, Any] = {"scoring": judge, "cv": cv, "refit": False, "time_budget": limit}
            place = Path(folder) / "search"
            return KernelSearchCV(plain, plan.grid, checkpoint=place, **options).fit(Z, y).cv_results_

        try:
            with output.progress("tuning", settings * cv.get_n_splits()) as tell:
                return run(seconds, tell), False
        except KeyboardInterrupt:
            return run(AT_ONCE, lambda: None), True


def _without_probability(estimator: Any) -> Any:
    """Without probabilities, which scores do not need and which cost several fits."""
    return estimator.set_params(calibration=None) if "calibration" in estimator.get_params(deep=False) else estimator


def fitted(sample: Sample, plan: Plan, params: dict[str, Any]) -> Any:
    """The estimator of a setting, fitted to all rows."""
    chosen = plan.chosen(params)
    X, y = some_rows(sample, plan.rows)
    if sample.n > len(y):
        tuned_on = None
        if hasattr(chosen, "alphas"):
            Z = X if plan.scaler is None else clone(plan.scaler).fit_transform(X)
            tuned_on = clone(chosen).fit(Z, y)
        chosen = rest(sample, chosen, plan, tuned_on)
    return plan.whole(chosen).fit(sample.X, sample.y)


def judge(sample: Sample, plan: Plan, params: dict[str, Any], output: Output) -> Any:
    """Compare the chosen setting, a linear model and the trivial one on folds other than those used for tuning."""
    X, y = some_rows(sample, plan.rows)
    chosen = _without_probability(plan.chosen(params))
    trivial = "most frequent class" if sample.task == "classification" else "mean"
    models = {
        plan.method: plan.whole(chosen),
        "linear model": linear_baseline(sample),
        trivial: trivial_baseline(sample),
    }
    return compare_models(sample, models, X, y, folds(sample, y, seed=1, most=JUDGES), output)


def compare_models(sample: Sample, models: dict[str, Any], X: Any, y: Any, cv: Any, output: Output) -> Any:
    """`mercer.selection.compare` by the score of the task, with progress."""
    name = "accuracy" if sample.task == "classification" else "R²"
    with output.progress("evaluating", len(models) * cv.get_n_splits()) as tell:
        return replace(compare(models, X, y, cv=cv, scoring=scoring(sample, y, tell)), scoring=name)


def reported(sample: Sample, plan: Plan, tuned: Tuned, estimator: Any) -> tuple[Any, Any, Any]:
    """The subject of a report, and its rows: the whole search if that is quick, else the chosen estimator."""
    X, y = some_rows(sample, plan.rows)
    if sample.columns is not None and sample.is_matrix:
        import pandas

        X = pandas.DataFrame(X, columns=list(sample.columns))  # names instead of x0, x1, …
    if tuned.tried < tuned.settings or tuned.settings == 1 or tuned.seconds > NESTED:
        return estimator, X, y
    search = KernelSearchCV(plan.estimator, plan.grid, scoring=scoring(sample, y), cv=folds(sample, y, seed=0))
    return plan.whole(search), X, y
