"""Closed forms of functions in certain spaces: a vector, a matrix, coefficients or a Fourier transform.

Each form is computed from the points and coefficients of a `Function`, and its norm is that of the function.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._array import host, is_sparse, like, namespace
from ._errors import check_number
from .kernels import Affine, Gaussian, Kernel, Linear
from .kernels.finite import FiniteDomain
from .kernels.polynomial import Polynomial
from .measures import GaussianMeasure
from .space import RKHS, Function
from .types import Array, Data

__all__ = [
    "affine_form",
    "finite_inner",
    "fourier_norm",
    "linear_form",
    "polynomial_form",
    "polynomial_function",
    "quadratic_form",
]

NODES = 2**22  # maximum number of quadrature nodes over all coordinates


def _require(f: Function, kernel: type, name: str, good: bool = True, which: str = "") -> Any:
    """f's kernel; raises unless it is the one that the function `name` needs."""
    if type(f.kernel) is not kernel or not good:
        raise TypeError(f"{name}: f must be in the space of {kernel.__name__}{which}, not of {f.kernel}.")
    if f.basis is not None:
        raise ValueError(f"{name}: f has an unpenalised part, which is not in the kernel's space.")
    return f.kernel


def linear_form(f: Function) -> Any:
    r"""The vector w of a function in the space of the linear kernel.

    .. math:: f(x) = w^\top x, \quad w = \sum_i a_i x_i, \quad \langle f, g \rangle = w_f^\top w_g

    Returns
    -------
    array of shape (d,) or (d, t)

    References
    ----------
    Aronszajn, *Theory of reproducing kernels* (1950), part I, section 3.

    Examples
    --------
    >>> f = RKHS("linear").function([[1.0, 0.0], [1.0, 2.0]], [1.0, 2.0])
    >>> linear_form(f), f.norm()
    (array([3., 4.]), 5.0)
    """
    _require(f, Linear, "linear_form")
    return _moment(f)


def affine_form(f: Function) -> tuple[Any, Any]:
    r"""The vector w and the constant w₀ of a function in the space of the affine kernel xᵀy + c.

    .. math:: f(x) = w^\top x + w_0, \quad w = \sum_i a_i x_i, \quad w_0 = c \sum_i a_i, \quad
              \|f\|^2 = \|w\|^2 + w_0^2 / c

    Returns
    -------
    w : array of shape (d,) or (d, t)
    w₀ : float or array of shape (t,)

    References
    ----------
    Aronszajn, *Theory of reproducing kernels* (1950), part I, section 3.

    Examples
    --------
    >>> f = RKHS("affine(offset=4.0)").function([[1.0, 0.0], [1.0, 2.0]], [1.0, -0.5])
    >>> affine_form(f)
    (array([ 0.5, -1. ]), 2.0)
    >>> round(f.norm() ** 2, 12) == 0.5**2 + 1.0**2 + 2.0**2 / 4.0
    True
    """
    kernel = _require(f, Affine, "affine_form")
    constant = kernel.offset * namespace(f.coefficients).sum(f.coefficients, axis=0)
    return _moment(f), float(constant) if constant.ndim == 0 else constant


def _moment(f: Function) -> Any:
    """Σ aᵢ xᵢ."""
    X = f.points
    return (X.T if is_sparse(X) else namespace(X).matrix_transpose(X)) @ f.coefficients


def quadratic_form(f: Function) -> Any:
    r"""The symmetric matrix S of a function in the space of the homogeneous quadratic kernel (s xᵀy)².

    .. math:: f(x) = x^\top S x, \quad S = s^2 \sum_i a_i x_i x_i^\top, \quad
              \langle f, g \rangle = \langle S_f, S_g \rangle_F / s^2

    that is, the Frobenius inner product for scale s = 1.

    Returns
    -------
    array of shape (d, d)

    References
    ----------
    Aronszajn, *Theory of reproducing kernels* (1950), part I, section 3.

    Examples
    --------
    >>> f = RKHS("polynomial(degree=2, offset=0.0)").function([[1.0, 1.0], [1.0, -1.0]], [2.0, 1.0])
    >>> quadratic_form(f)
    array([[3., 1.],
           [1., 3.]])
    >>> bool(np.isclose(f.norm(), np.linalg.norm(quadratic_form(f))))
    True
    """
    good = type(f.kernel) is Polynomial and f.kernel.degree == 2 and f.kernel.offset == 0
    kernel = _require(f, Polynomial, "quadratic_form", good, "(degree=2, offset=0)")
    if f.coefficients.ndim == 2:
        raise ValueError(f"quadratic_form: f has {f.coefficients.shape[1]} outputs; use one component, such as f[0].")
    X = f.points.toarray() if is_sparse(f.points) else f.points
    return kernel.scale**2 * (namespace(X).matrix_transpose(X) @ (f.coefficients[:, None] * X))


