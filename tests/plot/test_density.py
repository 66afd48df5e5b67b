"""Densities, weights and influence against sums over the sample and finite differences."""

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelDensity, KernelPCA, RobustKernelDensity
from mercer.plot import DensityDisplay


def bumps(at, X, h):
    d = X.shape[1]
    return np.exp(-((at[:, None] - X[None]) ** 2).sum(axis=2) / (2 * h * h)) / (2 * np.pi * h * h) ** (d / 2)


@pytest.fixture(scope="module")
def line():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(40, 1)), [[6.0], [7.0]]])


@pytest.fixture(scope="module")
def cloud():
    return np.random.default_rng(0).normal(size=(40, 2))


def test_density_on_the_line(line):
    ax = Figure().subplots()
    model = make_pipeline(StandardScaler(with_mean=False, with_std=False), KernelDensity(bandwidth=0.4)).fit(line)
    display = DensityDisplay.from_estimator(model, ax=ax, line_kw={"c": "red"})
    x, f = display.line_.get_data()
    np.testing.assert_allclose(f, bumps(x[:, None], line, 0.4).mean(axis=1), atol=1e-12)
    assert (display.points_.get_xdata() == line[:, 0]).all()
    assert display.weights_ is None
    assert display.line_.get_color() == "red"
    assert ax.get_xlim() == (x[0], x[-1])


def test_weights_where_they_differ(line):
    model = RobustKernelDensity(bandwidth=0.4).fit(line)
    display = DensityDisplay.from_estimator(model, ax=Figure().subplots(1, 2))
    x, f = display.line_.get_data()
    np.testing.assert_allclose(f, bumps(x[:, None], line, 0.4) @ model.weights_, atol=1e-10)
    at, weights = display.weights_.get_data()
    assert (at == np.sort(line[:, 0])).all()
    np.testing.assert_allclose(weights, 42 * model.weights_[np.argsort(line[:, 0])])
    assert weights[-1] < 1 < weights.max()


def test_influence_is_the_derivative_of_a_reweighted_fit(line):
    place = np.array([[5.0]])
    plain = KernelDensity(bandwidth=0.4).fit(line)
    eps = 1e-4
    more = np.append(np.full(42, (1 - eps) / 42), eps)
    both = np.concatenate([line, place])
    display = DensityDisplay.from_estimator(plain, influence=place, ax=Figure().subplots())
    x, curve = display.influence_[0].get_data()
    moved = np.exp(KernelDensity(bandwidth=0.4).fit(both, sample_weight=more).score_samples(x[:, None]))
    base = np.exp(plain.score_samples(x[:, None]))
    np.testing.assert_allclose(curve, (moved - base) / eps, atol=1e-8)
    robust = RobustKernelDensity(bandwidth=0.4, tuning=0.5, tol=1e-13).fit(line)
    display = DensityDisplay.from_estimator(robust, influence=place, ax=Figure().subplots())
    x, curve = display.influence_[0].get_data()
    moved = RobustKernelDensity(bandwidth=0.4, tuning=0.5, tol=1e-13).fit(both, sample_weight=more)
    change = np.exp(moved.score_samples(x[:, None])) - np.exp(robust.score_samples(x[:, None]))
    np.testing.assert_allclose(curve, change / eps, atol=1e-3)  # of first order in eps
    assert display.axes_[-1].get_legend().get_texts()[0].get_text() == "x′ = 5"


def test_in_the_plane(cloud):
    model = RobustKernelDensity(bandwidth=0.5, loss="hampel").fit(cloud)
    display = DensityDisplay.from_estimator(
        model, influence=[[0.0, 0.5], [3.0, 0.0]], resolution=15, ax=Figure().subplots(1, 3)
    )
    points = np.column_stack([g.ravel() for g in display.grid])
    np.testing.assert_allclose(display.density.ravel(), bumps(points, cloud, 0.5) @ model.weights_, atol=1e-10)
    np.testing.assert_allclose(display.points_.get_offsets(), cloud)
    sizes = display.points_.get_sizes()
    np.testing.assert_allclose(sizes / sizes.sum(), model.weights_, atol=1e-12)
    none = model.weights_ < 1e-3 / 40
    assert none.any()
    np.testing.assert_allclose(display.dropped_.get_xydata(), cloud[none])
    expected = model.influence([[0.0, 0.5], [3.0, 0.0]])(points)
    np.testing.assert_allclose(display.influence.reshape(-1, 2), expected, atol=1e-12)
    assert len(display.influence_) == 2
    assert display.influence_[1].levels[-1] >= expected[:, 1].max()


def test_equal_weights_in_the_plane(cloud):
    display = DensityDisplay.from_estimator(KernelDensity().fit(cloud), ax=Figure().subplots(), resolution=10)
    assert display.dropped_ is None
    assert display.ax_.get_title(loc="left") == "Density"
    assert len(set(display.points_.get_sizes().round(9))) == 1


def test_refuses(line):
    ax = Figure().subplots()
    with pytest.raises(TypeError, match=r"KernelPCA has no weights_ .*pass a fitted KernelDensity"):
        DensityDisplay.from_estimator(KernelPCA(), ax=ax)
    with pytest.raises(ValueError, match="the density has 3 dimensions; only one or two can be drawn"):
        DensityDisplay.from_estimator(KernelDensity().fit(np.eye(3)), ax=ax)
    with pytest.raises(ValueError, match=r"influence has shape \(1,\); expected points of shape \(p, 1\)"):
        DensityDisplay.from_estimator(KernelDensity().fit(line), influence=[0.0], ax=ax)


def test_influences_share_a_scale(cloud):
    model = RobustKernelDensity(bandwidth=0.5, loss="hampel").fit(cloud)
    display = DensityDisplay.from_estimator(
        model, influence=[[0.0, 0.5], [9.0, 9.0]], resolution=15, ax=Figure().subplots(1, 3)
    )
    assert display.influence_[0].levels.tolist() == display.influence_[1].levels.tolist()


def test_frames_are_no_reason_to_warn(cloud):
    frame = pd.DataFrame(cloud, columns=["a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DensityDisplay.from_estimator(KernelDensity().fit(frame), ax=Figure().subplots(), resolution=5)
