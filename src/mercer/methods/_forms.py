"""What a fitted estimator is, beside its answers: a linear system, or a problem with its solution.

Whoever judges, searches or exports an estimator asks it for these forms, and knows no class of estimators.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import compute_class_weight

from ..gram import Gram
from ..kernels import KernelLike
from ..solvers.fit import FitProblem
from ..types import Array, EstimatorLike

__all__ = ["LinearForm", "NoProblemError", "SolvedProblem", "frozen", "with_kernel"]

OF_KERNELS = ("gamma", "degree", "coef0", "kernel_params")  # parameters of kernels that have a name


class NoProblemError(ValueError):
    """A fit is not the solution of one problem; the message says why."""


@dataclass(frozen=True)
class SolvedProblem:
    """A problem with the coefficients and the values of its solution."""

    problem: FitProblem
    coefficients: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class LinearForm:
    """A fit that is linear in its targets: (K + αW⁻¹)a + Hc = b, Hᵀa = 0, with one α of each column of b.

    Attributes
    ----------
    points : function
        Takes new samples, checks them, and takes them to the coordinates of the kernel.
    """

    gram: Gram
    H: Any
    weight: Any
    b: Any
    alphas: np.ndarray
    basis: Any
    points: Callable[[Any], Any]


def with_kernel(estimator: EstimatorLike, kernel: KernelLike) -> Any:
    """A clone with this kernel, and with parameters of named kernels as they are by default."""
    form, defaults = clone(estimator), signature(type(estimator)).parameters
    return form.set_params(kernel=kernel, **{name: defaults[name].default for name in OF_KERNELS if name in defaults})


def frozen(model: EstimatorLike, y: Array) -> Any:
    """An unfitted estimator, of any library, with the values that a fitted one took from the data as its parameters."""
    form = model.plain_form() if hasattr(model, "plain_form") else clone(model)
    names = form.get_params(deep=False)
    values: dict[str, Any] = {}
    if "kernel" in names and hasattr(model, "kernel_"):
        form = with_kernel(form, model.kernel_)
    if hasattr(model, "chosen_parameters"):
        values |= model.chosen_parameters()
    if names.get("class_weight") is not None and hasattr(model, "classes_"):
        factors = getattr(model, "class_weight_", None)
        if factors is None:
            factors = compute_class_weight(names["class_weight"], classes=model.classes_, y=np.asarray(y))
        values["class_weight"] = dict(zip(model.classes_.tolist(), factors.tolist(), strict=True))
    return form.set_params(**values)
