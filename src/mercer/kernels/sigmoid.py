"""The sigmoid kernel."""

from __future__ import annotations

from typing import Any

from .._array import namespace, product_transposed
from .._errors import NUMBER
from ..types import Array, Checked, Namespace
from ._base import register
from ._definiteness import INDEFINITE, PD, Definiteness
from ._dot import DotProduct


@register
class Sigmoid(DotProduct):
    r"""Sigmoid (hyperbolic tangent) kernel, an indefinite kernel.

    .. math:: k(x, y) = \tanh(a\, x^\top y + c)

    Parameters
    ----------
    scale : float
        a. Raising its magnitude makes values saturate at ±1 sooner.
    offset : float
        c. Raising it shifts all values towards 1.

    Notes
    -----
    INDEFINITE for every a ≠ 0, every c and every dimension. A kernel φ(xᵀy) that is positive definite around 0 needs a
    power series φ(t) = Σ bₙtⁿ with all bₙ ≥ 0 (otherwise points near 0, with weights that annihilate the polynomials of
    degree < n, give a negative quadratic form). Here b₀ = tanh c < 0 for c < 0, b₂ = −a² tanh(c)/cosh²(c) < 0 for
    c > 0, and b₁ = a, b₃ = −a³/3 have opposite signs for c = 0. As tanh has no singularity on the real line, infinitely
    many bₙ are negative (Pringsheim), so k is not conditionally positive definite of any order either. For a = 0 it is
    the constant tanh(c). A matrix costs O(nmd); a CSR matrix stays sparse.

    References
    ----------
    Lin, Lin, *A study on sigmoid kernels for SVM and the training of non-PSD kernels by SMO-type methods* (2003);
    Schölkopf, Smola, *Learning with Kernels* (2002), section 4.6.

    Examples
    --------
    >>> Sigmoid(scale=0.5, offset=0.0)([[1.0, 2.0]], [[1.0, 0.0]]).round(4)
    array([[0.4621]])
    """

    trials = [(0.3, 0.1), (0.5, 0.0), (-0.2, -1.0), (0.0, 0.5)]
    abilities = ("gradient_x", "mixed_xy", "gradient_theta")
    rules = {"scale": NUMBER, "offset": NUMBER}

    def __init__(self, scale: float = 1.0, offset: float = 1.0):
        self.scale, self.offset = scale, offset

    def profile(self, t: Array, xp: Namespace) -> Any:
        return xp.tanh(float(self.scale) * t + float(self.offset))

    def slope(self, t: Array, xp: Namespace) -> Any:
        return float(self.scale) * (1.0 - self.profile(t, xp) ** 2)

    def curvature(self, t: Array, xp: Namespace) -> Any:
        k = self.profile(t, xp)
        return -2.0 * float(self.scale) ** 2 * k * (1.0 - k**2)

    def d_theta(self, X: Checked, Y: Checked) -> dict[str, Any]:
        """∂k/∂scale = (1 − k²) xᵀy and ∂k/∂offset = 1 − k²."""
        t = product_transposed(X, Y)
        slope = 1.0 - self.profile(t, namespace(t)) ** 2
        return {"scale": slope * t, "offset": slope}

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return PD if self.scale == 0 and self.offset >= 0 else INDEFINITE
