"""Curves and surfaces against the difference of means, written out."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from mercer.inference import hsic_test, mmd_test
from mercer.kernels.strings import Spectrum
from mercer.plot import WitnessDisplay


@pytest.fixture
def ax():
    return Figure().subplots()


def difference(at, X, Y, s):
    def mean(Z):
        return np.exp(-((at[:, None] - Z[None]) ** 2).sum(axis=2) / (2 * s * s)).mean(axis=1)

    return mean(X) - mean(Y)


def test_on_the_line(ax):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 1)), 2 + rng.normal(size=(20, 1))
    test = mmd_test(X, Y, kernel="gaussian(lengthscale=0.7)", statistic="biased", random_state=0)
    display = WitnessDisplay.from_test(test, labels=("left", "right"), ax=ax)
    x, f = display.line_.get_data()
    np.testing.assert_allclose(f, difference(x[:, None], X, Y, 0.7), atol=1e-12)
    assert x[0] < min(X.min(), Y.min())
    assert x[-1] > max(X.max(), Y.max())
    assert (display.points_[0].get_xdata() == X[:, 0]).all()
    assert (display.points_[1].get_xdata() == Y[:, 0]).all()
    # ‖f‖² = mean of f over X − mean over Y
    assert display.values_X.mean() - display.values_Y.mean() == pytest.approx(test.statistic)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["left", "right"]
    assert f"{test.statistic:.3g}" in ax.get_title(loc="left")


def test_in_the_plane(ax):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(25, 2)), rng.normal([1, 0], 1, size=(30, 2))
    test = mmd_test(X, Y, kernel="gaussian(lengthscale=1.0)", random_state=0)
    display = WitnessDisplay.from_test(test, ax=ax, resolution=12, scatter_kw={"s": 5})
    points = np.column_stack([g.ravel() for g in display.grid])
    np.testing.assert_allclose(display.values.ravel(), difference(points, X, Y, 1.0), atol=1e-12)
    np.testing.assert_allclose(display.points_[0].get_offsets(), X)
    np.testing.assert_allclose(display.points_[1].get_offsets(), Y)
    assert display.surface_.levels[0] <= display.values.min()
    assert display.surface_.levels[-1] >= display.values.max()
    assert display.points_[0].get_sizes().tolist() == [5]


def test_other_data_show_their_values(ax):
    X, Y = ["aab", "aba", "aaa"], ["bba", "bbb"]
    display = WitnessDisplay.from_test(mmd_test(X, Y, kernel=Spectrum(1), random_state=0), ax=ax)

    def counts(words):
        return np.array([[w.count("a"), w.count("b")] for w in words], dtype=float)

    w = counts(X).mean(axis=0) - counts(Y).mean(axis=0)
    np.testing.assert_allclose(display.values_X, counts(X) @ w)
    np.testing.assert_allclose(display.values_Y, counts(Y) @ w)
    shares, edges, _ = display.points_[1].get_data()
    np.testing.assert_allclose(shares, np.histogram(counts(Y) @ w, edges)[0] / 2)
    rng = np.random.default_rng(0)
    test = mmd_test(rng.normal(size=(20, 4)), rng.normal(size=(20, 4)), random_state=0)
    assert WitnessDisplay.from_test(test, ax=ax, legend=False).line_ is None


def test_refuses(ax):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 1))
    with pytest.raises(TypeError, match="has no witness of two samples; pass a result of mmd_test"):
        WitnessDisplay.from_test(hsic_test(X, X, random_state=0), ax=ax)
    with pytest.raises(TypeError, match="float is not a test result"):
        WitnessDisplay.from_test(0.3, ax=ax)
    test = mmd_test(X, X + 1, random_state=0)
    with pytest.raises(ValueError, match="must be two names"):
        WitnessDisplay.from_test(test, labels=("a",), ax=ax)
    with pytest.raises(ValueError, match="padding = -1 must be >= 0"):
        WitnessDisplay.from_test(test, padding=-1, ax=ax)
