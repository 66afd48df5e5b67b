"""The drawn artists against the table of results: levels, contours, the best point. No image is compared."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from scipy.stats import loguniform
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer.plot import GridDisplay

A, B = np.arange(-2, 11), np.arange(-14, -3)


def hill(a, b):
    """A score with its maximum 0.98 at log₂C = 5, log₂γ = −8."""
    return 0.98 - 0.01 * ((a - 5) / 3) ** 2 - 0.01 * ((b + 8) / 2) ** 2


@pytest.fixture
def results():
    a, b = (g.ravel() for g in np.meshgrid(A, B))
    return {"param_C": np.ma.array(2.0**a), "param_gamma": np.ma.array(2.0**b), "mean_test_score": hill(a, b)}


@pytest.fixture
def ax():
    return Figure().subplots()


def test_levels_of_libsvm(results, ax):
    display = GridDisplay.from_cv_results(results, ax=ax)
    # grid.py: begin at round(98) − 3 = 95 per cent, in steps of half a per cent
    np.testing.assert_allclose(display.lines_.levels, [0.95, 0.955, 0.96, 0.965, 0.97, 0.975, 0.98], atol=1e-12)
    assert (display.regions_.levels == display.lines_.levels).all()
    assert display.ax_ is ax


def test_contours_lie_at_their_level(results, ax):
    display = GridDisplay.from_cv_results(results, ax=ax)
    for level, curves in zip(display.lines_.levels, display.lines_.allsegs, strict=True):
        for curve in curves:
            # linear interpolation between grid points errs by at most |f″|/8 in each direction
            assert np.abs(hill(*curve.T) - level).max(initial=0) <= (0.02 / 9 + 0.02 / 4) / 8 + 1e-12


def test_best_point_is_marked_and_written(results, ax):
    display = GridDisplay.from_cv_results(results, ax=ax)
    assert display.best_.get_xydata().tolist() == [[5, -8]]
    text = display.text_.get_text()
    assert r"\log_2\, C = 5$" in text
    assert r"\log_2\, \gamma = -8$" in text
    assert "score $0.98$" in text
    assert "$C = 32$" in text
    assert r"$\gamma = 0.003906$" in text
    assert ax.get_xlabel() == r"$\log_2\, C$"
    assert ax.get_ylabel() == r"$\log_2\, \gamma$"
    assert display.colorbar_.ax.get_ylabel() == "cross-validated score"


def test_first_of_equal_scores_as_in_scikit_learn(results, ax):
    results["mean_test_score"] = results["mean_test_score"].round(2)
    ranks = np.argsort(results["mean_test_score"])
    assert results["mean_test_score"][ranks[-1]] == results["mean_test_score"][ranks[-2]]
    display = GridDisplay.from_cv_results(results, ax=ax)
    first = results["mean_test_score"].argmax()
    best = [[np.log2(results["param_C"][first]), np.log2(results["param_gamma"][first])]]
    assert display.best_.get_xydata().tolist() == best


def test_pipelines_other_parameters_and_failures(ax):
    results = {
        "param_svc__C": np.array([1, 1, 1, 1, 4, 4, 4, 4]),
        "param_svc__kernel__lengthscale": np.array([0.5, 0.5, 8, 8, 0.5, 0.5, 8, 8]),
        "param_pca": np.array([2, 3] * 4),
        "mean_test_score": np.array([0.7, 0.8, 0.6, 0.5, np.nan, 0.9, 0.95, 0.1]),
    }
    display = GridDisplay.from_cv_results(results, y="lengthscale", ax=ax)
    found = {(a, b): s for a, b, s in zip(display.x, display.y, display.score, strict=True)}
    assert found == {(0, -1): 0.8, (0, 3): 0.6, (2, -1): 0.9, (2, 3): 0.95}
    assert display.best_.get_xydata().tolist() == [[2, 3]]
    assert ax.get_ylabel() == r"$\log_2\, \mathrm{lengthscale}$"


def test_candidates_without_one_of_the_two_are_left_out(ax):
    grids = [{"kernel": ["linear"], "C": [1, 4, 16]}, {"C": [1, 4, 16], "gamma": [0.25, 1.0]}]
    search = GridSearchCV(SVC(), grids, cv=2).fit(*load_iris(return_X_y=True))
    display = GridDisplay.from_cv_results(search.cv_results_, ax=ax)
    assert sorted(zip(display.x, display.y, strict=True)) == [(a, b) for a in (0, 2, 4) for b in (-2, 0)]
    assert display.score[display.best] == search.cv_results_["mean_test_score"][3:].max()


def test_scattered_candidates(ax):
    X, y = load_iris(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), SVC())
    space = {"svc__C": loguniform(0.1, 100), "svc__gamma": loguniform(1e-3, 1)}
    search = RandomizedSearchCV(pipe, space, n_iter=15, cv=2, random_state=0).fit(X, y)
    display = GridDisplay.from_cv_results(search.cv_results_, ax=ax)
    assert len(display.x) == 15
    np.testing.assert_allclose(display.best_.get_xdata(), np.log2(search.best_params_["svc__C"]))


def test_scores_beyond_0_and_1(results, ax):
    results["mean_test_score"] = -1000 * (1 - results["mean_test_score"])
    levels = GridDisplay.from_cv_results(results, ax=ax).lines_.levels
    step = (-20 - np.median(results["mean_test_score"])) / 7
    np.testing.assert_allclose(levels, np.median(results["mean_test_score"]) + step * np.arange(7))


@pytest.mark.parametrize("score", [0.5, -3.0])
def test_equal_scores(results, ax, score):
    results["mean_test_score"] = np.full(len(A) * len(B), score)
    display = GridDisplay.from_cv_results(results, ax=ax)
    assert not any(len(curve) for curves in display.lines_.allsegs for curve in curves)


def test_options(results):
    plt.switch_backend("agg")
    display = GridDisplay.from_cv_results(results, levels=[0.9, 0.95], colorbar=False, cmap="magma")
    assert display.lines_.levels.tolist() == [0.9, 0.95]
    assert display.colorbar_ is None
    assert display.figure_.get_axes() == [display.ax_]
    display.figure_.draw_without_rendering()
    plt.close(display.figure_)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"score": "mean_test_f1"}, "no score = 'mean_test_f1'; it has mean_test_score"),
        ({}, {"y": "degree"}, "'degree' matches 0 parameters of the search, which has C, gamma"),
        ({"param_svc__C": np.ones(143)}, {}, "'C' matches 2 parameters"),
        ({"param_gamma": np.array(["scale"] * 143)}, {}, "gamma must have positive values"),
        ({"param_gamma": np.arange(143)}, {}, "gamma must have positive values"),
        ({"param_gamma": np.ones(143)}, {}, "at least two values of C and of gamma"),
        ({"mean_test_score": np.full(143, np.nan)}, {}, "no candidate has a finite mean_test_score"),
    ],
)
def test_refuses(results, change, options, message):
    with pytest.raises(ValueError, match=message):
        GridDisplay.from_cv_results({**results, **change}, **options)


def test_refuses_the_search_itself():
    with pytest.raises(TypeError, match="object is not a dict; pass cv_results_ of a search"):
        GridDisplay.from_cv_results(object())
