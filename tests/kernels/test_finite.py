"""Kernels given by values: matrices with known spectra, precomputed rows, the user's own functions."""

import functools
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

from mercer.kernels import CPD, INDEFINITE, PD, STRICTLY_PD, UNKNOWN
from mercer.kernels.finite import Callable, FiniteDomain, Precomputed

rng = np.random.default_rng(1)
X = rng.normal(size=(6, 3))


# ---- FiniteDomain


def test_finite_domain_reads_its_matrix():
    K = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, 0.0], [0.5, 0.0, 1.0]])
    k = FiniteDomain(K)
    np.testing.assert_array_equal(k([2, 0], [1, 1, 2]), [[0, 0, 1], [1, 1, 0.5]])
    np.testing.assert_array_equal(k.diag([1, 2]), [3, 1])
    assert FiniteDomain(K.astype("float32"))([0]).dtype == np.float32


@pytest.mark.parametrize(
    ("matrix", "claim", "strict"),
    [
        (np.eye(3), PD, True),
        ([[2, 1], [1, 2]], PD, True),  # eigenvalues 1, 3
        ([[1, 1], [1, 1]], PD, False),  # 0, 2
        (np.zeros((2, 2)), PD, False),
        (1e-12 * np.eye(3), PD, True),  # small, but far from rounding
        (np.outer([1, 2, 3], [1, 2, 3]) / 7, PD, False),
        ([[0, 1], [1, 0]], INDEFINITE, False),  # −1, 1, and (1, −1) gives −2
        ([[0, -1], [-1, 0]], CPD(1), True),  # (1, −1) gives 2
        (-np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0))), CPD(1), True),
        (-np.ones((3, 3)), CPD(1), False),
        (-np.eye(3), INDEFINITE, False),
        (np.diag([1.0, 1.0, -1e-10]), CPD(1), True),  # c₃² = (c₁ + c₂)² <= 2(c₁² + c₂²)
        (np.diag([1.0, 1.0, -1e-10, -1e-10]), INDEFINITE, False),  # (0, 0, 1, −1)
    ],
)
def test_definiteness_is_computed(matrix, claim, strict):
    found = FiniteDomain(matrix).definiteness
    assert found == claim and found.strict == strict


def test_singular_gram_matrices_are_positive_definite():
    for seed in range(20):
        A = np.random.default_rng(seed).normal(size=(40, 3))
        assert FiniteDomain(A @ A.T).definiteness == PD


@pytest.mark.parametrize(
    ("matrix", "error", "text"),
    [
        ([[1.0, 2.0]], ValueError, r"matrix of shape \(1, 2\) must be square"),
        ([1.0, 2.0], ValueError, r"matrix of shape \(2,\) must be square"),
        (np.zeros((0, 0)), ValueError, "must be square"),
        ([[1.0, 2.0], [0.0, 1.0]], ValueError, r"not symmetric: k\(0, 1\) = 2 but k\(1, 0\) = 0; use \(K \+ K.T\) / 2"),
        ([[1.0, np.nan], [np.nan, 1.0]], ValueError, "contains nan at row 0, column 1"),
        ([[1.0, np.inf], [np.inf, 1.0]], ValueError, "contains inf at row 0, column 1"),
        ([["a", "b"], ["b", "a"]], TypeError, "holds <U1 values; give real numbers"),
        ([[1.0, 1j], [1j, 1.0]], TypeError, "holds complex128 values"),
        ([[1.0], [1.0, 2.0]], ValueError, "rows of unequal length"),
    ],
)
def test_matrices_that_are_no_kernel(matrix, error, text):
    with pytest.raises(error, match=f"FiniteDomain: .*{text}"):
        FiniteDomain(matrix)([0])
    with pytest.raises(error):
        FiniteDomain(matrix).definiteness


@pytest.mark.parametrize("bad", [[2], [-1]])
def test_indices_outside(bad):
    with pytest.raises(ValueError, match=f"holds {bad[0]}, outside the domain 0 … 1"):
        FiniteDomain(np.eye(2))(bad)


# ---- Precomputed


def test_precomputed_takes_columns(xp):
    K = X @ X.T
    A = xp.asarray(K)
    k = Precomputed()
    assert k(A) is A
    np.testing.assert_array_equal(np.asarray(k(A[1:3, :], xp.asarray([0, 5]))), K[1:3, [0, 5]])
    np.testing.assert_array_equal(np.asarray(k.diag(A)), np.diagonal(K))


def test_precomputed_large(monkeypatch):
    from mercer.evaluation import _host, bind

    monkeypatch.setattr(_host, "SMALL", 10)
    monkeypatch.setattr(_host, "TILE", 4)
    K = X @ X.T
    rows = rng.normal(size=(9, 6))
    np.testing.assert_array_equal(bind(Precomputed(), rows, np.arange(6)).dense(), rows)
    V = rng.normal(size=(6, 2))
    np.testing.assert_allclose(bind(Precomputed(), K).product(V), K @ V, rtol=1e-12)
    np.testing.assert_allclose(bind(Precomputed(), rows, np.arange(6)).product(V), rows @ V, rtol=1e-12)


@pytest.mark.parametrize(
    ("matrix", "text"),
    [
        (np.ones((2, 3)), r"shape \(2, 3\); it must be square"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), "not symmetric; use .K . K.T. / 2"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "contains NaN at row 0, column 1"),
    ],
)
def test_precomputed_refuses(matrix, text):
    with pytest.raises(ValueError, match=f"Precomputed: .*{text}"):
        Precomputed()(matrix)


