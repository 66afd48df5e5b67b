"""The squared loss of the support vector machine."""

from __future__ import annotations

from math import inf
from typing import Any

from .._array import namespace
from ..types import Array
from ._base import DERIVATIVES, DUAL, LINK, register
from ._pieces import Piece, PiecewiseQuadratic
from ._scalar import Margin


@register
class SquaredHinge(Margin, PiecewiseQuadratic):
    r"""Squared hinge loss for labels y = ±1.

    .. math:: \ell(y, f) = (1 - yf)_+^2

    Notes
    -----
    Its minimiser is 2P(y = 1) − 1, so the link is linear: P(y = 1) = (1 + f)/2, clipped to [0, 1]. The conjugate is
    :math:`yu + \tfrac14 u^2` for :math:`yu \le 0`; the dual has yβ ≥ 0, linear part y and ridge 1/(2b).

    References
    ----------
    Cortes, Vapnik, *Support-vector networks* (1995). Zhang, *Statistical behavior and consistency of
    classification methods based on convex risk minimization* (2004).

    Examples
    --------
    >>> import numpy as np
    >>> SquaredHinge().value(np.array([1.0, -1.0]), np.array([0.5, 0.5]))
    array([0.25, 2.25])
    """

    abilities = (*DERIVATIVES, *DUAL, "box", *LINK)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return (Piece(1.0, -inf, 0.0, 0.5),)

    def link(self, mean: Array) -> Any:
        return 2 * mean - 1

    def link_inverse(self, f: Array) -> Any:
        return namespace(f).clip((1 + f) / 2, 0.0, 1.0)
