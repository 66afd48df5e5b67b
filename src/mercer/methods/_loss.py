"""What a fitted function answers follows from its loss: labels and probabilities, or numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if

from ..losses import Loss, as_loss
from ._base import KernelEstimator

LABELS = ("binary", "multiclass")


class LossEstimator(KernelEstimator):
    """An estimator with a parameter `loss`, which decides whether it is a classifier; `loss_` and `classes_` fitted."""

    loss: Any
    loss_: Loss
    classes_: np.ndarray

    def _loss(self) -> Loss:
        return as_loss(self.loss)

    def _is_classifier(self) -> bool:
        return self._loss().task in LABELS

    def _has_probabilities(self) -> bool:
        return self._is_classifier() and "link_inverse" in self._loss().provides

    def _values(self, X: Any) -> np.ndarray:
        X = self._check_new(X)
        return np.asarray(self.function_(X))

    def predict(self, X: Any) -> np.ndarray:
        """Labels, or the mean that the value stands for (a median or quantile, where the loss asks for one)."""
        values = self._values(X)
        if self.loss_.task == "multiclass":
            return self.classes_[values.argmax(axis=1)]
        if self.loss_.task == "binary":
            return self.classes_[(values >= 0).astype(int)]
        return self.loss_.link_inverse(values) if "link_inverse" in self.loss_.provides else values

    @available_if(_is_classifier)
    def decision_function(self, X: Any) -> np.ndarray:
        """f(x): one value for two classes, positive for the second, else one per class."""
        values = self._values(X)
        return values[:, 1] - values[:, 0] if values.ndim == 2 and values.shape[1] == 2 else values

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, one column each."""
        values = self._values(X)
        p = np.asarray(self.loss_.link_inverse(values))
        return p if p.ndim == 2 else np.stack([1 - p, p], axis=1)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy for labels, else R²."""
        metric = accuracy_score if self._is_classifier() else r2_score
        return float(metric(y, self.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        task = self._loss().task
        if task in LABELS:
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=task == "multiclass")
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
        return tags
