"""Common parts of the splines: the penalty parameter and the fit report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from .._array import host, like, namespace
from .._errors import check_number, where
from ..solvers.regularisation import CRITERIA, criterion
from ..solvers.spectral import Spectral
from ..types import Array, Data
from ._forms import LinearForm


@dataclass(frozen=True)
class SplineSummary:
    """Result of `summary` for a spline.

    Attributes
    ----------
    n_samples : int
        Samples of positive weight.
    alpha : float
    degrees_of_freedom : float
        The trace of the smoother.
    residual_variance : float
        σ² = Σ wᵢrᵢ² / (n − degrees of freedom).
    gcv, leave_one_out, reml : float
        Generalised cross-validation, the weighted mean of the squared leave-one-out residuals, and minus twice the
        restricted log likelihood, up to a constant.
    free_coef, free_std_error : arrays, or None
        The coefficients of the free functions and their posterior standard deviations, if they are unique.
    """

    n_samples: int
    alpha: float
    degrees_of_freedom: float
    residual_variance: float
    gcv: float
    leave_one_out: float
    reml: float
    free_coef: Any = None
    free_std_error: Any = None

    def __str__(self) -> str:
        lines = [
            f"{self.n_samples} samples, alpha {self.alpha:.6g}",
            f"effective degrees of freedom  {self.degrees_of_freedom:.6g}",
            f"residual variance             {self.residual_variance:.6g}",
            f"generalised cross-validation  {self.gcv:.6g}",
            f"leave-one-out squared error   {self.leave_one_out:.6g}",
            f"-2 restricted log likelihood  {self.reml:.6g}",
        ]
        if self.free_coef is not None:
            pairs = zip(self.free_coef, self.free_std_error, strict=True)
            lines += ["free part: coefficient (standard error)", *(f"  {c:.6g} ({e:.6g})" for c, e in pairs)]
        return "\n".join(lines)


def in_unit(criteria: dict[str, float], free: int, unit: float) -> dict[str, float]:
    """The criteria for unit·y, from those for y; `unit` is a power of two, `free` the residual degrees of freedom."""
    squares = {name: unit**2 * criteria[name] for name in ("gcv", "loo")}
    return {**squares, "reml": criteria["reml"] + 2 * free * float(np.log(unit))}


class Smoother:
    """Base of the splines: `alpha` or one of its alternatives, `interval` and `summary`."""

    alpha: Any
    substitutes: tuple[str, ...] = ()

    def _check_values(self, X: Data) -> None:
        """No check: the kernel acts on scaled coordinates, which are not set yet."""

    def _check_penalty(self, criteria: tuple[str, ...] = CRITERIA) -> None:
        given = [name for name in self.substitutes if getattr(self, name) is not None]
        if len(given) + (not isinstance(self.alpha, str) or self.alpha != "gcv") > 1:
            listed = ", ".join(f"{name} = {getattr(self, name)!r}" for name in ["alpha", *given])
            raise ValueError(f"{where(self)}: {listed} are mutually exclusive; give only one.")
        check_number(self, "alpha", self.alpha, above=0, besides=criteria)

    def _in_double(self, X: Data) -> Any:
        """X in double precision, used for new points too: single precision cannot resolve the criteria."""
        xp = namespace(X)
        X = xp.astype(X, xp.float64)
        self.dtype_ = X.dtype
        return X

    def _record(self, path: Spectral, alpha: float, y: Array, unit: float) -> None:
        """Set the reported attributes for the fit at this alpha to y times `unit`."""
        n, b, alphas = path.design.effective, y[:, None], np.array([alpha])
        self.n_observations_, self.alpha_, self.edf_ = n, alpha, float(path.degrees_of_freedom(alphas)[0])
        criteria = {name: criterion(path, b, name, alpha) for name in CRITERIA}
        self.criteria_ = in_unit(criteria, n - path.design.p, unit)
        self.noise_variance_ = unit**2 * float(path.residual_variance(b, alphas)[0, 0])
        self.leverage_ = path.leverage(alphas)[:, 0]
        self.leave_one_out_ = unit * path.left_out(b, alphas)[:, 0, 0]

    def chosen_parameters(self) -> dict[str, Any]:
        """The penalty parameters."""
        values: dict[str, Any] = dict.fromkeys(self.substitutes) | {"alpha": self.alpha_}
        return values | ({"theta": self.theta_} if hasattr(self, "theta_") else {})

    def linear_form(self, X: Data, y: Array, sample_weight: Array = None) -> LinearForm | None:
        """The linear system of the spline; None if it was not solved as one."""
        path: Spectral | None = getattr(self, "_path", None)
        if path is None:
            return None
        design = path.design
        b = like(np.asarray(host(y)), design.gram.like)[:, None]
        return LinearForm(design.gram, design.H, design.weight, b, np.array([self.alpha_]), self._basis, self._points)

    _basis: Any

    def _points(self, X: Data) -> Any:
        """New samples, checked, in the coordinates of the kernel."""
        raise NotImplementedError

    def predict(self, X: Data, return_std: bool = False) -> Any:
        """The values f(x); with `return_std` also their posterior standard deviations, without noise."""
        raise NotImplementedError

    def interval(self, X: Data, coverage: float = 0.95) -> tuple[Any, Any]:
        """Lower and upper limits of the Bayesian band for f; the coverage holds on average over the samples."""
        check_number(self, "coverage", coverage, above=0, at_most=1)
        values, std = self.predict(X, return_std=True)
        width = float(special.ndtri((1 + coverage) / 2)) * std
        return values - width, values + width

    def summary(self) -> SplineSummary:
        """Sample size, penalty, degrees of freedom, noise, criteria, and the free part if it is unique."""
        check_is_fitted(self)
        coefficients, errors = self._free_part()
        return SplineSummary(
            n_samples=self.n_observations_,
            alpha=self.alpha_,
            degrees_of_freedom=self.edf_,
            residual_variance=self.noise_variance_,
            gcv=self.criteria_["gcv"],
            leave_one_out=self.criteria_["loo"],
            reml=self.criteria_["reml"],
            free_coef=coefficients,
            free_std_error=errors,
        )

    def _free_part(self) -> tuple[Any, Any]:
        """Coefficients and standard errors of the free part, if they are unique."""
        return None, None
