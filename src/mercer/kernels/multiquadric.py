"""The multiquadric kernel and its inverse."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .._errors import POSITIVE
from .._units import unit_of_squares
from ..types import Array, Namespace
from ._base import register
from ._definiteness import CPD, STRICTLY_PD
from ._radial import EACH, Radial


class _Quadric(Radial):
    """A function of s + c²."""

    trials = [(1.0, 1.5), (0.3,), (0.7, EACH)]
    abilities: ClassVar[tuple[str, ...]] = ("gradient_x", "mixed_xy", "gradient_theta")
    rules = {"offset": POSITIVE}

    def __init__(self, offset: float = 1.0, lengthscale: Any = 1.0):
        self.offset, self.lengthscale = offset, lengthscale

    def validate(self) -> None:
        super().validate()
        unit_of_squares(self, "offset", np.array([self.offset], dtype=float))

    def _root(self, s: Array, xp: Namespace) -> Any:
        return xp.sqrt(s + float(self.offset) ** 2)

    def profile_theta(self, s: Array, xp: Namespace) -> dict[str, Any]:
        return {"offset": 2 * float(self.offset) * self.slope(s, xp)}


@register
class Multiquadric(_Quadric):
    r"""Hardy's multiquadric, with the minus sign that makes it conditionally positive definite.

    .. math:: k(x, y) = -\sqrt{\frac{\|x - y\|^2}{\ell^2} + c^2}

    Parameters
    ----------
    offset : float > 0
        c. Raising it rounds the peak more; c → 0 gives the power kernel of degree 1.
    lengthscale : float > 0, array of shape (d,), array of shape (d, d), or {"median", "scale", "sigest"}
        ℓ. Larger is flatter. A string is replaced by its value on the training data.

    Notes
    -----
    Strictly CPD(1) in every dimension (Micchelli): minus its derivative in ‖x − y‖² is completely monotone. A matrix
    costs O(nmd).

    References
    ----------
    Hardy, *Multiquadric equations of topography and other irregular surfaces* (1971). Micchelli, *Interpolation of
    scattered data: distance matrices and conditionally positive definite functions* (1986). Wendland, *Scattered Data
    Approximation* (2005), section 8.4.

    Examples
    --------
    >>> Multiquadric(offset=3.0)([[0.0], [4.0]])
    array([[-3., -5.],
           [-5., -3.]])
    """

    proven = CPD(1, strict=True)

    def profile(self, s: Array, xp: Namespace) -> Any:
        return -self._root(s, xp)

    def slope(self, s: Array, xp: Namespace) -> Any:
        return -0.5 / self._root(s, xp)

    def curvature(self, s: Array, xp: Namespace) -> Any:
        return 0.25 / self._root(s, xp) ** 3


@register
class InverseMultiquadric(_Quadric):
    r"""Inverse multiquadric kernel.

    .. math:: k(x, y) = \left(\frac{\|x - y\|^2}{\ell^2} + c^2\right)^{-1/2}

    Parameters
    ----------
    offset : float > 0
        c. Raising it widens the kernel and lowers its peak 1/c.
    lengthscale : float > 0, array of shape (d,), array of shape (d, d), or {"median", "scale", "sigest"}
        ℓ. Larger is smoother. A string is replaced by its value on the training data.

    Notes
    -----
    Strictly positive definite in every dimension: 1/c times the rational quadratic kernel with α = ½ and lengthscale
    cℓ. Functions in its space are smooth (C^∞). A matrix costs O(nmd).

    References
    ----------
    Wendland, *Scattered Data Approximation* (2005), theorem 7.14.

    Examples
    --------
    >>> InverseMultiquadric(offset=3.0)([[0.0]], [[4.0]])
    array([[0.2]])
    """

    proven = STRICTLY_PD
    abilities = ("gradient_x", "mixed_xy", "gradient_theta", "spectral_sample")

    def profile(self, s: Array, xp: Namespace) -> Any:
        return 1 / self._root(s, xp)

    def slope(self, s: Array, xp: Namespace) -> Any:
        return -0.5 / self._root(s, xp) ** 3

    def curvature(self, s: Array, xp: Namespace) -> Any:
        return 0.75 / self._root(s, xp) ** 5

    def spectral_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        """n frequencies of the normalised kernel c·k: Gaussian vectors, each times a Gaussian scalar divided by c."""
        return self.frequencies(rng.normal(size=(n, dimension)) * rng.normal(size=(n, 1)) / self.offset)
