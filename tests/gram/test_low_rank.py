import numpy as np
import pytest
from scipy.sparse import random_array

from mercer.gram import LowRank
from mercer.gram.low_rank import inverse_root
from mercer.kernels import Affine, Gaussian, Linear
from mercer.space import Function


def test_is_exact():
    X = np.random.default_rng(0).normal(size=(30, 4))
    gram = LowRank().build(Affine(3.0), X, np.random.default_rng(0))
    assert gram.rank == 5
    assert gram.trace_error == 0.0
    np.testing.assert_allclose(gram.dense(), X @ X.T + 3.0, atol=1e-12)


def test_csr():
    S = random_array((30, 50), density=0.1, format="csr", rng=np.random.default_rng(0))
    v = np.arange(30.0)
    gram = LowRank().build(Linear(), S, np.random.default_rng(0))
    np.testing.assert_allclose(gram @ v, S @ (S.T @ v), atol=1e-12)


def test_needs_a_feature_map():
    with pytest.raises(TypeError, match="LowRank needs a kernel with an explicit feature_map; Gaussian has none"):
        LowRank().build(Gaussian(), np.ones((2, 1)), np.random.default_rng(0))


def test_inverse_root_is_a_root_of_the_pseudo_inverse(xp):
    B = np.random.default_rng(0).normal(size=(6, 3))
    T = np.asarray(inverse_root(xp.asarray(B @ B.T), 1e-10))
    assert T.shape == (6, 3)
    np.testing.assert_allclose(T @ T.T, np.linalg.pinv(B @ B.T, rcond=1e-10), atol=1e-10)


def test_functions_lie_in_the_space_of_the_kernel():
    X = np.random.default_rng(0).normal(size=(30, 2))
    a = np.random.default_rng(1).normal(size=30)
    f = Function(*LowRank().build(Linear(), X, np.random.default_rng(0)).expansion(a))
    assert f.kernel == Linear()
    np.testing.assert_allclose(f.derivative(X[:2]), np.tile(X.T @ a, (2, 1)), atol=1e-12)
