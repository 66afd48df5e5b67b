"""Absolute error."""

from __future__ import annotations

from typing import Any

from .._array import namespace
from ._base import Loss


class Absolute(Loss):
    r"""Absolute error: its minimiser is the conditional median.

    .. math:: \ell(y, f) = |y - f|

    Examples
    --------
    >>> import numpy as np
    >>> Absolute().prox(np.array([3.0]), np.array([1.0]), step=0.5)
    array([1.5])
    """

    provides = frozenset({"prox", "link_inverse"})

    def value(self, y: Any, f: Any) -> Any:
        return namespace(f).abs(y - f)

    def prox(self, y: Any, v: Any, step: float) -> Any:
        return v + namespace(v).clip(y - v, -step, step)

    def link_inverse(self, f: Any) -> Any:
        return f
