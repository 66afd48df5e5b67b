"""The Gaussian kernel."""

from __future__ import annotations

from math import log, pi, sqrt
from typing import Any, Self

import numpy as np

from .._errors import check_number
from ..types import Array, Namespace
from ._base import register
from ._definiteness import STRICTLY_PD
from ._integrable import Integrable
from ._radial import EACH, FULL


@register
class Gaussian(Integrable):
    r"""Gaussian (squared exponential, RBF) kernel.

    .. math:: k(x, y) = \exp\left(-\frac{\|x - y\|^2}{2\ell^2}\right)

    Parameters
    ----------
    lengthscale : float > 0, array of shape (d,), array of shape (d, d), or {"median", "scale", "sigest"}
        Distance over which functions vary; larger is smoother. One number per feature gives an anisotropic kernel; a
        matrix Λ gives ‖Λ⁻¹(x − y)‖². A string is replaced by its value on the training data.

    Notes
    -----
    Strictly positive definite and universal in every dimension. Its space contains only analytic functions: in terms of
    Fourier transforms, :math:`\|f\|^2 = (2\pi)^{-d} \int |\hat f(\omega)|^2 / \hat k(\omega) \, d\omega` with
    :math:`\hat k(\omega) = (2\pi\ell^2)^{d/2} \exp(-\ell^2 \|\omega\|^2 / 2)`. A matrix costs O(nmd), including the
    exponential.

    References
    ----------
    Steinwart, Christmann, *Support Vector Machines* (2008), section 4.4.

    Examples
    --------
    >>> Gaussian(lengthscale=2.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    >>> Gaussian.from_gamma(0.125) == Gaussian(lengthscale=2.0)
    True
    """

    proven = STRICTLY_PD
    trials = [(0.8,), (EACH,), (FULL,)]
    gaussian = True
    vanishes = True
    abilities = ("gradient_x", "mixed_xy", "gradient_theta", "spectral_sample", "log_normalizer", "self_convolution")

    @classmethod
    def from_gamma(cls, gamma: float) -> Self:
        """exp(−γd²), as in scikit-learn and LIBSVM: ℓ = 1/√(2γ)."""
        check_number(cls.__name__, "gamma", gamma, above=0)
        # both forms give the same digits, but 2γ may overflow
        return cls(lengthscale=1.0 / np.sqrt(2.0 * gamma) if gamma < 1 else 0.5 / np.sqrt(0.5 * gamma))

    @classmethod
    def from_width(cls, width: float) -> Self:
        """exp(−d²/s²): ℓ = s/√2."""
        check_number(cls.__name__, "width", width, above=0)
        return cls(lengthscale=width / np.sqrt(2.0))

    @classmethod
    def from_kernlab(cls, sigma: float) -> Self:
        """exp(−σd²), kernlab's rbfdot: ℓ = 1/√(2σ)."""
        check_number(cls.__name__, "sigma", sigma, above=0)
        return cls.from_gamma(sigma)

    def derivative(self, s: Array, xp: Namespace, order: int) -> Any:
        power = -0.5 * s
        value = np.exp(power, out=power) if isinstance(power, np.ndarray) and power.ndim else xp.exp(power)
        return (-0.5) ** order * value if order else value

    def log_profile(self, s: Array, xp: Namespace) -> Any:
        return -0.5 * s

    def reach(self, level: Array) -> Any:
        return -2.0 * level

    def unit_log_mass(self, dimension: int) -> float:
        return dimension / 2 * log(2 * pi)

    def unit_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        return rng.normal(size=(n, dimension))

    def self_convolution(self, dimension: int) -> Self:
        """The kernel proportional to ∫ k(x, z) k(z, y) dz: √2 times the lengthscale."""
        return self.dilated(sqrt(2))

    def spectral_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        """n frequencies from the spectral density, N(0, Λ⁻ᵀΛ⁻¹): k(x, y) = E cos ωᵀ(x − y)."""
        return self.frequencies(rng.normal(size=(n, dimension)))
