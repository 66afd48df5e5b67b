import numpy as np
import pytest

from mercer.kernels import PD
from mercer.kernels.brownian import Brownian


@pytest.mark.parametrize("d", [1, 3])
def test_against_a_double_loop(d):
    rng = np.random.default_rng(0)
    X, Y = rng.uniform(0, 3, size=(5, d)), rng.uniform(0, 3, size=(4, d))
    expected = [[np.prod([min(a, b) for a, b in zip(x, y, strict=True)]) for y in Y] for x in X]
    np.testing.assert_allclose(Brownian()(X, Y), expected, rtol=1e-15)


def test_covariance_of_a_random_walk():
    """Σ of independent increments: L diag(t₁, t₂ − t₁, …) Lᵀ with L the lower triangle of ones."""
    t = np.array([0.1, 0.4, 0.5, 2.0])
    L = np.tril(np.ones((4, 4)))
    np.testing.assert_allclose(Brownian()(t[:, None]), L @ np.diag(np.diff(t, prepend=0.0)) @ L.T, rtol=1e-14)


def test_interpolation_is_piecewise_linear():
    t, y, new = np.array([1.0, 2.0, 4.0]), np.array([1.0, -1.0, 3.0]), np.linspace(0, 6, 25)
    coefficients = np.linalg.solve(Brownian()(t[:, None]), y)
    expected = np.interp(new, [0.0, *t], [0.0, *y])
    np.testing.assert_allclose(Brownian()(new[:, None], t[:, None]) @ coefficients, expected, atol=1e-13)


def test_not_strict_because_of_zero():
    assert Brownian().definiteness == PD
    assert not Brownian().definiteness.strict
    np.testing.assert_array_equal(Brownian()([[0.0], [1.0]]), [[0, 0], [0, 1]])


def test_negative_inputs_are_refused():
    with pytest.raises(ValueError, match=r"Brownian: Negative values in data: X holds -1, but must be >= 0"):
        Brownian()([[-1.0]])
