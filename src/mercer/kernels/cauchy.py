"""The Cauchy kernel."""

from __future__ import annotations

from math import inf, log, pi
from typing import Any

import numpy as np

from ..types import Array, Namespace
from ._base import register
from ._definiteness import STRICTLY_PD
from ._integrable import Integrable
from ._radial import EACH


@register
class Cauchy(Integrable):
    r"""Cauchy kernel, with a heavy tail.

    .. math:: k(x, y) = \frac{1}{1 + \|x - y\|^2 / \ell^2}

    Parameters
    ----------
    lengthscale : float > 0, array of shape (d,), array of shape (d, d), or {"median", "scale", "sigest"}
        Distance at which the kernel falls to one half; larger is smoother. A string is replaced by its value on the
        training data.

    Notes
    -----
    Strictly positive definite in every dimension: a mixture of Gaussian kernels with exponentially distributed inverse
    squared lengthscales, and `RationalQuadratic` with α = 1 and lengthscale ℓ/√2. Integrable only for d = 1. A matrix
    costs O(nmd), without exponentials.

    References
    ----------
    Rasmussen, Williams, *Gaussian Processes for Machine Learning* (2006), equation 4.19 with α = 1. Wendland,
    *Scattered Data Approximation* (2005), theorem 7.14.

    Examples
    --------
    >>> Cauchy(lengthscale=2.0)([[0.0], [2.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    proven = STRICTLY_PD
    trials = [(1.5,), (EACH,)]
    abilities = ("gradient_x", "mixed_xy", "gradient_theta", "spectral_sample", "log_normalizer")

    def profile(self, s: Array, xp: Namespace) -> Any:
        return 1 / (1 + s)

    def slope(self, s: Array, xp: Namespace) -> Any:
        return -1 / (1 + s) ** 2

    def curvature(self, s: Array, xp: Namespace) -> Any:
        return 2 / (1 + s) ** 3

    def log_profile(self, s: Array, xp: Namespace) -> Any:
        return -xp.log1p(s)

    def unit_log_mass(self, dimension: int) -> float:
        return log(pi) if dimension == 1 else inf

    def unit_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        return rng.standard_cauchy(size=(n, dimension))

    def spectral_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        """n Gaussian frequencies with exponentially distributed variances of mean 2."""
        variance = rng.exponential(2.0, size=(n, 1))
        return self.frequencies(np.sqrt(variance) * rng.normal(size=(n, dimension)))
