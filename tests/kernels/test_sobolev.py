import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import CubicSpline, make_smoothing_spline

from mercer.basis import Polynomials
from mercer.kernels.brownian import Brownian
from mercer.kernels.sobolev import Sobolev, truncated_powers


@pytest.mark.parametrize(("p", "q"), [(0, 0), (0, 1), (1, 0), (1, 1), (2, 1), (2, 3), (4, 4)])
def test_truncated_powers_by_quadrature(p, q):
    for x, y in [(0.3, 0.8), (0.8, 0.3), (2.0, 2.0), (0.0, 1.0), (1.5, 4.0)]:
        expected = quad(lambda u, x=x, y=y: (x - u) ** p * (y - u) ** q, 0, min(x, y))[0]
        value = truncated_powers(p, q, np.array([x]), np.array([y]), np)
        np.testing.assert_allclose(value, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("d", [1, 2])
def test_against_quadrature(order, d):
    rng = np.random.default_rng(order)
    X, Y = rng.uniform(size=(4, d)), rng.uniform(0, 2, size=(3, d))
    m = order - 1

    def one(x, y):
        return quad(lambda u: (x - u) ** m * (y - u) ** m / math.factorial(m) ** 2, 0, min(x, y))[0]

    expected = [[math.prod(map(one, x, y)) for y in Y] for x in X]
    np.testing.assert_allclose(Sobolev(order)(X, Y), expected, rtol=1e-12)


def test_order_one_is_brownian():
    X = np.random.default_rng(0).uniform(0, 3, size=(6, 3))
    np.testing.assert_allclose(Sobolev(1)(X), Brownian()(X), rtol=1e-15)


def penalised(order, x, y, alpha):
    """Minimise ½Σ(y − f)² + (α/2)‖f‖² over the space plus polynomials of degree < order, by the saddle-point system."""
    K, H = Sobolev(order)(x[:, None]), Polynomials(order - 1)(x[:, None])
    n, p = H.shape
    system = np.block([[K + alpha * np.eye(n), H], [H.T, np.zeros((p, p))]])
    a, c = np.split(np.linalg.solve(system, np.concatenate([y, np.zeros(p)])), [n])
    return lambda t: Sobolev(order)(t[:, None], x[:, None]) @ a + Polynomials(order - 1)(t[:, None]) @ c


def test_order_two_gives_the_cubic_smoothing_spline():
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(size=15))
    y = np.sin(6 * x) + 0.1 * rng.normal(size=15)
    new = np.linspace(x[0], x[-1], 50)
    for alpha in (1e-4, 1e-2):
        expected = make_smoothing_spline(x, y, lam=alpha)(new)
        np.testing.assert_allclose(penalised(2, x, y, alpha)(new), expected, atol=1e-8)


def test_order_two_interpolates_by_the_natural_cubic_spline():
    x, y = np.array([0.0, 0.5, 0.6, 1.5, 2.0]), np.array([1.0, 0.0, 2.0, -1.0, 0.5])
    new = np.linspace(0, 2, 41)
    expected = CubicSpline(x, y, bc_type="natural")(new)
    np.testing.assert_allclose(penalised(2, x, y, 0.0)(new), expected, atol=1e-11)


def test_derivatives_only_where_they_exist():
    assert Sobolev(1).provides == {"gradient_theta"}
    with pytest.raises(AttributeError, match="does not provide gradient_x"):
        Sobolev(1).gradient_x([[1.0]])


@pytest.mark.parametrize("order", [0, 1.5])
def test_refusals(order):
    with pytest.raises(ValueError, match="Sobolev: order = "):
        Sobolev(order)([[1.0]])
    with pytest.raises(ValueError, match=r"must be >= 0"):
        Sobolev(2)([[-0.5]])
