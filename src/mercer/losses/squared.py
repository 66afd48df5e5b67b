"""Squared error."""

from __future__ import annotations

from typing import Any

from .._array import namespace
from ._base import Loss


class Squared(Loss):
    r"""Squared error.

    .. math:: \ell(y, f) = \tfrac12 (y - f)^2

    Examples
    --------
    >>> import numpy as np
    >>> Squared().value(np.array([3.0]), np.array([1.0]))
    array([2.])
    """

    provides = frozenset({"gradient", "hessian", "prox", "link_inverse"})

    def value(self, y: Any, f: Any) -> Any:
        return 0.5 * (y - f) ** 2

    def gradient(self, y: Any, f: Any) -> Any:
        return f - y

    def hessian(self, y: Any, f: Any) -> Any:
        return namespace(f).ones_like(f)

    def prox(self, y: Any, v: Any, step: float) -> Any:
        return (v + step * y) / (1 + step)

    def link_inverse(self, f: Any) -> Any:
        return f
