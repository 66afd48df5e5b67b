"""Logistic loss for labels ±1."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

from .._array import namespace
from ..types import Array, Namespace
from ._base import DERIVATIVES, DUAL, LINK, register
from ._scalar import Margin, entropy, inside, logarithm, newton


@register
class Logistic(Margin):
    r"""Logistic loss for labels y = ±1.

    .. math:: \ell(y, f) = \log(1 + e^{-yf})

    The link is the logistic function: P(y = 1) = 1/(1 + e⁻ᶠ).

    Notes
    -----
    The conjugate is :math:`s \log s + (1-s) \log(1-s)` with :math:`s = -yu` in [0, 1]; the proximal map is found by
    Newton's method.

    References
    ----------
    Zhu, Hastie, *Kernel logistic regression and the import vector machine* (2005). Jaakkola, Haussler,
    *Probabilistic kernel regression models* (1999), for the dual.

    Examples
    --------
    >>> import numpy as np
    >>> Logistic().value(np.array([1.0]), np.array([0.0])).round(4)
    array([0.6931])
    """

    abilities = (*DERIVATIVES, *DUAL, *LINK)
    likelihood = True

    def profile(self, t: Array, xp: Namespace) -> Any:
        return xp.logaddexp(xp.zeros_like(t), -t)

    def slope(self, t: Array, xp: Namespace) -> Any:
        return -self.link_inverse(-t)

    def curvature(self, t: Array, xp: Namespace) -> Any:
        return self.link_inverse(t) * self.link_inverse(-t)

    def shrink(self, t: Array, step: Array, xp: Namespace) -> Any:
        return newton(partial(self.slope, xp=xp), partial(self.curvature, xp=xp), t, step, xp)

    def dual(self, s: Array, xp: Namespace) -> Any:
        at, within = inside(s, -1.0, 0.0, xp)
        return xp.where(within, entropy(-at, xp) + entropy(1 + at, xp), inf)

    def link(self, mean: Array) -> Any:
        xp = namespace(mean)
        return logarithm(mean, xp) - logarithm(1 - mean, xp)

    def link_inverse(self, f: Array) -> Any:
        xp = namespace(f)
        return xp.exp(-xp.logaddexp(xp.zeros_like(f), -f))  # accurate at both ends, never overflows
