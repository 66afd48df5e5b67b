"""Fits of `SVC` that differ only in C: solved together on their kernel matrix, for predictions only."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function

from .._array import host
from ..kernels import Definiteness
from ..solvers.fit.many import LARGEST, PairPath, solve_pairs, vote
from ..types import Array, Data, EstimatorLike

OBEYED = {
    *("C", "break_ties", "cache_size", "class_weight", "coef0", "decision_function_shape", "degree", "gamma", "gram"),
    *("kernel", "n_jobs", "random_state", "shrinking", "tol", "verbose"),
}


def pairwise_path(estimator: EstimatorLike, strengths: Sequence[Any]) -> PairwisePath | None:
    """The fits for these values of C; None if they must be fitted one by one."""
    defaults = {name: p.default for name, p in signature(type(estimator)).parameters.items() if name not in OBEYED}
    if any(getattr(estimator, name) != value for name, value in defaults.items()):
        return None
    shape = estimator.decision_function_shape
    answered = shape == "ovr" or (shape == "ovo" and not estimator.break_ties)
    numbers = [estimator.tol, *strengths]
    valid = all(isinstance(v, Real) and not isinstance(v, bool) and 0 < float(v) < np.inf for v in numbers)
    return PairwisePath(estimator) if answered and valid else None


class PairwisePath:
    """The machines of all pairs of classes for several values of C."""

    def __init__(self, estimator: EstimatorLike):
        self.estimator = estimator
        # compile or load the compiled code on this thread, since worker threads may be stopped midway
        solve_pairs(np.eye(2), [np.array([0]), np.array([1])], np.ones(2), np.ones(1), 1.0)

    def takes(self, counts: np.ndarray) -> bool:
        """Whether classes with these numbers of samples are small enough for the host."""
        return bool(np.sort(counts)[-2:].sum() <= LARGEST)

    def solve(
        self,
        K: Any,
        claim: Definiteness,
        parts: list[list[np.ndarray]],
        y: Array,
        weight: np.ndarray,
        strengths: np.ndarray,
        stop: np.ndarray,
    ) -> list[Answered] | None:
        """The fits to each training part for increasing C, or None where a fit would raise or warn.

        K is a finite array, or a finite matrix on a device; `parts` contains the members of each class.
        """
        found = [self._weighted(members, y, weight) for members in parts]
        valid = claim.kind == "UNKNOWN" or (claim.is_cpd and claim.order <= 1)
        known = [part for part in found if part is not None]
        if not valid or len(known) < len(found):
            return None
        tol, shape = self.estimator.tol, self.estimator.decision_function_shape
        parts, weights = [part for part, _ in known], [weight for _, weight in known]
        if isinstance(K, np.ndarray):
            paths, values = [solve_pairs(K, *part, strengths, tol, stop) for part in known], K
        else:
            paths, values = K.solve_pairs(parts, weights, strengths, tol, stop), K.K
        out = []
        for path, members in zip(paths, parts, strict=True):
            if not stop[0] and path.gaps.max() > tol:
                worst = strengths[path.gaps.max(axis=1).argmax()]
                message = f"SVC: tol = {tol:g} was not reached in {path.steps.max()} steps for C = {worst:g}"
                warnings.warn(f"{message}; scale the data, or lower C.", ConvergenceWarning, stacklevel=2)
            out.append(Answered(path, values, y[[m[0] for m in members]], shape, self.estimator.break_ties))
        return out

    def _weighted(
        self, members: list[np.ndarray], y: Array, weight: np.ndarray
    ) -> tuple[list[np.ndarray], np.ndarray] | None:
        """The members of each class with positive weight, and the weights; None if a fit would raise."""
        if len(members) < 2:
            return None
        if self.estimator.class_weight is not None:
            classes, labels = y[[m[0] for m in members]], y[np.concatenate(members)]
            factors = compute_class_weight(self.estimator.class_weight, classes=classes, y=labels)
            if not np.all(np.isfinite(factors)):
                return None
            weight = weight.copy()
            for m, factor in zip(members, factors, strict=True):
                weight[m] *= factor
        members = [m[weight[m] > 0] for m in members]
        return None if any(len(m) == 0 for m in members) else (members, weight)


@dataclass(frozen=True)
class Answered:
    """Solved machines, which answer for samples given as rows of the matrix."""

    path: PairPath
    K: Any
    classes: np.ndarray
    shape: str
    break_ties: bool

    def labels(self, rows: np.ndarray) -> np.ndarray:
        """The predictions of each fit, of shape (fits, rows)."""
        return self.classes[vote(self.path.decisions(self.K, rows), len(self.classes), self.break_ties)]

    def machines(self, rows: np.ndarray) -> list[Answers]:
        """For each fit, a classifier that knows these samples."""
        values = host(self.path.decisions(self.K, rows))
        return [Answers(self.classes, v, self.shape, self.break_ties) for v in values]


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
