"""Tune parameters with progress, a time limit, and Ctrl-C that keeps the best so far; then evaluate the choice."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.pipeline import Pipeline

from mercer.selection import KernelSearchCV, compare

from .._folds import drawn, shuffled
from .._threads import one_blas_thread
from ..types import EstimatorLike
from ._columns import DataError
from ._guess import Plan, linear_baseline, trivial_baseline
from ._output import Output
from ._sample import Sample

FOLDS = 5
JUDGES = 10  # folds for the evaluation
REPORTED = 5  # folds of the report
NESTED = 20.0  # if tuning took less than this many seconds, a report repeats it in each of its folds
CALIBRATED = 10  # with probabilities, the search of the report takes this many times as long
DRAWING = 2.0  # seconds for the pages and pictures of a report
TUNING = 0.4  # fraction of the time limit for tuning


class Clock:
    """The seconds left of a time limit; None without one."""

    def __init__(self, seconds: float | None):
        self.end = None if seconds is None else perf_counter() + seconds

    @property
    def left(self) -> float | None:
        """Seconds, at least a nanosecond."""
        return None if self.end is None else max(self.end - perf_counter(), 1e-9)

    def allows(self, seconds: float) -> bool:
        """Whether this many seconds are left."""
        return self.left is None or self.left >= seconds


@dataclass(frozen=True)
class Tuned:
    """The best setting tried, and how it was found."""

    params: dict[str, Any]
    score: float
    spread: float
    tried: int
    settings: int
    interrupted: bool
    seconds: float
    search: Any = None


class Counted:
    """Accuracy or R², with a callback per call; all copies have the same fingerprint in a checkpoint."""

    def __init__(self, task: str, variance: float = 1.0, tell: Callable[[], None] = lambda: None):
        self.task, self.variance, self.tell = task, variance, tell
        self.__name__ = "accuracy" if task == "classification" else "r2"

    def __reduce__(self) -> Any:
        return type(self), (self.task, self.variance)

    def __call__(self, y: Any, prediction: Any) -> float:
        self.tell()
        if self.task == "classification":
            return float(np.mean(np.asarray(y) == np.asarray(prediction)))  # checks of labels take as long as a fit
        # one variance for all folds: that of a small fold may be near 0
        return 1 - float(np.mean(np.square(np.asarray(y) - prediction))) / self.variance


def scoring(sample: Sample, y: Any, tell: Callable[[], None] = lambda: None) -> Any:
    """The scorer of the task, for these targets."""
    variance = float(np.var(y)) if sample.task == "regression" else 1.0
    return make_scorer(Counted(sample.task, variance, tell))


def folds(sample: Sample, y: Any, seed: int, most: int = FOLDS) -> Any:
    """At most `most` folds, fewer if the rarest class is smaller; for regression, at least two rows in each."""
    if sample.task != "classification":
        return shuffled(min(most, len(y) // 2), seed)
    rarest = int(np.unique(y, return_counts=True)[1].min())
    return shuffled(max(2, min(most, rarest)), seed, labels=True)


def tune(plan: Plan, output: Output, seconds: float | None, search: bool = True) -> Tuned:
    """Try the settings by cross-validation; Ctrl-C and the time limit stop the search and keep its results."""
    settings = sum(int(np.prod([len(v) for v in part.values()])) for part in plan.grid)
    params: dict[str, Any] = {}
    score = spread = np.nan
    tried, interrupted, started, done = 0, False, perf_counter(), None
    if search and settings > 1:
        done, interrupted = _search(plan, output, seconds, settings)
        found = getattr(done, "cv_results_", {})
        means = found.get("mean_test_score", np.array([]))
        tried = int(np.isfinite(means).sum())
        if tried:
            best = int(np.nanargmax(means))
            params, score, spread = found["params"][best], float(means[best]), float(found["std_test_score"][best])
    return Tuned(params, score, spread, tried, settings, interrupted, perf_counter() - started, done)


@contextmanager
def searching() -> Iterator[None]:
    """Suppress warnings about settings cut off by the time limit, which commands count; raise if all fits failed."""
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


def _search(plan: Plan, output: Output, seconds: float | None, settings: int) -> tuple[Any, bool]:
    """The search, with the results of the settings tried, and whether Ctrl-C stopped it."""
    search = searcher(plan, _without_probability(clone(plan.estimator)))
    y = plan.part[1]
    splitter: Any = search.cv
    with searching(), output.progress("tuning", settings * splitter.get_n_splits()) as tell:
        search.set_params(scoring=scoring(plan.sample, y, tell), refit=False, time_budget=seconds)
        try:  # rows scaled together share kernel matrices; the evaluation scales each training part by itself
            return search.fit(plan.scaled, y), False
        except KeyboardInterrupt:
            return search, True


def searcher(plan: Plan, estimator: EstimatorLike) -> KernelSearchCV:
    """The search for the best setting, on the rows for tuning."""
    sample, y = plan.sample, plan.part[1]
    labels = y if sample.task == "classification" else None
    tried = y[drawn(len(y), plan.tuned, np.random.RandomState(0).permutation(len(y)), labels)]
    return KernelSearchCV(
        estimator,
        plan.grid,
        scoring=scoring(sample, y),
        cv=folds(sample, tried, seed=0),
        n_jobs=-1,
        max_samples=plan.tuned,
        random_state=0,
    )


def _without_probability(estimator: Any) -> Any:
    """Turn off probabilities, which scores do not need and which take several fits."""
    return estimator.set_params(calibration=None) if "calibration" in estimator.get_params(deep=False) else estimator


def fitted(plan: Plan, params: dict[str, Any], clock: Clock) -> Any:
    """The estimator of a setting, fitted to all rows or, if time runs out, to those for evaluation."""
    sample, chosen = plan.sample, plan.chosen(params)
    if sample.n <= plan.rows:
        return plan.whole(chosen).fit(sample.X, sample.y)
    try:
        model = plan.whole(plan.for_all_rows(chosen).set_params(time_budget=clock.left)).fit(sample.X, sample.y)
        (model[-1] if hasattr(model, "steps") else model).set_params(time_budget=None)
        return model
    except TimeoutError:
        warnings.warn(f"there was no time to fit all rows; the model is fitted to {plan.rows} of them", stacklevel=2)
        return plan.whole(chosen).fit(*plan.part)


def judge(plan: Plan, params: dict[str, Any], output: Output, seconds: float | None = None) -> Any:
    """Compare the chosen setting, a linear model and the trivial one on folds other than those used for tuning."""
    sample, (X, y) = plan.sample, plan.part
    chosen = _without_probability(plan.chosen(params))
    trivial = "most frequent class" if sample.task == "classification" else "mean"
    models = {
        plan.method: plan.whole(chosen),
        "linear model": linear_baseline(sample),
        trivial: trivial_baseline(sample),
    }
    return compare_models(sample, models, X, y, folds(sample, y, seed=1, most=JUDGES), output, seconds)


def compare_models(
    sample: Sample, models: dict[str, Any], X: Any, y: Any, cv: Any, output: Output, seconds: float | None = None
) -> Any:
    """`mercer.selection.compare` with the task's score and a progress bar."""
    name = "accuracy" if sample.task == "classification" else "R²"
    # with a few thousand rows, BLAS threads gain little, and lose much while other programs run
    with one_blas_thread, output.progress("evaluating", len(models) * cv.get_n_splits()) as tell:
        found = compare(models, X, y, cv=cv, scoring=scoring(sample, y, tell), time_budget=seconds)
        return replace(found, scoring=name)


