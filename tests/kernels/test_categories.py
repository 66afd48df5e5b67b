import numpy as np
import pytest

from mercer.kernels import PD, STRICTLY_PD
from mercer.kernels.categories import Delta, Hamming, Levels, Ordinal


@pytest.fixture
def labels():
    rng = np.random.default_rng(0)
    return rng.integers(0, 3, size=(7, 2)), rng.integers(0, 3, size=(5, 2))


def loop(k, X, Y):
    return np.array([[k(list(x), list(y)) for y in Y] for x in X], dtype=float)


def overlap(x, y):
    return np.mean([a == b for a, b in zip(x, y, strict=True)])


def forms(A):
    names = np.array(["red", "green", "blue"])[A]
    return {
        "integers": A,
        "strings": names,
        "objects": names.astype(object),
        "lists": names.tolist(),
        "float32": A.astype("f4"),
    }


@pytest.mark.parametrize("form", ["integers", "strings", "objects", "lists", "float32"])
def test_any_type_of_label(labels, form):
    X, Y = (forms(A)[form] for A in labels)
    for kernel, k in ((Delta(), lambda x, y: x == y), (Hamming(), overlap)):
        K = kernel(X, Y)
        assert K.dtype == (np.float32 if form == "float32" else np.float64)
        assert kernel.diag(X).dtype == K.dtype
        np.testing.assert_array_equal(K, loop(k, X, Y))


def test_every_array_library(labels, xp):
    X, Y = labels
    for kernel, k in ((Delta(), lambda x, y: x == y), (Hamming(), overlap)):
        K = kernel(xp.asarray(X), xp.asarray(Y))
        assert isinstance(K, type(xp.asarray(X)))
        assert K.dtype == xp.float64
        np.testing.assert_array_equal(np.asarray(K), loop(k, X, Y))


def test_a_plain_sequence_is_one_column():
    np.testing.assert_array_equal(Delta()(["a", "b", "a"]), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])


def test_definiteness():
    assert Delta().definiteness == Hamming().definiteness_in(1) == STRICTLY_PD
    assert Delta().definiteness.strict
    assert Hamming().definiteness_in(1).strict
    assert Hamming().definiteness == PD
    assert not Hamming().definiteness.strict
    corners = np.array([["a", "a"], ["a", "b"], ["b", "a"], ["b", "b"]])
    assert abs(np.linalg.eigvalsh(Hamming()(corners))[0]) < 1e-15
    np.testing.assert_array_equal(Delta()(corners), np.eye(4))


@pytest.mark.parametrize("kernel", [Delta(), Hamming()])
def test_label_refusals(kernel):
    name = type(kernel).__name__
    with pytest.raises(TypeError, match=f"{name}: X holds <U1 labels and Y int64"):
        kernel([["1"]], [[1]])
    with pytest.raises(ValueError, match=f"{name}: X contains missing labels"):
        kernel([["a"], [None]])
    with pytest.raises(ValueError, match=f"{name}: X has 1 columns and Y has 2"):
        kernel([["a"]], [["a", "b"]])


@pytest.mark.parametrize("n_levels", [2, 3, 7])
def test_ordinal(n_levels):
    rng = np.random.default_rng(1)
    X, Y = rng.integers(0, n_levels, size=(6, 3)), rng.integers(0, n_levels, size=(4, 3))
    expected = [[np.mean(1 - abs(x - y) / n_levels) for y in Y] for x in X]
    np.testing.assert_allclose(Ordinal(n_levels)(X, Y), expected, rtol=1e-14)
    np.testing.assert_allclose(Ordinal(n_levels).diag(X), 1.0, rtol=1e-15)


@pytest.mark.parametrize("n_levels", [2, 5, 30])
def test_ordinal_is_the_overlap_of_intervals(n_levels):
    """[x, x + R) in unit cells of [0, 2R): features whose inner products are R k(x, y)."""
    levels, cells = np.arange(n_levels), np.arange(2 * n_levels)
    Z = (cells >= levels[:, None]) & (cells < levels[:, None] + n_levels)
    K = Ordinal(n_levels)(levels[:, None])
    np.testing.assert_allclose(K, Z.astype(float) @ Z.T / n_levels, atol=1e-14)
    assert Ordinal(n_levels).definiteness_in(1).strict
    assert np.linalg.eigvalsh(K)[0] > 1e-3
    assert Ordinal(n_levels).definiteness == PD
    assert not Ordinal(n_levels).definiteness_in(2).strict


def test_ordinal_refusals():
    with pytest.raises(ValueError, match=r"Ordinal: X holds 0.5, but levels are the integers 0 … 3"):
        Ordinal(4)([[0.0], [0.5]])
    with pytest.raises(ValueError, match=r"Ordinal: X holds 4, but must be <= 3"):
        Ordinal(4)([[4]])
    with pytest.raises(ValueError, match=r"Ordinal: n_levels = 1 must be >= 2"):
        Ordinal(1)([[0]])
    with pytest.raises(TypeError, match=r"Ordinal: n_levels = 'many' must be an integer"):
        Ordinal("many")([[0]])


@pytest.mark.parametrize(("n_levels", "n"), [(2, 9), (5, 9), (30, 9)])
def test_sample_of_levels_is_distinct(n_levels, n):
    X = Levels(n_levels).sample(np.random.default_rng(0), n)
    assert len(np.unique(X, axis=0)) == len(X) == n
    assert X.min() >= 0
    assert X.max() <= n_levels - 1


def test_labels_without_a_hash():
    A = np.empty((2, 1), dtype=object)
    A[:, 0] = [[1], [2]]
    np.testing.assert_array_equal(Delta()(A), np.eye(2))
