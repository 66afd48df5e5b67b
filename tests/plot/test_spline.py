"""Curves, bands and components against predictions."""

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import AnovaSpline, KernelExpectileRegression, KernelQuantileRegression, KernelRidge, SmoothingSpline
from mercer.plot import SplineDisplay


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 3, 40))
    return x, np.sin(2 * x) + 0.2 * rng.normal(size=40)


def edges(band, x):
    """The lower and upper edge of a band at the points of a grid."""
    V = band.get_paths()[0].vertices
    return np.array([[V[V[:, 0] == t, 1].min(), V[V[:, 0] == t, 1].max()] for t in x]).T


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_band(data, ax, level):
    x, y = data
    model = SmoothingSpline().fit(x, y)
    display = SplineDisplay.from_estimator(model, level=level, ax=ax)
    grid, values = display.lines_[0][0].get_data()
    mean, std = model.predict(grid, return_std=True)
    np.testing.assert_allclose(values, mean)
    z = norm.ppf(0.5 + level / 2)
    low, high = edges(display.bands_[0][0], grid)
    np.testing.assert_allclose(low, mean - z * std)
    np.testing.assert_allclose(high, mean + z * std)
    np.testing.assert_allclose(display.points_[0].get_offsets(), np.column_stack([x, y]))


def test_other_regressions_with_deviations(data, ax):
    x, y = data
    model = KernelRidge(alpha=0.1, kernel="gaussian(lengthscale=0.5)").fit(x[:, None], y)
    display = SplineDisplay.from_estimator(model, ax=ax, names=["time"], line_kw={"lw": 5})
    grid, values = display.lines_[0][0].get_data()
    np.testing.assert_allclose(values, model.predict(grid[:, None]))
    assert display.points_[0] is None
    assert ax.get_xlabel() == "time"
    assert display.lines_[0][0].get_linewidth() == 5
    theirs = GaussianProcessRegressor(RBF(0.5) + WhiteKernel(0.04), optimizer=None).fit(x[:, None], y)
    display = SplineDisplay.from_estimator(theirs, x[:, None], y, ax=ax)
    np.testing.assert_allclose(display.points_[0].get_offsets(), np.column_stack([x, y]))


@pytest.mark.parametrize(
    "model",
    [
        KernelQuantileRegression(quantiles=[0.9, 0.1, 0.5], alpha=0.1),
        KernelExpectileRegression(expectiles=[0.9, 0.1, 0.5], alpha=0.1),
    ],
)
def test_levels(data, ax, model):
    x, y = data
    model.fit(x[:, None], y)
    display = SplineDisplay.from_estimator(model, x[:, None], y, ax=ax)
    assert display.levels == [0.1, 0.5, 0.9]
    grid = display.lines_[0][0].get_xdata()
    expected = model.predict(grid[:, None])[:, [1, 2, 0]]
    np.testing.assert_allclose(np.transpose([line.get_ydata() for line in display.lines_[0]]), expected)
    (band,) = display.bands_[0]
    low, high = edges(band, grid)
    np.testing.assert_allclose(low, np.minimum(expected[:, 0], expected[:, 2]))
    np.testing.assert_allclose(high, np.maximum(expected[:, 0], expected[:, 2]))
    assert [t.get_text() for t in ax.texts] == ["0.1", "0.5", "0.9"]


def test_a_regression_without_deviations_has_no_band(data, ax):
    x, y = data
    display = SplineDisplay.from_estimator(LinearRegression().fit(x[:, None], y), x[:, None], y, ax=ax)
    (line,) = display.lines_[0]
    slope, intercept = np.polyfit(x, y, 1)
    np.testing.assert_allclose(line.get_ydata(), intercept + slope * line.get_xdata(), atol=1e-12)
    assert display.bands_ == [[]] and len(display.points_[0].get_offsets()) == len(x)


def test_one_level_has_no_band(data, ax):
    x, y = data
    model = KernelQuantileRegression(quantiles=0.3, alpha=0.1).fit(x[:, None], y)
    display = SplineDisplay.from_estimator(model, ax=ax)
    assert display.bands_ == [[]]
    assert len(display.lines_[0]) == 1


def test_labels_keep_apart(ax):
    from mercer.plot.spline import _apart

    values = np.array([1.0, 0.99, 5.0, 1.01])
    placed = _apart(values, 0.5)
    assert (np.argsort(placed) == np.argsort(values)).all()
    assert np.diff(np.sort(placed)).min() >= 0.5 - 1e-12
    far = np.array([3.0, 1.0, 2.0])
    np.testing.assert_allclose(_apart(far, 0.5), far)