def test_precomputed_knows_the_diagonal_of_training_samples_only():
    with pytest.raises(ValueError, match=r"X has shape \(2, 3\); k\(x, x\) is known only"):
        Precomputed().diag(np.ones((2, 3)))


def test_precomputed_indices():
    with pytest.raises(ValueError, match="Y holds 3, outside the domain 0 … 2"):
        Precomputed()(np.eye(3), [3])
    with pytest.raises(TypeError, match="Y must be a non-empty vector of integers"):
        Precomputed()(np.eye(3), np.eye(3))


@pytest.mark.parametrize("make", [Precomputed, functools.partial(Callable, np.dot)])
def test_definiteness_may_be_declared(make):
    assert make().definiteness == make(definiteness=None).definiteness == UNKNOWN
    k = make(definiteness=STRICTLY_PD)
    assert k.definiteness.strict and clone(k).definiteness.strict and pickle.loads(pickle.dumps(k)) == k
    assert make(definiteness=CPD(1)).exp().definiteness == PD
    assert clone(k).set_params(definiteness=UNKNOWN).definiteness == UNKNOWN
    with pytest.raises(TypeError, match="definiteness = 'PD' must be PD, STRICTLY_PD"):
        make(definiteness="PD").check_arguments(np.eye(2))


def test_a_false_declaration_is_found_out():
    K = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert not Precomputed(PD).check(K).ok
    assert "contradicts PD" in repr(Precomputed(PD).check(K))
    assert Precomputed().check(K).ok


# ---- Callable


def rbf(x, y, gamma=1.0):
    return np.exp(-gamma * np.sum((x - y) ** 2))


def test_pairwise_as_scikit_learn_calls_it():
    k = Callable(functools.partial(rbf, gamma=0.3))
    np.testing.assert_allclose(k(X), pairwise_kernels(X, metric=rbf, gamma=0.3), rtol=1e-14)
    np.testing.assert_allclose(k(X, X[:2]), pairwise_kernels(X, X[:2], metric=rbf, gamma=0.3), rtol=1e-14)
    np.testing.assert_allclose(k.diag(X), 1.0)
    assert clone(k) == k and pickle.loads(pickle.dumps(k)) == k
    assert k != Callable(functools.partial(rbf, gamma=0.4))


def test_whole_collections():
    k = Callable(rbf_kernel, pairwise=False)
    np.testing.assert_array_equal(k(X, X[:2]), rbf_kernel(X, X[:2]))
    np.testing.assert_allclose(k.diag(X), 1.0)


def test_members_of_sparse_matrices_and_tables():
    def inner(x, y):
        return (x @ y.T).toarray()

    S = csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    np.testing.assert_allclose(Callable(inner)(S), (S @ S.T).toarray(), rtol=1e-14)
    table = pd.DataFrame(X, index=list("abcdef"))
    np.testing.assert_allclose(Callable(np.dot)(table), X @ X.T, rtol=1e-12)


def test_single_precision_stays():
    single = X.astype("float32")
    for k in (Callable(np.dot), Callable(rbf_kernel, pairwise=False)):
        assert k(single).dtype == k.diag(single).dtype == np.float32


@pytest.mark.parametrize(
    ("kernel", "error", "text"),
    [
        (
            Callable(lambda x, y: x[0] - y[0]),
            ValueError,
            r"not symmetric: k\(\d, \d\) = .*; a kernel is a symmetric function",
        ),
        (Callable(lambda x, y: x), TypeError, r"returned array.* for one pair; .*needs pairwise=False"),
        (Callable(lambda x, y: "a"), TypeError, "returned 'a' for one pair; it must return one real number"),
        (Callable(lambda x, y: np.nan), ValueError, "returned nan for one pair"),
        (Callable(lambda A, B: A - B, pairwise=False), ValueError, r"returned shape \(6, 3\); expected .* \(6, 6\)"),
        (Callable(lambda A, B: 1.0, pairwise=False), ValueError, "returned a float; .*needs pairwise=True"),
        (Callable(lambda A, B: A @ B.T * np.inf, pairwise=False), ValueError, "returned NaN or infinity"),
        (Callable(lambda A, B: A[:, :1] - 2 * B[:, 0], pairwise=False), ValueError, "not symmetric"),
        (Callable(3), TypeError, "function = 3 must be callable"),
        (Callable(np.dot, pairwise="no"), ValueError, "pairwise = 'no' is unknown; choose one of True, False"),
    ],
)
def test_functions_that_are_no_kernel(kernel, error, text):
    with pytest.raises(error, match=f"Callable: .*{text}"):
        kernel(X)


def test_a_function_of_collections_that_is_called_with_pairs() -> None:
    with pytest.raises(IndexError, match=r"Callable: columns failed on a pair of members.*needs pairwise=False"):

        def columns(A, B):
            return A[:, :1] @ B[:, :1].T

        Callable(columns)(np.ones((3, 2)))


def test_complex_values_of_a_whole_function_are_refused() -> None:
    with pytest.raises(TypeError, match="returned complex numbers"):
        Callable(lambda a, b: (a @ b.T).astype(complex), pairwise=False)(X)
