"""Laplace against kernlab (Euclidean), scikit-learn (Manhattan) and the definition."""

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import laplacian_kernel

from mercer._array import host
from mercer.kernels.laplace import Laplace

seeded = np.random.default_rng(0)
X, Y = seeded.normal(size=(7, 4)), seeded.normal(size=(5, 4))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("name", ["kernel_laplacedot_A", "kernel_laplacedot_iris"])
def test_kernlab(oracle, name):
    o = oracle(name)
    kernel = Laplace.from_kernlab(float(o["parameters"]["sigma"]))
    # kernlab rounds squared distances to nine decimals
    np.testing.assert_allclose(kernel(o["inputs"]["X"]), o["outputs"]["K_XX"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(kernel(o["inputs"]["X"], o["inputs"]["Y"]), o["outputs"]["K_XY"], rtol=0, atol=1e-8)


@pytest.mark.parametrize("gamma", [0.1, 1.7])
def test_scikit_learn(gamma, xp):
    kernel = Laplace.from_gamma(gamma)
    K = kernel(xp.asarray(X), xp.asarray(Y))
    np.testing.assert_allclose(host(K), laplacian_kernel(X, Y, gamma=gamma), rtol=1e-13)


@pytest.mark.parametrize("sparse", [csr_array, csr_matrix])
def test_sparse_manhattan(sparse, rng):
    A = np.where(rng.random((6, 9)) < 0.3, rng.normal(size=(6, 9)), 0.0)
    B = np.where(rng.random((4, 9)) < 0.3, rng.normal(size=(4, 9)), 0.0)
    scale = np.linspace(0.5, 2.0, 9)
    kernel = Laplace(scale, norm=1)
    expected = np.exp(-cdist(A / scale, B / scale, "cityblock"))
    np.testing.assert_allclose(kernel(sparse(A), sparse(B)), expected, rtol=1e-13)
    np.testing.assert_allclose(kernel(sparse(A), B), expected, rtol=1e-13)
    single = kernel(sparse(A.astype(np.float32)), sparse(B.astype(np.float32)))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-5)


def test_euclidean_is_not_manhattan():
    np.testing.assert_allclose(Laplace(2.0)(X, Y), np.exp(-cdist(X, Y) / 2), rtol=1e-12)
    assert not np.allclose(Laplace(2.0)(X, Y), Laplace(2.0, norm=1)(X, Y))


@pytest.mark.parametrize("scale", [0.3, np.array([0.3, 0.5, 1.0, 2.0])], ids=["number", "vector"])
def test_manhattan_far_from_the_origin(scale):
    A = (X + 1e4).astype(np.float32)
    D = np.abs(A[:, None, :].astype(np.longdouble) - A[None, :, :].astype(np.longdouble))
    np.testing.assert_allclose(Laplace(scale, norm=1)(A), np.exp(-np.sum(D / scale, axis=-1)), rtol=0, atol=1e-6)


@pytest.mark.parametrize("norm", [1, 2])
def test_abilities(norm):
    kernel = Laplace(norm=norm)
    assert kernel.provides - {"self_convolution"} == {"gradient_theta", "spectral_sample", "log_normalizer"}
    assert ("self_convolution" in kernel.provides) == (norm == 2)
    with pytest.raises(AttributeError, match="does not provide gradient_x"):
        kernel.gradient_x(X)
    assert kernel.definiteness.is_pd and kernel.definiteness.strict


@pytest.mark.parametrize("norm", [1, 2])
def test_gradient_theta_at_equal_points_is_zero(norm, xp):
    A = xp.asarray(X, dtype=xp.float32)
    for scale in (1.5, np.array([0.5, 1.0, 2.0, 3.0])):
        G = host(Laplace(scale, norm).gradient_theta(A)["lengthscale"])
        assert np.all(np.isfinite(G)) and np.all(G[np.arange(7), np.arange(7)] == 0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"norm": 3}, "Laplace: norm = 3 is unknown; choose one of 2, 1"),
        ({"norm": 1, "lengthscale": np.eye(4)}, "a matrix lengthscale needs norm=2"),
        ({"lengthscale": -1.0}, "Laplace: lengthscale = -1.0 must be > 0"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        Laplace(**parameters)(X)
