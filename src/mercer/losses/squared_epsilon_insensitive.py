"""The squared loss of support vector regression."""

from __future__ import annotations

from math import inf

from .._errors import NOT_NEGATIVE
from ._base import DERIVATIVES, DUAL, LINK, register
from ._pieces import Piece, PiecewiseQuadratic
from ._scalar import Residual


@register
class SquaredEpsilonInsensitive(Residual, PiecewiseQuadratic):
    r"""Squared error beyond a tube of half-width ε.

    .. math:: \ell(y, f) = (|y - f| - \varepsilon)_+^2

    Parameters
    ----------
    epsilon : float >= 0
        Half-width of the tube, in units of y. Raising it leaves more samples without influence; 0 is (y − f)², twice
        the squared error.

    Notes
    -----
    The conjugate is :math:`yu + \varepsilon |u| + \tfrac14 u^2`. The dual has two copies of the samples, as for
    `EpsilonInsensitive`, without the bound b but with ridge 1/(2b).

    References
    ----------
    Ho, Lin, *Large-scale linear support vector regression* (2012).

    Examples
    --------
    >>> import numpy as np
    >>> SquaredEpsilonInsensitive(epsilon=0.5).value(np.zeros(2), np.array([0.25, 2.0]))
    array([0.  , 2.25])
    """

    abilities = (*DERIVATIVES, *DUAL, "box", *LINK)
    trials = [(), (0.0,), (1.0,)]
    rules = {"epsilon": NOT_NEGATIVE}

    def __init__(self, epsilon: float = 0.1):
        self.epsilon = epsilon

    @property
    def pieces(self) -> tuple[Piece, ...]:
        epsilon = float(self.epsilon)
        return Piece(epsilon, 0.0, inf, 0.5), Piece(-epsilon, -inf, 0.0, 0.5)
