"""Estimators inside searches and pipelines."""

from __future__ import annotations

from typing import Any, NamedTuple

from .types import Checked, EstimatorLike


class Unwrapped(NamedTuple):
    """The estimator at the end of searches and pipelines."""

    model: Any
    X: Any  # the samples that reach it
    steps: list[tuple[str, Any]]  # the fitted steps before it, by name
    search: Any  # the outermost search, or None


def unwrapped(estimator: EstimatorLike, X: Checked) -> Unwrapped:
    """Follow X through a fitted estimator to its last step."""
    steps: list[tuple[str, Any]] = []
    search = None
    while True:
        if hasattr(estimator, "best_params_"):
            search = search or estimator
            if not hasattr(estimator, "best_estimator_"):
                raise ValueError(f"{type(estimator).__name__} has no best_estimator_; set refit=True.")
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            if len(estimator.steps) > 1:
                X = estimator[:-1].transform(X)
            steps += estimator.steps[:-1]
            estimator = estimator.steps[-1][1]
        else:
            return Unwrapped(estimator, X, steps, search)


def chain(estimator: EstimatorLike) -> list[Any]:
    """The steps of pipelines and the best estimators of searches, one after another, fitted or not."""
    if hasattr(estimator, "best_estimator_"):
        return chain(estimator.best_estimator_)
    steps = [step for _, step in getattr(estimator, "steps", []) if step not in (None, "passthrough")]
    return [part for step in steps for part in chain(step)] or [estimator]


def last(estimator: EstimatorLike) -> Any:
    """The last estimator, fitted or not."""
    return chain(estimator)[-1]
