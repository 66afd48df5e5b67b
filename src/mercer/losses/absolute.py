"""Absolute error."""

from __future__ import annotations

from ._base import DUAL, LINK, register
from ._pieces import Piece, PiecewiseQuadratic
from ._scalar import Residual


@register
class Absolute(Residual, PiecewiseQuadratic):
    r"""Absolute error: its minimiser is the conditional median.

    .. math:: \ell(y, f) = |y - f|

    Notes
    -----
    The conjugate is :math:`yu` for :math:`|u| \le 1`; the dual box is −b ≤ β ≤ b with linear part y.

    Examples
    --------
    >>> import numpy as np
    >>> Absolute().prox(np.array([3.0]), np.array([1.0]), step=0.5)
    array([1.5])
    """

    abilities = ("gradient", *DUAL, "box", *LINK)
    smooth = False

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return (Piece(0.0, -1.0, 1.0),)
