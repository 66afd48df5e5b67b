"""The loss of support vector regression."""

from __future__ import annotations

from .._errors import NOT_NEGATIVE
from ._base import DUAL, LINK, register
from ._pieces import Piece, PiecewiseQuadratic
from ._scalar import Residual


@register
class EpsilonInsensitive(Residual, PiecewiseQuadratic):
    r"""Absolute error beyond a tube of half-width ε.

    .. math:: \ell(y, f) = (|y - f| - \varepsilon)_+

    Parameters
    ----------
    epsilon : float >= 0
        Half-width of the tube, in units of y. Raising it leaves more samples without influence; 0 is `Absolute`.

    Notes
    -----
    The conjugate is :math:`yu + \varepsilon |u|` for :math:`|u| \le 1`. The dual has two copies of the samples,
    β = β⁺ + β⁻ with 0 ≤ β⁺ ≤ b and linear part y − ε, and −b ≤ β⁻ ≤ 0 with linear part y + ε.

    References
    ----------
    Vapnik, *The Nature of Statistical Learning Theory* (1995). Smola, Schölkopf, *A tutorial on support vector
    regression* (2004), for the dual.

    Examples
    --------
    >>> import numpy as np
    >>> EpsilonInsensitive(epsilon=0.5).value(np.zeros(2), np.array([0.25, 2.0]))
    array([0. , 1.5])
    """

    abilities = ("gradient", *DUAL, "box", *LINK)
    smooth = False
    trials = [(), (0.0,), (1.0,)]
    rules = {"epsilon": NOT_NEGATIVE}

    def __init__(self, epsilon: float = 0.1):
        self.epsilon = epsilon

    @property
    def pieces(self) -> tuple[Piece, ...]:
        epsilon = float(self.epsilon)
        return Piece(epsilon, 0.0, 1.0), Piece(-epsilon, -1.0, 0.0)
