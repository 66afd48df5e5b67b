"""The drawn cells against matrices computed entry by entry."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.svm import SVC as TheirSVC

from mercer import SVC, KernelKMeans
from mercer.kernels.strings import Spectrum
from mercer.plot import GramDisplay


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 2)), np.array(list("bca"))[rng.integers(3, size=30)]


def gaussian(X, s=1.0):
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / (2 * s * s))


def test_ordered_by_class(data, ax):
    X, y = data
    display = GramDisplay.from_kernel("gaussian", X, y, ax=ax)
    assert (y[display.order] == np.sort(y)).all()
    K = gaussian(X[display.order])
    np.testing.assert_allclose(display.mesh_.get_array(), K, atol=1e-12)
    counts = [(y == c).sum() for c in "abc"]
    lines = {tuple(map(tuple, s)) for s in display.lines_.get_segments()}
    for b in np.cumsum(counts)[:-1]:
        assert ((b, 0), (b, 30)) in lines
        assert ((0, b), (30, b)) in lines
    assert len(lines) == 4
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a", "b", "c"]
    np.testing.assert_allclose(ax.get_xticks(), np.cumsum(counts) - np.array(counts) / 2)
    assert ax.get_ylim() == (30, 0)


def test_centred(data, ax):
    X, _ = data
    display = GramDisplay.from_kernel("gaussian", X, centred=True, ax=ax)
    H = np.eye(30) - 1 / 30
    K = H @ gaussian(X) @ H
    np.testing.assert_allclose(display.mesh_.get_array(), K, atol=1e-12)
    # the middle colour is zero, and the diagonal does not count
    top = np.abs(K - np.diag(np.diag(K))).max()
    assert display.mesh_.norm.vmax == pytest.approx(top)
    assert display.mesh_.norm.vmin == pytest.approx(-top)
    assert display.lines_ is None


def test_given_order_within_groups(data, ax):
    X, y = data
    order = np.random.default_rng(1).permutation(30)
    assert (GramDisplay.from_kernel("gaussian", X, order=order, ax=ax).order == order).all()
    display = GramDisplay.from_kernel("gaussian", X, y, order=order, ax=ax)
    places = np.argsort(order)
    for c in "abc":
        own = display.order[y[display.order] == c]
        assert (np.diff(places[own]) > 0).all()


@pytest.mark.parametrize("gram", ["dense", "lazy"])
@pytest.mark.parametrize("centred", [False, True])
def test_large_samples_are_means_over_blocks(data, ax, gram, centred):
    X, y = data
    display = GramDisplay.from_kernel("gaussian", X, y, gram=gram, centred=centred, max_size=7, ax=ax)
    edges = display.edges
    assert len(edges) - 1 <= 9
    assert edges[0] == 0
    assert edges[-1] == 30
    assert set(display.bounds) <= set(edges)
    K = gaussian(X[display.order])
    if centred:
        K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    for i, (a, b) in enumerate(pairwise(edges)):
        for j, (c, d) in enumerate(pairwise(edges)):
            assert display.mesh_.get_array()[i, j] == pytest.approx(K[a:b, c:d].mean(), abs=1e-12)


def test_strings_and_precomputed(ax):
    words = ["abab", "bbbb", "abba"]
    display = GramDisplay.from_kernel(Spectrum(1), words, ax=ax)
    # counts of (a, b) are (2, 2), (0, 4), (2, 2)
    np.testing.assert_allclose(display.mesh_.get_array(), [[8, 8, 8], [8, 16, 8], [8, 8, 8]])
    K = np.array([[2.0, -1.0], [-1.0, 3.0]])
    np.testing.assert_allclose(GramDisplay.from_kernel("precomputed", K, ax=ax).mesh_.get_array(), K)


def test_estimators(data, ax):
    X, y = data
    display = GramDisplay.from_estimator(SVC(kernel="gaussian(lengthscale=2.0)").fit(X, y), X, y, ax=ax)
    np.testing.assert_allclose(display.matrix, gaussian(X[display.order], 2.0), atol=1e-12)
    model = KernelKMeans(3, random_state=0).fit(X)
    display = GramDisplay.from_estimator(model, X, ax=ax)
    assert (np.diff(model.labels_[display.order]) >= 0).all()
    assert display.labels == [0, 1, 2]


def test_keywords(data, ax):
    X, y = data
    display = GramDisplay.from_kernel(
        "gaussian", X, y, ax=ax, image_kw={"cmap": "magma"}, line_kw={"linewidths": 3}, colorbar=False
    )
    assert display.mesh_.get_cmap().name == "magma"
    assert display.lines_.get_linewidth().tolist() == [3]
    assert display.colorbar_ is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [0, 1]}, r"y has shape \(2,\); expected \(30,\)"),
        ({"order": [0, 0]}, "permutation"),
        ({"order": np.zeros(30, int)}, "permutation"),
        ({"max_size": 1}, "max_size = 1 must be >= 2"),
    ],
)
def test_refuses(data, ax, change, message):
    with pytest.raises(ValueError, match=message):
        GramDisplay.from_kernel("gaussian", data[0], ax=ax, **change)


def test_refuses_estimators_without_kernel(data, ax):
    with pytest.raises(TypeError, match="SVC has no kernel_; pass a fitted estimator of mercer"):
        GramDisplay.from_estimator(TheirSVC().fit(*data), data[0], ax=ax)


def test_names_of_tiny_groups_do_not_cover_each_other(ax):
    y = np.repeat(np.arange(5), [100, 2, 1, 2, 100])
    GramDisplay.from_kernel("gaussian", np.random.default_rng(0).normal(size=(205, 2)), y, ax=ax)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["0", "1", "", "", "4"]


def test_samples_are_counted_in_whole_numbers(ax):
    GramDisplay.from_kernel("gaussian", np.random.default_rng(0).normal(size=(6, 2)), ax=ax)
    assert all(t == round(t) for t in [*ax.get_xticks(), *ax.get_yticks()])
