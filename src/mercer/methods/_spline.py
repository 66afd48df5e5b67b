"""What the splines share: how the weight of the penalty is given, and what is reported of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from .._array import host, like
from .._errors import check_choice, check_number, where
from ..solvers.smoothing import CRITERIA, DemmlerReinsch


class Smoother:
    """Base of the splines: `alpha` or one of its substitutes, `interval` and `summary`."""

    alpha: Any
    substitutes: tuple[str, ...] = ()

    def _check_penalty(self, criteria: tuple[str, ...] = CRITERIA) -> None:
        given = [name for name in self.substitutes if getattr(self, name) is not None]
        if len(given) + (self.alpha != "gcv") > 1:
            listed = ", ".join(f"{name} = {getattr(self, name)!r}" for name in ["alpha", *given])
            raise ValueError(f"{where(self)}: {listed} exclude each other; give one of them.")
        if isinstance(self.alpha, str):
            check_choice(self, "alpha", self.alpha, criteria)
        else:
            check_number(self, "alpha", self.alpha, above=0)

    def _record(self, problem: DemmlerReinsch, alpha: float, y: Any, weight: Any) -> None:
        """Set what is reported of the fit to a problem at one alpha."""
        n = problem.n
        self.n_observations_, self.alpha_, self.edf_ = n, alpha, problem.edf(alpha)
        self.criteria_ = {name: problem.criterion(name, alpha) for name in CRITERIA}
        self.noise_variance_ = problem.rss(alpha) / (n - self.edf_)
        self.leverage_ = problem.leverage(alpha)
        scaled = host(problem.residual(alpha)) / (1 - host(self.leverage_))
        root = 1.0 if weight is None else np.sqrt(weight)
        self.leave_one_out_ = like(host(y) - scaled / np.where(root > 0, root, 1.0), self.leverage_)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The values f(x); with `return_std` also their posterior standard deviations, without the noise."""
        raise NotImplementedError

    def interval(self, X: Any, coverage: float = 0.95) -> tuple[Any, Any]:
        """The lower and upper ends of the Bayesian band for f, of the given coverage on average over the samples."""
        check_number(self, "coverage", coverage, above=0, at_most=1)
        values, std = self.predict(X, return_std=True)
        width = float(special.ndtri((1 + coverage) / 2)) * std
        return values - width, values + width

    def summary(self) -> dict[str, float]:
        """Sample size, degrees of freedom, weight of the penalty, noise and criteria."""
        check_is_fitted(self)
        return {
            "observations": self.n_observations_,
            "edf": self.edf_,
            "alpha": self.alpha_,
            "noise_variance": self.noise_variance_,
            **self.criteria_,
        }
