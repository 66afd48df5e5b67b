"""The ANOVA kernel: interactions of a bounded number of features."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import iadd
from typing import Any, Self

import numpy as np

from .._array import namespace
from .._errors import FROM_ONE, POSITIVE, check_number
from .._units import unit_of_squares
from ..types import Checked, Namespace
from ._base import Kernel, register
from ._coordinates import columns, matrix, vector
from ._definiteness import CPD, Definiteness


@register
class ANOVA(Kernel):
    r"""ANOVA kernel, in kernlab's sum form or the elementary-symmetric form.

    .. math:: k_{\text{sum}}(x, y) = \Big( \sum_{k=1}^d p_k \Big)^D, \qquad
              k_{\text{elementary}}(x, y) = \sum_{k_1 < \dots < k_D} p_{k_1} \cdots p_{k_D}, \qquad
              p_k = \exp\Big( -\frac{(x_k - y_k)^2}{2\ell^2} \Big)

    Parameters
    ----------
    degree : int >= 1
        D, the number of features that interact. The elementary form needs D ≤ d.
    lengthscale : float > 0
        ℓ, in every coordinate; larger is smoother. kernlab's σ is 1/(2ℓ²): see `from_kernlab`.
    form : {"sum", "elementary"}
        "elementary" has one term for each set of D distinct features; "sum" also has powers of single features.

    Notes
    -----
    Positive definite, as sums of products of one-dimensional Gaussian kernels. Strictly so if and only if D ≥ d: a term
    then contains all coordinates; otherwise weights ±1 on the corners of a box, products of the coordinate signs,
    annihilate every function of fewer than d coordinates. A matrix costs O(nmd), or O(nmdD) in the elementary form.

    References
    ----------
    Shawe-Taylor, Cristianini, *Kernel Methods for Pattern Analysis* (2004), definition 9.13 and algorithm 9.14
    (elementary form); R's ``kernlab::anovadot`` (sum form).

    Examples
    --------
    >>> ANOVA(degree=2)([[0.0, 0.0, 0.0]])
    array([[9.]])
    >>> ANOVA(degree=2, form="elementary")([[0.0, 0.0, 0.0]])
    array([[3.]])
    """

    trials = [(1, 0.8), (3, 1.5), (1, 0.8, "elementary"), (2, 0.7, "elementary"), (3, 1.5, "elementary")]
    abilities = ("gradient_x", "gradient_theta")
    rules = {"degree": FROM_ONE, "lengthscale": POSITIVE, "form": ("sum", "elementary")}

    def __init__(self, degree: int = 2, lengthscale: float = 1.0, form: str = "sum"):
        self.degree, self.lengthscale, self.form = degree, lengthscale, form

    @classmethod
    def from_kernlab(cls, sigma: float, degree: int) -> Self:
        """kernlab's anovadot, (Σ_k exp(−σ(x_k − y_k)²))^degree: ℓ = 1/√(2σ)."""
        check_number(cls.__name__, "sigma", sigma, above=0)
        return cls(degree=degree, lengthscale=(2.0 * sigma) ** -0.5 if sigma < 1 else 0.5 * (0.5 * sigma) ** -0.5)

    def validate(self) -> None:
        super().validate()
        unit_of_squares(self, "lengthscale", np.array([self.lengthscale], dtype=float))

    def _parts(self, pairs: list[tuple[Any, Any]], xp: Namespace) -> Iterable[Any]:
        if self.form == "elementary" and self.degree > len(pairs):
            raise ValueError(
                f"ANOVA: degree = {self.degree} must be <= {len(pairs)}, the number of columns, with form='elementary'."
            )
        return (xp.exp((x - y) ** 2 * (-0.5 / float(self.lengthscale) ** 2)) for x, y in pairs)

    def _combine(self, parts: Iterable[Any], degree: int, xp: Namespace) -> Any:
        """The sum to the power `degree`, or the elementary symmetric polynomial of that degree."""
        if self.form == "sum":
            return reduce(iadd, parts, 0.0) ** degree  # start at 0: torch may need the parts again to differentiate
        # e_s(p₁ … p_k) = e_s(p₁ … p_{k−1}) + p_k e_{s−1}(p₁ … p_{k−1}), from the highest s down
        sums: list[Any] = []
        for p in parts:
            sums = sums or [xp.ones_like(p), *(xp.zeros_like(p) for _ in range(degree))]
            for s in range(degree, 0, -1):
                sums[s] = sums[s] + p * sums[s - 1]
        return sums[degree]

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        return matrix(self._of, X, Y)

    def evaluate_diag(self, X: Checked) -> Any:
        return vector(self._of, X)

    def _of(self, pairs: list[tuple[Any, Any]], xp: Namespace) -> Any:
        with np.errstate(over="ignore"):  # if squares overflow, their exponentials are 0
            return self._combine(self._parts(pairs, xp), int(self.degree), xp)

    def _slopes(self, X: Checked, Y: Checked) -> tuple[Any, list[Any], list[Any]]:
        """xp, the differences x_k − y_k, and p_k ∂k/∂p_k, both as lists over coordinates."""
        xp, D, pairs = namespace(X), int(self.degree), columns(X, Y)
        p = list(self._parts(pairs, xp))
        if self.form == "sum":
            outer = D * sum(p) ** (D - 1)
            weights = [outer for _ in p]
        elif D == 1:
            weights = [xp.ones_like(q) for q in p]
        else:
            weights = [self._combine((q for i, q in enumerate(p) if i != k), D - 1, xp) for k in range(len(p))]
        return xp, [x - y for x, y in pairs], [q * w for q, w in zip(p, weights, strict=True)]

    def d_x(self, X: Checked, Y: Checked) -> Any:
        xp, differences, slopes = self._slopes(X, Y)
        inverse = -1.0 / float(self.lengthscale) ** 2
        return xp.stack([inverse * u * s for u, s in zip(differences, slopes, strict=True)], axis=-1)

    def d_theta(self, X: Checked, Y: Checked) -> dict[str, Any]:
        _, differences, slopes = self._slopes(X, Y)
        total = sum(u**2 * s for u, s in zip(differences, slopes, strict=True))
        return {"lengthscale": total / float(self.lengthscale) ** 3}

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return CPD(0, strict=dimension is not None and self.degree >= dimension)
