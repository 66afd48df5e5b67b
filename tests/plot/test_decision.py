"""The drawn artists against the model: levels, rings, slack, labels. No image is compared."""

import builtins
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_moons
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, OneClassSVM

from mercer import KernelMeanClassifier, KernelPCA
from mercer.plot import DecisionDisplay


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def moons():
    return make_moons(80, noise=0.3, random_state=0)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def interpolation_error(display):
    """A bound for f − level on a contour, which is drawn by bilinear interpolation in the cells of the grid."""
    f = display.response[..., 1]
    along = np.abs(np.diff(f, 2, axis=0)).max() + np.abs(np.diff(f, 2, axis=1)).max()
    return along / 8 + np.abs(np.diff(np.diff(f, axis=0), axis=1)).max() / 4


def test_boundary_and_margins_are_where_f_says(moons, ax):
    X, y = moons
    model = SVC(gamma=1, C=2).fit(X, y)
    display = DecisionDisplay.from_estimator(model, X, y, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    (boundary,) = display.boundary_
    assert boundary.levels.tolist() == [0]
    assert display.margins_.levels.tolist() == [-1, 1]
    for contours, levels in ((boundary, [0]), (display.margins_, [-1, 1])):
        for level, curves in zip(levels, contours.allsegs, strict=True):
            assert len(curves)
            f = model.decision_function(np.concatenate(curves))
            np.testing.assert_allclose(f, level, rtol=0, atol=interpolation_error(display))


def test_support_vectors_are_ringed(moons, ax):
    X, y = moons
    model = SVC(gamma=1).fit(X, y)
    display = DecisionDisplay.from_estimator(model, X, y, ax=ax)
    assert (np.asarray(display.support_.get_offsets()) == X[model.support_]).all()
    assert len(display.support_.get_facecolors()) == 0
    assert [len(p.get_offsets()) for p in display.points_] == [40, 40]


def test_slack_of_a_linear_machine_is_perpendicular_to_its_margin(ax):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-1, 1, size=(40, 2)), rng.normal(1, 1, size=(40, 2))])
    y = np.repeat([0, 1], 40)
    ax.set_aspect("equal")
    model = SVC(kernel="linear", C=1).fit(X, y)
    display = DecisionDisplay.from_estimator(model, X, y, ax=ax, padding=0.5)
    sign = 2 * y - 1
    slack = 1 - sign * model.decision_function(X)
    lines = np.array(display.slack_.get_segments())
    assert len(lines) == (slack > 0.01).sum() > 5
    w = model.coef_[0]
    for start, end in lines:
        (i,) = np.flatnonzero((start == X).all(axis=1))
        foot = X[i] + sign[i] * slack[i] * w / (w @ w)
        np.testing.assert_allclose(end, foot, atol=1e-6)


def test_slack_of_a_curved_margin_is_the_shortest_line(moons, ax):
    X, y = moons
    ax.set_aspect("equal")
    model = SVC(gamma=1).fit(X, y)
    display = DecisionDisplay.from_estimator(model, X, y, ax=ax)
    slack = 1 - (2 * y - 1) * model.decision_function(X)
    lines = np.array(display.slack_.get_segments())
    assert len(lines) == (slack > 0.01).sum() > 5
    for start, end in lines:
        (i,) = np.flatnonzero((start == X).all(axis=1))
        vertices = np.concatenate(display.margins_.allsegs[y[i]])
        nearest = np.linalg.norm(vertices - start, axis=1).min()
        assert np.linalg.norm(end - start) <= nearest + 1e-12
        f = model.decision_function([end])
        np.testing.assert_allclose(f, 2 * y[i] - 1, rtol=0, atol=interpolation_error(display))


def test_separable_data_have_no_slack(ax):
    X, y = np.array([[-2.0, 0.0], [-1.0, 1.0], [1.0, -1.0], [2.0, 0.0]]), [0, 0, 1, 1]
    display = DecisionDisplay.from_estimator(SVC(kernel="linear", C=1e3).fit(X, y), X, y, ax=ax)
    assert len(display.slack_.get_segments()) == 0


@pytest.mark.parametrize("model", [SVC(), SVC(decision_function_shape="ovo"), KNeighborsClassifier()])
def test_regions_of_several_classes(iris, ax, model):
    X, y = iris[0][:, 2:], iris[1]
    names = np.array(["setosa", "versicolor", "virginica"])
    model.fit(X, names[y])
    display = DecisionDisplay.from_estimator(model, X, names[y], ax=ax)
    assert display.margins_ is None
    assert display.slack_ is None
    assert len(display.regions_) == len(display.boundary_) == 3
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    predicted = names[display.response.argmax(axis=2).ravel()]
    assert np.mean(predicted == model.predict(grid)) > 0.999  # all but corners, softened over one cell
    texts = [t.get_text() for t in ax.get_legend().get_texts()]
    assert texts[:3] == names.tolist()
    assert texts[3:] == (["support vector"] if hasattr(model, "support_") else [])


