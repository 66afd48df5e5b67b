"""The Matérn kernels, through one recurrence that starts from exponentials or from Bessel functions."""

from __future__ import annotations

from math import ceil, gamma, inf, lgamma, log, pi, prod, sqrt
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy import special

from .._array import apply_host
from .._errors import check_number
from .._units import unit_of_squares
from ..types import Array, Namespace
from ._base import register
from ._definiteness import STRICTLY_PD
from ._integrable import Integrable
from ._limits import at_origin, root
from ._radial import EACH, FULL


@register
class Matern(Integrable):
    r"""Matérn kernel.

    .. math::

        k(x, y) = \frac{2^{1-\nu}}{\Gamma(\nu)} z^\nu K_\nu(z), \qquad z = \sqrt{2\nu} \, \frac{\|x - y\|}{\ell}

    Parameters
    ----------
    nu : float > 0
        Smoothness ν, at most 1000, or infinity for the Gaussian kernel. Raising it makes functions smoother. Values
        1/2, 3/2, 5/2, … use an exponential and a polynomial; others use Bessel functions, on the host.
    lengthscale : float > 0, array of shape (d,), array of shape (d, d), or {"median", "scale", "sigest"}
        Distance over which functions vary; larger is flatter. A string is replaced by its value on the training data.

    Notes
    -----
    Strictly positive definite in every dimension: the spectral density is Student's t with 2ν degrees of freedom.
    For ν < ∞ its space is the Sobolev space of order ν + d/2, with an equivalent norm. Sections k(·, y) have a gradient
    for ν > ½ (`gradient_x`), and functions in the space have one for ν > 1 (`mixed_xy`).

    Writing :math:`M_\nu(z)` for the right-hand side, the recurrence of K reads
    :math:`M_{\nu+1} = M_\nu + z^2 M_{\nu-1} / (4\nu(\nu - 1))`. All terms are positive, so it is stable and never
    overflows; a matrix costs O(nm(d + ν)). In s = ‖x − y‖²/ℓ² the derivatives are
    :math:`(-\nu)^j \, 2^{1-\nu} z^{\nu-j} K_{\nu-j}(z) / \Gamma(\nu)`.

    References
    ----------
    Rasmussen, Williams, *Gaussian Processes for Machine Learning* (2006), equations 4.14 to 4.17. Abramowitz, Stegun,
    *Handbook of Mathematical Functions* (1964), 9.6.26 and 9.6.28.

    Examples
    --------
    >>> Matern(nu=1.5, lengthscale=2.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.4834],
           [0.4834, 1.    ]])
    """

    proven = STRICTLY_PD
    trials = [(nu, 1.2) for nu in (0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 3.2, 4.5, inf)] + [(1.5, EACH), (2.5, FULL)]
    vanishes = True
    abilities = ("gradient_x", "mixed_xy", "gradient_theta", "spectral_sample", "log_normalizer", "self_convolution")

    def __init__(self, nu: float = 1.5, lengthscale: Any = 1.0):
        self.nu, self.lengthscale = nu, lengthscale

    def validate(self) -> None:
        super().validate()
        if not isinstance(self.nu, Real) or self.nu != inf:
            check_number(self, "nu", self.nu, above=0, at_most=1000)
            unit_of_squares(self, "nu", np.array([self.nu], dtype=float))

    @property
    def provides(self) -> frozenset[str]:
        rough = {ability for ability, order in (("gradient_x", 0.5), ("mixed_xy", 1)) if self.nu <= order}
        return frozenset(self.abilities) - rough

    def derivative(self, s: Array, xp: Namespace, order: int) -> Any:
        """The derivative in s; 0 at the origin if it is infinite there."""
        nu = float(self.nu)
        if nu == inf:
            return (-0.5) ** order * xp.exp(-0.5 * s)
        z = sqrt(2 * nu) * root(s, xp)
        if nu > order:
            return prod(-nu / (2 * (nu - i)) for i in range(1, order + 1)) * _matern(nu - order, z, xp)
        zero = at_origin(s, xp)
        z = xp.where(zero, 1.0, z)
        if nu - order == -0.5:
            value = sqrt(pi / 2) * xp.exp(-z) / z
        else:
            value = apply_host(lambda t: t ** (nu - order) * special.kv(order - nu, t), z)
        return xp.where(zero, 0.0, (-nu) ** order * 2 ** (1 - nu) / gamma(nu) * value)

    def log_profile(self, s: Array, xp: Namespace) -> Any:
        nu = float(self.nu)
        return -0.5 * s if nu == inf else _log_matern(nu, sqrt(2 * nu) * root(s, xp), xp)

    def unit_log_mass(self, dimension: int) -> float:
        nu, half = float(self.nu), dimension / 2
        if nu == inf:
            return half * log(2 * pi)
        return half * log(2 * pi / nu) + lgamma(nu + half) - lgamma(nu)

    def unit_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        U = rng.normal(size=(n, dimension))
        if self.nu != inf:  # k is a mixture of Gaussian kernels of variance t/ν, with t ~ Gamma(ν)
            U *= np.sqrt(rng.gamma(self.nu + dimension / 2, size=(n, 1)) / self.nu)
        return U

    def self_convolution(self, dimension: int) -> Self:
        """The kernel proportional to ∫ k(x, z) k(z, y) dz: order 2ν + d/2, since the spectral density is squared."""
        if self.nu == inf:
            return self.dilated(sqrt(2))
        nu = 2 * self.nu + dimension / 2
        kernel = self.dilated(sqrt(nu / self.nu))
        kernel.nu = nu
        return kernel

    def spectral_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        """n frequencies from the multivariate t distribution with 2ν degrees of freedom."""
        W = rng.normal(size=(n, dimension))
        if self.nu != inf:
            W /= np.sqrt(rng.chisquare(2 * self.nu, size=(n, 1)) / (2 * self.nu))
        return self.frequencies(W)


