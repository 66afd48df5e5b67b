"""The polyharmonic spline kernels, and the positive definite kernel derived from a conditionally definite one."""

from __future__ import annotations

from math import factorial, gamma, pi
from typing import Any

import numpy as np
from scipy import linalg

from .._array import host, like, namespace
from .._errors import FROM_ONE, check_number
from ..basis import Polynomials
from ..domains import Vectors
from ..types import Array, Checked, Namespace
from ._base import Kernel, register
from ._definiteness import CPD, PD, UNKNOWN, Definiteness
from ._limits import at_origin, power, power_log
from ._parts import Unary
from ._radial import EACH, Radial


@register
class Polyharmonic(Radial):
    r"""Polyharmonic spline kernel of integer degree p, conditionally positive definite of order ⌊p/2⌋ + 1.

    .. math:: k(x, y) = (-1)^{(p+1)/2}\, r^p \;\; (p \text{ odd}), \qquad
              (-1)^{p/2+1}\, r^p \log r \;\; (p \text{ even}), \qquad r = \frac{\|x - y\|}{\ell}

    Parameters
    ----------
    degree : int >= 1
        p. Raising it makes functions smoother.
    lengthscale : float > 0, array of shape (d,), array of shape (d, d), or {"median", "scale", "sigest"}
        ℓ. A single number only rescales the quadratic form on coefficients that annihilate the polynomials of degree
        ≤ p/2; one per feature or a matrix changes the geometry. A string is replaced by its value on the training data.

    Notes
    -----
    Strictly CPD(⌊p/2⌋ + 1) in every dimension. In d dimensions, with p = 2m − d, a multiple of it is the Green's
    function of the m-th power of the Laplacian, and its interpolants minimise the integral of the squared m-th
    derivatives (`duchon`). ``Polyharmonic(2)`` is ``ThinPlate`` and ``Polyharmonic(1)`` is ``Power(1)``. A matrix
    costs O(nmd).

    References
    ----------
    Duchon, *Splines minimizing rotation-invariant semi-norms in Sobolev spaces* (1977). Wendland, *Scattered Data
    Approximation* (2005), theorems 8.16 and 8.17.

    Examples
    --------
    >>> Polyharmonic(3)([[0.0], [2.0]])
    array([[0., 8.],
           [8., 0.]])
    >>> [Polyharmonic(p).definiteness for p in (1, 2, 3, 4)]
    [strictly CPD(1), strictly CPD(2), strictly CPD(2), strictly CPD(3)]
    """

    trials = [(p, 1.5) for p in (1, 2, 3, 4, 5)] + [(3, EACH)]
    from_zero = True
    abilities = ("gradient_x", "mixed_xy", "gradient_theta")
    rules = {"degree": FROM_ONE}

    def __init__(self, degree: int = 2, lengthscale: Any = 1.0):
        self.degree, self.lengthscale = degree, lengthscale

    @property
    def provides(self) -> frozenset[str]:
        smooth = (("gradient_x", self.degree > 1), ("mixed_xy", self.degree > 2))
        return frozenset(self.abilities) - {ability for ability, has in smooth if not has}

    @property
    def _form(self) -> tuple[float, float, bool]:
        """The sign, p/2, and whether there is a logarithmic factor."""
        p = int(self.degree)
        return (-1.0) ** ((p + 1) // 2 if p % 2 else p // 2 + 1), p / 2, p % 2 == 0

    def profile(self, s: Array, xp: Namespace) -> Any:
        sign, half, logarithm = self._form
        return sign * (0.5 * power_log(s, half, xp) if logarithm else power(s, half, xp)) + 0.0  # no −0 at the origin

    def slope(self, s: Array, xp: Namespace) -> Any:
        sign, half, logarithm = self._form
        if not logarithm:
            return sign * half * power(s, half - 1, xp)
        inner = half * power_log(s, half - 1, xp) + power(s, half - 1, xp)
        return xp.where(at_origin(s, xp), 0.0, sign * 0.5 * inner)

    def curvature(self, s: Array, xp: Namespace) -> Any:
        sign, half, logarithm = self._form
        if not logarithm:
            return sign * half * (half - 1) * power(s, half - 2, xp)
        inner = half * (half - 1) * power_log(s, half - 2, xp) + (2 * half - 1) * power(s, half - 2, xp)
        return xp.where(at_origin(s, xp), 0.0, sign * 0.5 * inner)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return CPD(int(self.degree) // 2 + 1, strict=True)


def duchon(order: int, dimension: int) -> Kernel:
    r"""The kernel of the thin-plate seminorm, for use with unpenalised polynomials of degree < m.

    .. math:: \|f\|^2 = \sum_{|\nu| = m} \frac{m!}{\nu!} \int_{\mathbb R^d} (\partial^\nu f)^2

    Wahba, *Spline Models for Observational Data* (1990), section 2.4. Needs 2m > d.

    Examples
    --------
    >>> print(duchon(2, 1))
    0.08333333333333333*polyharmonic(degree=3)
    """
    check_number("duchon", "dimension", dimension, at_least=1, integer=True)
    check_number("duchon", "order", order, above=dimension / 2, integer=True)
    m, d = order, dimension
    if d % 2:
        constant = abs(gamma(d / 2 - m)) / (4**m * pi ** (d / 2) * factorial(m - 1))
    else:
        constant = 2 / (4**m * pi ** (d / 2) * factorial(m - 1) * factorial(m - d // 2))
    return constant * Polyharmonic(2 * m - d)


class Reduced(Unary):
    r"""The positive definite kernel derived from a conditionally definite one; its functions vanish at the anchors.

    .. math:: k'(x, y) = k(x, y) - \sum_a p_a(x) k(z_a, y) - \sum_b k(x, z_b) p_b(y)
              + \sum_{a, b} p_a(x) k(z_a, z_b) p_b(y)

    for anchors z that determine the polynomials of degree < q, and the Lagrange polynomials p of the anchors. On
    coefficients that annihilate those polynomials both kernels give the same quadratic form, and with unpenalised
    polynomials the same fits. Positive definite, so landmarks and Cholesky factors apply. `degree` is q − 1, and
    `anchors` has one point for each of the p polynomials; `anchors_of` chooses them from data.

    References
    ----------
    Wendland, *Scattered Data Approximation* (2005), theorem 10.20. Wahba, *Spline Models for Observational Data*
    (1990), section 2.4.

    Examples
    --------
    >>> Reduced(Polyharmonic(1), np.array([[0.0]]), 0)([[1.0]], [[2.0], [-2.0]]) + 0.0
    array([[2., 0.]])
    """

    domain = Vectors()

    def __init__(self, kernel: Kernel, anchors: Any, degree: int):
        self.kernel, self.anchors, self.degree = kernel, anchors, degree

    def _parts(self, X: Checked) -> tuple[Any, Any]:
        """The Lagrange polynomials P at X, and k(X, Z) − ½ P k(Z, Z)."""
        xp = namespace(X)
        Z = like(self.anchors, X)
        basis = Polynomials(self.degree)
        P = basis(X) @ like(np.linalg.inv(host(basis(Z)).astype(np.float64)), X)
        return P, self.kernel.evaluate(X, Z) - P @ self.kernel.evaluate(Z) * xp.asarray(0.5, dtype=X.dtype)

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        xp = namespace(X)
        P, L = self._parts(X)
        Q, M = (P, L) if Y is None else self._parts(Y)
        return self.kernel.evaluate(X, Y) - P @ xp.matrix_transpose(M) - L @ xp.matrix_transpose(Q)

    def evaluate_diag(self, X: Checked) -> Any:
        P, L = self._parts(X)
        return self.kernel.evaluate_diag(X) - 2 * namespace(X).sum(P * L, axis=1)

    def expand(self, points: Checked, coefficients: Array) -> tuple[Any, Any, Any]:
        """Σ aᵢ k'(·, xᵢ) in terms of k: points, coefficients that annihilate the polynomials, and a polynomial."""
        xp = namespace(points)
        Z, basis = like(self.anchors, points), Polynomials(self.degree)
        P, _ = self._parts(points)
        joined = xp.concat([points, Z], axis=0)
        a = xp.concat([coefficients, -(xp.matrix_transpose(P) @ coefficients)], axis=0)
        at_anchors = self.kernel.evaluate(Z, joined) @ a
        return joined, a, like(-np.linalg.solve(host(basis(Z)), host(at_anchors)), points)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        inner = self.kernel.definiteness_in(dimension)
        return PD if inner.is_cpd and inner.order <= self.degree + 1 else UNKNOWN


def anchors_of(X: Checked, degree: int) -> np.ndarray:
    """Rows of X that determine the polynomials up to a degree, by pivoted QR factorisation; raises if none do."""
    X = host(X).astype(np.float64)
    H = Polynomials(degree)((X - X.mean(axis=0)) / (np.abs(X - X.mean(axis=0)).max() or 1.0))
    p = H.shape[1]
    R, pivots = linalg.qr(H.T, mode="r", pivoting=True)
    diagonal = np.abs(np.diagonal(R))
    if len(X) < p or diagonal[p - 1] <= 1e-12 * diagonal[0]:
        raise ValueError(
            f"The {len(X)} samples do not determine the {p} polynomials of degree {degree}; add samples off a common "
            "plane or curve, or lower the order."
        )
    return X[pivots[:p]]
