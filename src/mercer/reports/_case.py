"""The subject of a report: the estimator, its data, the fit, and quantities that several sections share."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_clusterer, is_outlier_detector, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._array import doubles, host, is_array, is_sparse
from .._errors import KindError, shown
from .._steps import unwrapped
from ..domains import Tables, take
from ..types import Array, Data, EstimatorLike
from ._pictures import Pictures

MOST = 500  # maximum number of samples in the kernel matrix that is drawn and decomposed
TINY = 1e-10  # rounding error, relative to the largest eigenvalue


class Case:
    """An estimator on data.

    Attributes
    ----------
    estimator, fitted : the estimator as given, and itself if it was fitted, otherwise a fitted clone
    target, y : targets as given, and on the host
    model, Z : the final step of pipelines and searches, and the data that reach it
    search : the outermost search, or None
    kind : "classifier", "regressor", "clusterer", "outliers", "density" or "transformer"
    groups : the group of each sample, held out as a whole, or None
    heard : the warnings raised by the fit, with their categories
    """

    def __init__(self, estimator: EstimatorLike, X: Data, y: Array, random_state: int, groups: Array = None):
        self.estimator, self.X, self.target, self.random_state = estimator, X, y, random_state
        self.kind = kind_of(estimator)
        self.labelled = self.kind in ("classifier", "regressor")
        self.y = np.asarray(host(y)) if y is not None and (self.labelled or np.ndim(y) == 1) else y
        self.n = size(X)
        if self.labelled and np.shape(self.y) == (self.n, 1):
            self.y = self.y[:, 0]
        self.groups = None if groups is None else check_groups(groups, self.n)
        self.pictures = Pictures()
        self.was_fitted = is_fitted(estimator)
        self.heard: dict[str, type[Warning]] = {}
        self.fitted = estimator if self.was_fitted else self._fit()
        self.model, self.Z, self.steps, self.search = unwrapped(self.fitted, X)
        self.pairwise = bool(get_tags(self.model).input_tags.pairwise)

    def _fit(self) -> Any:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            fitted = fit(clone(self.estimator), self.X, self.target, self.groups)
        self.heard = {
            str(w.message): w.category for w in heard if issubclass(w.category, (UserWarning, RuntimeWarning))
        }
        return fitted

    @property
    def dimension(self) -> int | None:
        """The number of columns that reach the method, if it has columns."""
        shape: tuple[int, ...] = getattr(self.Z, "shape", ())
        return int(shape[1]) if len(shape) == 2 and not self.pairwise else None

    @property
    def name(self) -> str:
        """The name of the method."""
        return type(self.model).__name__

    # ---- the data

    @property
    def _domain(self) -> Any:
        return getattr(getattr(self.model, "kernel_", None), "domain", None)

    @cached_property
    def columns(self) -> dict[str, np.ndarray]:
        """The columns of a table or matrix by name: float64 with NaN, or objects with None; empty for other data."""
        X = self.X
        if isinstance(X, list) and not self.steps and self._domain.vectors:
            X = np.asarray(X, dtype=np.float64)
        return {} if self.pairwise else columns_of(X, "x")

    @cached_property
    def second(self) -> dict[str, np.ndarray]:
        """The columns of a second view."""
        return {} if self.labelled or self.pairwise or self.target is None else columns_of(self.target, "y")

    @cached_property
    def identity(self) -> np.ndarray | None:
        """An integer for each sample, equal for identical samples; None if they cannot be compared."""
        if self.pairwise:
            return None
        seen: dict[Hashable, int] = {}
        try:
            return np.array([seen.setdefault(key, len(seen)) for key in self._keys()])
        except TypeError:
            return None

    def _keys(self) -> Any:
        if is_sparse(self.X):
            rows = self.X.tocsr()
            cut = [slice(a, b) for a, b in zip(rows.indptr, rows.indptr[1:], strict=False)]
            return [(rows.indices[c].tobytes(), rows.data[c].tobytes()) for c in cut]
        numbers = list(self.columns.values())
        if numbers and all(v.dtype.kind == "f" for v in numbers):
            return [row.tobytes() for row in np.column_stack(numbers) + 0.0]
        if numbers:
            return list(zip(*(_comparable(v) for v in numbers), strict=True))
        if self._domain is None or isinstance(self.X, tuple) or self.steps:
            return list(self.X)
        return [self._domain.key(x) for x in self._domain.check(self.X, "report")]

    @cached_property
    def classes(self) -> tuple[np.ndarray, np.ndarray]:
        """The labels and how often each occurs."""
        return np.unique(self.y, return_counts=True)

    # ---- the kernel matrix

    @cached_property
    def labels(self) -> np.ndarray | None:
        """The class or the cluster of each sample; None if there is neither."""
        found: Any = self.y if self.kind == "classifier" else getattr(self.model, "labels_", None)
        return np.asarray(host(found)) if np.ndim(found) == 1 and len(found) == self.n else None

    @cached_property
    def drawn(self) -> np.ndarray:
        """The samples in the kernel matrix: all, or a random subset; ordered by label, if any."""
        chosen = np.arange(self.n)
        if self.n > MOST:
            chosen = np.sort(np.random.default_rng(self.random_state).choice(self.n, MOST, replace=False))
        return chosen if self.labels is None else chosen[np.argsort(self.labels[chosen], kind="stable")]

    @cached_property
    def K(self) -> np.ndarray | None:
        """The kernel matrix of `drawn`; None if the kernel is not defined on samples."""
        kernel = getattr(self.model, "kernel_", None)
        if kernel is None or hasattr(self.model, "components_"):
            return None
        try:
            points = rows(self.Z, self.drawn)
            if kernel.domain.precomputed:
                return doubles(points)[:, self.drawn]
            if kernel.domain.vectors and not is_sparse(points):
                points = np.asarray(host(points) if is_array(points) else points, dtype=np.float64)
            K = doubles(kernel(points))
        except (TypeError, ValueError):  # a kernel on something other than samples, such as tasks or projections
            return None
        return K if np.isfinite(K).all() else None

    @cached_property
    def spectrum(self) -> SampledSpectrum | None:
        """The spectrum of the kernel matrix."""
        return None if self.K is None else SampledSpectrum.of(self.K, self.n, self.alpha)

    @property
    def alpha(self) -> float | None:
        """The penalty α if the method solves a system with K + αI; 0 for interpolation."""
        return getattr(self.model, "system_alpha", None)


@dataclass(frozen=True)
class SampledSpectrum:
    """Eigenvalues of a kernel matrix of m samples, in descending order, and derived quantities."""

    eigenvalues: np.ndarray
    similarity: float  # the mean of k(x, y) / √(k(x, x) k(y, y)) over pairs of different samples
    least: float  # their minimum
    participation: float  # (Σλ)² / Σλ² of these similarities: effective number of distinct samples, from 1 to m
    dimension: float | None  # Σ λ / (λ + α), λ scaled from m to all n samples; None without α
    condition: float  # of K + αI, or of K without α
    negative: float  # the fraction of negative eigenvalues in Σ|λ|
    even: bool  # whether all k(x, x) are equal, as for kernels that depend on a distance

    @classmethod
    def of(cls, K: np.ndarray, n: int, alpha: float | None) -> SampledSpectrum:
        m = len(K)
        values = np.linalg.eigvalsh((K + K.T) / 2)[::-1]
        scale = np.sqrt(np.abs(np.diag(K)))
        scale[scale == 0] = 1.0
        S = K / np.outer(scale, scale)
        off = float((S.sum() - np.trace(S)) / max(m * (m - 1), 1))
        spread = float(np.trace(S) ** 2 / max(np.sum(S * S), 1e-300))
        whole = np.where(np.abs(values) > TINY * np.abs(values).max(initial=0), values, 0.0) * (n / m)
        positive = np.clip(whole, 0, None)
        dimension = None if alpha is None else float(np.sum(positive / (positive + alpha))) if alpha else m
        solved = np.abs(values * (n / m) + (alpha or 0.0))
        least = solved.min(initial=np.inf)
        condition = float(solved.max(initial=0) / least) if least > 0 else np.inf
        total = float(np.abs(whole).sum()) or 1.0
        negative = float(-whole[whole < 0].sum() / total)
        even = bool(np.ptp(np.diag(K)) <= TINY * np.abs(np.diag(K)).max(initial=0))
        return cls(values, off, float(S.min(initial=1.0)), spread, dimension, condition, negative, even)


def columns_of(X: Data, letter: str) -> dict[str, np.ndarray]:
    """The columns of a table or dense matrix, by name or by letter and number; empty for other data."""
    flat = isinstance(X, dict) or hasattr(X, "columns") or (is_array(X) and host(X).ndim == 2)
    if not flat or is_sparse(X):
        return {}
    found = Tables().check(X, "report").columns
    return {f"{letter}{name}" if is_array(X) else str(name): values for name, values in found.items()}


def check_groups(groups: Array, n: int) -> np.ndarray:
    """The groups, checked: one per sample, and at least two distinct ones."""
    values = np.asarray(groups)
    if values.ndim == 0:
        raise KindError(f"report: groups = {shown(groups)} must be a sequence; pass one group per sample, or None.")
    if len(values) != n:
        raise ValueError(f"report: groups has {len(values)} entries for {n} samples; pass one per sample.")
    if len(np.unique(values)) < 2:
        raise ValueError("report: groups has only one group, so none can be held out; omit groups, or pass cv=None.")
    return values


def kind_of(estimator: EstimatorLike) -> str:
    """The kind of an estimator."""
    for kind, test in (("classifier", is_classifier), ("regressor", is_regressor), ("clusterer", is_clusterer)):
        if test(estimator):
            return kind
    if is_outlier_detector(estimator):
        return "outliers"
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else getattr(estimator, "estimator", estimator)
    return "density" if hasattr(last, "score_samples") and hasattr(last, "sample") else "transformer"


def is_fitted(estimator: EstimatorLike) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def fit(estimator: EstimatorLike, X: Data, y: Array, groups: Array = None) -> Any:
    """Fit to X, and to y if given; groups are passed to a search whose splitter requests them."""
    splitter: Any = getattr(estimator, "cv", None)
    asked = groups is not None and hasattr(splitter, "get_metadata_routing")
    more = {"groups": groups} if asked and splitter.get_metadata_routing().split.requests.get("groups") else {}
    return estimator.fit(X, **more) if y is None else estimator.fit(X, y, **more)


def size(X: Data) -> int:
    """The number of samples."""
    if isinstance(X, tuple) and X:
        return size(X[0])
    if isinstance(X, dict) and X:
        return len(next(iter(X.values())))
    shape = getattr(X, "shape", None)
    if isinstance(X, (str, bytes, dict, tuple)) or shape == () or (shape is None and not hasattr(X, "__len__")):
        raise KindError(f"report: X = {shown(X)} must be a collection; pass one row, string or graph per sample.")
    return len(X) if shape is None else int(shape[0])


def rows(X: Data, index: np.ndarray) -> Any:
    """The samples at `index` of any collection."""
    if isinstance(X, tuple):
        return tuple(rows(part, index) for part in X)
    if isinstance(X, dict):
        return {
            name: take(values, index) if is_array(values) else [values[i] for i in index] for name, values in X.items()
        }
    if hasattr(X, "columns") and not hasattr(X, "iloc"):
        return X[index]
    return take(X, index)


def _comparable(values: np.ndarray) -> list[Any]:
    return [None if v != v else v for v in values.tolist()] if values.dtype.kind == "f" else list(values)
