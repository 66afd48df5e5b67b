"""The spaces that can be written down: each form has the function's values and norm, and the way back closes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mercer import RKHS, Function
from mercer._array import host
from mercer.basis import Polynomials
from mercer.closed_forms import (
    affine_form,
    finite_inner,
    fourier_norm,
    linear_form,
    polynomial_form,
    polynomial_function,
    quadratic_form,
)
from mercer.kernels import Affine, FiniteDomain, Gaussian, Laplace, Linear, Polynomial

SEEDS = st.integers(0, 2**32 - 1)


def two(kernel, seed, d=3, n=5, outputs=None):
    """Two random functions of one space, and points to compare them at."""
    rng = np.random.default_rng(seed)
    H = RKHS(kernel)
    shape = (n,) if outputs is None else (n, outputs)
    f, g = (H.function(rng.normal(size=(n, d)), rng.normal(size=shape)) for _ in range(2))
    return f, g, rng.normal(size=(4, d))


# ---- linear, affine, quadratic


@given(SEEDS, st.integers(1, 5), st.integers(1, 7))
def test_linear(seed, d, n):
    f, g, Z = two(Linear(), seed, d, n)
    w, v = linear_form(f), linear_form(g)
    np.testing.assert_allclose(f(Z), Z @ w, atol=1e-10)
    assert f.norm() == pytest.approx(np.linalg.norm(w))
    assert f.inner(g) == pytest.approx(w @ v, abs=1e-10)


@given(SEEDS, st.floats(0.01, 100))
def test_affine(seed, c):
    f, g, Z = two(Affine(c), seed)
    (w, w0), (v, v0) = affine_form(f), affine_form(g)
    scale = 1 + c
    np.testing.assert_allclose(f(Z), Z @ w + w0, atol=1e-9 * scale)
    assert f.norm() ** 2 == pytest.approx(w @ w + w0**2 / c, abs=1e-8 * scale)
    assert f.inner(g) == pytest.approx(w @ v + w0 * v0 / c, abs=1e-8 * scale)


@given(SEEDS, st.floats(0.1, 4), st.integers(1, 4))
def test_quadratic(seed, scale, d):
    f, g, Z = two(Polynomial(2, scale=scale, offset=0.0), seed, d)
    S, T = quadratic_form(f), quadratic_form(g)
    np.testing.assert_allclose(S, S.T, atol=1e-12 * np.abs(S).max())
    np.testing.assert_allclose(f(Z), np.einsum("ni,ij,nj->n", Z, S, Z), rtol=1e-9, atol=1e-9 * np.abs(S).max())
    size = np.linalg.norm(S) * np.linalg.norm(T) / scale**2
    assert f.inner(g) == pytest.approx(np.sum(S * T) / scale**2, abs=1e-9 * size)
    assert f.norm() == pytest.approx(np.linalg.norm(S) / scale, rel=1e-9)


def test_quadratic_form_of_an_evaluation():
    """k(·, x) of (xᵀy)² is the form with S = xxᵀ."""
    x = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(quadratic_form(RKHS(Polynomial(2, offset=0.0)).evaluation(x)), np.outer(x, x))


# ---- polynomials in one variable


@given(SEEDS, st.integers(1, 6), st.floats(0.2, 3), st.floats(0.0, 3))
def test_polynomial(seed, degree, scale, offset):
    kernel = Polynomial(degree, scale=scale, offset=offset)
    f, _, Z = two(kernel, seed, d=1, n=degree + 2)
    c = polynomial_form(f)
    size = np.abs(f(Z)).max() + np.abs(c).sum() * np.abs(Z).max() ** degree + 1
    np.testing.assert_allclose(np.polynomial.polynomial.polyval(Z[:, 0], c), f(Z), atol=1e-11 * size)
    # the coefficients of (s x y + c)ᵖ by repeated multiplication, not by the binomial theorem
    w = np.array([1.0])
    for _ in range(degree):
        w = np.convolve(w, [offset, scale])
    keep = w > 0
    assert np.sum(c[keep] ** 2 / w[keep]) == pytest.approx(f.norm() ** 2, rel=1e-8)
    back = polynomial_function(kernel, np.where(keep, c, 0.0))
    np.testing.assert_allclose(back(Z), f(Z), atol=1e-8 * size)
    assert back.norm() == pytest.approx(f.norm(), rel=1e-5)


def test_the_way_back_solves_the_vandermonde_system():
    kernel, c, z = Polynomial(3, offset=2.0), np.array([1.0, -2.0, 0.0, 4.0]), np.array([-1.0, 0.0, 0.5, 2.0])
    f = polynomial_function(kernel, c, z[:, None])
    right = c / np.array([8.0, 12.0, 6.0, 1.0])  # (xy + 2)³
    np.testing.assert_allclose(np.vander(z, 4, increasing=True).T @ f.coefficients, right, atol=1e-12)
    np.testing.assert_allclose(polynomial_form(f), c, atol=1e-10)
    assert f.norm() ** 2 == pytest.approx(np.sum(c * right))
    more = polynomial_function(kernel, c, np.linspace(-1, 1, 9)[:, None])
    assert more.distance(f) <= 1e-6 * f.norm()


def test_polynomial_with_offset_zero():
    """The space of (xy)³ is the multiples of x³ alone."""
    kernel = Polynomial(3, offset=0.0)
    f = polynomial_function(kernel, [0.0, 0.0, 0.0, 5.0], [[2.0]])
    np.testing.assert_allclose(f([[1.0], [2.0]]), [5.0, 40.0])
    assert f.norm() == pytest.approx(5.0)
    with pytest.raises(ValueError, match=r"x\^0, x\^2 is not in the space"):
        polynomial_function(kernel, [1.0, 0.0, 1.0, 5.0])


# ---- a finite set


@given(SEEDS, st.integers(1, 6))
def test_finite(seed, n):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n + 2))
    K = A @ A.T
    H = RKHS(FiniteDomain(K))
    f, g = (H.function(rng.integers(0, n, size=4), rng.normal(size=4)) for _ in range(2))
    everywhere = np.arange(n)
    size = 1e-7 * (1 + f.norm() * g.norm())
    assert finite_inner(K, f(everywhere), g(everywhere)) == pytest.approx(f.inner(g), abs=size)
    assert finite_inner(K, f, g) == pytest.approx(f.inner(g), abs=size)
    # reproducing: fᵀK⁻¹(Keᵢ) = fᵢ
    assert finite_inner(K, f, K[:, 0]) == pytest.approx(f([0])[0], abs=size)


def test_finite_singular():
    K = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    f = RKHS(FiniteDomain(K)).function([0, 2], [3.0, 1.0])
    assert finite_inner(K, f, f) == pytest.approx(f.norm() ** 2)
    with pytest.raises(ValueError, match="f is not in the range"):
        finite_inner(K, [1.0, 0.0, 0.0], [1.0, 1.0, 0.0])


# ---- the Gaussian norm from the Fourier transform


@pytest.mark.parametrize(
    ("lengthscale", "d"),
    [(1.0, 1), (0.3, 1), (np.array([0.7, 2.0]), 2), (np.array([[1.0, 0.5], [0.0, 0.8]]), 2), (1.5, 3)],
)
def test_fourier_norm(lengthscale, d):
    f, _, _ = two(Gaussian(lengthscale), seed=1, d=d, n=6)
    assert fourier_norm(f) == pytest.approx(f.norm(), rel=1e-10)
    f, _, _ = two(Gaussian(lengthscale), seed=2, d=d, n=3, outputs=2)
    np.testing.assert_allclose(fourier_norm(f), f.norm(), rtol=1e-10)


def test_fourier_norm_against_the_integral_itself():
    """(2π)⁻¹ ∫ |f̂|²/k̂ with f̂ = ∫ f(x) exp(−iωx) dx summed on a grid from the values of f alone."""
    ell = 0.8
    f = RKHS(Gaussian(ell)).function([[0.0], [0.7], [-1.2]], [1.0, -2.0, 0.5])
    x = np.linspace(-14, 14, 4001)
    omega = np.linspace(-7 / ell, 7 / ell, 1401)
    transform = np.exp(-1j * np.outer(omega, x)) @ f(x[:, None]) * (x[1] - x[0])
    kernel_transform = np.sqrt(2 * np.pi) * ell * np.exp(-((ell * omega) ** 2) / 2)
    square = np.sum(np.abs(transform) ** 2 / kernel_transform) * (omega[1] - omega[0]) / (2 * np.pi)
    assert fourier_norm(f) ** 2 == pytest.approx(square, rel=1e-8)


def test_fourier_norm_needs_enough_nodes():
    f = RKHS(Gaussian(0.1)).function([[0.0], [1.0]], [1.0, 1.0])  # ten lengthscales apart: nearly orthogonal
    assert fourier_norm(f) == pytest.approx(f.norm(), rel=1e-10)
    assert abs(fourier_norm(f, nodes=10) - f.norm()) > 1e-3
    with pytest.raises(ValueError, match="many lengthscales"):
        fourier_norm(RKHS(Gaussian(0.05)).function([[0.0] * 3, [1.0] * 3], [1.0, 1.0]))
    with pytest.raises(ValueError, match="4 variables"):
        fourier_norm(RKHS(Gaussian()).function(np.zeros((1, 4)), [1.0]))


# ---- array libraries, sparse data, several outputs, refusals


def test_libraries(xp):
    X, a = np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([1.0, -2.0])
    for kernel, form in (
        (Linear(), linear_form),
        (Affine(2.0), lambda f: affine_form(f)[0]),
        (Polynomial(2, offset=0.0), quadratic_form),
        (Polynomial(2), lambda f: polynomial_form(f)),
    ):
        A = X[:, 1:] if kernel == Polynomial(2) else X
        expected = form(RKHS(kernel).function(A, a))
        value = form(RKHS(kernel).function(xp.asarray(A), a))
        assert isinstance(value, type(xp.asarray(X)))
        np.testing.assert_allclose(host(value), expected)
    assert fourier_norm(RKHS(Gaussian()).function(xp.asarray(X), a)) == pytest.approx(
        RKHS(Gaussian()).function(X, a).norm()
    )


def test_sparse_points():
    X, a = np.array([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]]), np.array([1.0, -2.0])
    S = csr_array(X)
    np.testing.assert_allclose(linear_form(RKHS(Linear()).function(S, a)), X.T @ a)
    w, w0 = affine_form(RKHS(Affine(3.0)).function(S, a))
    np.testing.assert_allclose(w, X.T @ a)
    assert w0 == -3.0
    kernel = Polynomial(2, offset=0.0)
    np.testing.assert_allclose(quadratic_form(RKHS(kernel).function(S, a)), quadratic_form(RKHS(kernel).function(X, a)))
    f = RKHS(Gaussian()).function(S, a)
    assert fourier_norm(f) == pytest.approx(f.norm())


def test_several_outputs():
    f, _, Z = two(Affine(2.0), 3, outputs=2)
    w, w0 = affine_form(f)
    np.testing.assert_allclose(Z @ w + w0, f(Z), atol=1e-10)
    f, _, Z = two(Polynomial(2), 3, d=1, outputs=2)
    np.testing.assert_allclose(np.vander(Z[:, 0], 3, increasing=True) @ polynomial_form(f), f(Z), atol=1e-9)
    f, _, _ = two(Polynomial(2, offset=0.0), 3, outputs=2)
    with pytest.raises(ValueError, match="2 outputs"):
        quadratic_form(f)


@pytest.mark.parametrize("form", [linear_form, affine_form, quadratic_form, polynomial_form, fourier_norm])
def test_other_kernels_are_refused(form):
    f = RKHS(Laplace()).function([[1.0]], [1.0])
    with pytest.raises(TypeError, match=rf"{form.__name__}: f must be in the space of .*, not of laplace"):
        form(f)


def test_other_refusals():
    with pytest.raises(TypeError, match=r"Polynomial\(degree=2, offset=0\), not of polynomial\(degree=2\)"):
        quadratic_form(RKHS(Polynomial(2)).function([[1.0]], [1.0]))
    with pytest.raises(ValueError, match="2 variables; expected one"):
        polynomial_form(RKHS(Polynomial(2)).function([[1.0, 2.0]], [1.0]))
    with pytest.raises(ValueError, match="unpenalised part"):
        linear_form(Function(Linear(), np.ones((1, 1)), np.ones(1), Polynomials(0), np.ones(1)))
    with pytest.raises(TypeError, match="must be Polynomial"):
        polynomial_function("linear", [1.0])
    with pytest.raises(ValueError, match=r"shape \(2,\); expected \(4,\)"):
        polynomial_function("polynomial", [1.0, 2.0])
    with pytest.raises(ValueError, match="points has 2 distinct values; pass at least 3"):
        polynomial_function("polynomial(degree=2)", [1.0, 2.0, 3.0], [[1.0], [2.0], [1.0]])
    with pytest.raises(ValueError, match=r"points have shape \(3,\); expected \(m, 1\)"):
        polynomial_function("polynomial(degree=2)", [1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"f has shape \(1,\); expected \(2,\)"):
        finite_inner(np.eye(2), [1.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="INDEFINITE"):
        finite_inner([[0.0, 1.0], [1.0, 0.0]], [1.0, 1.0], [1.0, 1.0])
