"""Squared error."""

from __future__ import annotations

from math import inf

from ._base import DERIVATIVES, DUAL, LINK, register
from ._pieces import Piece, PiecewiseQuadratic
from ._scalar import Residual


@register
class Squared(Residual, PiecewiseQuadratic):
    r"""Squared error: its minimiser is the conditional mean.

    .. math:: \ell(y, f) = \tfrac12 (y - f)^2

    Notes
    -----
    The conjugate is :math:`yu + \tfrac12 u^2`. The dual is unbounded with ridge 1/b: it is kernel ridge regression,
    (K + diag(1/b))β = y.

    Examples
    --------
    >>> import numpy as np
    >>> Squared().value(np.array([3.0]), np.array([1.0]))
    array([2.])
    """

    abilities = (*DERIVATIVES, *DUAL, "box", *LINK)
    quadratic = True

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return (Piece(0.0, -inf, inf, 1.0),)
