"""Settings of `SVC` that differ only in C: solved together on their kernel matrix, for predictions only."""

from __future__ import annotations

import warnings
from inspect import signature
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function

from ..kernels import Definiteness
from ..methods import SVC
from ..solvers.fit.many import PairPath, solve_pairs, vote
from ..types import Array, Data, EstimatorLike

OBEYED = {
    *("C", "break_ties", "cache_size", "class_weight", "coef0", "decision_function_shape", "degree", "gamma", "gram"),
    *("kernel", "n_jobs", "random_state", "shrinking", "tol", "verbose"),
}
AT_DEFAULT = {name: p.default for name, p in signature(SVC).parameters.items() if name not in OBEYED}


def suits(estimator: EstimatorLike, strengths: list[Any]) -> bool:
    """Whether machines on a matrix can replace an estimator with these values of C; if not, it is fitted itself."""
    if type(estimator) is not SVC or any(getattr(estimator, name) != value for name, value in AT_DEFAULT.items()):
        return False
    shape = estimator.decision_function_shape
    asked = shape == "ovr" or (shape == "ovo" and not estimator.break_ties)
    numbers = [estimator.tol, *strengths]
    return asked and all(isinstance(v, Real) and not isinstance(v, bool) and 0 < float(v) < np.inf for v in numbers)


def load() -> None:
    """Compile or load the compiled code on this thread, since worker threads may be stopped midway."""
    solve_pairs(np.eye(2), [np.array([0]), np.array([1])], np.ones(2), np.ones(1), 1.0)


def machines(
    estimator: SVC,
    K: np.ndarray,
    claim: Definiteness,
    members: list[np.ndarray],
    y: Array,
    weight: np.ndarray,
    strengths: np.ndarray,
    stop: np.ndarray,
) -> PairPath | None:
    """The machines of a training part for increasing C, or None where a fit would raise or warn."""
    if len(members) < 2:
        return None
    if estimator.class_weight is not None:
        classes, labels = np.array([y[m[0]] for m in members]), y[np.concatenate(members)]
        factors = compute_class_weight(estimator.class_weight, classes=classes, y=labels)
        if not np.all(np.isfinite(factors)):
            return None
        weight = weight.copy()
        for m, factor in zip(members, factors, strict=True):
            weight[m] *= factor
    members = [m[weight[m] > 0] for m in members]
    valid = claim.kind == "UNKNOWN" or (claim.is_cpd and claim.order <= 1)
    if not valid or any(len(m) == 0 for m in members) or not np.isfinite(K).all():
        return None
    path = solve_pairs(K, members, weight, strengths, estimator.tol, stop)
    if not stop[0] and path.gaps.max() > estimator.tol:
        worst = strengths[path.gaps.max(axis=1).argmax()]
        message = f"SVC: tol = {estimator.tol:g} was not reached in {path.steps.max()} steps for C = {worst:g}"
        warnings.warn(f"{message}; scale the data, or lower C.", ConvergenceWarning, stacklevel=2)
    return path


class Answers(ClassifierMixin, BaseEstimator):
    """A classifier that holds only its decision values at certain samples, for scorers that ask for these samples."""

    def __init__(self, classes: np.ndarray, values: np.ndarray, shape: str, break_ties: bool):
        self.classes, self.values, self.shape, self.break_ties = classes, values, shape, break_ties

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def classes_(self) -> np.ndarray:
        """The labels."""
        return self.classes

    def decision_function(self, X: Data) -> np.ndarray:
        """Decision values, as in `SVC`."""
        if len(self.classes) == 2:
            return -self.values[:, 0]  # positive means the second class, as in scikit-learn
        if self.shape == "ovo":
            return self.values
        return _ovr_decision_function(self.values < 0, -self.values, len(self.classes))

    def predict(self, X: Data) -> np.ndarray:
        """Labels, as in `SVC`."""
        return self.classes[vote(self.values, len(self.classes), self.break_ties)]
