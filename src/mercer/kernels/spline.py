"""The cubic spline kernel of kernlab."""

from __future__ import annotations

from typing import Any

from ..domains import Vectors
from ..types import Array, Namespace
from ._base import register
from ._coordinates import ProductOverCoordinates
from ._definiteness import STRICTLY_PD
from .sobolev import truncated_powers


@register
class Spline(ProductOverCoordinates):
    r"""Cubic spline kernel (kernlab's splinedot), on non-negative inputs.

    .. math:: k(x, y) = \prod_{k=1}^d \left( 1 + x_k y_k + x_k y_k m_k - \frac{x_k + y_k}{2} m_k^2
              + \frac{m_k^3}{3} \right), \qquad m_k = \min(x_k, y_k), \quad x, y \ge 0

    Notes
    -----
    Each factor is 1 + xy + ∫₀^∞ (x − u)₊(y − u)₊ du: constants, lines and ``Sobolev(2)``. So for d = 1,
    ‖f‖² = f(0)² + f′(0)² + ∫ f″(u)² du, and minimum-norm interpolants are cubic splines. Strictly positive definite: if
    the quadratic form vanishes, so does Σ cᵢ(xᵢ − u)₊ for all u ≥ 0; its kinks at the xᵢ > 0 force those cᵢ = 0,
    and 1 + xy settles a point at 0. Factors of k(x, x) grow like x³; scale the data to [0, 1]. A matrix costs O(nmd).

    References
    ----------
    Vapnik, Golowich, Smola, *Support vector method for function approximation, regression estimation, and signal
    processing* (1997); R's ``kernlab::splinedot``.

    Examples
    --------
    >>> Spline()([[1.0]], [[0.0], [1.0]]).round(4)
    array([[1.    , 2.3333]])
    """

    proven = STRICTLY_PD
    domain = Vectors(lower=0.0)
    abilities = ("gradient_x", "mixed_xy", "gradient_theta")

    def part(self, x: Array, y: Array, xp: Namespace) -> Any:
        return 1.0 + x * y + truncated_powers(1, 1, x, y, xp)

    def part_x(self, x: Array, y: Array, xp: Namespace) -> Any:
        return y + truncated_powers(0, 1, x, y, xp)

    def part_xy(self, x: Array, y: Array, xp: Namespace) -> Any:
        return 1.0 + xp.minimum(x, y)
