"""The loss of boosting."""

from __future__ import annotations

from math import inf
from typing import Any

from .._array import namespace
from ..types import Array, Namespace
from ._base import DERIVATIVES, DUAL, LINK, register
from ._scalar import Margin, entropy, inside, log_omega, logarithm, power


@register
class Exponential(Margin):
    r"""Exponential loss for labels y = ±1.

    .. math:: \ell(y, f) = e^{-yf}

    Its minimiser is half the log-odds, so P(y = 1) = 1/(1 + e⁻²ᶠ). The loss grows exponentially for misclassified
    samples; with noisy labels use `Logistic`.

    Notes
    -----
    The conjugate is :math:`s \log s - s` with :math:`s = -yu \ge 0`. The proximal map solves x − t = step·e⁻ˣ for the
    margin x, by Wright's ω function.

    References
    ----------
    Friedman, Hastie, Tibshirani, *Additive logistic regression: a statistical view of boosting* (2000).

    Examples
    --------
    >>> import numpy as np
    >>> Exponential().link_inverse(np.array([0.0, 1.0])).round(4)
    array([0.5   , 0.8808])
    """

    abilities = (*DERIVATIVES, *DUAL, *LINK)

    def profile(self, t: Array, xp: Namespace) -> Any:
        return power(-t, xp)

    def slope(self, t: Array, xp: Namespace) -> Any:
        return -power(-t, xp)

    def curvature(self, t: Array, xp: Namespace) -> Any:
        return power(-t, xp)

    def shrink(self, t: Array, step: Array, xp: Namespace) -> Any:
        level = xp.log(step + xp.zeros_like(t))
        return level - log_omega(level - t, xp)

    def dual(self, s: Array, xp: Namespace) -> Any:
        at, within = inside(-s, 0.0, inf, xp)
        return xp.where(within, entropy(at, xp) - at, inf)

    def link(self, mean: Array) -> Any:
        xp = namespace(mean)
        return (logarithm(mean, xp) - logarithm(1 - mean, xp)) / 2

    def link_inverse(self, f: Array) -> Any:
        xp = namespace(f)
        return xp.exp(-xp.logaddexp(xp.zeros_like(f), -2 * f))
