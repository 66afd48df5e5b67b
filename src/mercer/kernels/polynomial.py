"""The polynomial kernel."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from typing import Any

import numpy as np

from .._array import is_sparse, like, namespace, product_transposed
from .._errors import NUMBER
from ..basis import Polynomials
from ..types import Array, Checked, Namespace
from ._base import register
from ._definiteness import INDEFINITE, PD, UNKNOWN, Definiteness
from ._dot import DotProduct


def _raised(b: Array, p: float) -> Any:
    """bᵖ; small integer powers use repeated squaring, which is many times faster."""
    if not (isinstance(p, int) and 1 <= p <= 16):
        return b**p
    value = None
    while p:
        if p & 1:
            value = b if value is None else value * b
        p >>= 1
        b = b * b if p else b
    return value


@register
class Polynomial(DotProduct):
    r"""Polynomial kernel.

    .. math:: k(x, y) = (a\, x^\top y + c)^p

    Parameters
    ----------
    degree : float > 0
        p. Raising it adds interactions of more features. A non-integer degree needs a xᵀy + c ≥ 0 on the data.
        At most 2⁵³: beyond, floating point cannot distinguish even from odd degrees.
    scale : float
        a. Raising it gives more weight to monomials of high degree.
    offset : float
        c. Raising it gives more weight to monomials of low degree; 0 keeps only those of degree p.

    Notes
    -----
    For an integer degree, k(x, y) = Σ_α w_α x^α y^α over the monomials of degree at most p, with
    w_α = (p choose |α|) a^|α| c^(p−|α|) (|α| choose α). Monomials are linearly independent, so k is positive definite
    if and only if no w_α is negative (a ≥ 0 and c ≥ 0, or a ≤ 0, c ≤ 0 and p even), and INDEFINITE otherwise. If so,
    f = Σ c_α x^α has ‖f‖² = Σ c_α²/w_α. It is never strict: a Gram matrix has rank at most (d + p choose p).

    For other degrees the power series of (at + c)^p has a negative coefficient, say the n-th; points near 0 with
    weights that annihilate the polynomials of degree < n make the quadratic form negative, so for c > 0 and a ≠ 0 the
    kernel is INDEFINITE. The same holds for a > 0 if c = 0 and d > 1 (points near (1, 0, …, 0)), or if c < 0
    (k(x, x) = 0 at a point where k(x, 2x) ≠ 0). All other cases are UNKNOWN.

    A matrix costs O(nmd); a CSR matrix stays sparse.

    References
    ----------
    Schölkopf, Smola, *Learning with Kernels* (2002), proposition 2.1 and section 2.3; FitzGerald, Horn, *On fractional
    Hadamard powers of positive definite matrices* (1977), theorem 2.2.

    Examples
    --------
    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    >>> Polynomial(degree=2).feature_map([[1.0, 2.0]]).round(4)
    array([[1.    , 1.4142, 2.8284, 1.    , 2.8284, 4.    ]])
    >>> Polynomial(degree=2, offset=-1.0).definiteness
    INDEFINITE
    """

    trials = [(), (1, 2.0, 0.5), (2, 0.5, 0.0), (2, -1.0, -0.5), (3, 0.5, -1.0), (2.5, 0.05, 3.0)]
    rules = {"degree": {"above": 0, "at_most": 2**53}, "scale": NUMBER, "offset": NUMBER}

    def __init__(self, degree: float = 3, scale: float = 1.0, offset: float = 1.0):
        self.degree, self.scale, self.offset = degree, scale, offset

    @property
    def _is_integer(self) -> bool:
        return float(self.degree).is_integer()

    @property
    def provides(self) -> frozenset[str]:
        if self._is_integer:
            feature_map = {"feature_map"} if self.definiteness.is_pd else set()
            return frozenset({"gradient_x", "mixed_xy", "gradient_theta"} | feature_map)
        # (·)^p is differentiable at 0 only for p > 1, and twice only for p > 2
        once = {"gradient_x", "gradient_theta"} if self.degree > 1 else set()
        return frozenset(once | ({"mixed_xy"} if self.degree > 2 else set()))

    def _power(self, t: Array, lowered: int, xp: Namespace) -> Any:
        """The derivative of order `lowered` of b^p at b = at + c."""
        base = float(self.scale) * t + float(self.offset)
        p = int(self.degree) if self._is_integer else float(self.degree)
        if not self._is_integer and bool(xp.any(base < 0)):
            raise ValueError(
                f"Polynomial: degree = {self.degree!r} is not an integer, but scale·xᵀy + offset takes the negative "
                f"value {float(xp.min(base)):g} on these data; raise the offset or round the degree."
            )
        factor = prod(p - i for i in range(lowered))
        if factor == 0:
            return xp.zeros_like(base)
        value = _raised(base, p - lowered)
        return value if factor == 1 else float(factor) * value

    def profile(self, t: Array, xp: Namespace) -> Any:
        return self._power(t, 0, xp)

    def slope(self, t: Array, xp: Namespace) -> Any:
        return float(self.scale) * self._power(t, 1, xp)

    def curvature(self, t: Array, xp: Namespace) -> Any:
        return float(self.scale) ** 2 * self._power(t, 2, xp)

    def d_theta(self, X: Checked, Y: Checked) -> dict[str, Any]:
        """∂k/∂scale = p b^(p−1) xᵀy and ∂k/∂offset = p b^(p−1), with b = a xᵀy + c."""
        t = product_transposed(X, Y)
        slope = self._power(t, 1, namespace(t))
        return {"scale": slope * t, "offset": slope}

    def drift(self, origin: np.ndarray) -> np.ndarray | None:
        return float(self.scale) * origin if self.degree == 1 else None

    def monomial_weights(self, dimension: int) -> np.ndarray:
        """w_α, with k(x, y) = Σ_α w_α x^α y^α, in the order of ``mercer.basis.Polynomials(degree)``."""
        p, a, c = int(self.degree), float(self.scale), float(self.offset)
        weights = []
        for n in range(p + 1):
            of_degree = comb(p, n) * a**n * c ** (p - n) * factorial(n)
            for factors in combinations_with_replacement(range(dimension), n):
                weights.append(of_degree / prod(map(factorial, Counter(factors).values())))
        return np.array(weights)

    def features(self, X: Checked) -> Any:
        """√w_α x^α over the (d + p choose p) monomials, in the order of ``mercer.basis.Polynomials(degree)``."""
        X = X.toarray() if is_sparse(X) else X
        return Polynomials(int(self.degree))(X) * like(np.sqrt(self.monomial_weights(X.shape[1])), X)

    def feature_count(self, X: Checked) -> int:
        return comb(X.shape[1] + int(self.degree), int(self.degree))

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        a, c = self.scale, self.offset
        if self._is_integer:
            return PD if (a >= 0 and c >= 0) or (a <= 0 and c <= 0 and self.degree % 2 == 0) else INDEFINITE
        proven = (c > 0 and a != 0) or (a > 0 and (c != 0 or dimension != 1))
        return INDEFINITE if proven else UNKNOWN
