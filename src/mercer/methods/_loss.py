"""Predictions that depend on the loss: labels and probabilities, or numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if

from .._array import beside, doubles, host, labels_like, namespace
from ..losses import Loss, as_loss
from ..types import Array, Data
from ._base import KernelEstimator
from ._forms import chosen, decision_array, decision_values, require_fitted

LABELS = ("binary", "multiclass")


def concordance(y: Array, f: np.ndarray, sample_weight: Array = None) -> float:
    r"""The fraction of comparable pairs in which the first to have the event has the larger f; ties count half.

    A pair is comparable if the earlier of its times is an event. Harrell, Lee, Mark, *Multivariable prognostic
    models* (1996).
    """
    time, event = np.asarray(y, dtype=np.float64).T
    weight = np.ones(len(f)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    agree = total = 0.0
    for i in np.flatnonzero(event):
        later = weight[i] * weight * ((time > time[i]) | ((time == time[i]) & (event == 0)))
        agree += float(later @ (f < f[i]) + 0.5 * later @ (f == f[i]))
        total += float(later.sum())
    return agree / total if total else np.nan


class LossEstimator(KernelEstimator):
    """An estimator whose parameter `loss` decides whether it is a classifier; fits `loss_` and `classes_`."""

    loss: Any
    loss_: Loss
    classes_: np.ndarray

    def _loss(self) -> Loss:
        return as_loss(self.loss)

    def _is_classifier(self) -> bool:
        return self._loss().task in LABELS

    def _has_probabilities(self) -> bool:
        return self._is_classifier() and "link_inverse" in self._loss().provides

    def values(self, X: Data) -> Any:
        """f(x), which determines the predictions."""
        X = self._check_new(X)
        return self.function_.values(X)

    def predict(self, X: Data) -> Any:
        """Labels, or the predicted mean (median or quantile, if the loss estimates one)."""
        return self.decide(self.values(X))

    def decide(self, values: Array) -> Any:
        """The labels or means for the output of `values`; for labels, also of `decision_function`."""
        require_fitted(self)
        if self.loss_.task in LABELS:
            values = decision_values(self, values)
            return labels_like(chosen(self.classes_, host(values)), values)
        values = decision_array(self, values)
        return self._means(values) if "link_inverse" in self.loss_.provides else values

    def _means(self, values: Array) -> Any:
        """The predicted means, in the library and on the device of the values."""
        return beside(self.loss_.link_inverse(host(values)), values)

    @available_if(_is_classifier)
    def decision_function(self, X: Data) -> Any:
        """f(x): one value for two classes, positive for the second; else one per class."""
        values = self.values(X)
        return values[:, 1] - values[:, 0] if values.ndim == 2 and values.shape[1] == 2 else values

    @available_if(_has_probabilities)
    def predict_proba(self, X: Data) -> Any:
        """Class probabilities, one column per class."""
        p = self._means(self.values(X))
        return p if p.ndim == 2 else namespace(p).stack([1 - p, p], axis=1)

    def score(self, X: Data, y: Array, sample_weight: Array = None) -> float:
        """Accuracy for labels, explained deviance for counts, concordance for survival times, else R²."""
        require_fitted(self)
        if self.loss_.task == "survival":
            return concordance(host(self.loss_.prepare(y)), host(self.values(X)), sample_weight)
        if self.loss_.task == "count":
            return self._explained(doubles(y), host(self.values(X)), sample_weight)
        metric = accuracy_score if self._is_classifier() else r2_score
        return float(metric(host(y), host(self.predict(X)), sample_weight=sample_weight))

    def _explained(self, y: np.ndarray, f: np.ndarray, sample_weight: Array) -> float:
        """1 minus the deviance at f over that of a constant rate."""
        count, exposure = (y, np.ones_like(y)) if y.ndim == 1 else y.T
        rate = np.average(count / exposure, weights=exposure * (1.0 if sample_weight is None else sample_weight))
        best = np.full_like(f, self.loss_.link(rate))
        return float(1 - self.loss_.total(y, f, sample_weight) / self.loss_.total(y, best, sample_weight))

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
