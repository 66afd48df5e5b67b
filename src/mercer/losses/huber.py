"""Huber's loss."""

from __future__ import annotations

from .._errors import POSITIVE
from ._base import DERIVATIVES, DUAL, LINK, register
from ._pieces import Piece, PiecewiseQuadratic
from ._scalar import Reweighted


@register
class Huber(Reweighted, PiecewiseQuadratic):
    r"""Huber's loss: quadratic for small residuals and linear for large ones.

    .. math::

        \ell(y, f) = \begin{cases} \tfrac12 r^2 & |r| \le \delta \\ \delta |r| - \tfrac12 \delta^2 & |r| > \delta
        \end{cases} \qquad r = y - f

    Parameters
    ----------
    delta : float > 0
        The residual, in units of y, beyond which the influence of a sample stays constant; δ → ∞ gives the squared
        error. The default has 95 % of the efficiency of the mean for normal errors with unit variance.

    Notes
    -----
    The conjugate is :math:`yu + \tfrac12 u^2` for :math:`|u| \le \delta`; the dual box is −δb ≤ β ≤ δb with ridge 1/b.
    `majorizer` is the weight :math:`\min(1, \delta/|r|)` of reweighted least squares, and `hessian` is the second
    derivative, 1 or 0.

    References
    ----------
    Huber, *Robust estimation of a location parameter* (1964). Holland, Welsch, *Robust regression using
    iteratively reweighted least-squares* (1977), for the default.

    Examples
    --------
    >>> import numpy as np
    >>> Huber(delta=1.0).value(np.zeros(2), np.array([0.5, 3.0]))
    array([0.125, 2.5  ])
    """

    abilities = (*DERIVATIVES, *DUAL, "box", *LINK)
    trials = [(), (0.3,)]
    rules = {"delta": POSITIVE}

    def __init__(self, delta: float = 1.345):
        self.delta = delta

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return (Piece(0.0, -float(self.delta), float(self.delta), 1.0),)
