"""The Bessel kernel of kernlab."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import special

from .._array import apply_host
from .._errors import FROM_ONE, NOT_NEGATIVE, check_number
from ..types import Array, Namespace
from ._base import register
from ._definiteness import INDEFINITE, STRICTLY_PD, UNKNOWN, Definiteness
from ._radial import EACH, Radial


@register
class Bessel(Radial):
    r"""Bessel kernel: the Fourier transform of a sphere, or of a weighted ball.

    .. math::

        k(x, y) = \left( \Gamma(\nu + 1) \, 2^\nu \, \frac{J_\nu(z)}{z^\nu} \right)^n, \qquad z = \frac{\|x - y\|}{\ell}

    Parameters
    ----------
    order : float >= 0
        ν. Raising it damps oscillation and makes the kernel positive definite in more dimensions.
    lengthscale : float > 0, array of shape (d,), array of shape (d, d), or {"median", "scale", "sigest"}
        Frequencies are at most n/ℓ: larger is smoother. A string is replaced by its value on the training data.
    degree : int >= 1
        n, the power.

    Notes
    -----
    Let j_ν be the case n = 1. Its spectral measure on ℝᵈ is uniform on a sphere for d = 2ν + 2, and has the density
    :math:`\propto (1 - \|\omega\|^2)^{\nu - d/2}` on the ball for d < 2ν + 2, so it is strictly positive definite
    there: exponentials are linearly independent on a sphere of dimension one or more. For d > 2ν + 2 it is not positive
    definite: a radial positive definite φ with φ(0) = 1 satisfies φ ≥ min j_μ, μ = d/2 − 1, but by Sonine's integral
    j_μ is an average of j_ν over scales, so that min j_ν is smaller. Powers are products, hence definite where j_ν is;
    by Neumann's integral, :math:`j_\nu^2` is an average of :math:`j_{2\nu}` over scales, so even powers are also
    definite for d ≤ 4ν + 2. Nothing is claimed for other powers in higher dimensions, or if the dimension is unknown.

    The functions are entire and band-limited. Values come from SciPy, on the host; a matrix costs O(nmd) plus one
    Bessel function per entry.

    References
    ----------
    Schoenberg, *Metric spaces and completely monotone functions* (1938), section 1. Watson, *A Treatise on the Theory
    of Bessel Functions* (1944), sections 5.43 (Neumann) and 12.11 (Sonine). R's ``kernlab::besseldot``.

    Examples
    --------
    >>> Bessel(order=0.5)([[0.0]], [[np.pi / 2]]).round(4)
    array([[0.6366]])
    >>> Bessel(order=0.5).definiteness_in(3), Bessel(order=0.5).definiteness_in(4)
    (strictly PD, INDEFINITE)
    """

    trials = [(0.5, 0.8), (1.0, 0.7), (2.3, 1.5, 3), (0, 1.5, 2), (1, EACH)]
    abilities = ("gradient_x", "mixed_xy", "gradient_theta")
    rules = {"order": NOT_NEGATIVE, "degree": FROM_ONE}

    def __init__(self, order: float = 1.0, lengthscale: Any = 1.0, degree: int = 1):
        self.order, self.lengthscale, self.degree = order, lengthscale, degree

    @classmethod
    def from_kernlab(cls, sigma: float = 1.0, order: float = 1.0, degree: int = 1) -> Self:
        """kernlab's besseldot: z = σ‖x − y‖, so ℓ = 1/σ."""
        check_number(cls.__name__, "sigma", sigma, above=0)
        return cls(order, 1.0 / sigma, degree)

    def _bessel(self, s: Array, shift: int) -> Any:
        """j_{ν + shift}, which is the hypergeometric function ₀F₁(ν + shift + 1; −s/4)."""
        b = float(self.order) + shift + 1
        return apply_host(lambda t: special.hyp0f1(b, -0.25 * t.astype(np.float64)), s)

    def profile(self, s: Array, xp: Namespace) -> Any:
        return self._bessel(s, 0) ** int(self.degree)

    def slope(self, s: Array, xp: Namespace) -> Any:
        n, b = int(self.degree), float(self.order) + 1
        return -n / (4 * b) * self._bessel(s, 0) ** (n - 1) * self._bessel(s, 1)

    def curvature(self, s: Array, xp: Namespace) -> Any:
        n, b = int(self.degree), float(self.order) + 1
        j, first, second = self._bessel(s, 0), -self._bessel(s, 1) / (4 * b), self._bessel(s, 2) / (16 * b * (b + 1))
        bend = n * j ** (n - 1) * second
        return bend if n == 1 else bend + n * (n - 1) * j ** (n - 2) * first**2

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        if dimension is None:
            return UNKNOWN
        if dimension <= 2 * self.order + 2 or (self.degree % 2 == 0 and dimension <= 4 * self.order + 2):
            return STRICTLY_PD
        return INDEFINITE if self.degree == 1 else UNKNOWN
