import numpy as np
import pytest

from mercer.gram import Centered, Dense, IncompleteCholesky, Lazy, LowRank
from mercer.gram.centered import CenteredGram
from mercer.kernels import Gaussian, Linear
from mercer.space import Function

REPRESENTATIONS = [Dense(), Lazy(), LowRank(), IncompleteCholesky()]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(20, 3)) + 5


@pytest.mark.parametrize("representation", REPRESENTATIONS, ids=lambda r: type(r).__name__)
def test_linear_kernel_of_centred_data(X, representation):
    gram = Centered(representation).build(Linear(), X, np.random.default_rng(0))
    Z, new = X - X.mean(axis=0), np.random.default_rng(1).normal(size=(4, 3))
    np.testing.assert_allclose(gram.dense(), Z @ Z.T, atol=1e-11)
    np.testing.assert_allclose(gram.cross(new).dense(), (new - X.mean(axis=0)) @ Z.T, atol=1e-11)
    assert gram.provides == gram.base.provides


@pytest.mark.parametrize("representation", REPRESENTATIONS, ids=lambda r: type(r).__name__)
def test_weighted_mean(X, representation):
    w = np.random.default_rng(1).uniform(size=20)
    gram = CenteredGram(representation.build(Linear(), X, np.random.default_rng(0)), w)
    Z = X - np.average(X, axis=0, weights=w)
    np.testing.assert_allclose(gram.dense(), Z @ Z.T, atol=1e-11)
    np.testing.assert_allclose(gram @ w, 0.0, atol=1e-11)
    np.testing.assert_allclose(gram @ np.eye(20), Z @ Z.T, atol=1e-11)
    np.testing.assert_allclose(gram.diagonal(), (Z**2).sum(axis=1), atol=1e-11)


def test_by_name():
    gram = Centered("lazy").build(Gaussian(), np.ones((3, 1)), np.random.default_rng(0))
    np.testing.assert_allclose(gram.dense(), np.zeros((3, 3)), atol=1e-15)


def test_functions_of_a_factor_far_from_the_origin():
    """Sample and mean are exact in binary; values less their mean keep the digits that the function's vector has."""
    rng = np.random.default_rng(2)
    X, new = rng.integers(-8, 8, size=(16, 3)) / 4, rng.integers(-8, 8, size=(5, 3)) / 4
    a = 1e3 * rng.normal(size=16)
    Z, far = X - X.mean(axis=0), 2.0**20
    gram = Centered("low_rank").build(Linear(), X + far, np.random.default_rng(0))
    f = Function(*gram.expansion(a))
    expected = (new - X.mean(axis=0)) @ (Z.T @ a)
    np.testing.assert_allclose(f(new + far) - gram.offset(a), expected, atol=1e-4)
    np.testing.assert_allclose(gram.cross(new + far) @ a, expected, atol=1e-4)
