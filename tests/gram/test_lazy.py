import tracemalloc

import numpy as np
import pytest
from scipy.sparse import random_array

from mercer.gram import Dense, Lazy
from mercer.kernels import Gaussian

N = 1700  # enough for tiles


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(N, 6))


@pytest.mark.parametrize("columns", [(), (3,)])
@pytest.mark.parametrize("memory", [2**16, 2**27])
@pytest.mark.parametrize("n_jobs", [1, None])
def test_product_is_that_of_the_matrix(X, columns, memory, n_jobs):
    V = np.random.default_rng(1).normal(size=(N, *columns))
    gram = Lazy(memory=memory, n_jobs=n_jobs).build(Gaussian(), X, np.random.default_rng(0))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=-1) / 2)
    np.testing.assert_allclose(gram @ V, K @ V, rtol=0, atol=1e-10)


def test_cross_product_in_tiles(X):
    Y = np.random.default_rng(2).normal(size=(1500, 6))
    v = np.random.default_rng(1).normal(size=N)
    cross = Lazy().build(Gaussian(), X, np.random.default_rng(0)).cross(Y)
    np.testing.assert_allclose(
        cross @ v, np.exp(-((Y[:, None] - X[None]) ** 2).sum(axis=-1) / 2) @ v, rtol=0, atol=1e-10
    )


def test_csr_in_tiles():
    S = random_array((N, 40), density=0.1, format="csr", rng=np.random.default_rng(0))
    v = np.random.default_rng(1).normal(size=N)
    lazy, dense = (r.build(Gaussian(), A, np.random.default_rng(0)) for r, A in ((Lazy(), S), (Dense(), S.toarray())))
    np.testing.assert_allclose(lazy @ v, dense @ v, rtol=0, atol=1e-10)


def test_memory_stays_within_the_budget():
    n, memory = 6000, 2**23
    X = np.random.default_rng(0).normal(size=(n, 20))
    gram = Lazy(memory=memory).build(Gaussian(), X, np.random.default_rng(0))
    gram @ np.ones(n)
    tracemalloc.start()
    gram @ np.ones(n)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    vectors = 8 * n * 20
    assert peak < memory + vectors < 8 * n * n / 20


def test_budget_too_small():
    with pytest.raises(ValueError, match="Lazy: memory = 100 must be >= 65536"):
        Lazy(memory=100).build(Gaussian(), np.ones((3, 1)), np.random.default_rng(0))


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all", True])
def test_threads_are_an_integer(X, n_jobs):
    with pytest.raises((TypeError, ValueError), match=r"Lazy: n_jobs = .* must be"):
        Lazy(n_jobs=n_jobs).build(Gaussian(), X)
