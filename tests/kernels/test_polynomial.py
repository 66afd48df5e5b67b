import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel

from mercer.basis import Polynomials
from mercer.kernels import INDEFINITE, PD, UNKNOWN
from mercer.kernels.polynomial import Polynomial


@pytest.mark.parametrize("name", ["kernel_polydot_A", "kernel_polydot_iris"])
def test_kernlab(oracle, name):
    o = oracle(name)
    p, X, Y = o["parameters"], o["inputs"]["X"], o["inputs"]["Y"]
    k = Polynomial(p["degree"], p["scale"], p["offset"])
    np.testing.assert_allclose(k(X), o["outputs"]["K_XX"], rtol=1e-12)
    np.testing.assert_allclose(k(X, Y), o["outputs"]["K_XY"], rtol=1e-12)


def test_kernlab_linear(oracle):
    o = oracle("kernel_vanilladot_A")
    X, Y = o["inputs"]["X"], o["inputs"]["Y"]
    np.testing.assert_allclose(Polynomial(1, 1.0, 0.0)(X, Y), o["outputs"]["K_XY"], rtol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_scikit_learn(degree):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(6, 4)), rng.normal(size=(5, 4))
    expected = polynomial_kernel(X, Y, degree=degree, gamma=0.3, coef0=0.7)
    np.testing.assert_allclose(Polynomial(degree, 0.3, 0.7)(X, Y), expected, rtol=1e-12)
    for sparse in (csr_array, csr_matrix):
        np.testing.assert_allclose(Polynomial(degree, 0.3, 0.7)(sparse(X), sparse(Y)), expected, rtol=1e-12)
    np.testing.assert_allclose(Polynomial(1, 1.0, 0.0)(X, Y), linear_kernel(X, Y), rtol=1e-12)


def test_fractional_degree_by_a_double_loop():
    X = np.random.default_rng(1).uniform(size=(5, 2))
    expected = [[(0.5 * (x @ y) + 0.2) ** 1.5 for y in X] for x in X]
    np.testing.assert_allclose(Polynomial(1.5, 0.5, 0.2)(X), expected, rtol=1e-13)


def test_fractional_degree_of_a_negative_base_names_the_value():
    with pytest.raises(ValueError, match=r"degree = 1.5 is not an integer.*negative value -1 "):
        Polynomial(1.5)([[1.0], [2.0]], [[-1.0]])


def test_an_integer_stored_as_a_float_is_an_integer():
    X = np.random.default_rng(2).normal(size=(4, 2))
    assert Polynomial(3.0).definiteness == PD
    np.testing.assert_array_equal(Polynomial(3.0)(X), Polynomial(3)(X))


@pytest.mark.parametrize(
    ("degree", "scale", "offset", "claim"),
    [
        (1, 1.0, 0.0, PD),
        (4, 0.5, 2.0, PD),
        (2, -1.0, -1.0, PD),
        (2, -1.0, 0.0, PD),
        (3, 0.0, 1.0, PD),
        (1, 2.0, -1.0, INDEFINITE),
        (2, 1.0, -0.1, INDEFINITE),
        (3, -1.0, -1.0, INDEFINITE),
        (2, -1.0, 1.0, INDEFINITE),
        (1, -1.0, 0.0, INDEFINITE),
        (3, 0.0, -1.0, INDEFINITE),
    ],
)
@pytest.mark.parametrize("d", [1, 2])
def test_definiteness_of_integer_degrees(degree, scale, offset, claim, d):
    k = Polynomial(degree, scale, offset)
    assert k.definiteness == k.definiteness_in(d) == claim
    smallest = k.check(np.random.default_rng(3).normal(size=(15, d))).smallest_eigenvalue
    assert smallest < -1e-6 if claim == INDEFINITE else smallest > -1e-9


def _smallest(k, X):
    K = k(X)
    return np.linalg.eigvalsh(K)[0] / np.abs(K).max()


def test_definiteness_of_fractional_degrees():
    assert Polynomial(1.5, 1.0, 1.0).definiteness == INDEFINITE
    # third differences on an equispaced grid near 0 annihilate polynomials of degree < 3
    assert _smallest(Polynomial(1.5, 1.0, 1.0), 0.3 * np.arange(4.0)[:, None]) < -1e-6
    assert Polynomial(1.5, 1.0, 0.0).definiteness_in(2) == INDEFINITE
    assert _smallest(Polynomial(1.5, 1.0, 0.0), np.c_[np.ones(4), 0.3 * np.arange(4.0)]) < -1e-6
    assert Polynomial(1.5, 1.0, 0.0).definiteness_in(1) == UNKNOWN
    assert Polynomial(1.5, 1.0, -1.0).definiteness_in(1) == INDEFINITE
    assert _smallest(Polynomial(1.5, 1.0, -1.0), np.array([[1.0], [2.0]])) < -1e-6
    assert Polynomial(1.5, -1.0, 1.0).definiteness_in(1) == INDEFINITE
    assert _smallest(Polynomial(1.5, -1.0, 1.0), np.array([[1.0], [0.5]])) < -1e-6
    assert Polynomial(1.5, -1.0, -1.0).definiteness == UNKNOWN


@pytest.mark.parametrize("k", [Polynomial(3, 0.5, 2.0), Polynomial(2, 0.5, 0.0), Polynomial(2, -1.0, -0.5)])
def test_feature_map(k, xp):
    rng = np.random.default_rng(4)
    X, Y = rng.normal(size=(4, 3)), rng.normal(size=(3, 3))
    Z, W = (np.asarray(k.feature_map(xp.asarray(A))) for A in (X, Y))
    assert Z.shape[1] == Polynomials(k.degree)(X).shape[1]
    np.testing.assert_allclose(Z @ W.T, k(X, Y), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(k.feature_map(csr_array(X)), k.feature_map(X), rtol=1e-14)


def test_monomial_weights_are_the_textbook_ones():
    # (x₁y₁ + x₂y₂ + 1)² in the monomials 1, x₁, x₂, x₁², x₁x₂, x₂²
    np.testing.assert_array_equal(Polynomial(2).monomial_weights(2), [1, 2, 2, 1, 2, 1])


def test_provides_only_what_exists():
    assert "feature_map" not in Polynomial(2, 1.0, -1.0).provides
    assert Polynomial(0.5).provides == frozenset()
    assert Polynomial(1.5).provides == {"gradient_x", "gradient_theta"}
    with pytest.raises(AttributeError, match="does not provide feature_map"):
        Polynomial(2, 1.0, -1.0).feature_map([[1.0]])
    with pytest.raises(AttributeError, match="does not provide mixed_xy"):
        Polynomial(1.5).mixed_xy([[1.0]])


def test_float32_is_kept_with_numpy_parameters():
    X = np.ones((2, 2), dtype=np.float32)
    assert Polynomial(np.int64(2), np.float64(0.5), np.float64(1.0))(X).dtype == np.float32


@pytest.mark.parametrize(
    ("name", "value"), [("degree", 0), ("degree", -1), ("scale", float("nan")), ("offset", float("inf"))]
)
def test_refusals(name, value):
    with pytest.raises(ValueError, match=f"Polynomial: {name} = "):
        Polynomial(**{name: value})([[1.0]])


def test_degrees_that_floating_point_does_not_know():
    assert Polynomial(degree=2**53)([[0.0]], [[1.0]]) == 1.0
    for degree in (2**53 + 2, 2**63, 10**400):
        with pytest.raises(
            ValueError, match=r"Polynomial: degree = .* must be (a finite number )?> 0 and <= 9\.0072e\+15"
        ):
            Polynomial(degree=degree)([[0.0]], [[1.0]])
