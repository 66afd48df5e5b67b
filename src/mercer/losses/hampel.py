"""Hampel's three-part redescending loss."""

from __future__ import annotations

from typing import Any

from .._errors import check_number
from ..types import Array, Namespace
from ._base import DERIVATIVES, LINK, register
from ._scalar import Reweighted


@register
class Hampel(Reweighted):
    r"""Hampel's loss: outliers beyond c have no influence at all. Not convex.

    .. math::

        \ell(y, f) = \begin{cases}
        \tfrac12 r^2 & |r| \le a \\
        a |r| - \tfrac12 a^2 & a < |r| \le b \\
        \tfrac{a}{2} (b + c - a) - \tfrac{a}{2} \frac{(c - |r|)^2}{c - b} & b < |r| \le c \\
        \tfrac{a}{2} (b + c - a) & |r| > c
        \end{cases} \qquad r = y - f

    Parameters
    ----------
    a : float > 0
        The residual, in units of y, up to which the loss is quadratic.
    b : float >= a
        The residual beyond which the influence of a sample decreases.
    c : float > b
        The residual beyond which the influence is zero. For b, c → ∞ it is Huber's loss with δ = a.

    Notes
    -----
    Solutions depend on the starting point and are reported as stationary points. `majorizer` is the weight ℓ'/r, which
    falls from 1 to 0; its parabola lies above ℓ, so reweighted least squares never increases the objective.

    References
    ----------
    Andrews, Bickel, Hampel, Huber, Rogers, Tukey, *Robust Estimates of Location* (1972). Hampel, *The
    influence curve and its role in robust estimation* (1974).

    Examples
    --------
    >>> import numpy as np
    >>> Hampel(a=1.0, b=2.0, c=4.0).value(np.zeros(4), np.array([1.0, 2.0, 4.0, 9.0]))
    array([0.5, 1.5, 2.5, 2.5])
    """

    abilities = (*DERIVATIVES, *LINK)
    convex = False
    trials = [(), (0.5, 0.5, 2.0)]

    def __init__(self, a: float = 2.0, b: float = 4.0, c: float = 8.0):
        self.a, self.b, self.c = a, b, c

    def validate(self) -> None:
        check_number(self, "a", self.a, above=0)
        check_number(self, "b", self.b, at_least=self.a)
        check_number(self, "c", self.c, above=self.b)

    def profile(self, t: Array, xp: Namespace) -> Any:
        a, b, c = float(self.a), float(self.b), float(self.c)
        size = xp.abs(t)
        quadratic, linear = xp.clip(size, 0.0, a), xp.clip(size, a, b) - a
        tail = c - xp.clip(size, b, c)  # in an interval of length c − b, where the slope falls from a to 0
        return 0.5 * quadratic**2 + a * linear + 0.5 * a * (c - b - tail**2 / (c - b))

    def slope(self, t: Array, xp: Namespace) -> Any:
        a, b, c = float(self.a), float(self.b), float(self.c)
        return xp.clip(t, -a, a) * ((c - xp.clip(xp.abs(t), b, c)) / (c - b))

    def curvature(self, t: Array, xp: Namespace) -> Any:
        a, b, c = float(self.a), float(self.b), float(self.c)
        size = xp.abs(t)
        falling = (size > b) & (size < c)
        return xp.astype(size <= a, t.dtype) - a / (c - b) * xp.astype(falling, t.dtype)
