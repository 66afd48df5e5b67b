"""What a loss needs from a fit, and the loss at each sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from .._array import host
from .._errors import check_choice
from ..losses import Loss, LossLike
from ..methods.base import chosen
from ..types import Array, Data, EstimatorLike, Index

WHO = "expected_loss"
NAMES = ("zero_one", "squared", "absolute", "log")


class Judge:
    """L(y, answer), where the answer is a prediction, a probability of each class, or a value of the function."""

    def __init__(self, model: EstimatorLike, y: Array, loss: LossLike | Callable[..., Any] | None):
        self.model, self.y, self.labels, self.coupled = model, np.asarray(host(y)), is_classifier(model), False
        own = getattr(model, "fitted_loss", None)
        if loss is None:
            loss = "zero_one" if self.labels else "squared" if own is None or getattr(own, "quadratic", False) else own
        self.name = loss if isinstance(loss, str) else getattr(loss, "name", getattr(loss, "__name__", "own"))
        if self.name == "log" and getattr(own, "likelihood", False):
            loss = own  # the same loss, exact even where the probability underflows
        self.loss: Any = loss
        self.need = "prediction"
        if isinstance(loss, str):
            check_choice(WHO, "loss", loss, NAMES)
            if (loss in ("zero_one", "log")) != self.labels:
                right = "'zero_one' or 'log'" if self.labels else "'squared' or 'absolute'"
                raise ValueError(f"{WHO}: loss = {loss!r} does not apply to {type(model).__name__}; use {right}.")
            self.need = "probability" if loss == "log" else "prediction"
        elif isinstance(loss, Loss):
            self.need, self.coupled, self.y = "value", loss.coupled, loss.prepare(self.y)
        elif not callable(loss):
            raise TypeError(f"{WHO}: loss = {loss!r} must be one of {NAMES}, a Loss, or a function.")

    def of_model(self, model: EstimatorLike, X: Data) -> np.ndarray:
        """The answers of a model fitted to other samples."""
        if self.need == "prediction":
            return np.asarray(host(model.predict(X)))
        if self.labels and len(model.classes_) < len(self.model.classes_):
            unseen = np.setdiff1d(self.model.classes_, model.classes_).tolist()[0]
            raise ValueError(
                f"{WHO}: class {unseen!r} has no samples left in one of the fits, which gives it no probability; use "
                "loss='zero_one', or remove that class."
            )
        if self.need == "probability":
            if not hasattr(model, "predict_proba"):
                raise ValueError(f"{WHO}: loss = 'log' needs predict_proba, which {type(model).__name__} lacks here.")
            return np.asarray(model.predict_proba(X))
        if hasattr(model, "values"):
            return np.asarray(model.values(X))
        return np.asarray(host((model.decision_function if self.labels else model.predict)(X)))

    def of_values(self, f: np.ndarray) -> np.ndarray:
        """The answers for given values of the function."""
        own = getattr(self.model, "loss_", None)
        if self.need == "value":
            return f
        if self.need == "probability":
            if own is None or "link_inverse" not in own.provides:
                raise ValueError(
                    f"{WHO}: loss = 'log' needs probabilities, which this method cannot compute for "
                    f"{type(self.model).__name__}; use method='kfold'."
                )
            p = np.asarray(own.link_inverse(f))
            return p if p.ndim == 2 else np.stack([1 - p, p], axis=1)
        if hasattr(self.model, "decide"):
            return np.asarray(host(self.model.decide(f)))
        return chosen(self.model.classes_, f) if self.labels else f

    def losses(self, answers: np.ndarray, index: Index = slice(None)) -> np.ndarray:
        """L at the samples of `index`, averaged over several targets."""
        y, loss = self.y[index], self.loss
        if isinstance(loss, Loss):
            values = loss.value(self._encoded(y), answers)
        elif not isinstance(loss, str):
            values = loss(y, answers)
        elif loss == "log":
            p = answers[np.arange(len(y)), np.searchsorted(self.model.classes_, y)]
            with np.errstate(divide="ignore"):
                values = -np.log(p)
        else:
            values = self._of_predictions(y, answers)
        values = np.asarray(values, dtype=np.float64)
        if values.shape[:1] != y.shape[:1]:
            raise ValueError(
                f"{WHO}: loss returned values of shape {values.shape} for {len(y)} samples; it must return one each."
            )
        return values if values.ndim == 1 else values.mean(axis=1)

    def added(self, f: np.ndarray, weight: np.ndarray, train: np.ndarray) -> float:
        """The increase of a loss that couples samples when those outside `train` are added."""
        y = self._encoded(self.y)
        return float(self.loss.total(y, f, weight) - self.loss.total(y[train], f[train], weight[train]))

    def _of_predictions(self, y: np.ndarray, answers: np.ndarray) -> np.ndarray:
        if y.size != answers.size:
            raise ValueError(
                f"{WHO}: loss = {self.loss!r} needs targets and predictions of the same shape, but those of "
                f"{type(self.model).__name__} are {y.shape} and {answers.shape}; pass a loss of `mercer.losses`, or a "
                "function of both."
            )
        y = y.reshape(answers.shape)  # a column counts as a vector
        if self.loss == "zero_one":
            return answers != y
        return (y - answers) ** 2 if self.loss == "squared" else np.abs(y - answers)

    def _encoded(self, y: np.ndarray) -> np.ndarray:
        """Targets in the encoding of the loss."""
        if self.loss.task not in ("binary", "multiclass"):
            return y.astype(np.float64)
        place = np.searchsorted(self.model.classes_, y)
        return place if self.loss.task == "multiclass" else np.where(place == 1, 1.0, -1.0)
