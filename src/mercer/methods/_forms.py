"""Forms of a fitted estimator: a linear system, or a problem with its solution.

Code that assesses, tunes or exports estimators uses these forms instead of testing for classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from .._array import host, is_array, labels_like
from .._errors import KindError, where
from ..context import Monitor
from ..gram import Gram
from ..kernels import Kernel, KernelLike
from ..solvers.fit import FitProblem
from ..solvers.hyper import Objective
from ..space import Function
from ..types import Array, Data, EstimatorLike

OF_KERNELS = ("gamma", "degree", "coef0", "kernel_params")  # parameters of named kernels


class NoProblemError(ValueError):
    """The fit does not solve a single problem; the message says why."""


@dataclass(frozen=True)
class SolvedProblem:
    """A problem with the coefficients and values of its solution."""

    problem: FitProblem
    coefficients: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class LinearForm:
    """A fit that is linear in its targets: (K + αW⁻¹)a + Hc = b, Hᵀa = 0, with one α per column of b.

    Attributes
    ----------
    points : function
        Checks new samples and maps them to the coordinates of the kernel.
    """

    gram: Gram
    H: Any
    weight: Any
    b: Any
    alphas: np.ndarray
    basis: Any
    points: Callable[[Any], Any]


class Forms:
    """Interface of a fitted estimator for code that assesses, tunes, explains or exports it."""

    criteria: ClassVar[tuple[str, ...]] = ()  # of `tuning_objective`; the first is the default
    takes_indefinite: ClassVar[bool] = False  # whether indefinite kernels are accepted
    _solves_system: bool = False
    minimises_risk: ClassVar[bool] = False  # whether a fit minimises Σ wℓ + ½α‖f‖² for a convex loss and a fixed α or C
    kernel_compares: ClassVar[str] = ""  # objects that the kernel compares, if not samples, and the remedy
    kernel_parameter: ClassVar[str] = "kernel"
    path_parameter: ClassVar[str] = ""  # `path_form` solves the fits for all its values together

    def fitted_form(self) -> Any:
        """The fitted estimator that predicts: this one, or the one it holds."""
        return self

    @property
    def decision(self) -> Function | None:
        """The function behind predictions, by `decide` or votes of its columns; None if there is none."""
        return getattr(self, "prediction_", getattr(self, "function_", None))

    def decide(self, values: Array) -> Any:
        """The predictions for these values of `decision_function`.

        Methods without a `decision_function` expect the output of `values`, or of `predict` itself.
        """
        require_fitted(self)
        if not hasattr(self, "classes_"):
            return decision_array(self, values)
        values = decision_values(self, values)
        return labels_like(chosen(self.classes_, host(values)), values)

    def plain_form(self) -> Any:
        """An unfitted estimator of the same model, the simplest available, whose parameters can be fixed."""
        return clone(self)

    def chosen_parameters(self) -> dict[str, Any]:
        """Parameters of `plain_form`, besides the kernel, that this fit chose from the data."""
        return {}

    def linear_form(self, X: Data, y: Array, sample_weight: Array = None) -> LinearForm | None:
        """The linear system of this fit to these data; None if it is not linear in its targets."""
        return None

    def solved_problem(self, X: Data, y: Array, sample_weight: Array = None) -> SolvedProblem:
        """The problem that this fit to these data solved; raises `NoProblemError` if there is none."""
        raise NoProblemError(f"{type(self).__name__} does not minimise a single loss")

    def tuning_objective(
        self, criterion: str, X: Data, y: Array, sample_weight: Array = None, monitor: Monitor | None = None
    ) -> Objective:
        """One of `criteria` on these data, as a function of the kernel and the penalty."""
        raise NoProblemError(f"{type(self).__name__} has no criterion with a gradient")

    def path_form(self, values: Sequence[Any]) -> Any:
        """The fits for these values of `path_parameter`, solved together; None if each must be fitted by itself."""
        return None

    @property
    def documented_problem(self) -> int:
        """Which of the equations in the docstring this fit solved."""
        return 0

    @property
    def system_alpha(self) -> float | None:
        """α, if the fit solves a single system with K + αI; otherwise None."""
        value: Any = getattr(self, "alpha_", getattr(self, "alpha", None)) if self._solves_system else None
        return float(value) if np.ndim(value) == 0 and isinstance(value, (int, float, np.number)) else None

    @property
    def fitted_loss(self) -> Any:
        """The loss minimised by this fit: a Loss, a function, or None."""
        return None


def require_fitted(owner: Any) -> None:
    """scikit-learn's `check_is_fitted`, without computing the tags of a fitted estimator."""
    if not owner.__sklearn_is_fitted__():
        check_is_fitted(owner)


def decision_array(owner: object, values: Array) -> Any:
    """User-supplied function values as an array of numbers."""
    values = values if is_array(values) else np.asarray(values)
    if isinstance(values, np.ndarray) and values.dtype.kind not in "fiub":
        raise KindError(
            f"{where(owner)}: values hold {values.dtype.name}, expected numbers as returned by decision_function."
        )
    return values


def decision_values(owner: Any, values: Array, columns: int | None = None) -> Any:
    """Checked decision values of a classifier: one for two classes, else one column per class, or `columns`."""
    require_fitted(owner)
    values, k = decision_array(owner, values), len(owner.classes_)
    columns = k if columns is None else columns
    if not (values.ndim == 1 and k <= 2) and not (values.ndim == 2 and values.shape[1] == columns):
        expected = f"(n, {columns})" if k > 2 else "(n,)"
        raise ValueError(
            f"{where(owner)}: values have shape {tuple(values.shape)}, expected {expected} for {k} classes; pass the "
            "output of decision_function."
        )
    return values


def chosen(classes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The labels for decision values."""
    return classes[(values >= 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)]


def with_kernel(estimator: EstimatorLike, kernel: KernelLike) -> Any:
    """A clone with this kernel, and default values of the parameters of named kernels."""
    return clone(estimator).set_params(**instead_of_named(estimator, kernel))


def instead_of_named(estimator: EstimatorLike, kernel: KernelLike | list[Kernel]) -> dict[str, Any]:
    """The kernel as a parameter, and those of named kernels at their defaults."""
    defaults = signature(type(estimator)).parameters
    own = getattr(estimator, "kernel_parameter", "kernel")
    return {own: kernel} | {name: defaults[name].default for name in OF_KERNELS if name in defaults}


def frozen(model: EstimatorLike, y: Array) -> Any:
    """An unfitted estimator, of any library, with the values that a fitted one chose from the data fixed."""
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
