"""Base classes of estimators that predict by the values of one function of the kernel's space."""

from __future__ import annotations

from typing import Any, cast

from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin

from ..space import Function
from ..types import Data
from ._base import KernelEstimator


class DecisionClassifier(ClassifierMixin, KernelEstimator):
    """Base of the classifiers whose labels follow from the values of `decision_function`."""

    def decision_function(self, X: Data) -> Any:
        """f(x): one value for two classes (positive for ``classes_[1]``), else one per class."""
        X, f = self._check_new(X), cast(Function, self.decision)
        return f.values(X)

    def predict(self, X: Data) -> Any:
        """The labels."""
        return self.decide(self.decision_function(X))


class FunctionRegressor(MultiOutputMixin, RegressorMixin, KernelEstimator):
    """Base of the regressors whose predictions are the values of a function."""

    def predict(self, X: Data) -> Any:
        """f(x), of shape (n,) or (n, n_targets)."""
        X, f = self._check_new(X), cast(Function, self.decision)
        return f.values(X)
