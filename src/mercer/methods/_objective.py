"""The criteria that `KernelTuner` minimises, with gradients in the kernel parameters."""

from __future__ import annotations

from copy import copy
from itertools import combinations
from typing import Any

import numpy as np

from .._array import on_host
from .._errors import where
from ..basis import annihilated
from ..context import Monitor
from ..gram import Dense
from ..solvers.hyper import MarginCriterion, Objective, RidgeCriterion
from ..solvers.hyper.margin import Machine
from ..types import Array, Data
from ._base import KernelEstimator
from ._classifier import Classifier, encode


def checked(model: KernelEstimator, X: Data, y: Array, **options: Any) -> tuple[Any, Any]:
    """Samples (in double precision if numeric) and targets, checked as by `fit`."""
    if not (isinstance(model.gram, Dense) or (isinstance(model.gram, str) and model.gram in ("auto", "dense"))):
        raise ValueError(
            f"{where(model)}: gram = {model.gram!r} approximates the matrix or does not store it, but the gradient "
            "needs it; use 'auto' or 'dense'."
        )
    X, y = model._check_fit(X, y, **options)
    if not on_host(X):
        raise TypeError(f"{where(model)}: X is a {type(X).__module__} array; give NumPy arrays.")
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X, y


def of_ridge(
    model: KernelEstimator, criterion: str, X: Data, b: np.ndarray, weight: Array, basis: Any, alpha: float
) -> Objective:
    """The objective of a method that solves (K + αW⁻¹)a + Hc = b."""
    model._require_definite(X, annihilated(basis))
    H = None if basis is None else np.asarray(basis(X), dtype=np.float64)
    X = model.kernel_.about(X).relative(X) if annihilated(basis) else X
    weight = None if weight is None else np.asarray(weight, dtype=np.float64)
    return Objective(RidgeCriterion(criterion, X, b, H, weight), model.kernel_, alpha, X)


def of_machines(
    model: Classifier, criterion: str, X: Data, y: Array, sample_weight: Array, monitor: Monitor | None
) -> Objective:
    """The objective of support vector machines between pairs of classes, or of each against the rest."""
    X, y = checked(model, X, y)
    model._prepare(X)
    X = model.kernel_.about(X).relative(X) if model.fit_intercept else X
    labels, weight = encode(model, y, model._check_weight(sample_weight, X), by_weight=False)
    used, k = weight > 0, len(model.classes_)
    against_rest = k > 2 and model.multi_class == "ovr"
    pairs = [(c, None) for c in range(k)] if against_rest else list(combinations(range(k), 2))
    machines = []
    for a, b in pairs:
        index = np.flatnonzero(used & ((labels == a) | (b is None) | (labels == b)))
        machines.append(Machine(index, np.where(labels[index] == a, 1.0, -1.0), weight[index]))

    def judged(squared: bool) -> MarginCriterion:
        return MarginCriterion(criterion, X, list(map(copy, machines)), squared, model.fit_intercept, monitor)

    squared = model.loss == "squared_hinge"
    # the span criterion of the hinge has many kinks, where a search gets stuck
    guide = judged(True) if criterion == "span" and not squared else None
    return Objective(judged(squared), model.kernel_, float(model.C), X, guide)
