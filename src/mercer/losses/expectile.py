"""The loss of expectile regression."""

from __future__ import annotations

from math import inf

from .._errors import check_number, where
from ._base import DERIVATIVES, DUAL, LINK, register
from ._pieces import Piece, PiecewiseQuadratic
from ._scalar import Residual


@register
class Expectile(Residual, PiecewiseQuadratic):
    r"""Asymmetric squared error: its minimiser is the conditional expectile.

    .. math:: \ell(y, f) = \begin{cases} \tau (y - f)^2 & y > f \\ (1 - \tau)(y - f)^2 & y \le f \end{cases}

    Parameters
    ----------
    level : float in (0, 1)
        The level τ. Raising it raises f; ½ gives the squared error and the mean.

    Notes
    -----
    The conjugate is :math:`yu + u^2/(4\tau)` for u ≤ 0 and :math:`yu + u^2/(4(1 - \tau))` for u ≥ 0. The dual has two
    copies of the samples, β⁺ ≥ 0 with ridge 1/(2τb) and β⁻ ≤ 0 with ridge 1/(2(1 − τ)b), both with linear part y.

    References
    ----------
    Newey, Powell, *Asymmetric least squares estimation and testing* (1987).

    Examples
    --------
    >>> import numpy as np
    >>> Expectile(level=0.75).value(np.zeros(2), np.array([-1.0, 1.0]))
    array([0.75, 0.25])
    """

    abilities = (*DERIVATIVES, *DUAL, "box", *LINK)
    trials = [(), (0.1,), (0.93,)]

    def __init__(self, level: float = 0.5):
        self.level = level

    def validate(self) -> None:
        check_number(self, "level", self.level, above=0)
        if self.level >= 1:
            raise ValueError(f"{where(self)}: level = {self.level!r} must be < 1.")

    @property
    def pieces(self) -> tuple[Piece, ...]:
        level = float(self.level)
        return Piece(0.0, 0.0, inf, 0.5 / level), Piece(0.0, -inf, 0.0, 0.5 / (1 - level))
