"""The reproducing kernel behind smoothing-spline analysis of variance."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import comb, factorial
from typing import Any

from .._errors import FROM_ONE
from ..types import Array, Namespace
from ._base import register
from ._coordinates import ProductOverCoordinates
from ._definiteness import PD
from .sobolev import truncated_powers


@cache
def _coefficients(r: int) -> tuple[float, ...]:
    """Coefficients of B_r / r!, highest power first, by Σ_{j ≤ k} (k+1 choose j) B_j = 0 in rationals."""
    numbers = [Fraction(1)]
    for k in range(1, r + 1):
        numbers.append(-sum((comb(k + 1, j) * b for j, b in enumerate(numbers)), Fraction(0)) / (k + 1))
    return tuple(float(comb(r, j) * b / factorial(r)) for j, b in enumerate(numbers))


def scaled_bernoulli(r: int, x: Array) -> Any:
    """k_r = B_r / r!, the Bernoulli polynomial with k_r′ = k_{r−1} and ∫₀¹ k_r = 0 for r ≥ 1."""
    value = 0.0 * x
    for coefficient in _coefficients(r):
        value = value * x + coefficient
    return value


@register
class Bernoulli(ProductOverCoordinates):
    r"""Spline kernel of order m; its functions and their first m − 1 derivatives have mean zero on [0, 1].

    .. math:: k(x, y) = \prod_k \big( k_m(x_k) k_m(y_k) + (-1)^{m-1} k_{2m}(|x_k - y_k|) \big), \qquad
              k_r = B_r / r!, \qquad 0 \le x, y \le 1

    Parameters
    ----------
    order : int >= 1
        m. Functions have m − 1 continuous derivatives and an m-th in L²; raising it makes them smoother.

    Notes
    -----
    For d = 1 its space is {f : ∫₀¹ f^(ν) = 0 for ν < m}, with ‖f‖² = ∫ f^(m)(u)² du: that of ``Sobolev(m)``, with zero
    means instead of zero values at 0. Because every function has mean zero, sums over columns and products of columns
    give an analysis of variance: main effects and interactions that do not contain each other.

    Outside [0, 1], the integral in ‖f‖² covers the whole line, so that functions determined by points inside continue
    as polynomials of degree m − 1. Positive definite everywhere. A matrix costs O(nmd · order²).

    References
    ----------
    Gu, *Smoothing Spline ANOVA Models* (2013), section 2.3. Wahba, *Spline Models for Observational Data* (1990),
    section 10.2.

    Examples
    --------
    >>> float(Bernoulli(2)([[0.0]], [[0.0]])[0, 0] * 720)
    6.0
    """

    proven = PD
    trials = [(m,) for m in (1, 2, 3)]
    rules = {"order": FROM_ONE}

    def __init__(self, order: int = 2):
        self.order = order

    def part(self, x: Array, y: Array, xp: Namespace) -> Any:
        m = int(self.order)
        inside_x, inside_y = (xp.clip(t, 0.0, 1.0) for t in (x, y))
        over_x, over_y = x - inside_x, y - inside_y
        gap = inside_x - inside_y
        distance, sign = xp.abs(gap), xp.sign(gap)
        value = 0.0 * (x + y)
        outside = bool(xp.any(over_x != 0)) or bool(xp.any(over_y != 0))
        for i in range(m if outside else 1):  # Taylor polynomial of degree m − 1 in the parts outside
            for j in range(m if outside else 1):
                term = (-1.0) ** (m - 1 + j) * scaled_bernoulli(2 * m - i - j, distance)
                term = term * sign if (i + j) % 2 else term
                term = term + scaled_bernoulli(m - i, inside_x) * scaled_bernoulli(m - j, inside_y)
                value = value + term * (over_x**i * over_y**j * (1.0 / (factorial(i) * factorial(j))))
        if outside:
            scale = 1.0 / factorial(m - 1) ** 2
            for side in (1.0, -1.0):
                far_x, far_y = (xp.where(side * t > 0, side * t, 0.0) for t in (over_x, over_y))
                value = value + scale * truncated_powers(m - 1, m - 1, far_x, far_y, xp)
        return value
