"""A fitted estimator with its kernel parameters, landmarks and alpha frozen: a linear smoother, or a problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import compute_class_weight

from .._array import host, like
from ..gram import Dense, Gram
from ..losses import EpsilonInsensitive, Hinge, SquaredEpsilonInsensitive, SquaredHinge
from ..methods import SVC, SVR, KernelInterpolator, KernelMachine
from ..methods._spline import Smoother
from ..methods.ridge import RidgeMethod
from ..solvers.fit._base import FitProblem
from ._sample import OF_THE_KERNEL

SVM_LOSSES: dict[str, Any] = {
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
}


def seeded(estimator: Any, random_state: int) -> Any:
    """A clone whose draws can be repeated: of landmarks, above all."""
    drawn = "random_state" in estimator.get_params(deep=False) and estimator.random_state is None
    return clone(estimator).set_params(random_state=random_state) if drawn else clone(estimator)


def frozen(model: Any, y: Any) -> Any:
    """An unfitted estimator with the values that a fitted one took from the data as its parameters."""
    names = model.get_params(deep=False)
    if isinstance(model, KernelMachine) and _has_plain_form(model):
        shared = ("kernel", "gram", "free", "solver", "tol", "max_iter", "class_weight", "time_budget", "random_state")
        given = {name: getattr(model, name) for name in shared if name in names}
        form: Any = KernelMachine(own_loss(model), alpha=model.alpha, penalty=model.penalty, **given)
    else:
        form = clone(model)
    names = form.get_params(deep=False)
    values: dict[str, Any] = {}
    if "kernel" in names and hasattr(model, "kernel_"):
        defaults = signature(type(form)).parameters
        values |= {name: defaults[name].default for name in OF_THE_KERNEL[1:] if name in names}
        values["kernel"] = model.kernel_
    if isinstance(model, Smoother):
        values |= dict.fromkeys(model.substitutes) | {"alpha": model.alpha_}
        values |= {"theta": model.theta_} if hasattr(model, "theta_") else {}
    if names.get("class_weight") is not None and hasattr(model, "classes_"):
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
        return Solved(problem, a, np.asarray(problem.gram @ a) + problem.free_part(model.free_coef_))
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
    target = np.asarray(host(y))
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
    if isinstance(model, Smoother) and hasattr(model, "_problem"):
        problem: Any = model._problem
        w = None if problem.scale is None else problem.scale**2
        points = getattr(model, "_check_points", None) or model._check_new  # type: ignore[attr-defined]
        H = like(model._basis(problem.gram.X), problem.y)  # type: ignore[attr-defined]
        alphas = np.array([model.alpha_])
        return Linear(problem.gram, H, w, problem.y[:, None], alphas, model._basis, points)  # type: ignore[attr-defined]
    if isinstance(model, KernelInterpolator):
        gram = Dense().build(model.kernel_, model._check_new(X))
        H = None if model._basis is None else like(model._basis(gram.X), gram.like)
        b = like(np.asarray(host(y)), gram.like)
        b = b[:, None] if b.ndim == 1 else b
        return Linear(gram, H, None, b, np.zeros(b.shape[1]), model._basis, model._check_new)
    if isinstance(model, KernelMachine) and type(own_loss(model)).__name__ == "Squared":
        found = solved(model, X, y, weight)
        if isinstance(found, Solved):
            p = found.problem
            basis = model._free_basis(model.free, False)
            alphas = np.array([p.alpha])
            return Linear(p.gram, p.H, p.weight, p.y[:, None], alphas, basis, model._check_new)
    return None
