import pickle

import numpy as np
import pytest
from scipy.sparse import random_array

from mercer._array import host
from mercer.gram import RandomFeatures
from mercer.kernels import Gaussian, Linear
from mercer.kernels.laplace import Laplace
from mercer.kernels.matern import Matern

MATRIX = np.array([[1.0, 0.3, 0.0], [0.0, 0.8, 0.2], [0.0, 0.0, 1.5]])
KERNELS = [
    Gaussian(1.3),
    Gaussian(np.array([0.7, 1.0, 2.0])),
    Gaussian(MATRIX),
    Laplace(2.0),
    Matern(1.5, 1.2),
    Matern(0.8, MATRIX),
]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(12, 3))


def build(representation, kernel, X, seed=0):
    return representation.build(kernel, X, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("kernel", "orthogonal"),
    [*((k, o) for k in KERNELS for o in (False, True)), (Laplace(1.5, norm=1), False)],
    ids=repr,
)
def test_unbiased(X, kernel, orthogonal):
    runs = np.stack([build(RandomFeatures(30, orthogonal), kernel, X, seed).dense() for seed in range(800)])
    error = runs.mean(axis=0) - kernel(X)
    assert np.all(np.abs(error) <= 4.5 * runs.std(axis=0) / np.sqrt(800) + 1e-12)


@pytest.mark.long
def test_variance_is_that_of_the_formula():
    m, delta = 5, np.array([[0.4, -0.2, 0.9]])
    X = np.concatenate([np.zeros((1, 3)), delta])
    values = [build(RandomFeatures(2 * m), Gaussian(), X, seed).dense()[0, 1] for seed in range(20_000)]
    k, k2 = np.exp(-np.sum(delta**2) / 2), np.exp(-np.sum((2 * delta) ** 2) / 2)
    assert np.var(values) == pytest.approx((1 + k2 - 2 * k**2) / (2 * m), rel=0.05)


def test_error_falls_like_one_over_the_root():
    X = np.random.default_rng(0).normal(size=(60, 4))
    errors = [
        np.mean([build(RandomFeatures(r), Gaussian(2.0), X, s).error_estimate for s in range(10)]) for r in (100, 1600)
    ]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.25)


@pytest.mark.parametrize("kernel", [Gaussian(3.0), Matern(2.5, 3.0)], ids=repr)
def test_orthogonal_directions_have_less_error(kernel):
    X = np.random.default_rng(0).normal(size=(60, 8))
    plain, orthogonal = (
        np.mean([build(RandomFeatures(32, o), kernel, X, seed).error_estimate for seed in range(40)])
        for o in (False, True)
    )
    assert orthogonal < 0.9 * plain


def test_orthogonal_frequencies(X):
    W = host(build(RandomFeatures(20, orthogonal=True), Gaussian(MATRIX), X).features.frequencies).T
    U = W @ MATRIX  # before the lengthscale
    for block in (U[:3], U[3:6], U[6:9]):
        G = block @ block.T
        np.testing.assert_allclose(G, np.diag(np.diagonal(G)), atol=1e-12)


def test_error_estimate_is_the_relative_error(X):
    gram = build(RandomFeatures(50), Gaussian(), X)
    K = Gaussian()(X)
    assert gram.error_estimate == pytest.approx(np.linalg.norm(K - gram.dense()) / np.linalg.norm(K), rel=1e-10)
    assert gram.trace_error == pytest.approx(0.0, abs=1e-12)


def test_csr_is_the_same_and_stays_sparse():
    S = random_array((40, 10_000), density=0.001, format="csr", rng=np.random.default_rng(0))
    one, two = (build(RandomFeatures(40), Gaussian(), A) for A in (S, S.toarray()))
    np.testing.assert_allclose(one.factor(), two.factor(), atol=1e-12)
    assert one.error_estimate == pytest.approx(two.error_estimate)


def test_feature_map_pickles(X):
    gram = build(RandomFeatures(40), Gaussian(), X)
    features = pickle.loads(pickle.dumps(gram.features))
    np.testing.assert_array_equal(features(X), gram.factor())


@pytest.mark.parametrize(
    ("representation", "kernel", "error", "message"),
    [
        (RandomFeatures(7), Gaussian(), ValueError, "rank = 7 must be even"),
        (RandomFeatures(0), Gaussian(), ValueError, "rank = 0 must be >= 2"),
        (RandomFeatures(), Linear(), TypeError, "needs a stationary kernel with spectral_sample"),
        (RandomFeatures(orthogonal=True), Laplace(norm=1), TypeError, "needs a kernel of the Euclidean distance"),
    ],
)
def test_bad_input(X, representation, kernel, error, message):
    with pytest.raises(error, match=message):
        build(representation, kernel, X)


@pytest.mark.parametrize(("lengthscale", "unit"), [(1e-320, 1.0), (1.0, 1e308)])
def test_frequencies_that_overflow_are_refused(lengthscale, unit):
    X = unit * np.linspace(-1, 1, 20).reshape(10, 2)
    with pytest.raises(ValueError, match=r"RandomFeatures: the frequencies of gaussian.* overflow float64; scale the"):
        RandomFeatures().build(Gaussian(lengthscale), X, np.random.default_rng(0))
