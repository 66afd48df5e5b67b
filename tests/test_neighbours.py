"""Neighbours in the metric of a kernel, and graphs of them, against the matrix of all distances."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from mercer import _neighbours
from mercer._neighbours import check_rule, check_weights, connecting_length, links, nearest, within
from mercer.kernels import Callable, Gaussian, Linear, Polynomial, Precomputed

KERNELS = [Gaussian(0.7), Linear(), Polynomial(degree=2)]


@pytest.fixture(autouse=True)
def many_blocks(monkeypatch):
    monkeypatch.setattr(_neighbours, "BLOCK", 150)


def sample(n=40, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3))


def distances(kernel, X, Y=None):
    return np.sqrt(np.maximum(kernel.diag(X)[:, None] + kernel.diag(X if Y is None else Y) - 2 * kernel(X, Y), 0))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_nearest(kernel):
    X, new = sample(), sample(7, seed=1)
    D = distances(kernel, X)
    np.fill_diagonal(D, np.inf)
    for gap, K, found in (
        (D, kernel(X), nearest(kernel, X, 4)),
        (distances(kernel, new, X), kernel(new, X), nearest(kernel, X, 4, new)),
    ):
        index, values = found
        np.testing.assert_array_equal(np.sort(index), np.sort(np.argsort(gap, axis=1)[:, :4]))
        np.testing.assert_allclose(values, np.take_along_axis(K, index, axis=1), rtol=1e-12)


def test_all_where_there_are_fewer():
    X = sample(3)
    assert sorted(nearest(Gaussian(), X, 10)[0][0]) == [1, 2]
    assert nearest(Gaussian(), X, 10, X[:1])[0].shape == (1, 3)
    assert nearest(Gaussian(), X[:1], 10)[0].shape == (1, 0)
    assert links(Gaussian(), X[:1], 5).nnz == links(Gaussian(), X[:1], "connected").nnz == 0


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_links_to_neighbours(kernel):
    X = sample()
    gap = distances(kernel, X)
    np.fill_diagonal(gap, np.inf)
    near = gap <= np.sort(gap, axis=1)[:, 2:3]
    W = links(kernel, X, 3)
    np.testing.assert_allclose(W.toarray(), np.where(near | near.T, kernel(X), 0), rtol=1e-12, atol=1e-15)
    assert (W != W.T).nnz == 0


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_shortest_links_that_connect(kernel):
    X = sample(25)
    gap = distances(kernel, X)
    longest = minimum_spanning_tree(gap).data.max()
    assert np.isclose(connecting_length(kernel, X), longest**2, rtol=1e-10)
    W = links(kernel, X, "connected")
    short = (gap <= longest * (1 + 1e-10)) & ~np.eye(25, dtype=bool)
    np.testing.assert_allclose(W.toarray(), np.where(short, kernel(X), 0), rtol=1e-12, atol=1e-15)
    assert connected_components(short)[0] == 1
    assert connected_components(short & (gap < longest * (1 - 1e-10)))[0] > 1


def test_pairs_within_a_length():
    kernel, X, new = Gaussian(), sample(), sample(6, seed=2)
    first, second, values = within(kernel, X, 0.8, new)
    expected = np.argwhere(distances(kernel, new, X) ** 2 <= 0.8)
    np.testing.assert_array_equal(np.column_stack([first, second]), expected)
    np.testing.assert_allclose(values, kernel(new, X)[first, second])


def common(x, y):
    return float(len(set(x) & set(y)))


def test_any_domain():
    words = ["abc", "abd", "xyz", "xyw", "abe"]
    K = Callable(common)(words)
    assert set(nearest(Callable(common), words, 2)[0][0]) == {1, 4}
    assert (links(Callable(common), words, 2) != links(Precomputed(), K, 2)).nnz == 0


def test_rules_and_weights_that_make_no_sense():
    for rule, error in ((0, ValueError), (2.5, ValueError), ("near", ValueError), (None, TypeError)):
        with pytest.raises(error, match="Owner: graph = "):
            check_rule("Owner", "graph", rule)
    for W, message in (
        (np.ones((2, 3)), r"shape \(2, 3\)"),
        ([[0, np.nan], [np.nan, 0]], "NaN"),
        (csr_array([[0, -1.0], [-1.0, 0]]), "holds -1"),
        ([[0, 1], [2, 0]], "not symmetric"),
    ):
        with pytest.raises(ValueError, match=message):
            check_weights("Owner", "W", W)


def test_far_neighbours_differ_by_less_than_the_diagonal_can_show():
    X = np.random.default_rng(0).normal(size=(60, 2))
    gaps = np.linalg.norm(X[:, None] - X, axis=2)
    index, values = nearest(Gaussian(0.08), X, 4)
    assert values.min() > 0 and values.max(axis=1).min() < 1e-17  # nothing beside k(x, x) = 1, but something
    np.testing.assert_array_equal(np.sort(index, axis=1), np.sort(np.argsort(gaps, axis=1)[:, 1:5], axis=1))


def test_kernels_of_single_precision_that_vanish():
    X = np.arange(6, dtype=np.float32)[:, None] * np.float32(1e3)
    index, values = nearest(Gaussian(), X, 2)
    assert (values == 0).all() and (index != np.arange(6)[:, None]).all()
