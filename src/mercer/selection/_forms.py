"""A fitted estimator with kernel parameters, landmarks and alpha frozen: a linear smoother, or an optimisation problem.

An estimator declares a closed form of leave-one-out by a method ``leave_one_out()``. It returns, for each training
sample, the value there of the fit without it (of ``decision_function`` for labels, otherwise of ``predict``).
`expected_loss` needs nothing else from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable

from .._array import host
from ..methods.base import LinearForm, NoProblemError, SolvedProblem
from ..solvers.leave_one_out import refuse_determined
from ..solvers.spectral import Spectral
from ..types import Array, Data, EstimatorLike, RandomState


def seeded(estimator: EstimatorLike, random_state: RandomState) -> Any:
    """A clone with reproducible random draws, above all of landmarks."""
    drawn = "random_state" in estimator.get_params(deep=False) and estimator.random_state is None
    return clone(estimator).set_params(random_state=random_state) if drawn else clone(estimator)


def weights(estimator: EstimatorLike, weight: np.ndarray | None) -> dict[str, Any]:
    """The `fit` argument for sample weights; in a pipeline, that of its last step."""
    prefix = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    return {} if weight is None else {f"{prefix}sample_weight": weight}


@dataclass
class Fitted:
    """An estimator fitted to samples, and the forms of its fit."""

    model: Any
    X: Any
    y: Any
    weight: np.ndarray  # of each sample, 1 where none are given
    given: np.ndarray | None  # the same, or None where none are given
    linear: LinearForm | None
    solved: SolvedProblem | None
    why: str  # why there is no problem

    @property
    def n(self) -> int:
        return len(self.weight)

    @property
    def labels(self) -> bool:
        return is_classifier(self.model)

    @property
    def closed(self) -> bool:
        """Whether leave-one-out has a closed form."""
        return self.linear is not None or hasattr(self.model, "leave_one_out_") or hasattr(self.model, "leave_one_out")

    @property
    def single(self) -> bool:
        """Whether the fit is a linear form with scalar values."""
        return self.linear is not None and len(self.linear.alphas) == 1 and np.ndim(host(self.y)) == 1

    def left_out(self) -> np.ndarray:
        """Closed-form leave-one-out values at each sample, of shape (n,) or (n, t)."""
        if hasattr(self.model, "leave_one_out"):
            return np.asarray(host(self.model.leave_one_out()))
        form = self.linear
        if form is not None:
            values = host(Spectral(form.gram, form.H, form.weight).leave_one_out(form.b, form.alphas[:1]))[:, :, 0]
            return values[:, 0] if self.single else values
        values = np.asarray(self.model.leave_one_out_)
        refuse_determined(np.where(np.isnan(values) & (self.weight > 0), 0.0, 1.0))
        return values


def fitted(estimator: EstimatorLike, X: Data, y: Array, sample_weight: Array, random_state: RandomState) -> Fitted:
    """A fitted clone of an estimator, with the form of its fit."""
    X, y, sample_weight = indexable(X, y, sample_weight)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    given = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    model = seeded(estimator, random_state)
    model.fit(X, y, **weights(model, given))
    form = model.linear_form(X, y, given) if hasattr(model, "linear_form") else None
    solved, why = None, "its fit is linear in the targets"
    if form is None:
        solved, why = _solved(model, X, y, given)
    return Fitted(model, X, y, np.ones(n) if given is None else given, given, form, solved, why)


def _solved(model: EstimatorLike, X: Data, y: Array, weight: Array) -> tuple[SolvedProblem | None, str]:
    """The problem that a fitted estimator solved, or why there is none."""
    if not hasattr(model, "solved_problem"):  # an estimator of another library
        return None, f"{type(model).__name__} does not minimise a single loss"
    try:
        return model.solved_problem(X, y, weight), ""
    except NoProblemError as error:
        return None, str(error).removeprefix(f"{type(model).__name__}: ")