def test_a_classifier_without_decision_function(moons, ax):
    X, y = moons
    display = DecisionDisplay.from_estimator(KNeighborsClassifier().fit(X, y), X, y, ax=ax)
    assert len(display.boundary_) == 1
    assert display.margins_ is None
    assert display.support_ is None


def test_margins_can_be_asked_for_and_refused(moons, iris):
    X, y = moons
    f = KernelMeanClassifier().fit(X, y)
    assert DecisionDisplay.from_estimator(f, X, y, ax=Figure().subplots()).margins_ is None
    linear = LinearSVC().fit(X, y)
    display = DecisionDisplay.from_estimator(linear, X, y, margins=True, ax=Figure().subplots())
    assert display.margins_.levels.tolist() == [-1, 1]
    assert len(display.slack_.get_segments())
    machine = SVC().fit(X, y)
    display = DecisionDisplay.from_estimator(machine, X, y, margins=False, ax=Figure().subplots())
    assert display.margins_ is None
    with pytest.raises(ValueError, match="margins need two classes"):
        DecisionDisplay.from_estimator(SVC().fit(*iris), *iris, margins=True)


def test_a_slice_through_more_features(iris, ax):
    X, y = iris[0][50:], iris[1][50:]
    model = SVC().fit(X, y)
    display = DecisionDisplay.from_estimator(model, X, y, features=(3, 1), ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("feature 3", "feature 1")
    assert (X[:, [3, 1]] == display.X).all()
    assert display.slack_ is None
    (curve,) = display.boundary_[0].allsegs[0]
    points = np.tile(X.mean(axis=0), (len(curve), 1))
    points[:, [3, 1]] = curve
    np.testing.assert_allclose(model.decision_function(points), 0, atol=interpolation_error(display))
    assert len(display.support_.get_offsets()) == len(model.support_)


def test_names_of_columns(iris, ax):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    display = DecisionDisplay.from_estimator(
        model, X, y, features=("petal length (cm)", "petal width (cm)"), ax=ax, resolution=40
    )
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("petal length (cm)", "petal width (cm)")
    assert len(display.support_.get_offsets()) == len(model[-1].support_)


def test_searches_pipelines_and_sparse_data(moons, ax):
    X, y = moons
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [1, 2]}, cv=2).fit(X, y)
    display = DecisionDisplay.from_estimator(search, X, y, ax=ax, resolution=50)
    assert len(display.support_.get_offsets()) == len(search.best_estimator_[-1].support_)
    assert display.margins_ is not None
    model = SVC().fit(csr_array(X), y)
    display = DecisionDisplay.from_estimator(model, csr_array(X), y, ax=ax, resolution=50)
    assert len(display.support_.get_offsets()) == len(model.support_)


def test_other_points_than_those_of_the_fit_have_no_rings(moons, ax):
    X, y = moons
    model = SVC().fit(X, y)
    assert DecisionDisplay.from_estimator(model, X + 0.1, y, ax=ax, resolution=20).support_ is None
    assert DecisionDisplay.from_estimator(model, X[:5], y[:5], ax=ax, resolution=20).support_ is None


def test_outlier_detectors_and_clusters(moons, ax):
    X, _ = moons
    model = OneClassSVM(nu=0.2).fit(X)
    display = DecisionDisplay.from_estimator(model, X, ax=ax)
    assert display.margins_ is None
    assert display.labels == ["outlier", "inlier"]
    assert ax.get_legend() is None
    f = model.decision_function(np.concatenate(display.boundary_[0].allsegs[0]))
    np.testing.assert_allclose(f, 0, atol=interpolation_error(display))
    assert len(display.support_.get_offsets()) == len(model.support_)
    clusters = DecisionDisplay.from_estimator(KMeans(3, random_state=0, n_init=1).fit(X), X, ax=ax)
    assert clusters.labels == [0, 1, 2]


