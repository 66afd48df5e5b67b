"""Eigenvalues, shares and dimensions against NumPy's of the matrix."""

import warnings

import numpy as np
import pytest
from matplotlib.figure import Figure

from mercer import KernelPCA, KernelRidge
from mercer.gram import Nystrom
from mercer.plot import SpectrumDisplay


@pytest.fixture
def axes():
    return Figure().subplots(1, 3)


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(25, 2))


def gaussian(X):
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 2)


def test_effective_dimension_is_the_trace_of_the_smoother(X, axes):
    alphas = np.array([0.01, 0.1, 1.0])
    display = SpectrumDisplay.from_kernel("gaussian", X, centred=False, alphas=alphas, alpha=0.5, ax=axes)
    K = gaussian(X)
    expected = [np.trace(K @ np.linalg.inv(K + a * np.eye(25))) for a in alphas]
    np.testing.assert_allclose(display.dimension_.get_ydata(), expected, rtol=1e-9)
    np.testing.assert_allclose(display.dimension_.get_xdata(), alphas)
    d = np.trace(K @ np.linalg.inv(K + 0.5 * np.eye(25)))
    np.testing.assert_allclose(display.mark_.get_offsets(), [[0.5, d]])


def test_eigenvalues_and_share(X, axes):
    display = SpectrumDisplay.from_kernel("gaussian", X, ax=axes)
    H = np.eye(25) - 1 / 25
    values = np.linalg.eigvalsh(H @ gaussian(X) @ H)[::-1][:24]
    np.testing.assert_allclose(display.positive_.get_ydata()[:15], values[:15], rtol=1e-8)
    assert display.negative_ is None
    share = display.share_.get_ydata()
    np.testing.assert_allclose(share[:15], np.cumsum(values)[:15] / np.trace(H @ gaussian(X) @ H), rtol=1e-8)
    assert share[-1] == pytest.approx(1)


def test_negative_eigenvalues(axes):
    K = np.diag([3.0, -2.0, 1.0, -0.5])
    display = SpectrumDisplay.from_kernel("precomputed", K, centred=False, alphas=[1.0], ax=axes)
    assert display.positive_.get_ydata().tolist() == [3, 1]
    assert display.negative_.get_ydata().tolist() == [2, 0.5]
    np.testing.assert_allclose(display.share_.get_ydata(), [3 / 6.5, 4 / 6.5])
    np.testing.assert_allclose(display.dimension_.get_ydata(), [3 / 4 + 1 / 2])
    assert len(axes[0].get_legend().get_texts()) == 2


def test_rounding_is_zero():
    display = SpectrumDisplay(eigenvalues=[1.0, 1e-17, -1e-17, 0.5])
    assert (display.eigenvalues == [1, 0.5, 0, 0]).all()


def test_low_rank_has_the_same_spectrum(axes):
    X = np.random.default_rng(0).normal(size=(60, 3))
    thin = SpectrumDisplay.from_kernel("linear", X, ax=axes)  # through three features
    np.testing.assert_allclose(thin.eigenvalues, np.linalg.eigvalsh(np.cov(X.T, ddof=0) * 60)[::-1], rtol=1e-9)


def test_estimators(X, axes):
    y = X[:, 0]
    model = KernelRidge(alpha=0.3, kernel="gaussian").fit(X, y)
    display = SpectrumDisplay.from_estimator(model, X, ax=axes)
    np.testing.assert_allclose(display.eigenvalues[:5], np.linalg.eigvalsh(gaussian(X))[::-1][:5])
    np.testing.assert_allclose(display.mark_.get_offsets()[0, 0], 0.3)
    pca = KernelPCA(n_components=4, kernel="gaussian").fit(X)
    display = SpectrumDisplay.from_estimator(pca, X, ax=axes)
    np.testing.assert_allclose(display.eigenvalues[:4], pca.eigenvalues_)
    assert display.mark_ is None


def test_the_representation_of_the_estimator(X, axes):
    model = KernelRidge(kernel="gaussian", gram=Nystrom(rank=6), random_state=0).fit(X, X[:, 0])
    display = SpectrumDisplay.from_estimator(model, X, ax=axes)
    assert len(display.eigenvalues) == 6
    assert len(SpectrumDisplay.from_estimator(model, X, gram="dense", ax=axes).eigenvalues) == 25


def test_panels(X):
    display = SpectrumDisplay.from_kernel("gaussian", X, panels=["dimension"], ax=Figure().subplots())
    assert len(display.axes_) == 1
    assert display.positive_ is None
    display = SpectrumDisplay.from_kernel("gaussian", X, ax=Figure().subplots(), line_kw={"c": "red"})
    assert len(display.axes_) == 3
    assert display.share_.get_color() == "red"
    display.figure_.draw_without_rendering()


def test_refuses(X):
    with pytest.raises(ValueError, match="panels = 'all' is unknown"):
        SpectrumDisplay.from_kernel("gaussian", X, panels=["all"], ax=Figure().subplots())
    with pytest.raises(ValueError, match="not all zero; they are zero if all samples are equal"):
        SpectrumDisplay.from_kernel("gaussian", np.zeros((4, 1)))
    with pytest.raises(ValueError, match="not all zero"):
        SpectrumDisplay(eigenvalues=[0.0, 0.0])
    with pytest.raises(ValueError, match="numbers > 0"):
        SpectrumDisplay(eigenvalues=[1.0], alphas=[0.0])
    with pytest.raises(TypeError, match="object has no kernel_"):
        SpectrumDisplay.from_estimator(object(), X)
    with pytest.raises(ValueError, match="2 axes for 3 panels"):
        SpectrumDisplay(eigenvalues=[1.0]).plot(ax=Figure().subplots(1, 2))
    with pytest.raises(ValueError, match="cannot be divided into 3 panels; pass 3 axes"):
        SpectrumDisplay(eigenvalues=[1.0]).plot(ax=Figure().add_axes((0, 0, 1, 1)))


def test_a_strength_far_away_is_still_in_the_picture():
    figure = Figure(layout="constrained")
    display = SpectrumDisplay(eigenvalues=[1e20, 3e20], alpha=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display.plot(ax=figure.subplots(1, 3))
        figure.draw_without_rendering()
    assert display.alphas[0] == 1
    low, high = display.axes_[0].get_ylim()
    assert low < 1 < 3e20 < high
