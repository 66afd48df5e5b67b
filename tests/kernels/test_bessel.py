"""Bessel against kernlab, elementary orders, and the dimensions in which it is definite."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.distance import cdist
from scipy.special import gamma, jv

from mercer.kernels import INDEFINITE, UNKNOWN
from mercer.kernels.bessel import Bessel


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def simple(nu, z):
    return gamma(nu + 1) * (2 / z) ** nu * jv(nu, z)


@pytest.mark.parametrize("name", ["kernel_besseldot_A", "kernel_besseldot_C"])
def test_kernlab(oracle, name):
    o = oracle(name)
    p = o["parameters"]
    kernel = Bessel.from_kernlab(p["sigma"], p["order"], p["degree"])
    # kernlab rounds squared distances to nine decimals
    np.testing.assert_allclose(kernel(o["inputs"]["X"]), o["outputs"]["K_XX"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(kernel(o["inputs"]["X"], o["inputs"]["Y"]), o["outputs"]["K_XY"], rtol=0, atol=1e-8)


@pytest.mark.parametrize("nu", [0, 0.5, 1, 2.7, 6])
def test_definition(nu):
    x = np.array([[1e-3], [0.3], [2.0], [17.0], [120.0]])
    np.testing.assert_allclose(Bessel(nu, 0.8)(x, [[0.0]])[:, 0], simple(nu, x[:, 0] / 0.8), rtol=1e-10, atol=1e-15)


def test_elementary_order():
    """j_{1/2}(z) = sin z / z."""
    x = np.linspace(0.1, 30, 50)[:, None]
    np.testing.assert_allclose(Bessel(0.5)(x, [[0.0]])[:, 0], np.sinc(x[:, 0] / np.pi), atol=1e-15)


@pytest.mark.parametrize("nu", [0, 1, 30, 150.0])
def test_near_the_origin(nu):
    """1 − z²/4(ν + 1) + …, where powers of z alone would underflow."""
    z = np.array([[0.0], [1e-200], [1e-8], [1e-3]])
    expected = 1 - z[:, 0] ** 2 / (4 * (nu + 1))
    np.testing.assert_allclose(Bessel(nu)(z, [[0.0]])[:, 0], expected, rtol=0, atol=1e-13)
    assert np.all(np.isfinite(Bessel(nu, degree=2).mixed_xy(z)))


def test_definite_up_to_its_dimension(rng):
    """The smallest eigenvalue on a fine grid changes sign with the dimension, as claimed."""
    for nu, dimension in ((0.0, 2), (0.5, 3), (1.0, 4)):
        for d in range(1, dimension + 1):
            assert Bessel(nu).definiteness_in(d).strict and Bessel(nu).definiteness_in(d).is_pd
            X = rng.normal(size=(120, d)) * 2
            assert np.linalg.eigvalsh(Bessel(nu, 0.4)(X)).min() > -1e-12
        assert Bessel(nu).definiteness_in(dimension + 1) == INDEFINITE
    assert Bessel(1.0).definiteness == UNKNOWN


def test_indefinite_beyond():
    """j_0 in three dimensions: spheres around the minimum of J_0 give a negative form."""
    steps = np.linspace(-8, 8, 9)
    X = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    assert np.linalg.eigvalsh(Bessel(0.0)(X)).min() < -0.1


def test_minimum_rises_with_the_order():
    """What the proof of indefiniteness uses: min j_ν increases strictly with ν."""
    z = np.linspace(0.5, 12, 4000)
    minima = [simple(nu, z).min() for nu in (0, 0.5, 1, 1.5, 2, 3)]
    assert np.all(np.diff(minima) > 0)


def test_neumann_integral():
    """What the claim on even powers uses: j_ν(z)² is the mean of j_{2ν}(2z cos θ), weighted by cos²ᵛθ."""
    for nu in (0.5, 1.0, 1.7):
        for z in (0.7, 3.0):
            weight = quad(lambda t, nu=nu: np.cos(t) ** (2 * nu), 0, np.pi / 2)[0]
            mean = quad(lambda t, nu=nu, z=z: simple(2 * nu, 2 * z * np.cos(t)) * np.cos(t) ** (2 * nu), 0, np.pi / 2)[
                0
            ]
            assert simple(nu, z) ** 2 == pytest.approx(mean / weight, rel=1e-9)


def test_powers(rng):
    even, odd = Bessel(1.0, degree=2), Bessel(1.0, degree=3)
    assert even.definiteness_in(6).strict and even.definiteness_in(7) == UNKNOWN
    assert odd.definiteness_in(4).strict and odd.definiteness_in(5) == UNKNOWN
    X = rng.normal(size=(150, 6))
    assert np.linalg.eigvalsh(Bessel(1.0, 0.3, 2)(X)).min() > -1e-12
    np.testing.assert_allclose(even(X[:5]), Bessel(1.0)(X[:5]) ** 2, rtol=1e-13)


def test_anisotropic(rng):
    X, scale = rng.normal(size=(6, 3)), np.array([0.5, 1.0, 2.0])
    z = cdist(X / scale, X / scale) + np.eye(6)
    expected = np.where(np.eye(6) == 1, 1.0, simple(1.0, z))
    np.testing.assert_allclose(Bessel(1.0, scale)(X), expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"order": -0.5}, "Bessel: order = -0.5 must be >= 0"),
        ({"degree": 0}, "Bessel: degree = 0 must be >= 1"),
        ({"degree": 1.5}, "Bessel: degree = 1.5 must be an integer"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        Bessel(**parameters)([[0.0]])
