"""Logistic loss for labels ±1."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import namespace
from ._base import Loss


class Logistic(Loss):
    r"""Logistic loss for labels y = ±1.

    .. math:: \ell(y, f) = \log(1 + e^{-yf})

    The link is the logistic function: P(y = 1) = 1/(1 + e⁻ᶠ).

    Examples
    --------
    >>> Logistic().value(np.array([1.0]), np.array([0.0])).round(4)
    array([0.6931])
    """

    provides = frozenset({"gradient", "hessian", "link_inverse"})

    def value(self, y: Any, f: Any) -> Any:
        xp = namespace(f)
        return xp.logaddexp(xp.zeros_like(f), -y * f)

    def gradient(self, y: Any, f: Any) -> Any:
        return -y * self.link_inverse(-y * f)

    def hessian(self, y: Any, f: Any) -> Any:
        return self.link_inverse(f) * self.link_inverse(-f)

    def link_inverse(self, f: Any) -> Any:
        xp = namespace(f)
        return xp.exp(-xp.logaddexp(xp.zeros_like(f), -f))  # accurate at both ends, never overflows

    def targets(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.choice([-1.0, 1.0], n)