def polynomial_form(f: Function) -> Any:
    r"""The coefficients in {1, x, …, xᵖ} of a function of one variable in the space of the polynomial kernel.

    .. math:: f(x) = \sum_j c_j x^j, \quad c_j = w_j \sum_i a_i x_i^j, \quad w_j = \binom pj s^j c^{p-j}, \quad
              \|f\|^2 = \sum_j c_j^2 / w_j

    with the kernel (s xy + c)ᵖ = Σⱼ wⱼ xʲ yʲ.

    Returns
    -------
    array of shape (p + 1,) or (p + 1, t)

    References
    ----------
    Schölkopf, Smola, *Learning with Kernels* (2002), proposition 2.1.

    Examples
    --------
    >>> f = RKHS("polynomial(degree=2)").function([[1.0], [-2.0]], [1.0, 1.0])  # (1 + x)² + (1 − 2x)²
    >>> polynomial_form(f).round(12)
    array([ 2., -2.,  5.])
    """
    good = type(f.kernel) is Polynomial and float(f.kernel.degree).is_integer() and f.kernel.definiteness.is_pd
    kernel = _require(f, Polynomial, "polynomial_form", good, " with an integer degree and scale, offset >= 0")
    if f.points.shape[1] != 1:
        raise ValueError(f"polynomial_form: f has {f.points.shape[1]} variables; expected one.")
    weights = f.weights()
    root = like(np.sqrt(kernel.monomial_weights(1)), weights)
    return weights * (root if weights.ndim == 1 else root[:, None])


def polynomial_function(kernel: Kernel, coefficients: Array, points: Data = None) -> Function:
    r"""The polynomial Σ cⱼ xʲ as a function in the space of a polynomial kernel: the inverse of `polynomial_form`.

    .. math:: f = \sum_i b_i\, k(\cdot, z_i), \qquad \sum_i z_i^j\, b_i = c_j / w_j \quad (j = 0, \dots, p)

    Parameters
    ----------
    kernel : Polynomial, or an expression
        (s xy + c)ᵖ = Σⱼ wⱼ xʲ yʲ.
    coefficients : array of shape (p + 1,)
        c. If wⱼ = 0 (for low degrees with offset 0), cⱼ must be 0: that power is not in the space.
    points : array of shape (m, 1), optional
        z, at least p + 1 distinct points; by default Chebyshev points on [−1, 1].

    References
    ----------
    Schölkopf, Smola, *Learning with Kernels* (2002), proposition 2.1; for the Vandermonde system, solvable for distinct
    points, Golub, Van Loan, *Matrix Computations* (2013), section 4.6.

    Examples
    --------
    >>> f = polynomial_function("polynomial(degree=2)", [1.0, 0.0, -3.0])  # 1 − 3x²
    >>> f([[0.0], [2.0]]).round(9)
    array([  1., -11.])
    >>> round(f.norm() ** 2, 9)  # 1²/1 + 0²/2 + 3²/1
    10.0
    """
    H = RKHS(kernel)
    if type(H.kernel) is not Polynomial or not float(H.kernel.degree).is_integer():
        raise TypeError(f"polynomial_function: the kernel must be Polynomial with an integer degree, not {H.kernel}.")
    p = int(H.kernel.degree)
    c = host(coefficients).astype(np.float64)
    if c.shape != (p + 1,):
        raise ValueError(
            f"polynomial_function: coefficients have shape {c.shape}; expected ({p + 1},), from 1 to x^{p}."
        )
    if points is None:
        points = np.cos(np.pi * (np.arange(p + 1) + 0.5) / (p + 1))[:, None]
    z = host(points).astype(np.float64)
    if z.ndim != 2 or z.shape[1] != 1:
        raise ValueError(f"polynomial_function: points have shape {z.shape}; expected (m, 1).")
    w = H.kernel.monomial_weights(1)
    if np.any(c[w == 0] != 0):
        absent = ", ".join(f"x^{j}" for j in np.flatnonzero((w == 0) & (c != 0)))
        raise ValueError(f"polynomial_function: {absent} is not in the space of {H.kernel}; raise its offset.")
    V = np.vander(z[:, 0], p + 1, increasing=True).T[w != 0]
    if np.linalg.matrix_rank(V) < len(V):
        raise ValueError(
            f"polynomial_function: points has {len(np.unique(z))} distinct values; pass at least {len(V)}."
        )
    return H.function(points, np.linalg.lstsq(V, c[w != 0] / w[w != 0], rcond=None)[0])


