import pickle
import tracemalloc

import numpy as np
import pytest
from scipy.sparse import random_array
from scipy.spatial.distance import cdist

from mercer.gram import Lazy
from mercer.gram.packed import Packed
from mercer.kernels import Gaussian, Laplace, Precomputed
from mercer.testing import check_gram

N = 2100  # five tiles a side, of 420 rows


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(N, 6))


@pytest.mark.parametrize("memory", [0, 2**24, 2**30])
def test_laws(memory):
    check_gram(Packed(memory=memory))
    check_gram(Packed(memory=memory), Laplace())


@pytest.mark.parametrize("columns", [(), (3,)])
@pytest.mark.parametrize("memory", [0, 2**24, 2**30])
@pytest.mark.parametrize("n_jobs", [1, None])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_product_is_that_of_the_matrix(X, columns, memory, n_jobs, dtype):
    V = np.random.default_rng(1).normal(size=(N, *columns)).astype(dtype)
    gram = Packed(memory=memory, n_jobs=n_jobs).build(Gaussian(), X.astype(dtype))
    K = np.exp(-cdist(X, X, "sqeuclidean") / 2)
    for _ in range(2):  # the second product finds what the first has held
        product = gram @ V
        assert product.dtype == dtype
        np.testing.assert_allclose(product, K @ V, rtol=0, atol=1e-10 if dtype is np.float64 else 2e-3)
    upper = sum((i <= j) * 420 * 420 for i in range(5) for j in range(5)) * np.dtype(dtype).itemsize
    assert gram.held <= min(memory, upper) and (memory < upper or gram.held == upper)


def test_columns_are_not_kept_beside_the_samples(X):
    """What the compiled pass makes of the columns of a tile is as large as they are, and goes with the tile."""
    gram = Packed(memory=0).build(Gaussian(), X.astype(np.float32))
    gram @ np.ones(N, np.float32)
    assert not {"left", "right"} & vars(gram.evaluator).keys()


def test_columns_of_the_matrix_need_no_copy_of_the_samples():
    samples = np.random.default_rng(0).normal(size=(20_000, 60))
    gram = Packed().build(Gaussian(), samples)
    gram.block(slice(0, 9), np.arange(9))
    tracemalloc.start()
    columns = gram.block(slice(None), np.arange(9))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(columns, np.exp(-cdist(samples, samples[:9], "sqeuclidean") / 2), rtol=1e-10)
    assert peak < columns.nbytes + samples.nbytes / 4


def test_rough_kernel_with_equal_points():
    """√ of a distance that is rounding would show on the diagonal."""
    A = np.random.default_rng(2).normal(size=(1200, 3)).astype(np.float32) + 100
    gram, v = Packed().build(Laplace(), A), np.ones(1200, np.float32)
    np.testing.assert_allclose(gram @ v, np.exp(-cdist(A, A)) @ v, rtol=2e-4)


def test_csr():
    S = random_array((N, 40), density=0.1, format="csr", rng=np.random.default_rng(0))
    v = np.random.default_rng(1).normal(size=N)
    packed, lazy = (r.build(Gaussian(), S) for r in (Packed(), Lazy()))
    np.testing.assert_allclose(packed @ v, lazy @ v, rtol=0, atol=1e-10)


def test_survives_pickling(X):
    gram = Packed().build(Gaussian(), X)
    v = gram @ np.ones(N)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(gram)) @ np.ones(N), v)


def test_refusals(X):
    with pytest.raises(ValueError, match="Packed: memory = -1"):
        Packed(memory=-1).build(Gaussian(), X)
    with pytest.raises(ValueError, match="Packed: n_jobs = 0 must be a number of threads"):
        Packed(n_jobs=0).build(Gaussian(), X)
    with pytest.raises(TypeError, match="use Dense or Lazy"):
        Packed().build(Precomputed(), np.eye(4))
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="use Dense or Lazy"):
        Packed().build(Gaussian(), torch.ones((3, 2)))
