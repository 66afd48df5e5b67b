"""The covariance of Brownian motion and of the Brownian sheet."""

from __future__ import annotations

from typing import Any

from ..domains import Vectors
from ..types import Array, Namespace
from ._base import register
from ._coordinates import ProductOverCoordinates
from ._definiteness import PD


@register
class Brownian(ProductOverCoordinates):
    r"""Brownian motion (the Brownian sheet for d > 1), on non-negative inputs.

    .. math:: k(x, y) = \prod_{k=1}^d \min(x_k, y_k), \qquad x, y \ge 0

    Notes
    -----
    min(x, y) = ∫₀^∞ [u < x][u < y] du, so k is positive definite; not strictly, as k(x, x) = 0 if a coordinate is 0.
    For d = 1 its space contains the absolutely continuous f with f(0) = 0 and ‖f‖² = ∫₀^∞ f′(u)² du, so interpolation
    is piecewise linear. It is ``Sobolev(1)``. A matrix costs O(nmd).

    References
    ----------
    Berlinet, Thomas-Agnan, *Reproducing Kernel Hilbert Spaces in Probability and Statistics* (2004), chapter 2.

    Examples
    --------
    >>> Brownian()([[0.5], [2.0]])
    array([[0.5, 0.5],
           [0.5, 2. ]])
    """

    proven = PD
    domain = Vectors(lower=0.0)

    def part(self, x: Array, y: Array, xp: Namespace) -> Any:
        return xp.minimum(x, y)
