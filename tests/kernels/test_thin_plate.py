"""ThinPlate: definition, conditional definiteness of order 2 in every dimension, interpolation as SciPy's."""

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator
from scipy.spatial.distance import cdist
from scipy.special import xlogy

from mercer._array import host
from mercer.basis import Polynomials
from mercer.kernels import CPD
from mercer.kernels.thin_plate import ThinPlate


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_definition(xp, rng):
    X = rng.normal(size=(9, 2))
    r = cdist(X, X) / 1.3
    np.testing.assert_allclose(host(ThinPlate(1.3)(xp.asarray(X))), xlogy(r**2, r), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_order_two_in_every_dimension(d, rng):
    X = rng.normal(size=(25, d))
    K, H = ThinPlate()(X), Polynomials(1)(X)
    N = np.linalg.svd(H, full_matrices=True)[0][:, d + 1 :]
    assert np.linalg.eigvalsh(N.T @ K @ N).min() > 1e-12 * np.abs(K).max()
    assert ThinPlate().definiteness_in(d) == CPD(2) and ThinPlate().definiteness_in(d).strict
    # and not of order 1
    N = np.linalg.svd(np.ones((25, 1)), full_matrices=True)[0][:, 1:]
    assert np.linalg.eigvalsh(N.T @ K @ N).min() < -1e-3


def test_lengthscale_does_not_matter_on_annihilators(rng):
    """(r/ℓ)² log(r/ℓ) differs from r² log r / ℓ² by a multiple of r², whose form is −2‖Σ c x‖² = 0."""
    X = rng.normal(size=(12, 2))
    N = np.linalg.svd(Polynomials(1)(X), full_matrices=True)[0][:, 3:]
    np.testing.assert_allclose(N.T @ ThinPlate(2.0)(X) @ N, N.T @ ThinPlate()(X) @ N / 4, atol=1e-12)


def test_interpolation_as_scipy(rng):
    X, Y = rng.normal(size=(15, 2)), rng.normal(size=(6, 2))
    values = np.sin(X[:, 0]) * X[:, 1]
    H = Polynomials(1)(X)
    system = np.block([[ThinPlate()(X), H], [H.T, np.zeros((3, 3))]])
    solution = np.linalg.solve(system, np.concatenate([values, np.zeros(3)]))
    found = ThinPlate()(Y, X) @ solution[:15] + Polynomials(1)(Y) @ solution[15:]
    np.testing.assert_allclose(found, RBFInterpolator(X, values, kernel="thin_plate_spline")(Y), rtol=1e-8)


def test_gradient_at_equal_points_is_zero(xp, rng):
    X = xp.asarray(rng.normal(size=(4, 2)), dtype=xp.float32)
    G = host(ThinPlate().gradient_x(X))
    assert np.all(np.isfinite(G)) and np.all(G[np.arange(4), np.arange(4)] == 0)
    assert ThinPlate().provides == {"gradient_x", "gradient_theta"}
