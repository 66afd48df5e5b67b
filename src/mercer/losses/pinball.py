"""The loss of quantile regression."""

from __future__ import annotations

from .._errors import SHARE
from ._base import DUAL, LINK, register
from ._pieces import Piece, PiecewiseQuadratic
from ._scalar import Residual


@register
class Pinball(Residual, PiecewiseQuadratic):
    r"""Pinball loss: its minimiser is the conditional quantile.

    .. math:: \ell(y, f) = \max\{\tau (y - f), (\tau - 1)(y - f)\}

    Parameters
    ----------
    quantile : float in [0, 1]
        The level τ. Raising it raises f; ½ gives half the absolute error and the median.

    Notes
    -----
    The conjugate is :math:`yu` for :math:`-\tau \le u \le 1 - \tau`; the dual box is (τ − 1)b ≤ β ≤ τb with linear
    part y.

    References
    ----------
    Koenker, Bassett, *Regression quantiles* (1978). Takeuchi, Le, Sears, Smola, *Nonparametric quantile estimation*
    (2006).

    Examples
    --------
    >>> import numpy as np
    >>> Pinball(quantile=0.75).value(np.zeros(2), np.array([-1.0, 1.0]))
    array([0.75, 0.25])
    """

    abilities = ("gradient", *DUAL, "box", *LINK)
    smooth = False
    trials = [(), (0.1,), (0.93,)]
    rules = {"quantile": SHARE}

    def __init__(self, quantile: float = 0.5):
        self.quantile = quantile

    @property
    def pieces(self) -> tuple[Piece, ...]:
        level = float(self.quantile)
        return (Piece(0.0, level - 1, level),)
