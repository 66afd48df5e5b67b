"""Matérn against scikit-learn, closed forms, an integral representation and its own limits."""

from math import inf

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln, kv
from sklearn.gaussian_process.kernels import Matern as Reference

from mercer._array import host
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.laplace import Laplace
from mercer.kernels.matern import Matern

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))


def integral(nu, z):
    """Γ(ν)⁻¹ ∫₀^∞ uᵛ⁻¹ exp(−u − z²/4u) du, with u = exp t."""

    def integrand(t):
        return np.exp(nu * t - np.exp(t) - z**2 / (4 * np.exp(t)) - gammaln(nu))

    top = np.log((nu + np.sqrt(nu**2 + z**2)) / 2)
    return quad(integrand, top - 40, top + 40, points=[top], epsabs=0, epsrel=1e-12, limit=500)[0]


@pytest.mark.parametrize("nu", [0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.5, 4.2, inf])
def test_scikit_learn(nu):
    reference = Reference(length_scale=0.7, nu=nu)(X, Y)
    np.testing.assert_allclose(Matern(nu, 0.7)(X, Y), reference, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("nu", [0.05, 0.5, 1.0, 1.2, 2.5, 7.0, 20.5, 60.3, 200.0, 1000.0])
@pytest.mark.parametrize("r", [1e-3, 0.1, 1.0, 5.0])
def test_integral_representation(nu, r):
    value = Matern(nu)(np.zeros((1, 1)), np.array([[r]]))[0, 0]
    assert value == pytest.approx(integral(nu, np.sqrt(2 * nu) * r), rel=1e-10)


def test_closed_forms(xp):
    r = np.linalg.norm(X[:, None] - Y[None], axis=-1) / 1.3
    forms = {
        0.5: np.exp(-r),
        1.5: (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r),
        2.5: (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r),
    }
    for nu, expected in forms.items():
        K = Matern(nu, 1.3)(xp.asarray(X), xp.asarray(Y))
        np.testing.assert_allclose(host(K), expected, rtol=1e-12)


def test_neighbours_in_the_family():
    np.testing.assert_allclose(Matern(0.5, 1.3)(X), Laplace(1.3)(X), rtol=1e-14)
    np.testing.assert_array_equal(Matern(inf, 1.3)(X), Gaussian(1.3)(X))
    # |M_ν − Gaussian| = O(1/ν)
    np.testing.assert_allclose(Matern(1000)(X), Gaussian()(X), atol=2e-3)


@pytest.mark.parametrize("nu", [0.3, 0.5, 1.0, 1.5, 2.0, 2.5, 3.7, 50.2, 300.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_near_the_origin(nu, dtype, xp):
    """Values, slopes and curvatures are finite and tend to their limits as r → 0, underflow included."""
    kernel = Matern(nu)
    s = xp.asarray(np.array([0.0, 1e-44, 1e-38, 1e-30, 1e-20]), dtype=getattr(xp, dtype))
    phi = host(kernel.profile(s, xp)).astype(float)
    assert phi[0] == 1.0
    assert np.all(np.diff(phi) <= 1e-7) and np.all(np.isfinite(phi))
    slope = host(kernel.slope(s, xp)).astype(float)
    assert np.all(np.isfinite(slope))
    assert np.all(np.isfinite(host(s) * slope))
    if nu > 1:
        assert slope == pytest.approx(-nu / (2 * (nu - 1)), rel=1e-3)
        curvature = host(kernel.curvature(s, xp)).astype(float)
        assert np.all(np.isfinite(curvature)) and np.all(np.abs(host(s) * curvature) < 1e-3)
    else:
        assert slope[0] == 0.0


@pytest.mark.parametrize("nu", [0.3, 0.5, 0.8, 1.0, 1.3, 1.5, 2.0, 2.4, 3.5])
def test_derivatives_of_the_profile(nu):
    """φ^{(j)}(s) = (−ν)ʲ 2^{1−ν} z^{ν−j} K_{ν−j}(z) / Γ(ν), from SciPy's K at once."""
    kernel, s = Matern(nu), np.array([0.01, 0.3, 2.0, 30.0])
    z = np.sqrt(2 * nu * s)
    for j, ours in enumerate((kernel.profile(s, np), kernel.slope(s, np), kernel.curvature(s, np))):
        if j < 2 or nu > 1:
            expected = (-nu) ** j * np.exp((1 - nu) * np.log(2) - gammaln(nu)) * z ** (nu - j) * kv(nu - j, z)
            np.testing.assert_allclose(ours, expected, rtol=1e-11)


def test_provides_depends_on_nu():
    assert "gradient_x" not in Matern(0.5).provides
    assert "gradient_x" in Matern(0.75).provides and "mixed_xy" not in Matern(0.75).provides
    assert "mixed_xy" not in Matern(1.0).provides
    assert {"gradient_x", "mixed_xy"} <= Matern(1.01).provides
    with pytest.raises(AttributeError, match="does not provide mixed_xy"):
        Matern(1.0).mixed_xy(X)


@pytest.mark.parametrize("nu", [1.2, 1.5, 2.5, inf])
def test_mixed_derivative_on_the_diagonal(nu):
    """−2φ′(0)M: for ν = 3/2 this is 3/ℓ² times the identity, for ν → ∞ 1/ℓ²."""
    M = Matern(nu, 2.0).mixed_xy(X)[np.arange(7), np.arange(7)]
    expected = (1.0 if nu == inf else nu / (nu - 1)) / 4.0
    np.testing.assert_allclose(M, np.broadcast_to(expected * np.eye(3), (7, 3, 3)), rtol=1e-12)


@pytest.mark.parametrize("nu", [0, -1, 2000, float("nan"), -inf])
def test_bad_nu(nu):
    with pytest.raises(ValueError, match=r"Matern: nu = .* must be .*> 0"):
        Matern(nu)(X)
    with pytest.raises(TypeError, match="Matern: nu = 'rough' must be a finite number"):
        Matern("rough")(X)


@pytest.mark.parametrize("nu", [np.array([1.0, 2.0]), "1.5", None], ids=str)
def test_the_order_is_a_number(nu):
    with pytest.raises(TypeError, match=r"Matern: nu = .* must be a finite number > 0"):
        Matern(nu)([[0.5]])
