"""Bars and points against the fitted weights."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC
from mercer.methods.multiple import MultipleKernel
from mercer.plot import WeightsDisplay


@pytest.fixture(scope="module")
def model():
    X = np.random.default_rng(0).normal(size=(80, 3))
    y = X[:, 2] ** 2 > 0.5
    kernels = {"first": ("gaussian", [0]), "second": ("gaussian", [1]), "third": ("gaussian", [2])}
    return make_pipeline(StandardScaler(), MultipleKernel(SVC(), kernels, method="align")).fit(X, y)


def test_bars_and_alignments(model):
    ax = Figure().subplots()
    display = WeightsDisplay.from_estimator(model, ax=ax)
    np.testing.assert_allclose([bar.get_width() for bar in display.bars_], model[-1].weights_)
    np.testing.assert_allclose(display.alignments_.get_xdata(), model[-1].alignments_)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["first", "second", "third"]
    assert ax.yaxis_inverted()


def test_sorted(model):
    display = WeightsDisplay.from_estimator(model, sort=True, ax=Figure().subplots(), bar_kw={"color": "red"})
    widths = [bar.get_width() for bar in display.bars_]
    assert widths == sorted(widths, reverse=True)
    assert display.names[0] == "third"
    assert display.bars_[0].get_facecolor() == (1, 0, 0, 1)


def test_a_list_has_the_kernels_as_names():
    X = np.random.default_rng(0).normal(size=(30, 2))
    fitted = MultipleKernel(SVC(), ["linear", ("gaussian", [1])]).fit(X, X[:, 0] > 0)
    assert WeightsDisplay.from_estimator(fitted, ax=Figure().subplots()).names == ["0: linear", "1: gaussian"]


def test_refuses():
    with pytest.raises(TypeError, match="SVC has no weights_ and no alignments_ and no names_; pass a fitted Multiple"):
        WeightsDisplay.from_estimator(SVC())
    with pytest.raises(ValueError, match="1 names for weights"):
        WeightsDisplay(weights=[1.0, 2.0], names=["a"])
