"""The rules of the command line for preparation, kernel, method and tuning; columns and tasks are in `_sample`.

``docs/guide/command_line.md`` documents these rules; a test compares the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.utils.metaestimators import _safe_split

from mercer import (
    SVC,
    SVR,
    KernelLogisticRegression,
    KernelMeanClassifier,
    KernelQuantileRegression,
    KernelRidge,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    LeastSquaresSVC,
    RobustKernelRegression,
)
from mercer.gram import Nystrom
from mercer.kernels import Gaussian, Kernel, Table
from mercer.kernels.bandwidth import scale
from mercer.kernels.expression import parse

from .._folds import drawn
from .._threads import one_blas_thread
from ..types import EstimatorLike
from ._columns import DataError
from ._sample import Sample

EXACT = {"svc": 50_000, "svr": 50_000}  # with more rows, the kernel matrix is approximated
EXACT_OTHERS, EXACT_RIDGE = 3_000, 10_000
TUNED_ROWS = {"svc": 2_000}  # rows used for tuning
TUNED_OTHERS = 1_000
JUDGED_ROWS = {"svc": 5_000, "svr": 5_000}  # rows used for evaluation and the report
JUDGED_OTHERS = 2_000
RANK = 2_000  # landmarks of the approximation
WIDTHS = (1.0, 0.5, 2.0, 0.25, 4.0)  # the most promising first, for searches that stop early
TOLERANCE = 1e-3  # of `svr`, in units of the target's standard deviation
STRENGTHS = (1.0, 10.0, 100.0, 0.1, 1000.0)  # C, and 1/alpha

METHODS: dict[str, dict[str, Any]] = {
    "classification": {
        "svc": SVC,
        "logistic": KernelLogisticRegression,
        "ridge": KernelRidgeClassifierCV,
        "lssvc": LeastSquaresSVC,
        "means": KernelMeanClassifier,
    },
    "regression": {
        "ridge": KernelRidgeCV,
        "svr": SVR,
        "median": KernelQuantileRegression,
        "robust": RobustKernelRegression,
    },
}


@dataclass(frozen=True)
class Plan:
    """How to fit a sample: first `scaler` (or None), then `estimator` with the best of `grid`.

    Tuning uses `tuned` rows, evaluation uses `rows`, and the fit is exact up to `exact` rows.
    """

    sample: Sample
    method: str
    scaler: Any
    estimator: Any
    grid: list[dict[str, Any]]
    kernel: str
    tuned: int
    rows: int
    exact: int

    @property
    def name(self) -> str:
        """The class of the fitted estimator."""
        own = isinstance(self.estimator, SampledRidge)
        return KernelRidge.__name__ if own else type(self.estimator).__name__

    @cached_property
    def part(self) -> tuple[Any, Any]:
        """The rows for evaluation and the report, and their targets; those for tuning are drawn from them."""
        return self.sample.some(self.rows)

    @cached_property
    def scaled(self) -> Any:
        """These rows, scaled together; the targets are not used."""
        X, _ = self.part
        return X if self.scaler is None else clone(self.scaler).fit_transform(X)

    def whole(self, estimator: EstimatorLike) -> Any:
        """Scaler and estimator in one."""
        return estimator if self.scaler is None else make_pipeline(clone(self.scaler), estimator)

    def chosen(self, params: dict[str, Any]) -> Any:
        """The unfitted estimator with these parameters; for a `SampledRidge`, alpha is chosen too, on a few rows."""
        chosen = clone(self.estimator).set_params(**clone(params, safe=False))
        return chosen.plain(self.scaled, self.part[1]) if isinstance(chosen, SampledRidge) else chosen

    def for_all_rows(self, chosen: Any) -> Any:
        """The chosen estimator for all rows; with more than `exact` rows, its approximation."""
        n = self.sample.n
        if n > self.exact:
            seed = {"random_state": 0} if "random_state" in chosen.get_params(deep=False) else {}
            chosen = clone(chosen).set_params(gram=Nystrom(RANK), **seed)
        return chosen


def plan(sample: Sample, method: str | None = None, kernel: str | None = None, probability: bool = False) -> Plan:
    """The estimator for a sample, and the values to try."""
    method = method or ("svc" if sample.task == "classification" else "ridge")
    known = METHODS[sample.task]
    if method not in known:
        raise DataError(f"--method {method} is not available for {sample.task}; choose one of {', '.join(known)}.")
    scaler, kernel_, widths = choose_kernel(sample, kernel)
    exact = EXACT.get(method, EXACT_RIDGE if (method, sample.task) == ("ridge", "regression") else EXACT_OTHERS)
    options: dict[str, Any] = {"kernel": kernel_}
    scale = float(np.std(sample.y)) if method in ("svr", "median") else 1.0  # absolute errors have the target's unit
    if method == "svr":
        options |= {"C": scale, "epsilon": 0.1 * scale, "tol": TOLERANCE * scale}
    if method == "median":
        options["alpha"] = 1 / scale
    if method == "svc" and probability:
        options |= {"calibration": "cv", "random_state": 0}
    kind = (
        SampledRidge if (method, sample.task) == ("ridge", "regression") and sample.n > TUNED_OTHERS else known[method]
    )
    estimator = kind(**options)
    given = estimator.get_params(deep=False)  # for ridges, alpha names a criterion by which they choose the number
    own = isinstance(estimator, SampledRidge)
    name = None if own else next((p for p in ("C", "alpha") if isinstance(given.get(p), float)), None)
    strengths = {} if name is None else {name: [s * scale if name == "C" else 1 / (s * scale) for s in STRENGTHS]}
    grid = [{**{f"kernel__{p}": [v] for p, v in width.items()}, **strengths} for width in widths]
    tuned, rows = TUNED_ROWS.get(method, TUNED_OTHERS), JUDGED_ROWS.get(method, JUDGED_OTHERS)
    return Plan(sample, method, scaler, estimator, grid, str(kernel_), tuned, rows, exact)


def choose_kernel(sample: Sample, text: str | None, width: float = 1.0) -> tuple[Any, Kernel, list[dict[str, float]]]:
    """The scaler, the kernel (its free lengthscale at `width` times the default), and the widths to try."""
    given = None if text is None else _parsed(text)
    if (given is None and not sample.is_matrix) or isinstance(given, Table):
        if sample.columns is None:
            raise DataError(f"--kernel {text} needs named columns, but the data are a matrix.")
        kernel = Table(width=width) if given is None else given
        free = kernel.kernels == "auto" and "width" not in (text or "")
        return None, kernel, [{"width": w} for w in WIDTHS] if free else [{}]
    scaler = vectors(sample)
    Z = scaler.fit_transform(sample.X[: 10 * JUDGED_OTHERS])
    base = scale(Z)
    if given is None:
        return scaler, Gaussian(width * base), [{"lengthscale": w * base} for w in WIDTHS]
    assert text is not None
    names = [p for p in given.get_params() if p.split("__")[-1] == "lengthscale"] if "lengthscale" not in text else []
    widths = [dict.fromkeys(names, w * base) for w in WIDTHS] if names else [{}]
    return scaler, given.set_params(**dict.fromkeys(names, width * base)), widths


def _parsed(text: str) -> Kernel:
    try:
        return parse(text)
    except ValueError as error:  # with the position in the text
        raise DataError(f"--kernel: {str(error).removeprefix('kernel expression: ')}") from error


def vectors(sample: Sample) -> Any:
    """A transformer from the sample to a matrix of comparable columns."""
    if sample.is_sparse:
        return MaxAbsScaler()
    numbers = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    if sample.is_matrix:
        return numbers
    assert sample.columns is not None
    labels = [c for c, kind in sample.columns.items() if kind == "category"]
    others = [c for c in sample.columns if c not in labels]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer([("numbers", numbers, others), ("labels", one_hot, labels)])


class SampledRidge(KernelRidge):
    """Kernel ridge regression that chooses `alpha` in each fit by leave-one-out, on at most `TUNED_OTHERS` rows.

    The decomposition behind all leave-one-out errors takes twenty times as long as a fit for one alpha.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.alpha, self.fit_intercept = self._best(X, y), True
        return super().fit(X, y, sample_weight)

    def plain(self, X: Any, y: Any) -> KernelRidge:
        """The unfitted ridge with the alpha for these rows."""
        return KernelRidge(alpha=self._best(X, y), kernel=self.kernel, fit_intercept=True)

    def _best(self, X: Any, y: Any) -> float:
        part = drawn(len(y), TUNED_OTHERS, np.random.RandomState(0).permutation(len(y)))
        with one_blas_thread:
            return float(np.max(KernelRidgeCV(kernel=self.kernel).fit(*_safe_split(self, X, y, part)).alpha_))


class OneThreadLogistic(LogisticRegression):
    """Logistic regression on one core: its products are so small that threads slow it down up to a hundredfold."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OneThreadLogistic:
        with one_blas_thread:
            super().fit(X, y, sample_weight)
        return self


def linear_baseline(sample: Sample) -> Any:
    """A linear model of the same columns."""
    last = OneThreadLogistic(max_iter=1000) if sample.task == "classification" else RidgeCV(np.logspace(-3, 3, 13))
    return make_pipeline(vectors(sample), last)


def trivial_baseline(sample: Sample) -> Any:
    """The most frequent class, or the mean."""
    return DummyClassifier(strategy="most_frequent") if sample.task == "classification" else DummyRegressor()
