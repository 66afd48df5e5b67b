"""Delegation to an inner estimator: `estimator` before the fit, `estimator_` after it."""

from __future__ import annotations

from typing import Any

from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..types import Array, Data, EstimatorLike
from ._forms import Forms


def inner_has(name: str, held: str = "estimator_") -> Any:
    """A decorator: the method is available if the inner estimator, fitted or not, has one of this name."""

    def check(self: Any) -> bool:
        getattr(getattr(self, held, self.estimator), name)  # raises the inner estimator's own error if missing
        return True

    return available_if(check)


def delegated(name: str, summary: str, held: str = "estimator_") -> Any:
    """A method that calls the one of the fitted inner estimator."""

    def method(self: Any, X: Data) -> Any:
        check_is_fitted(self)
        return getattr(getattr(self, held), name)(X)

    method.__name__, method.__qualname__, method.__doc__ = name, name, summary
    return inner_has(name, held)(method)


class Delegating(Forms):
    """Base of estimators whose inner estimator makes the decisions."""

    estimator_: Any

    def decide(self, values: Array) -> Any:
        """The predictions for these values of `decision_function`."""
        check_is_fitted(self)
        return getattr(self.estimator_, "decide", super().decide)(values)


def copy_tags(tags: Any, estimator: EstimatorLike, *names: str) -> Any:
    """Copy the estimator type and target tags from the inner estimator."""
    inner = get_tags(estimator)
    for name in ("estimator_type", "target_tags", "classifier_tags", "regressor_tags", *names):
        setattr(tags, name, getattr(inner, name))
    return tags