def _matern(nu: float, z: Array, xp: Namespace) -> Any:
    """M_ν(z) = 2^{1−ν} z^ν K_ν(z) / Γ(ν), by its recurrence from an order in (0, 1]."""
    steps = ceil(nu) - 1
    order = nu - steps
    low = xp.exp(-z) if order == 0.5 else apply_host(_from_bessel, z, order)
    if steps == 0:
        return low
    high = (1 + z) * low if order == 0.5 else apply_host(_from_bessel, z, order + 1)
    for i in range(1, steps):
        low, high = high, high + z**2 / (4 * (order + i) * (order + i - 1)) * low
    return high


def _log_matern(nu: float, z: Array, xp: Namespace) -> Any:
    """log M_ν(z), by the same recurrence in logarithms."""
    steps = ceil(nu) - 1
    order = nu - steps
    low = -z if order == 0.5 else apply_host(_log_from_bessel, z, order)
    if steps == 0:
        return low
    high = xp.log1p(z) - z if order == 0.5 else apply_host(_log_from_bessel, z, order + 1)
    for i in range(1, steps):
        rise = z**2 / (4 * (order + i) * (order + i - 1)) * xp.exp(low - high)
        low, high = high, high + xp.log1p(rise)
    return high


def _log_from_bessel(z: np.ndarray, order: float) -> np.ndarray:
    z = np.asarray(z, dtype=np.float64)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        bessel = np.log(special.kve(order, z))
        bessel = np.where(np.isfinite(bessel) | (z < 1), bessel, 0.5 * np.log(pi / (2 * z)))  # where SciPy fails
        value = (1 - order) * log(2) - lgamma(order) + order * np.log(z) + bessel - z
    return np.where(np.isfinite(value), value, 0.0)  # K overflows only where M_ν is 1 to the last digit


def _from_bessel(z: np.ndarray, order: float) -> np.ndarray:
    z = np.asarray(z, dtype=np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        value = 2 ** (1 - order) / gamma(order) * z**order * special.kv(order, z)
    # K overflows only where the value is 1 to the last digit
    return np.where(np.isfinite(value), value, 1.0)
