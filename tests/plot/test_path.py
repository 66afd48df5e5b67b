"""Curves and coefficients against refits, counts and the estimators' own tables."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_iris, make_moons
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    SVC,
    KernelCCA,
    KernelDensity,
    KernelFisher,
    KernelPLS,
    KernelRidge,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
)
from mercer.plot import PathDisplay
from mercer.selection import one_class_path, svm_path


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def moons():
    return make_moons(50, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def path(moons):
    return svm_path(*moons, [10.0, 0.1, 1.0], kernel="gaussian(lengthscale=0.5)", tol=1e-8)


def test_machines_over_C(moons, path):
    display = PathDisplay.from_path(path, ax=Figure().subplots(1, 2))
    X, y = moons
    line = display.curves_["training error"]
    assert line.get_xdata().tolist() == [0.1, 1, 10]
    models = [SVC(C=C, kernel="gaussian(lengthscale=0.5)", tol=1e-8).fit(X, y) for C in (0.1, 1, 10)]
    np.testing.assert_allclose(line.get_ydata(), [1 - m.score(X, y) for m in models])
    drawn = np.array([line.get_ydata() for line in display.coefficients_])
    assert drawn.shape == (50, 3)
    for j, (C, model) in enumerate(zip((0.1, 1, 10), models, strict=True)):
        beta = np.zeros(50)
        beta[model.support_] = model.dual_coef_[0]
        np.testing.assert_allclose(drawn[:, j], beta / C, atol=1e-6)
    order = np.argsort(path.C)
    np.testing.assert_array_equal(display.curves_["span estimate"].get_ydata(), path.span_estimate[order])
    best = path.C[np.nanargmin(path.span_estimate)]
    assert [line.get_xdata()[0] for line in display.best_] == [best, best]
    assert [panel.get_xscale() for panel in display.axes_] == ["log", "log"]


def test_without_coefficients(path, ax):
    display = PathDisplay.from_path(path, coefficients=False, ax=ax, line_kw={"lw": 4}, legend=False)
    assert len(display.axes_) == 1
    assert display.coefficients_ == []
    assert display.curves_["ξα bound"].get_linewidth() == 4
    assert ax.get_legend() is None


def test_one_class_path_is_piecewise_linear(moons):
    path = one_class_path(moons[0][:20], gamma=2.0)
    display = PathDisplay.from_path(path, ax=Figure().subplots())
    assert display.axes_[0].get_xscale() == "linear"
    lam = float(np.mean(path.lambdas[3:5]))
    drawn = [np.interp(lam, line.get_xdata(), line.get_ydata()) for line in display.coefficients_]
    np.testing.assert_allclose(drawn, 2 * lam * 20 * path.at(lam).coefficients, atol=1e-9)
    nu = np.interp(lam, display.curves_["ν"].get_xdata(), display.curves_["ν"].get_ydata())
    assert nu == pytest.approx(path.at(lam).nu)
    share = display.curves_["share of support vectors"].get_ydata()
    assert share[-1] == 1
    assert share[0] == 0


def test_leave_one_out_of_ridge_is_that_of_refits(ax):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (25, 1))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=25)
    alphas, kernels = [1.0, 0.01], ["gaussian(lengthscale=0.3)", "gaussian(lengthscale=0.9)"]
    model = make_pipeline(StandardScaler(with_mean=False, with_std=False), KernelRidgeCV(alphas, kernel=kernels))
    display = PathDisplay.from_estimator(model.fit(X, y), ax=ax)
    for kernel in kernels:
        for alpha, drawn in zip([0.01, 1.0], display.curves_[kernel].get_ydata(), strict=True):
            left = cross_val_predict(
                KernelRidge(alpha=alpha, kernel=kernel, fit_intercept=True), X, y, cv=LeaveOneOut()
            )
            assert drawn == pytest.approx(np.mean((y - left) ** 2))
    assert display.best_[0].get_xdata()[0] == model[-1].alpha_
    assert ax.get_ylabel() == "leave-one-out squared error"
    one = KernelRidgeCV(alphas, kernel=kernels[0], alpha="gcv").fit(X, y)
    display = PathDisplay.from_estimator(one, ax=ax)
    np.testing.assert_allclose(display.curves_["score"].get_ydata(), one.scores_[0][::-1])


def test_a_strength_for_each_target_and_classes(ax):
    X, y = load_iris(return_X_y=True)
    model = KernelRidgeCV([0.1, 1.0, 10.0], alpha_per_target=True).fit(X[:, :2], X[:, 2:])
    display = PathDisplay.from_estimator(model, ax=ax)
    curves = list(display.curves_.values())
    np.testing.assert_allclose([c.get_ydata() for c in curves], -model.scores_[0].T)
    model = KernelRidgeClassifierCV([0.1, 1.0, 10.0]).fit(X, y)
    display = PathDisplay.from_estimator(model, ax=ax)
    np.testing.assert_allclose(display.curves_["score"].get_ydata(), model.scores_[0])


def test_other_estimators_that_choose(ax):
    X, y = load_iris(return_X_y=True)
    fisher = KernelFisher(alpha="loo").fit(X, y)
    display = PathDisplay.from_estimator(fisher, ax=ax)
    assert display.best == fisher.alphas_[np.argmin(fisher.loo_losses_)]
    density = KernelDensity(bandwidth="loo").fit(X)
    display = PathDisplay.from_estimator(density, ax=ax)
    (line,) = display.curves_.values()
    assert line.get_xdata()[line.get_ydata().argmax()] == density.bandwidth_ == display.best
    pls = KernelPLS("cv", max_components=4).fit(X[:, 1:], X[:, 0])
    display = PathDisplay.from_estimator(pls, ax=ax)
    assert all(t == round(t) for t in ax.get_xticks())
    (line,) = display.curves_.values()
    assert line.get_xdata().tolist() == list(range(1, len(pls.cv_errors_) + 1))
    assert display.best == pls.n_components_
    cca = KernelCCA(1, epsilon="cv", cv=3).fit(X[:, :2], X[:, 2:])
    display = PathDisplay.from_estimator(cca, ax=ax)
    (line,) = display.curves_.values()
    assert line.get_xdata()[line.get_ydata().argmax()] == cca.epsilon_[0] == display.best


def test_refuses(ax):
    with pytest.raises(TypeError, match="SVC has no path; pass a fitted KernelRidgeCV"):
        PathDisplay.from_estimator(SVC(), ax=ax)
    with pytest.raises(TypeError, match="list is not a path; pass a result of svm_path"):
        PathDisplay.from_path([1, 2], ax=ax)
