"""The loss of the support vector machine."""

from __future__ import annotations

from ._base import DUAL, register
from ._pieces import Piece, PiecewiseQuadratic
from ._scalar import Margin


@register
class Hinge(Margin, PiecewiseQuadratic):
    r"""Hinge loss for labels y = ±1.

    .. math:: \ell(y, f) = (1 - yf)_+

    Notes
    -----
    Its minimiser is the more probable label, so f gives no probabilities and there is no link. The conjugate is
    :math:`yu` for :math:`-1 \le yu \le 0`; the dual box is 0 ≤ yβ ≤ b with linear part y.

    References
    ----------
    Cortes, Vapnik, *Support-vector networks* (1995). Steinwart, Christmann, *Support Vector Machines*
    (2008).

    Examples
    --------
    >>> import numpy as np
    >>> Hinge().value(np.array([1.0, -1.0]), np.array([0.25, 0.25]))
    array([0.75, 1.25])
    """

    abilities = ("gradient", *DUAL, "box")
    smooth = False

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return (Piece(1.0, -1.0, 0.0),)
