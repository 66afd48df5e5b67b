"""The logarithm of the hyperbolic cosine."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

from ..types import Array, Namespace
from ._base import DERIVATIVES, DUAL, LINK, register
from ._scalar import Residual, entropy, inside, newton


@register
class LogCosh(Residual):
    r"""Smooth version of the absolute error: quadratic for small residuals and linear for large ones.

    .. math:: \ell(y, f) = \log \cosh (y - f)

    Notes
    -----
    Infinitely smooth and strictly convex; close to :math:`\tfrac12 r^2` for small and :math:`|r| - \log 2` for large
    r = y − f. For residuals on another scale, rescale y. The conjugate is
    :math:`yu + \tfrac12 ((1+u) \log(1+u) + (1-u) \log(1-u))` for :math:`|u| \le 1`; the proximal map is found by
    Newton's method.

    References
    ----------
    Green, *Bayesian reconstructions from emission tomography data using a modified EM algorithm* (1990).

    Examples
    --------
    >>> import numpy as np
    >>> LogCosh().value(np.zeros(2), np.array([0.1, 1000.0])).round(4)
    array([5.000000e-03, 9.993069e+02])
    """

    abilities = (*DERIVATIVES, *DUAL, *LINK)

    def profile(self, t: Array, xp: Namespace) -> Any:
        size = xp.abs(t)
        return size + xp.log1p(xp.expm1(-2 * size) / 2)  # avoids the cancellation of log 2 for small t

    def slope(self, t: Array, xp: Namespace) -> Any:
        return xp.tanh(t)

    def curvature(self, t: Array, xp: Namespace) -> Any:
        power = xp.exp(-2 * xp.abs(t))
        return 4 * power / (1 + power) ** 2  # 1 − tanh² without cancellation

    def shrink(self, t: Array, step: Array, xp: Namespace) -> Any:
        return newton(partial(self.slope, xp=xp), partial(self.curvature, xp=xp), t, step, xp)

    def dual(self, s: Array, xp: Namespace) -> Any:
        at, within = inside(s, -1.0, 1.0, xp)
        return xp.where(within, 0.5 * (entropy(1 + at, xp) + entropy(1 - at, xp)), inf)
