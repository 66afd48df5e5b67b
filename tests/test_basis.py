"""Unpenalised functions: monomials, the user's own, and what stands for them."""

from math import comb

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.preprocessing import PolynomialFeatures

from mercer.basis import Functions, Polynomials, as_basis

X = np.random.default_rng(4).normal(size=(5, 3))


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_monomials_are_scikit_learns(degree, d):
    H = Polynomials(degree)(X[:, :d])
    assert H.shape == (5, comb(d + degree, degree))
    np.testing.assert_allclose(H, PolynomialFeatures(degree).fit_transform(X[:, :d]), rtol=1e-13)


@pytest.mark.parametrize("degree", [0, 2])
def test_libraries_and_types(degree, xp):
    for dtype in (xp.float32, xp.float64):
        A = xp.asarray(X, dtype=dtype)
        H = Polynomials(degree)(A)
        assert type(H) is type(A) and H.dtype == dtype


def test_the_intercept_needs_no_array():
    for A in (["a", "b"], (np.ones((2, 1)), ["a", "b"]), np.array([3, 4]), csr_array(np.eye(2))):
        np.testing.assert_array_equal(Polynomials()(A), np.ones((2, 1)))
    assert Polynomials()(csr_array(np.eye(2, dtype="float32"))).dtype == np.float32


def test_sparse_data():
    S = csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    np.testing.assert_array_equal(Polynomials(2)(S), Polynomials(2)(S.toarray()))


@pytest.mark.parametrize("degree", [0, 1, 3])
def test_gradients_by_differences(degree, xp):
    basis, h = Polynomials(degree), 1e-5
    steps = h * np.eye(3)
    expected = np.stack([(basis(X + e) - basis(X - e)) / (2 * h) for e in steps], axis=-1)
    np.testing.assert_allclose(np.asarray(basis.gradient(xp.asarray(X))), expected, atol=1e-8)


@pytest.mark.parametrize(("degree", "error"), [(-1, ValueError), (1.5, ValueError), ("2", TypeError)])
def test_degrees(degree, error):
    with pytest.raises(error, match=f"Polynomials: degree = {degree!r} must be"):
        Polynomials(degree)(X)


def test_own_functions():
    basis = Functions([lambda A: A[:, 0] ** 2, lambda A: np.cos(A[:, 1])])
    np.testing.assert_allclose(basis(X), np.stack([X[:, 0] ** 2, np.cos(X[:, 1])], axis=1))
    np.testing.assert_array_equal(
        Functions([lambda words: np.array([len(w) for w in words])])(["a", "bcd"]), [[1], [3]]
    )


def test_own_functions_of_the_wrong_shape():
    with pytest.raises(
        ValueError, match=r"free: .* returned shape \(5, 3\); a free function must map n points to n values"
    ):
        Functions([np.sin])(X)


def test_own_functions_of_pairs():
    pairs = (X, list("abcde"))
    np.testing.assert_array_equal(Functions([lambda P: P[0][:, 0]])(pairs), X[:, :1])


def test_as_basis():
    assert as_basis(None) is None
    assert as_basis("intercept").degree == 0 and as_basis(2).degree == 2
    assert as_basis([np.ravel]).functions == [np.ravel]
    basis = Polynomials(1)
    assert as_basis(basis) is basis
    for bad in (True, 1.5, "linear", [], [3], np.ravel):
        with pytest.raises(TypeError, match=r'free = .* must be None, "intercept", a polynomial degree, or a list'):
            as_basis(bad)


def test_bases_clone():
    assert clone(Polynomials(2)).degree == 2
    assert clone(Functions([np.ravel])).functions == [np.ravel]


def test_a_degree_may_be_a_numpy_integer():
    assert as_basis(np.int64(2)).get_params() == {"degree": 2}


@pytest.mark.parametrize("degree", [10**5, 2**62])
def test_degrees_that_no_machine_could_compute_are_refused(degree):
    for compute in (Polynomials(degree), Polynomials(degree).gradient):
        with pytest.raises(ValueError, match=f"degree = {degree} has too many monomials of 2 coordinates to compute"):
            compute(np.ones((1, 2)))