def finite_inner(matrix: Array, f: Array, g: Array) -> float:
    r"""The inner product of two functions on the finite set {0, …, n−1}, from their values.

    .. math:: \langle f, g \rangle = f^\top K^{-1} g

    For a singular K the space is the range of K, and K⁻¹ its pseudo-inverse.

    Parameters
    ----------
    matrix : array of shape (n, n)
        K, positive semi-definite.
    f, g : arrays of shape (n,), or functions in the space of ``FiniteDomain(matrix)``
        Values, which must be in the range of K.

    References
    ----------
    Aronszajn, *Theory of reproducing kernels* (1950), part I, section 3.

    Examples
    --------
    >>> finite_inner([[2.0, 0.0], [0.0, 4.0]], [1.0, 2.0], [1.0, 1.0])
    1.0
    """
    kernel = RKHS(FiniteDomain(matrix)).kernel
    K = host(kernel.matrix).astype(np.float64)
    n = len(K)
    eigenvalues, vectors = np.linalg.eigh(K)
    noise = 10 * n * np.finfo(np.float64).eps * eigenvalues[-1]
    keep = eigenvalues > noise
    parts = []
    for name, h in (("f", f), ("g", g)):
        values = host(h(np.arange(n)) if callable(h) else h).astype(np.float64)
        if values.shape != (n,):
            raise ValueError(f"finite_inner: {name} has shape {values.shape}; expected ({n},), one value per point.")
        part = vectors.T @ values
        if np.linalg.norm(part[~keep]) > 1e-8 * np.linalg.norm(part):
            raise ValueError(f"finite_inner: {name} is not in the range of the matrix, so it is not in the space.")
        parts.append(part[keep])
    return float(np.sum(parts[0] * parts[1] / eigenvalues[keep]))


def fourier_norm(f: Function, nodes: int | None = None) -> Any:
    r"""‖f‖ in the space of the Gaussian kernel, from the Fourier transform of f, in up to three dimensions.

    .. math:: \|f\|^2 = (2\pi)^{-d} \int \frac{|\hat f(\omega)|^2}{\hat k(\omega)}\, d\omega, \qquad
              \hat f(\omega) = \hat k(\omega) \sum_i a_i e^{-i \omega^\top x_i}

    (2π)⁻ᵈ k̂ is the density of N(0, Λ⁻ᵀΛ⁻¹), so the integral is the mean of |Σ aᵢ exp(−iωᵀxᵢ)|², computed by
    Gauss–Hermite quadrature.

    Parameters
    ----------
    f : Function
    nodes : int, optional
        Nodes per coordinate. They must resolve cos ωᵀ(xᵢ − xⱼ), so their number grows with the square of the points'
        spread in lengthscales: 20 + spread² by default.

    References
    ----------
    Wendland, *Scattered Data Approximation* (2005), theorem 10.12.

    Examples
    --------
    >>> f = RKHS("gaussian").function([[0.0], [1.0]], [1.0, -2.0])
    >>> bool(np.isclose(fourier_norm(f), f.norm()))
    True
    """
    kernel = _require(f, Gaussian, "fourier_norm")
    X = f.points.toarray() if is_sparse(f.points) else host(f.points).astype(np.float64)
    d = X.shape[1]
    if d > 3:
        raise ValueError(f"fourier_norm: f has {d} variables; quadrature over more than 3 needs too many nodes.")
    U = host(kernel.scaled(X - X.mean(axis=0)))  # ωᵀx = vᵀu with v ~ N(0, I)
    if nodes is None:
        nodes = 20 + int(np.ceil(np.max(np.ptp(U, axis=0)) ** 2))
    check_number("fourier_norm", "nodes", nodes, at_least=1, integer=True)
    if nodes**d > NODES:
        raise ValueError(
            f"fourier_norm: the points spread over many lengthscales, which takes {nodes} nodes per coordinate, too "
            f"many in dimension {d}; use f.norm(), or pass fewer nodes."
        )
    V, weights = GaussianMeasure(np.zeros(d)).quadrature(nodes)
    a = host(f.coefficients).astype(np.float64)
    square = 0.0
    for start in range(0, len(V), 1 << 14):
        part = slice(start, start + (1 << 14))
        phase = V[part] @ U.T
        square = square + weights[part] @ ((np.cos(phase) @ a) ** 2 + (np.sin(phase) @ a) ** 2)
    return float(np.sqrt(square)) if a.ndim == 1 else np.sqrt(square)
