"""The power kernel, minus a power of the distance."""

from __future__ import annotations

from math import ceil, prod
from typing import Any, ClassVar

from .._errors import POSITIVE
from ..types import Array, Namespace
from ._base import register
from ._definiteness import CPD, INDEFINITE, Definiteness
from ._limits import power, power_log
from ._radial import EACH, Radial


class OfPower(Radial):
    """A smooth function of ‖x − y‖ᵖ, and so just as smooth at x = y."""

    from_zero = True
    abilities: ClassVar[tuple[str, ...]] = ("gradient_x", "mixed_xy", "gradient_theta")
    rules = {"degree": POSITIVE}

    def __init__(self, degree: float, lengthscale: Any):
        self.degree, self.lengthscale = degree, lengthscale

    @property
    def provides(self) -> frozenset[str]:
        smooth = (("gradient_x", self.degree > 1), ("mixed_xy", self.degree >= 2))
        return frozenset(self.abilities) - {ability for ability, has in smooth if not has}


@register
class Power(OfPower):
    r"""Power kernel, conditionally positive definite of order 1 for 0 < p ≤ 2.

    .. math:: k(x, y) = -\left(\frac{\|x - y\|}{\ell}\right)^p

    Parameters
    ----------
    degree : float > 0
        p. Raising it makes functions smoother and gives distant points more weight; p = 1 gives the energy distance.
    lengthscale : float > 0, array of shape (d,), array of shape (d, d), or {"median", "scale", "sigest"}
        A single number only rescales the kernel; one per feature or a matrix changes the geometry. A string is
        replaced by its value on the training data.

    Notes
    -----
    With m = ⌈p/2⌉, (−1)ᵐ‖x − y‖ᵖ is strictly CPD(m) in every dimension unless p is an even integer. So −‖x − y‖ᵖ is
    strictly CPD(m) for odd m (CPD(1) for 0 < p < 2, CPD(3) for 4 < p < 6) and INDEFINITE, not CPD of any order, for
    even m (e.g. 2 < p < 4). For p = 2m, the quadratic form on coefficients that annihilate degrees < m is (−1)ᵐ⁺¹ times
    a sum of squared moments of degree m, so −‖x − y‖²ᵐ is CPD(m) for odd m and CPD(m + 1), where the form vanishes, for
    even m; never strictly. `gradient_x` exists for p > 1, `mixed_xy` for p ≥ 2. A matrix costs O(nmd).

    References
    ----------
    Wendland, *Scattered Data Approximation* (2005), section 8.3. Berg, Christensen, Ressel, *Harmonic Analysis on
    Semigroups* (1984), corollary 3.2.10 (p ≤ 2). Székely, Rizzo, *Energy statistics* (2013), section 2 (p = 1).

    Examples
    --------
    >>> Power(1.0)([[0.0], [3.0]])
    array([[ 0., -3.],
           [-3.,  0.]])
    >>> [Power(p).definiteness for p in (1, 2, 3, 5)]
    [strictly CPD(1), CPD(1), INDEFINITE, strictly CPD(3)]
    """

    trials = [(p, 1.5) for p in (0.5, 1.0, 1.5, 2.0, 3.0, 4, 5.0)] + [(1.5, EACH)]

    def __init__(self, degree: float = 1.0, lengthscale: Any = 1.0):
        super().__init__(degree, lengthscale)

    def derivative(self, s: Array, xp: Namespace, order: int) -> Any:
        p = float(self.degree) / 2
        if order == 0:
            return 0.0 - power(s, p, xp)  # unary minus would give k(x, x) = −0
        return -prod(p - i for i in range(order)) * power(s, p - order, xp)

    def profile_theta(self, s: Array, xp: Namespace) -> dict[str, Any]:
        return {"degree": -0.5 * power_log(s, float(self.degree) / 2, xp)}

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        m = ceil(self.degree / 2)
        if self.degree == 2 * m:
            return CPD(m if m % 2 else m + 1)
        return CPD(m, strict=True) if m % 2 else INDEFINITE
