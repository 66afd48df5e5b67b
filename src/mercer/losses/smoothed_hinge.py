"""A hinge loss with a rounded corner."""

from __future__ import annotations

from .._errors import POSITIVE
from ._base import DERIVATIVES, DUAL, register
from ._pieces import Piece, PiecewiseQuadratic
from ._scalar import Margin


@register
class SmoothedHinge(Margin, PiecewiseQuadratic):
    r"""Hinge loss whose corner is replaced by a parabola, for labels y = ±1.

    .. math::

        \ell(y, f) = \begin{cases} 0 & m \ge 1 \\ (1 - m)^2 / (2h) & 1 - h < m < 1 \\ 1 - m - h/2 & m \le 1 - h
        \end{cases} \qquad m = yf

    Parameters
    ----------
    width : float > 0
        Length h of the parabola, whose curvature is 1/h; h → 0 gives the hinge loss.

    Notes
    -----
    It is the Moreau envelope of the hinge, below it by at most h/2. The conjugate is :math:`yu + \tfrac{h}{2} u^2` for
    :math:`-1 \le yu \le 0`; the dual box is that of the hinge, with ridge h/b.

    References
    ----------
    Shalev-Shwartz, Zhang, *Stochastic dual coordinate ascent methods for regularized loss minimization* (2013).

    Examples
    --------
    >>> import numpy as np
    >>> SmoothedHinge(width=1.0).value(np.ones(3), np.array([1.0, 0.5, -1.0]))
    array([0.   , 0.125, 1.5  ])
    """

    abilities = (*DERIVATIVES, *DUAL, "box")
    trials = [(), (2.0,)]
    rules = {"width": POSITIVE}

    def __init__(self, width: float = 0.5):
        self.width = width

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return (Piece(1.0, -1.0, 0.0, float(self.width)),)
