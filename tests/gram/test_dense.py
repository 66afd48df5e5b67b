import numpy as np
import pytest
from scipy.sparse import random_array

from mercer.gram import Dense
from mercer.kernels import Gaussian, Linear


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_is_the_definition(dtype):
    X = np.random.default_rng(0).normal(size=(40, 3)).astype(dtype)
    gram = Dense().build(Gaussian(0.7), X, np.random.default_rng(0))
    definition = [[np.exp(-np.sum((x - y) ** 2) / (2 * 0.49)) for y in X] for x in X]
    assert gram.K.dtype == gram.dtype == dtype
    np.testing.assert_allclose(gram.dense(), definition, rtol=0, atol=1e-6 if dtype == "float32" else 1e-14)


def test_tiles_make_one_matrix():
    X = np.random.default_rng(0).normal(size=(1700, 2))
    K = Dense().build(Gaussian(), X, np.random.default_rng(0)).dense()
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=-1) / 2), rtol=0, atol=1e-14)


def test_csr():
    S = random_array((30, 50), density=0.1, format="csr", rng=np.random.default_rng(0))
    K = Dense().build(Linear(), S, np.random.default_rng(0)).dense()
    np.testing.assert_allclose(K, S.toarray() @ S.toarray().T, atol=1e-14)
