"""The error of the method on unseen samples, compared with simple baselines."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    root_mean_squared_error,
)
from sklearn.model_selection import check_cv
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

from .._array import host, is_sparse
from .._errors import check_number
from .._folds import shuffled
from .._steps import last
from .._threads import one_blas_thread
from ..selection import ExpectedLoss, expected_loss
from ..types import Array, Data, EstimatorLike, Splitter
from ._case import Case, fit, rows

OURS, MAJORITY, MEAN, LINEAR, NORMAL = "this model", "majority class", "mean of y", "linear model", "one Gaussian"
MANY = 2000  # maximum number of samples for leave-one-out


@dataclass
class Estimate:
    """Scores over the folds, and the predictions at held-out samples, if any."""

    scores: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)  # by metric and model; the main metric first
    training: dict[str, float] = field(default_factory=dict)  # scores of the fit to all samples
    predicted: Any = None
    probability: Any = None
    values: Any = None
    tested: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))  # whether a sample was held out
    splits: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    left_out: ExpectedLoss | None = None
    failure: str = ""  # why there is no estimate
    wanted: bool = True

    @property
    def metric(self) -> str:
        """The main metric."""
        return next(iter(self.scores), "")

    def mean(self, who: str = OURS) -> float:
        """The mean over the folds."""
        return float(np.mean(self.scores[self.metric][who]))

    @property
    def error(self) -> float:
        """The standard error of the mean over folds."""
        folds = self.scores[self.metric][OURS]
        return float(np.std(folds, ddof=1) / np.sqrt(len(folds))) if len(folds) > 1 else np.nan


def estimated(case: Case, cv: Splitter) -> Estimate:
    """The error by cross-validation, and by leave-one-out if there is a formula."""
    found = Estimate()
    if cv is None:
        found.wanted, found.failure = False, "cv=None: no error estimate was requested."
    elif case.kind in ("transformer", "clusterer"):
        found.failure = "This method predicts no target, so there is no error to estimate."
    elif case.kind != "outliers" and case.labelled and case.y is None:
        raise ValueError(f"report: {case.name} needs targets, but y is None; pass y.")
    elif case.n < 2:
        found.failure = "A single sample cannot be held out."
    if found.failure:
        return found
    found.splits = folds(case, cv)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # already raised by the fit to all samples
        try:
            _by_folds(case, found)
        except Exception as error:  # report any error of a fit to fewer samples
            return Estimate(failure=f"{type(error).__name__} in a fit with one fold left out: {error}")
        if case.labelled and case.groups is None:
            found.left_out = _left_out(case)
    return found


def folds(case: Case, cv: Splitter) -> list[tuple[np.ndarray, np.ndarray]]:
    """Shuffled folds, stratified and grouped where applicable; no more of them than samples in the rarest class."""
    stratified, groups = case.kind == "classifier" and np.ndim(case.y) == 1, case.groups
    if isinstance(cv, Integral):
        check_number("report", "cv", cv, at_least=2, integer=True)
        parts = min(int(cv), case.n if case.kind != "regressor" else max(2, case.n // 2))  # R² needs two samples
        if stratified and groups is None:
            parts = max(2, min(parts, int(case.classes[1].min())))
        elif groups is not None:
            parts = min(parts, len(np.unique(groups)))
        cv = shuffled(parts, case.random_state, stratified, groups is not None)
    y = np.zeros(case.n) if case.y is None else case.y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about rare classes, which the report itself covers
        return list(check_cv(cv, y, classifier=stratified).split(np.zeros(case.n), y, groups))


def _by_folds(case: Case, found: Estimate) -> None:
    rivals = _rivals(case)
    found.tested = np.zeros(case.n, dtype=bool)
    for train, test in found.splits:
        fold = (_samples(case, train, train), _of(case.target, train), _of(case.groups, train))
        answer = _Answer.of(case, fit(clone(case.estimator), *fold), _samples(case, test, train), test)
        _keep(found, case, answer, test)
        found.tested[test] = True
        _add(found, OURS, answer.scores)
        for who, (rival, data) in rivals.items():
            if who == NORMAL:
                _add(found, who, {"mean log density": _normal(data[train], data[test])})
                continue
            with one_blas_thread:  # threads slow down the small products of linear models
                rival = fit(clone(rival), rows(data, train), _of(case.y, train))
            _add(found, who, _Answer.of(case, rival, rows(data, test), test).scores)
    found.scores = {m: {w: np.array(v) for w, v in s.items()} for m, s in found.scores.items() if OURS in s}
    found.training = _Answer.of(case, case.fitted, case.X, np.arange(case.n)).scores


def _samples(case: Case, index: np.ndarray, train: np.ndarray) -> Any:
    """The samples at `index`; for a precomputed matrix, their rows in the columns of the training samples."""
    return rows(case.X, index)[:, train] if case.pairwise and not case.steps else rows(case.X, index)


def _of(y: Array, index: np.ndarray) -> Any:
    return None if y is None else rows(y, index)


def _add(found: Estimate, who: str, scores: dict[str, float]) -> None:
    for metric, value in scores.items():
        found.scores.setdefault(metric, {}).setdefault(who, []).append(value)  # type: ignore[arg-type,attr-defined]


def _keep(found: Estimate, case: Case, answer: _Answer, test: np.ndarray) -> None:
    for name in ("predicted", "probability", "values"):
        part = getattr(answer, name)
        if part is None:
            continue
        whole = getattr(found, name)
        if whole is None:
            whole = np.zeros((case.n, *part.shape[1:]), dtype=part.dtype)
        whole = whole.astype(np.promote_types(whole.dtype, part.dtype), copy=False)
        if whole.shape[1:] == part.shape[1:]:
            whole[test] = part
        setattr(found, name, whole)


@dataclass
class _Answer:
    """The predictions of a model at some samples, and its scores."""

    scores: dict[str, float]
    predicted: np.ndarray | None = None
    probability: np.ndarray | None = None
    values: np.ndarray | None = None

    @classmethod
    def of(cls, case: Case, model: EstimatorLike, X: Data, index: np.ndarray) -> _Answer:
        values: Any
        if case.kind == "density":
            values = np.asarray(host(model.score_samples(X)))
            return cls({"mean log density": float(np.mean(values))}, values=values)
        predicted = np.asarray(host(model.predict(X)))
        if case.kind == "outliers":
            values = np.asarray(host(model.score_samples(X))) if hasattr(model, "score_samples") else None
            return cls({"fraction of outliers": float(np.mean(predicted == -1))}, predicted, values=values)
        y = case.y[index]
        predicted = predicted[:, 0] if predicted.shape == (*y.shape, 1) else predicted
        if case.kind == "regressor" and levels_of(model) is not None:
            return cls(_level_scores(model, X, y, predicted), predicted)
        if predicted.shape != y.shape:
            return cls({"score": float(model.score(X, y))}, predicted)
        if case.kind == "regressor":
            scores = {
                "R²": float(r2_score(y, predicted)),
                "root mean squared error": float(root_mean_squared_error(y, predicted)),
                "mean absolute error": float(mean_absolute_error(y, predicted)),
            }
            return cls(scores, predicted)
        if y.ndim > 1:
            return cls({"accuracy": float(np.mean(predicted == y))}, predicted)
        scores = {
            "accuracy": float(accuracy_score(y, predicted)),
            "balanced accuracy": float(balanced_accuracy_score(y, predicted)),
        }
        probability = None
        if hasattr(model, "predict_proba") and len(model.classes_) == len(case.classes[0]):
            probability = np.asarray(host(model.predict_proba(X)))
            scores["log loss"] = float(log_loss(y, probability, labels=case.classes[0]))
        return cls(scores, predicted, probability)


def levels_of(model: EstimatorLike) -> Any:
    """The levels of quantile or expectile regression, whose curves need not be near the mean of y."""
    return getattr(last(model), "quantiles", getattr(last(model), "expectiles", None))


def _level_scores(model: EstimatorLike, X: Data, y: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    scores = {"D²": float(model.score(X, y))}
    if hasattr(last(model), "quantiles"):
        for level, curve in zip(np.atleast_1d(levels_of(model)), predicted.reshape(len(y), -1).T, strict=True):
            scores[f"fraction of y below τ = {level:g}"] = float(np.mean(y <= curve))
    return scores


# ---- baselines


def _rivals(case: Case) -> dict[str, tuple[Any, Any]]:
    """Baseline models, with the data in the form that they accept."""
    data = _plain(case)
    if case.kind == "density":
        known = data is not None and not is_sparse(data) and case.n > 2 * data.shape[1]  # else it has no covariance
        return {NORMAL: (None, np.asarray(data, dtype=np.float64))} if known else {}
    if not case.labelled:
        return {}
    nothing = np.zeros((case.n, 1))
    classify = case.kind == "classifier"
    dummy = DummyClassifier(strategy="prior") if classify else DummyRegressor()
    found = {MAJORITY if classify else MEAN: (dummy, nothing)}
    if data is not None and np.ndim(case.y) == 1:
        last = LogisticRegression(max_iter=1000) if classify else Ridge(1.0)
        found[LINEAR] = (make_pipeline(_numbers(case, data), last), data)
    return found


def _plain(case: Case) -> Any:
    """The data as a matrix, or as a table with labels; None for other data."""
    if case.pairwise:
        return None
    if is_sparse(case.X):
        return case.X.tocsr()
    if not case.columns:
        return None
    values = list(case.columns.values())
    if all(v.dtype.kind == "f" for v in values):
        return np.column_stack(values)
    table = np.empty((case.n, len(values)), dtype=object)
    for j, column in enumerate(values):
        table[:, j] = column if column.dtype.kind == "f" else ["" if v is None else str(v) for v in column]
    return table


def _numbers(case: Case, data: Any) -> Any:
    if is_sparse(data):
        return MaxAbsScaler()
    kinds = np.array([v.dtype.kind == "f" for v in case.columns.values()])
    numeric = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    return make_column_transformer(
        (numeric, np.flatnonzero(kinds)),
        (OneHotEncoder(handle_unknown="ignore"), np.flatnonzero(~kinds)),
    )


def _normal(train: np.ndarray, test: np.ndarray) -> float:
    covariance = np.atleast_2d(np.cov(train, rowvar=False))
    return float(np.mean(multivariate_normal(train.mean(axis=0), covariance, allow_singular=True).logpdf(test)))


def _left_out(case: Case) -> ExpectedLoss | None:
    """Leave-one-out by formula, if the library has one for this method; preceding steps are kept."""
    if case.n > MANY or case.search is not None or not type(case.model).__module__.startswith("mercer."):
        return None
    for method in ("closed_form", "newton", "active_set"):
        if method == "active_set" and case.n > MANY // 4:
            continue
        try:
            found = expected_loss(clone(case.model), case.Z, case.target, method, random_state=case.random_state)
        except (ValueError, TypeError, AttributeError, NotImplementedError):
            continue
        return found if np.isfinite(found.estimate) else None
    return None
