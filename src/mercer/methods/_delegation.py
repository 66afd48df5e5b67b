"""Methods of an estimator that another one holds: as `estimator` before the fit, as `estimator_` after it."""

from __future__ import annotations

from typing import Any

from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..types import Array, Data
from ._forms import Forms


def inner_has(name: str, held: str = "estimator_") -> Any:
    """A decorator for methods that are there if the inner estimator has one of this name, fitted or not."""

    def check(self: Any) -> bool:
        getattr(getattr(self, held, self.estimator), name)  # if it is missing, its own message is raised
        return True

    return available_if(check)


def delegated(name: str, summary: str, held: str = "estimator_") -> Any:
    """The method of the fitted inner estimator that takes samples."""

    def method(self: Any, X: Data) -> Any:
        check_is_fitted(self)
        return getattr(getattr(self, held), name)(X)

    method.__name__, method.__qualname__, method.__doc__ = name, name, summary
    return inner_has(name, held)(method)


class Delegating(Forms):
    """Base of the estimators that hold another one, which decides."""

    estimator_: Any

    def decide(self, values: Array) -> Any:
        """What `predict` answers at points where `decision_function` has these values."""
        check_is_fitted(self)
        return getattr(self.estimator_, "decide", super().decide)(values)


def copy_tags(tags: Any, estimator: Any, *names: str) -> Any:
    """The tags, with some of the inner estimator's: what it is and which targets it takes."""
    inner = get_tags(estimator)
    for name in ("estimator_type", "target_tags", "classifier_tags", "regressor_tags", *names):
        setattr(tags, name, getattr(inner, name))
    return tags
