"""A fitted estimator with its kernel parameters, landmarks and alpha frozen: a linear smoother, or a problem.

An estimator announces a closed form of leave-one-out by a method ``leave_one_out()``, which gives for each training
sample the value at it (of ``decision_function`` for labels, else of ``predict``) of the fit without it. `expected_loss`
needs nothing else of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import compute_class_weight, indexable

from .._array import host, like
from ..gram import Dense, Gram
from ..losses import EpsilonInsensitive, Hinge, SquaredEpsilonInsensitive, SquaredHinge
from ..methods import (
    SVC,
    SVR,
    KernelInterpolator,
    KernelMachine,
    KernelRidge,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
)
from ..methods._ridge import RidgeMethod
from ..methods._spline import Smoother
from ..solvers.fit import FitProblem
from ..solvers.leave_one_out import refuse_determined
from ..solvers.spectral import Spectral
from ._sample import OF_THE_KERNEL

SVM_LOSSES: dict[str, Any] = {
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
}


def seeded(estimator: Any, random_state: Any) -> Any:
    """A clone whose draws can be repeated: of landmarks, above all."""
    drawn = "random_state" in estimator.get_params(deep=False) and estimator.random_state is None
    return clone(estimator).set_params(random_state=random_state) if drawn else clone(estimator)


def weights(estimator: Any, weight: np.ndarray | None) -> dict[str, Any]:
    """The argument of `fit` that gives the samples weights; of a pipeline, the one of its last step."""
    prefix = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    return {} if weight is None else {f"{prefix}sample_weight": weight}


def frozen(model: Any, y: Any) -> Any:
    """An unfitted estimator with the values that a fitted one took from the data as its parameters."""
    names = model.get_params(deep=False)
    if isinstance(model, KernelMachine) and _has_plain_form(model):
        shared = ("kernel", "gram", "free", "solver", "tol", "max_iter", "class_weight", "time_budget", "random_state")
        given = {name: getattr(model, name) for name in shared if name in names}
        form: Any = KernelMachine(own_loss(model), alpha=model.alpha, penalty=model.penalty, **given)
    elif isinstance(model, KernelRidgeCV):
        given = {name: getattr(model, name) for name in ("fit_intercept", "free", "gram", "random_state")}
        form = KernelRidge(model.alpha_, **given)
    else:
        form = clone(model)
    names = form.get_params(deep=False)
    values: dict[str, Any] = {}
    if "kernel" in names and hasattr(model, "kernel_"):
        defaults = signature(type(form)).parameters
        values |= {name: defaults[name].default for name in OF_THE_KERNEL[1:] if name in names}
        values["kernel"] = model.kernel_
    if isinstance(model, KernelRidgeClassifierCV):
        values |= {"alphas": [model.alpha_], "optimize": False}
    if isinstance(model, Smoother):
        values |= dict.fromkeys(model.substitutes) | {"alpha": model.alpha_}
        values |= {"theta": model.theta_} if hasattr(model, "theta_") else {}
    if names.get("class_weight") is not None and hasattr(model, "classes_"):
        factors = getattr(model, "class_weight_", None)
        if factors is None:
            factors = compute_class_weight(names["class_weight"], classes=model.classes_, y=np.asarray(y))
        values["class_weight"] = dict(zip(model.classes_.tolist(), factors.tolist(), strict=True))
    return form.set_params(**values)


def _has_plain_form(model: KernelMachine) -> bool:
    """Whether a fit is one of `KernelMachine`: one problem, with a coefficient of each sample."""
    several = hasattr(model, "_levels") and model._levels().ndim == 1
    return not several and not hasattr(model, "import_")


def own_loss(model: KernelMachine) -> Any:
    """The loss that a fitted machine minimises; of several levels a function, their mean."""
    if not hasattr(model, "_levels"):
        return model.loss_
    levels = model._levels()
    if levels.ndim == 0:
        return model._at(float(levels))
    losses = [model._at(float(level)) for level in levels]

    def mean_over_levels(y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.mean([loss.value(y, f[:, j]) for j, loss in enumerate(losses)], axis=0)

    return mean_over_levels


@dataclass
class Solved:
    """A problem with the coefficients and the values of its solution."""

    problem: FitProblem
    coefficients: np.ndarray
    values: np.ndarray


def solved(model: Any, X: Any, y: Any, weight: Any) -> Solved | str:
    """The problem that a fitted machine solves, or why it is not one."""
    if isinstance(model, KernelMachine):
        if not _has_plain_form(model) or not (isinstance(model.penalty, str) and model.penalty == "squared"):
            return "it is not the minimiser of one loss with the squared penalty"
        problem, _ = frozen(model, y)._problem(X, y, weight)
        if problem.loss.coupled:
            return f"the loss {type(problem.loss).__name__} couples samples"
        a = np.asarray(model.dual_coef_)
        return Solved(problem, a, np.asarray(problem.gram @ a) + problem.free_part(model.function_.free))
    if isinstance(model, (SVC, SVR)):
        return _support_vectors(model, X, y, weight)
    return f"{type(model).__name__} is no machine with one loss"


def _support_vectors(model: Any, X: Any, y: Any, weight: Any) -> Solved | str:
    labels = isinstance(model, SVC)
    if labels and (len(model.classes_) > 2 or model.multi_class not in ("ovo", "ovr")):
        return "there are more than two classes, each pair with a machine of its own"
    if np.isinf(model.C) or getattr(model, "budget", None) is not None:
        return "a hard margin, or a budget of errors, has no loss"
    X = model._check_new(X)
    gram = model._build(X)
    w = np.ones(gram.n) if weight is None else np.asarray(weight, dtype=np.float64)
    target = np.asarray(host(y)).reshape(gram.n)  # a column is a vector
    if labels:
        w = w * model.class_weight_[np.searchsorted(model.classes_, target)]
        target = np.where(target == model.classes_[1], 1.0, -1.0)
    loss = SVM_LOSSES[model.loss]() if labels else SVM_LOSSES[model.loss](model.epsilon)
    a = np.zeros(gram.n)
    dual = model.dual_coef_
    a[model.support_] = (dual.toarray() if hasattr(dual, "toarray") else dual)[0]
    H = np.ones((gram.n, 1)) if model.fit_intercept else None
    values = np.asarray(gram @ a) + (float(model.intercept_[0]) if model.fit_intercept else 0.0)
    return Solved(FitProblem(gram, loss, target.astype(np.float64), 1.0, model.C * w, H), a, values)


@dataclass
class Linear:
    """A fit that is linear in its targets: (K + αW⁻¹)a + Hc = b, Hᵀa = 0, with one α of each column of b."""

    gram: Gram
    H: Any
    weight: Any
    b: Any
    alphas: np.ndarray
    basis: Any
    points: Callable[[Any], Any]  # new samples, checked and taken to the coordinates of the kernel


def linear(model: Any, X: Any, y: Any, weight: Any) -> Linear | None:
    """The system that a fitted estimator solves, if it is one."""
    if isinstance(model, RidgeMethod):
        return Linear(*model._system(), *model._columns(), model._basis, model._check_new)
    if isinstance(model, Smoother) and hasattr(model, "_path"):
        design = model._path.design
        points = getattr(model, "_check_points", None) or model._check_new  # type: ignore[attr-defined]
        b = like(np.asarray(host(y)), design.gram.like)[:, None]
        return Linear(design.gram, design.H, design.weight, b, np.array([model.alpha_]), model._basis, points)  # type: ignore[attr-defined]
    if isinstance(model, KernelInterpolator):
        determined = model.rank_ + (0 if model.free_coef_ is None else len(model.free_coef_))
        if determined < len(model.dual_coef_):
            return None  # equal samples, of which each is determined by the other: there is no system without them
        gram = Dense().build(model.function_.kernel, model._check_new(X))
        H = None if model._basis is None else like(model._basis(gram.X), gram.like)
        b = like(np.asarray(host(y)), gram.like)
        b = b[:, None] if b.ndim == 1 else b
        return Linear(gram, H, None, b, np.zeros(b.shape[1]), model._basis, model._check_new)
    if isinstance(model, KernelMachine) and getattr(own_loss(model), "quadratic", False):
        found = solved(model, X, y, weight)
        if isinstance(found, Solved):
            p = found.problem
            basis = model._free_basis(p.gram.X, model.free)
            alphas = np.array([p.alpha])
            return Linear(p.gram, p.H, p.weight, p.y[:, None], alphas, basis, model._check_new)
    return None


@dataclass
class Fitted:
    """An estimator fitted to samples, and the forms that its fit has.

    Attributes
    ----------
    weight : array of shape (n,)
        One for each sample, 1 where none are given.
    given : the same, or None where none are given
    solved : Solved, or str
        The latter says why there is no problem.
    """

    model: Any
    X: Any
    y: Any
    weight: np.ndarray
    given: np.ndarray | None
    linear: Linear | None
    solved: Solved | str

    @property
    def n(self) -> int:
        return len(self.weight)

    @property
    def labels(self) -> bool:
        return is_classifier(self.model)

    @property
    def closed(self) -> bool:
        """Whether leave-one-out has a closed form."""
        return self.linear is not None or isinstance(self.model, Smoother) or hasattr(self.model, "leave_one_out")

    @property
    def single(self) -> bool:
        """Whether the function of a linear form has one value."""
        return self.linear is not None and len(self.linear.alphas) == 1 and np.ndim(host(self.y)) == 1

    def left_out(self) -> np.ndarray:
        """The closed form: at each sample the value of the fit without it, of shape (n,) or (n, t)."""
        if hasattr(self.model, "leave_one_out"):
            return np.asarray(host(self.model.leave_one_out()))
        form = self.linear
        if form is not None:
            values = host(Spectral(form.gram, form.H, form.weight).leave_one_out(form.b, form.alphas[:1]))[:, :, 0]
            return values[:, 0] if self.single else values
        values = np.asarray(self.model.leave_one_out_)
        refuse_determined(np.where(np.isnan(values) & (self.weight > 0), 0.0, 1.0))
        return values


def fitted(estimator: Any, X: Any, y: Any, sample_weight: Any, random_state: Any) -> Fitted:
    """A clone of an estimator, fitted, with what its fit is."""
    X, y, sample_weight = indexable(X, y, sample_weight)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    given = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    model = seeded(estimator, random_state)
    model.fit(X, y, **weights(model, given))
    form = linear(model, X, y, given)
    problem = solved(model, X, y, given) if form is None else "its fit is linear in the targets"
    return Fitted(model, X, y, np.ones(n) if given is None else given, given, form, problem)