def test_colors_and_many_classes(ax):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2)), np.arange(120) % 12
    display = DecisionDisplay.from_estimator(KNeighborsClassifier(1).fit(X, y), X, y, ax=ax, resolution=30)
    assert len({tuple(p.get_facecolor()[0]) for p in display.points_}) == 12
    display.plot(ax=Figure().subplots(), colors=["k"] * 12, legend=False)
    assert display.ax_.get_legend() is None
    with pytest.raises(ValueError, match="2 colors for 12 classes"):
        display.plot(ax=ax, colors=["r", "b"])


def test_makes_its_own_figure(moons):
    X, y = moons
    plt.switch_backend("agg")
    display = DecisionDisplay.from_estimator(SVC().fit(X, y), X, y, resolution=20)
    assert display.figure_.get_axes() == [display.ax_]
    display.figure_.draw_without_rendering()
    plt.close(display.figure_)


def test_says_which_extra_brings_matplotlib(moons, monkeypatch):
    X, y = moons
    for name in [n for n in sys.modules if n.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    original = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'DecisionDisplay needs matplotlib: pip install "mercer\[plot\]"'):
        DecisionDisplay.from_estimator(SVC().fit(X, y), X, y, resolution=5)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"estimator": LinearRegression()}, TypeError, "LinearRegression is a regressor"),
        ({"estimator": SVC}, TypeError, "does not predict classes; pass a fitted classifier"),
        ({"estimator": KernelPCA()}, TypeError, r"KernelPCA\(\) does not predict classes"),
        ({"X": np.ones((80, 1))}, ValueError, "a plane needs points with two features"),
        ({"X": np.ones((0, 2)), "y": None}, ValueError, r"X has shape \(0, 2\); a plane needs points"),
        ({"X": np.full((80, 2), "a")}, ValueError, "must contain finite numbers; a plane needs coordinates"),
        ({"X": np.full((80, 2), np.nan)}, ValueError, "must contain finite numbers"),
        ({"y": [0, 1]}, ValueError, r"y has shape \(2,\); expected \(80,\)"),
        ({"features": (0, 0)}, ValueError, "two different columns"),
        ({"features": (0, 2)}, ValueError, "features = 2 must be >= 0 and <= 1"),
        ({"features": (0, "age")}, ValueError, "X has no column 'age'"),
        ({"y": np.full(80, 7)}, ValueError, r"y contains .*7.*, which is not one of the classes \[0, 1\]"),
        ({"resolution": 1}, ValueError, "resolution = 1 must be >= 2"),
        ({"padding": -1}, ValueError, "padding = -1 must be >= 0"),
        ({"margins": "yes"}, ValueError, "margins = 'yes' is unknown"),
    ],
)
def test_refuses(moons, ax, change, error, message):
    X, y = moons
    arguments = {"estimator": SVC().fit(X, y), "X": X, "y": y, "ax": ax, "resolution": 10, **change}
    with pytest.raises(error, match=message):
        DecisionDisplay.from_estimator(**arguments)


def test_names_from_the_data_are_no_mathematics(moons, ax):
    X, y = moons
    frame = pd.DataFrame(X, columns=["cost ($\\frac$)", "_height"])
    labels = np.where(y, "$0-$50", "_more")
    display = DecisionDisplay.from_estimator(SVC().fit(frame, labels), frame, labels, ax=ax, resolution=10)
    display.figure_.draw_without_rendering()
    assert [text.get_text().strip() for text in ax.get_legend().get_texts()][:2] == [r"\$0-\$50", "_more"]
    assert ax.get_xlabel() == r"cost (\$\frac\$)"


def test_frames_of_polars(moons, ax):
    polars = pytest.importorskip("polars")
    X, y = moons
    frame = polars.DataFrame(X, schema=["width", "height"])
    model = SVC().fit(frame, y)
    display = DecisionDisplay.from_estimator(model, frame, y, ax=ax, resolution=10)
    expected = DecisionDisplay.from_estimator(SVC().fit(X, y), X, y, ax=ax, resolution=10)
    np.testing.assert_array_equal(display.response, expected.response)
    assert display.xlabel == "width"


def test_no_figure_is_left_by_an_error(moons):
    X, y = moons
    before = plt.get_fignums()
    with pytest.raises(ValueError, match="1 colors for 2 classes"):
        DecisionDisplay.from_estimator(SVC().fit(X, y), X, y, colors=["red"], resolution=10)
    assert plt.get_fignums() == before


def test_frames_name_their_columns_in_errors(moons, ax):
    X, y = moons
    frame = pd.DataFrame(X, columns=["width", "height"])
    with pytest.raises(ValueError, match="no column 'age'; it has width, height"):
        DecisionDisplay.from_estimator(SVC().fit(frame, y), frame, y, features=("age", 0), ax=ax)
