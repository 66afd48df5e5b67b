import numpy as np
import pytest
from scipy.integrate import quad
from scipy.sparse import csr_array, csr_matrix
from scipy.spatial.distance import jensenshannon
from sklearn.metrics.pairwise import additive_chi2_kernel, chi2_kernel

from mercer.kernels import CPD, PD, STRICTLY_PD
from mercer.kernels.histograms import AdditiveChiSquared, ChiSquared, Hellinger, Intersection, JensenShannon


@pytest.fixture
def data():
    """Histograms with empty bins, some in both arguments."""
    rng = np.random.default_rng(0)
    X, Y = rng.uniform(size=(6, 5)), rng.uniform(size=(4, 5))
    X[X < 0.3] = 0.0
    Y[Y < 0.3] = 0.0
    X[0], Y[0] = 0.0, 0.0
    return X, Y


def loop(k, X, Y):
    return np.array([[sum(k(a, b) for a, b in zip(x, y, strict=True)) for y in Y] for x in X])


def test_scikit_learn(data):
    X, Y = data
    np.testing.assert_allclose(ChiSquared(0.7)(X, Y), chi2_kernel(X, Y, gamma=0.7), rtol=1e-12)
    np.testing.assert_allclose(AdditiveChiSquared(negative=True)(X, Y), additive_chi2_kernel(X, Y), rtol=1e-12)


def test_double_loops(data):
    X, Y = data
    np.testing.assert_allclose(Intersection()(X, Y), loop(min, X, Y), rtol=1e-14)
    np.testing.assert_allclose(Hellinger()(X, Y), loop(lambda a, b: (a * b) ** 0.5, X, Y), rtol=1e-14)
    positive = loop(lambda a, b: 2 * a * b / (a + b) if a + b else 0.0, X, Y)
    np.testing.assert_allclose(AdditiveChiSquared()(X, Y), positive, rtol=1e-14)


def test_both_additive_forms_agree(data):
    """−(x − y)²/(x + y) = 4xy/(x + y) − x − y, summed."""
    X, Y = data
    mass = X.sum(axis=1)[:, None] + Y.sum(axis=1)[None, :]
    expected = 2 * AdditiveChiSquared()(X, Y) - mass
    np.testing.assert_allclose(AdditiveChiSquared(negative=True)(X, Y), expected, atol=1e-14)


def test_jensen_shannon_of_probabilities_is_scipys(data):
    P, Q = (A[1:] / A[1:].sum(axis=1, keepdims=True) for A in data)
    expected = np.exp([[-0.8 * jensenshannon(p, q) ** 2 for q in Q] for p in P])
    np.testing.assert_allclose(JensenShannon(0.8)(P, Q), expected, rtol=1e-13)


def test_jensen_shannon_of_measures(data):
    def half(a, b):
        return 0.5 * a * np.log(2 * a / (a + b)) if a else 0.0

    X, Y = data
    expected = np.exp(-2.0 * loop(lambda a, b: half(a, b) + half(b, a), X, Y))
    np.testing.assert_allclose(JensenShannon(2.0)(X, Y), expected, rtol=1e-13)


def test_jensen_shannon_of_close_measures_keeps_its_digits():
    # −∂k/∂γ = JSD · k, and JSD(1 − h, 1 + h) = h²/2 + O(h⁴)
    for gap in (1e-4, 1e-6):
        G = JensenShannon(1.0).gradient_theta([[1.0 - gap]], [[1.0 + gap]])["gamma"]
        np.testing.assert_allclose(-G, gap**2 / 2, rtol=1e-7)


@pytest.mark.parametrize("s", [0.2, 1.0, 3.0])
def test_the_integral_behind_the_definiteness_of_jensen_shannon(s):
    def integrand(t):
        return (np.expm1(-t * s) - s * np.expm1(-t)) / t**2

    value = quad(integrand, 0, 1)[0] + quad(integrand, 1, np.inf)[0]
    np.testing.assert_allclose(value, s * np.log(s), atol=1e-7)


@pytest.mark.parametrize("kernel", [ChiSquared(), JensenShannon()])
def test_exponentials_are_strict_also_with_a_zero_histogram(kernel):
    assert kernel.definiteness == STRICTLY_PD
    assert kernel.definiteness.strict
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 2.0]])
    assert np.linalg.eigvalsh(kernel(X))[0] > 1e-3


@pytest.mark.parametrize("kernel", [AdditiveChiSquared(), Intersection(), Hellinger()])
def test_additive_ones_are_not_strict(kernel):
    assert kernel.definiteness == PD
    assert not kernel.definiteness.strict
    assert abs(np.linalg.eigvalsh(kernel(np.array([[0.0], [1.0]])))[0]) < 1e-15


def test_negative_form_is_conditionally_definite():
    k = AdditiveChiSquared(negative=True)
    assert k.definiteness == CPD(1)
    assert k.definiteness_in(1).strict
    assert not k.definiteness_in(2).strict
    N = np.linalg.svd(np.ones((1, 5)))[2][1:]  # orthogonal to the constants
    K = k(np.array([[0.0], [0.1], [0.5], [1.0], [3.0]]))
    assert np.linalg.eigvalsh(N @ K @ N.T)[0] > 1e-3
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    c = np.array([1.0, -1.0, -1.0, 1.0])
    assert abs(c @ k(corners) @ c) < 1e-15


def test_hellinger_sparse_and_feature_map(data):
    X, Y = data
    for sparse in (csr_array, csr_matrix):
        np.testing.assert_allclose(Hellinger()(sparse(X), sparse(Y)), Hellinger()(X, Y), rtol=1e-14)
        np.testing.assert_allclose(Hellinger().diag(sparse(X)), X.sum(axis=1), rtol=1e-14)
    np.testing.assert_array_equal(Hellinger().feature_map(csr_array(X)), np.sqrt(X))


@pytest.mark.parametrize("cls", [ChiSquared, AdditiveChiSquared, Intersection, Hellinger, JensenShannon])
def test_refusals(cls):
    with pytest.raises(ValueError, match=rf"{cls.__name__}: Negative values in data: Y holds -1, but must be >= 0"):
        cls()([[1.0]], [[-1.0]])


def test_parameters_are_checked():
    with pytest.raises(ValueError, match=r"ChiSquared: gamma = 0 must be > 0"):
        ChiSquared(0)([[1.0]])
    with pytest.raises(ValueError, match=r"AdditiveChiSquared: negative = 'yes' is unknown"):
        AdditiveChiSquared("yes")([[1.0]])
