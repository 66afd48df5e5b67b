"""The reproducing kernel of the Sobolev space behind the smoothing spline."""

from __future__ import annotations

from math import comb, factorial
from typing import Any

from .._errors import FROM_ONE
from ..domains import Vectors
from ..types import Array, Namespace
from ._base import register
from ._coordinates import ProductOverCoordinates
from ._definiteness import PD


def truncated_powers(p: int, q: int, x: Array, y: Array, xp: Namespace) -> Any:
    """∫₀^∞ (x − u)₊ᵖ (y − u)₊^q du for x, y ≥ 0.

    With a = min(x, y), v = a − u and the binomial theorem for the larger argument: a sum of non-negative terms.
    """
    a, gap = xp.minimum(x, y), xp.abs(x - y)

    def larger(p: int, q: int) -> Any:  # Σᵢ (p choose i) gap^{p−i} a^{i+q+1} / (i + q + 1), p of the larger argument
        power = a ** (q + 1)
        value = power * (1.0 / (q + 1))
        for i in range(1, p + 1):
            power = power * a
            value = value * gap + power * (comb(p, i) / (i + q + 1))
        return value

    return larger(p, q) if p == q else xp.where(x > y, larger(p, q), larger(q, p))


@register
class Sobolev(ProductOverCoordinates):
    r"""Sobolev kernel of order m, whose minimum-norm functions are splines of degree 2m − 1.

    .. math:: k(x, y) = \prod_{k=1}^d \int_0^\infty
              \frac{(x_k - u)_+^{m-1}}{(m-1)!} \, \frac{(y_k - u)_+^{m-1}}{(m-1)!} \, du, \qquad x, y \ge 0

    Parameters
    ----------
    order : int >= 1
        m. Functions have m − 1 continuous derivatives and an m-th in L². Raising it makes them smoother.

    Notes
    -----
    For d = 1 its space is {f : f(0) = f′(0) = … = f^(m−1)(0) = 0}, with ‖f‖² = ∫ f^(m)(u)² du. With unpenalised
    polynomials of degree < m it gives exactly the smoothing spline: cubic and natural for m = 2. ``Sobolev(1)`` is
    ``Brownian``. For d > 1 it is the tensor product, with ‖f‖² the integral of (∂^{dm}f/∂x₁ᵐ…∂x_dᵐ)², and f = 0
    wherever a coordinate is 0; an additive model is ``Sobolev(m).on(0) + Sobolev(m).on(1) + …``.

    Wahba states it on [0, 1]; the formula holds for all x ≥ 0, and there is no upper bound here. Shift the data to
    start at 0: with the unpenalised polynomials, the fit does not depend on the shift. Positive definite, as an
    integral of products; not strictly, as k(0, 0) = 0. The closed form is a polynomial in min(x, y) and |x − y|
    with non-negative coefficients, so no digits are lost. A matrix costs O(nmd · order).

    References
    ----------
    Wahba, *Spline Models for Observational Data* (1990), section 1.2.

    Examples
    --------
    >>> Sobolev(order=2)([[1.0]], [[1.0], [3.0]]).round(4)
    array([[0.3333, 1.3333]])
    """

    proven = PD
    trials = [(m,) for m in (1, 2, 3, 4)]
    domain = Vectors(lower=0.0)
    rules = {"order": FROM_ONE}

    def __init__(self, order: int = 2):
        self.order = order

    @property
    def provides(self) -> frozenset[str]:
        return frozenset({"gradient_theta"} | ({"gradient_x", "mixed_xy"} if self.order > 1 else set()))

    def _derivative(self, x: Array, y: Array, in_x: int, in_y: int, xp: Namespace) -> Any:
        p, q = int(self.order) - 1 - in_x, int(self.order) - 1 - in_y
        return truncated_powers(p, q, x, y, xp) * (1.0 / (factorial(p) * factorial(q)))

    def part(self, x: Array, y: Array, xp: Namespace) -> Any:
        return self._derivative(x, y, 0, 0, xp)

    def part_x(self, x: Array, y: Array, xp: Namespace) -> Any:
        return self._derivative(x, y, 1, 0, xp)

    def part_xy(self, x: Array, y: Array, xp: Namespace) -> Any:
        return self._derivative(x, y, 1, 1, xp)
