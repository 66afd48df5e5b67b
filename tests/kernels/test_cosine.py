import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.metrics.pairwise import cosine_similarity

from mercer.kernels.cosine import Cosine, directions


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(6, 4)), rng.normal(size=(5, 4))


def test_scikit_learn(data):
    X, Y = data
    expected = cosine_similarity(X, Y)
    np.testing.assert_allclose(Cosine()(X, Y), expected, rtol=1e-12, atol=1e-15)
    for sparse in (csr_array, csr_matrix):
        np.testing.assert_allclose(Cosine()(sparse(X), sparse(Y)), expected, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(Cosine()(sparse(X), Y), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("size", [1e-200, 1e-310, 1e200])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_any_magnitude(size, form):
    X = form(np.array([[3.0 * size, 4.0 * size], [4.0 * size, -3.0 * size]]))
    np.testing.assert_allclose(Cosine()(X), np.eye(2), atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_zero_vectors_are_refused(form):
    X = form(np.array([[1.0, 0.0], [0.0, 0.0]]))
    for compute in (Cosine(), Cosine().diag, Cosine().feature_map):
        with pytest.raises(ValueError, match="row 1 is the zero vector"):
            compute(X)


def test_zero_vectors_are_refused_in_every_library(xp):
    with pytest.raises(ValueError, match="row 0 is the zero vector"):
        Cosine()(xp.asarray([[1.0]]), xp.asarray([[0.0]]))


def test_directions_do_not_change_their_argument(data):
    X = csr_array(data[0])
    before = X.toarray()
    U, norms = directions(X)
    np.testing.assert_array_equal(X.toarray(), before)
    np.testing.assert_allclose(norms, np.linalg.norm(before, axis=1), rtol=1e-14)
    np.testing.assert_allclose(U.toarray() * norms[:, None], before, rtol=1e-14)


def test_derivatives_need_dense_data(data):
    with pytest.raises(TypeError, match="derivatives need dense"):
        Cosine().gradient_x(csr_array(data[0]))
