"""Scores and level lines against the transformer's own values."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_circles
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelCCA, KernelFisher, KernelICA, KernelPCA, KernelPLS
from mercer.kernels.strings import Spectrum
from mercer.plot import ComponentsDisplay


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def rings():
    return make_circles(60, factor=0.4, noise=0.05, random_state=0)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_linear_components_are_those_of_pca(iris, ax):
    X, y = iris
    display = ComponentsDisplay.from_estimator(KernelPCA(n_components=3).fit(X), X, y, components=(0, 2), ax=ax)
    scores = PCA(3).fit_transform(X)
    for c, points in enumerate(display.points_[0]):
        drawn = np.abs(points.get_offsets())
        np.testing.assert_allclose(drawn, np.abs(scores[y == c][:, [0, 2]]), atol=1e-8)
        assert points.get_label() == str(c)
    ratio = 100 * PCA(3).fit(X).explained_variance_ratio_
    assert ax.get_xlabel() == f"component 1 ({ratio[0]:.3g} %)"
    assert ax.get_ylabel() == f"component 3 ({ratio[2]:.3g} %)"


def test_single_component_as_histogram(iris, ax):
    X, y = iris[0][50:], iris[1][50:]
    model = KernelFisher(kernel="linear").fit(X, y)
    display = ComponentsDisplay.from_estimator(model, X, y, ax=ax)
    scores = model.transform(X)[:, 0]
    assert len(display.points_[0]) == 2
    for c, patch in zip((1, 2), display.points_[0], strict=True):
        counts, edges, _ = patch.get_data()
        assert counts.sum() == 50
        inside = (scores[y == c][:, None] >= edges[None, :-1]) & (scores[y == c][:, None] < edges[None, 1:])
        inside[:, -1] |= scores[y == c] == edges[-1]
        assert (inside.sum(axis=0) == counts).all()


def test_level_lines_are_those_of_the_functions(rings):
    X, y = rings
    model = KernelPCA(n_components=2, kernel="gaussian(lengthscale=0.6)").fit(X)
    display = ComponentsDisplay.from_estimator(model, X, y, contours=True, ax=Figure().subplots(1, 3), resolution=80)
    assert len(display.axes_) == 3
    for j, lines in enumerate(display.contours_):
        for level, curves in zip(lines.levels, lines.allsegs, strict=True):
            for curve in curves:
                if len(curve):
                    values = model.transform(curve)[:, j]
                    # linear interpolation on cells of 0.03, second derivatives up to about 1/lengthscale²
                    np.testing.assert_allclose(values, level, atol=2e-3)
    assert (np.concatenate([p.get_offsets() for p in display.points_[1]]).shape) == X.shape


def test_numbers_have_a_scale_of_colours(iris, ax):
    X = iris[0]
    model = KernelPLS(2, kernel="linear").fit(X[:, 1:], X[:, 0])
    display = ComponentsDisplay.from_estimator(model, X[:, 1:], X[:, 0] + 0.01, ax=ax)
    assert (display.points_[0][0].get_array() == X[:, 0] + 0.01).all()
    assert display.colorbar_.ax.get_ylabel() == "y"
    assert ax.get_legend() is None


def test_other_transformers_pipelines_frames_and_strings(iris, ax):
    X, y = iris
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    model = make_pipeline(StandardScaler(), KernelPCA(n_components=2, kernel="rbf")).fit(frame)
    display = ComponentsDisplay.from_estimator(model, frame, contours=True, ax=Figure().subplots(), resolution=15)
    np.testing.assert_allclose(display.points_[0][0].get_offsets(), model.transform(frame))
    ica = KernelICA(2, random_state=0, n_init=1).fit(X[:, 2:] + np.random.default_rng(0).normal(size=(150, 2)))
    assert len(ComponentsDisplay.from_estimator(ica, X[:, 2:], y, ax=ax).points_[0]) == 3
    cca = KernelCCA(2).fit(X[:, :2], X[:, 2:])
    display = ComponentsDisplay.from_estimator(cca, X[:, 2:], view=1, ax=ax)
    np.testing.assert_allclose(display.points_[0][0].get_offsets(), cca.scores_[1], atol=1e-8)
    words = ["abab", "baba", "aabb", "bbaa", "abba"]
    model = KernelPCA(n_components=2, kernel=Spectrum(2)).fit(words)
    assert ComponentsDisplay.from_estimator(model, words, list("aabbb"), ax=ax).scores.shape == (5, 2)


def test_tensors(rings):
    torch = pytest.importorskip("torch")
    X, y = rings
    model = KernelPCA(n_components=2, kernel="rbf").fit(torch.asarray(X))
    display = ComponentsDisplay.from_estimator(
        model, torch.asarray(X), y, contours=True, resolution=8, ax=Figure().subplots()
    )
    numpy = KernelPCA(n_components=2, kernel="rbf").fit(X)
    points = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    np.testing.assert_allclose(np.abs(display.surfaces.reshape(-1, 2)), np.abs(numpy.transform(points)), atol=1e-8)


def test_keywords(iris, ax):
    X, y = iris
    model = KernelPCA(n_components=2).fit(X)
    display = ComponentsDisplay.from_estimator(model, X, ax=ax, scatter_kw={"c": "red", "s": 3, "lw": 2})
    assert display.points_[0][0].get_facecolor()[0].tolist() == [1, 0, 0, 1]
    assert display.points_[0][0].get_sizes().tolist() == [3]
    assert display.points_[0][0].get_linewidth().tolist() == [2]
    assert ComponentsDisplay.from_estimator(model, X, y, ax=ax, legend=False).ax_.get_legend() is None


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"estimator": object()}, TypeError, "object has no transform; pass a transformer"),
        ({"components": (0, 2)}, ValueError, "components = 2 must be >= 0 and <= 1"),
        ({"components": [(0, 1, 1)]}, ValueError, "one component or a pair"),
        ({"contours": True}, ValueError, "needs data of two columns"),
        ({"y": [0, 1]}, ValueError, r"y has shape \(2,\); expected \(150,\)"),
        ({"resolution": 1}, ValueError, "resolution = 1 must be >= 2"),
    ],
)
def test_refuses(iris, ax, change, error, message):
    X, _ = iris
    arguments = {"estimator": KernelPCA(n_components=2).fit(X), "X": X, "ax": ax, **change}
    with pytest.raises(error, match=message):
        ComponentsDisplay.from_estimator(**arguments)


def test_several_views_ask_which(iris, ax):
    X, _ = iris
    cca = KernelCCA(1).fit([X[:, :1], X[:, 1:2], X[:, 2:]])
    with pytest.raises(ValueError, match="3 views"):
        ComponentsDisplay.from_estimator(cca, [X[:, :1], X[:, 1:2], X[:, 2:]], ax=ax)


def test_clusters_have_distances(iris, ax):
    X, y = iris
    display = ComponentsDisplay.from_estimator(KMeans(2, n_init=1, random_state=0).fit(X), X, y, ax=ax)
    assert display.scores.shape == (150, 2)


def test_whole_numbers_of_many_values_are_numbers(iris, ax):
    X, _ = iris
    model = KernelPCA(n_components=2).fit(X)
    display = ComponentsDisplay.from_estimator(model, X, np.arange(150.0), ax=ax)
    assert display.labels is None
    assert ComponentsDisplay.from_estimator(model, X, np.arange(150) % 20, ax=ax).labels == list(range(20))


def test_many_classes_are_named_beside(iris):
    X, _ = iris
    names = [f"class {j % 20}" for j in range(150)]
    figure = Figure(layout="constrained")
    display = ComponentsDisplay.from_estimator(KernelPCA(n_components=2).fit(X), X, names, ax=figure.subplots())
    figure.draw_without_rendering()
    frame = display.ax_.get_legend().get_window_extent()
    assert display.ax_.get_window_extent().x1 < frame.x0 < frame.x1 <= figure.bbox.width


def test_polars_in_the_plane(rings):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(rings[0], schema=["a", "b"])
    model = KernelPCA(n_components=2, kernel="rbf").fit(frame)
    display = ComponentsDisplay.from_estimator(model, frame, contours=True, resolution=5, ax=Figure().subplots())
    assert display.surfaces.shape == (5, 5, 2)