def test_components_of_the_analysis_of_variance():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 3))
    y = np.sin(6 * X[:, 0]) + X[:, 1] + 2 * (X[:, 0] - 0.5) * (X[:, 2] - 0.5) + 0.1 * rng.normal(size=60)
    model = AnovaSpline(1e-4, terms=[0, 1, (0, 2)]).fit(X, y)
    display = SplineDisplay.from_estimator(model, X, y, resolution=30, ax=Figure().subplots(1, 3), names=list("abc"))
    for panel, j in ((0, 0), (1, 1)):
        grid, values = display.lines_[panel][0].get_data()
        at = np.full((30, 3), 0.3)
        at[:, j] = grid
        curves, deviations = model.components(at, return_std=True)
        np.testing.assert_allclose(values, curves[(j,)], atol=1e-9)
        low, high = edges(display.bands_[panel][0], grid)
        np.testing.assert_allclose((high - low) / 2, norm.ppf(0.975) * deviations[(j,)], rtol=1e-6)
        rest = y - model.predict(X) + model.components(X)[(j,)]
        np.testing.assert_allclose(display.points_[panel].get_offsets(), np.column_stack([X[:, j], rest]))
    xx0, xx1 = display.parts[2].x
    at = np.column_stack([xx0.ravel(), np.zeros(xx0.size), xx1.ravel()])
    np.testing.assert_allclose(display.parts[2].values.ravel(), model.components(at)[(0, 2)], atol=1e-9)
    assert display.surfaces_[2].levels[-1] >= display.parts[2].values.max()
    assert display.axes_[2].get_title(loc="left") == "Interaction of a and c"
    assert len(SplineDisplay.from_estimator(model, ax=Figure().subplots()).axes_) == 3


def test_refuses(data, ax):
    x, y = data
    with pytest.raises(TypeError, match="LogisticRegression is not a regression; pass one on one column"):
        SplineDisplay.from_estimator(LogisticRegression().fit(x[:, None], y > 0), ax=ax)
    two = KernelRidge(kernel="gaussian").fit(np.column_stack([x, x]), y)
    with pytest.raises(ValueError, match="a curve is drawn over one column"):
        SplineDisplay.from_estimator(two, ax=ax)
    model = SmoothingSpline().fit(x, y)
    with pytest.raises(ValueError, match=r"level = 1\.5 must be"):
        SplineDisplay.from_estimator(model, level=1.5, ax=ax)
    with pytest.raises(ValueError, match="y was given without X"):
        SplineDisplay.from_estimator(model, y=y, ax=ax)
    theirs = GaussianProcessRegressor(RBF(0.5), alpha=0.1, optimizer=None).fit(x[:, None], y)
    with pytest.raises(ValueError, match="X is needed"):
        SplineDisplay.from_estimator(theirs, ax=ax)
    many = KernelRidge(kernel="gaussian").fit(x[:, None], np.column_stack([y, y]))
    with pytest.raises(ValueError, match="2 targets"):
        SplineDisplay.from_estimator(many, ax=ax)


def test_frames_in_a_search(data, ax):
    x, y = data
    frame = pd.DataFrame({"$time": x})
    pipe = make_pipeline(StandardScaler(), KernelRidge(kernel="gaussian(lengthscale=0.5)"))
    model = GridSearchCV(pipe, {"kernelridge__alpha": [0.1]}, cv=2).fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display = SplineDisplay.from_estimator(model, frame, y, ax=ax)
    grid, values = display.lines_[0][0].get_data()
    np.testing.assert_allclose(values, model.predict(pd.DataFrame({"$time": grid})))
    assert ax.get_xlabel() == r"\$time"


def test_components_after_other_steps():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(size=(40, 2)), columns=["a", "b"])
    y = np.sin(6 * frame["a"]) + frame["b"]
    scale = StandardScaler().set_output(transform="pandas")
    model = make_pipeline(scale, AnovaSpline(1e-4, terms=[0, 1])).fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display = SplineDisplay.from_estimator(model, frame, y, ax=Figure().subplots(1, 2))
    assert display.axes_[1].get_title(loc="left") == "Main effect of b"
    np.testing.assert_allclose(display.points_[0].get_offsets()[:, 0], scale.transform(frame)["a"])


@pytest.mark.parametrize("estimator", [None, "KernelRidge", KernelRidge], ids=["none", "text", "class"])
def test_it_draws_estimators(estimator):
    with pytest.raises(TypeError, match=r"^SplineDisplay: estimator = .*(must be an estimator|is a class)"):
        SplineDisplay.from_estimator(estimator)