@dataclass(frozen=True)
class Subject:
    """The subject of a report: an estimator, rows, and the folds of the error estimate (None if there is no time)."""

    estimator: Any
    X: Any
    y: Any
    cv: int | None
    remark: str = ""


def reported(plan: Plan, tuned: Tuned, estimator: EstimatorLike, clock: Clock, fold: float) -> Subject | None:
    """The subject of a report as time allows: whole search, chosen setting, no error estimate, or None.

    `fold` is the time of one fold of the comparison, in seconds.
    """
    sample, (X, y) = plan.sample, plan.part
    if sample.columns is not None and sample.is_matrix:
        import pandas

        X = pandas.DataFrame(X, columns=list(sample.columns))  # names instead of x0, x1, …
    remark = ", tuned on these rows beforehand" if tuned.tried > 1 else ""  # its folds do not repeat the tuning
    if not clock.allows(DRAWING):
        return None
    if not clock.allows(DRAWING + REPORTED * fold):
        return Subject(estimator, X, y, None, ", without an error estimate for lack of time")
    again = tuned.seconds * (CALIBRATED if getattr(plan.estimator, "calibration", None) else 1)
    whole = tuned.tried == tuned.settings > 1 and again <= NESTED
    if not whole or not clock.allows(DRAWING + REPORTED * (fold + again)):
        return Subject(estimator, X, y, REPORTED, remark)
    search = searcher(plan, plan.estimator)
    made = estimator if sample.n <= plan.rows else plan.whole(plan.chosen(tuned.params)).fit(*plan.part)
    # assemble a fitted search from the finished search and the fitted estimator
    for name in ("cv_results_", "best_index_", "best_params_", "best_score_", "n_splits_", "scorer_", "multimetric_"):
        setattr(search, name, getattr(tuned.search, name))
    search.best_estimator_ = made if plan.scaler is None else made[-1]
    return Subject(search if plan.scaler is None else Pipeline([*made.steps[:-1], ("search", search)]), X, y, REPORTED)
