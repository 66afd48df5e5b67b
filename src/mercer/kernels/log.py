"""The log kernel."""

from __future__ import annotations

from math import ceil
from typing import Any

from ..types import Array, Namespace
from ._base import register
from ._definiteness import CPD, INDEFINITE, UNKNOWN, Definiteness
from ._limits import power, power_log
from ._radial import EACH
from .power import OfPower


@register
class Log(OfPower):
    r"""Log kernel, conditionally positive definite of order 1 for 0 < p ≤ 2.

    .. math:: k(x, y) = -\log\left(1 + \left(\frac{\|x - y\|}{\ell}\right)^p\right)

    Parameters
    ----------
    degree : float > 0
        p. Raising it makes functions smoother near the centres.
    lengthscale : float > 0, array of shape (d,), array of shape (d, d), or {"median", "scale", "sigest"}
        ℓ, the distance at which the kernel changes from the power to the logarithm. A string is replaced by its
        value on the training data.

    Notes
    -----
    For 0 < p ≤ 2, strictly CPD(1) in every dimension:
    :math:`-\log(1 + u) = \int_0^\infty e^{-t} (e^{-tu} - 1) / t \, dt`, where exp(−t‖x − y‖ᵖ) is strictly positive
    definite. For p > 2 it is not CPD(1): otherwise exp(k) would be a positive definite function without
    curvature at 0. Near 0 it behaves like −‖x − y‖ᵖ, so it is INDEFINITE, not CPD of any order, where that is strictly
    negative: for even ⌈p/2⌉ unless p is an even integer (e.g. 2 < p < 4). For other p nothing is claimed. `gradient_x`
    exists for p > 1, `mixed_xy` for p ≥ 2. A matrix costs O(nmd).

    References
    ----------
    Boughorbel, Tarel, Boujemaa, *Conditionally positive definite kernels for SVM based image recognition* (2005).
    Berg, Christensen, Ressel, *Harmonic Analysis on Semigroups* (1984), corollary 3.2.10.

    Examples
    --------
    >>> import numpy as np
    >>> Log(degree=1.0)([[0.0]], [[np.e - 1]])
    array([[-1.]])
    >>> [Log(p).definiteness for p in (2, 3, 4)]
    [strictly CPD(1), INDEFINITE, UNKNOWN]
    """

    trials = [(p, 0.8) for p in (0.5, 1.0, 1.5, 2.0, 3.0, 4)] + [(1.5, EACH)]

    def __init__(self, degree: float = 2.0, lengthscale: Any = 1.0):
        super().__init__(degree, lengthscale)

    def profile(self, s: Array, xp: Namespace) -> Any:
        return 0.0 - xp.log1p(power(s, float(self.degree) / 2, xp))  # unary minus would give k(x, x) = −0

    def slope(self, s: Array, xp: Namespace) -> Any:
        p = float(self.degree) / 2
        return -p * power(s, p - 1, xp) / (1 + power(s, p, xp))

    def curvature(self, s: Array, xp: Namespace) -> Any:
        p = float(self.degree) / 2
        return -p * (p - 1) * power(s, p - 2, xp) / (1 + power(s, p, xp)) + self.slope(s, xp) ** 2

    def profile_theta(self, s: Array, xp: Namespace) -> dict[str, Any]:
        p = float(self.degree) / 2
        return {"degree": -0.5 * power_log(s, p, xp) / (1 + power(s, p, xp))}

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        if self.degree <= 2:
            return CPD(1, strict=True)
        m = ceil(self.degree / 2)
        return INDEFINITE if m % 2 == 0 and self.degree != 2 * m else UNKNOWN
