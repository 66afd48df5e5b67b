from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from mercer.kernels.bernoulli import Bernoulli, scaled_bernoulli
from mercer.testing import check_kernel


@pytest.mark.parametrize("kernel", Bernoulli.examples(), ids=str)
def test_laws(kernel):
    check_kernel(kernel)


def test_polynomials():
    x = np.linspace(0, 1, 9)
    np.testing.assert_allclose(scaled_bernoulli(0, x), 1)
    np.testing.assert_allclose(scaled_bernoulli(1, x), x - 0.5, atol=1e-16)
    np.testing.assert_allclose(scaled_bernoulli(2, x), ((x - 0.5) ** 2 - 1 / 12) / 2, atol=1e-16)
    k1 = x - 0.5
    np.testing.assert_allclose(scaled_bernoulli(4, x), (k1**4 - k1**2 / 2 + 7 / 240) / 24, atol=1e-16)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("y", [0.3, 1.4, -0.7])
def test_sections_have_mean_zero(order, y):
    def section(t):
        return Bernoulli(order)(np.array([[t]]), np.array([[y]]))[0, 0]

    breaks = sorted({0.0, 1.0, min(max(y, 0.0), 1.0)})
    assert sum(quad(section, a, b)[0] for a, b in pairwise(breaks)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("y", [0.3, 1.4, -0.7])
def test_sections_reproduce_each_other(order, y):
    """⟨k(·, y), k(·, z)⟩ = k(y, z), with the integral of the m-th derivatives by differences, over the line."""
    grid, z = np.linspace(-2, 2.5, 45_001), 0.6
    h = grid[1] - grid[0]
    values = Bernoulli(order)(grid[:, None], np.array([[y], [z]]))
    D = np.diff(values, order, axis=0) / h**order
    expected = Bernoulli(order)(np.array([[y]]), np.array([[z]]))[0, 0]
    assert h * D[:, 0] @ D[:, 1] == pytest.approx(expected, rel=2e-3, abs=1e-5)


def test_positive_definite_beyond_the_unit_interval():
    X = np.linspace(-1, 2, 25)[:, None]
    for order in (1, 2, 3):
        assert Bernoulli(order).check(X).ok


def test_continues_as_a_polynomial():
    X = np.linspace(1, 3, 9)[:, None]
    for order in (1, 2, 3):
        values = Bernoulli(order)(X, np.array([[0.3], [0.9]]))
        np.testing.assert_allclose(np.diff(values, order, axis=0), 0, atol=1e-15)
