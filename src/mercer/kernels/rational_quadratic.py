"""The rational quadratic kernel."""

from __future__ import annotations

from math import inf, lgamma, log, pi
from typing import Any

import numpy as np

from .._errors import POSITIVE
from .._units import unit_of_squares
from ..types import Array, Namespace
from ._base import register
from ._definiteness import STRICTLY_PD
from ._integrable import Integrable
from ._radial import EACH


@register
class RationalQuadratic(Integrable):
    r"""Rational quadratic kernel: a scale mixture of Gaussian kernels.

    .. math:: k(x, y) = \left(1 + \frac{\|x - y\|^2}{2 \alpha \ell^2}\right)^{-\alpha}

    Parameters
    ----------
    lengthscale : float > 0, array of shape (d,), array of shape (d, d), or {"median", "scale", "sigest"}
        Distance over which functions vary; larger is smoother. A string is replaced by its value on the training data.
    alpha : float > 0
        How similar the mixed lengthscales are. Raising it thins the tail; α → ∞ gives the Gaussian kernel.

    Notes
    -----
    Strictly positive definite in every dimension: k = E exp(−τ‖x − y‖²/2ℓ²) for τ from the gamma distribution with
    shape and rate α. Its space contains only smooth (C^∞) functions. Integrable for 2α > d: then k(·, y) is
    proportional to Student's t density with 2α − d degrees of freedom. A matrix costs O(nmd).

    References
    ----------
    Rasmussen, Williams, *Gaussian Processes for Machine Learning* (2006), equations 4.19 and 4.20.

    Examples
    --------
    >>> RationalQuadratic(lengthscale=2.0, alpha=0.5)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.7071],
           [0.7071, 1.    ]])
    """

    proven = STRICTLY_PD
    trials = [(0.8, 0.5), (1.5, 20.0), (0.7, 2.5), (EACH, 1.0)]
    abilities = ("gradient_x", "mixed_xy", "gradient_theta", "spectral_sample", "log_normalizer")
    rules = {"alpha": POSITIVE}

    def __init__(self, lengthscale: Any = 1.0, alpha: float = 1.0):
        self.lengthscale, self.alpha = lengthscale, alpha

    def validate(self) -> None:
        super().validate()
        unit_of_squares(self, "alpha", np.array([self.alpha], dtype=float))

    def derivative(self, s: Array, xp: Namespace, order: int) -> Any:
        alpha = float(self.alpha)
        # log1p keeps the Gaussian limit exact when s/2α is below the rounding of 1
        value = xp.exp((-alpha - order) * xp.log1p(s / (2 * alpha)))
        return (1.0, -0.5, 0.25 * (1 + 1 / alpha))[order] * value if order else value

    def profile_theta(self, s: Array, xp: Namespace) -> dict[str, Any]:
        t = s / (2 * float(self.alpha))
        return {"alpha": self.profile(s, xp) * (t / (1 + t) - xp.log1p(t))}

    def log_profile(self, s: Array, xp: Namespace) -> Any:
        return -float(self.alpha) * xp.log1p(s / (2 * float(self.alpha)))

    def unit_log_mass(self, dimension: int) -> float:
        alpha, half = float(self.alpha), dimension / 2
        return half * log(2 * pi * alpha) + lgamma(alpha - half) - lgamma(alpha) if alpha > half else inf

    def unit_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        precision = rng.gamma(self.alpha - dimension / 2, 1 / self.alpha, size=(n, 1))
        return rng.normal(size=(n, dimension)) / np.sqrt(precision)

    def spectral_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        """n frequencies: Gaussian with variance τ, where τ ~ Gamma with shape and rate α."""
        tau = rng.gamma(self.alpha, 1 / self.alpha, size=(n, 1))
        return self.frequencies(np.sqrt(tau) * rng.normal(size=(n, dimension)))
