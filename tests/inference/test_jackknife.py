"""Jackknife+ intervals against their definition by n refits, and their coverage."""

from unittest.mock import patch

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVR, KernelInterpolator, KernelMachine, KernelRidge
from mercer.gram import Nystrom
from mercer.inference import JackknifePlus
from mercer.kernels import Gaussian, Power
from mercer.methods.anova_spline import AnovaSpline
from mercer.methods.quantile import KernelQuantileRegression
from mercer.methods.spline import SmoothingSpline
from mercer.methods.thin_plate import ThinPlateSpline

rng = np.random.default_rng(8)
N = 27
X = rng.uniform(-1, 1, size=(N, 2))
y = np.sin(3 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=N)
NEW = rng.uniform(-1.2, 1.2, size=(6, 2))
K = Gaussian(0.8)


def brute(estimator, data, target, new, level, folds=None):
    """The definition: quantiles over i of what the fit without i, or without its fold, says give or take |rᵢ|."""
    n = len(target)
    folds = [[i] for i in range(n)] if folds is None else folds
    low, high = [], []
    for fold in folds:
        kept = np.setdiff1d(np.arange(n), fold)
        model = clone(estimator).fit(data[kept], target[kept])
        for i in fold:
            r = abs(target[i] - model.predict(data[i : i + 1])[0])
            low.append(model.predict(new) - r)
            high.append(model.predict(new) + r)
    low, high = np.sort(low, axis=0), np.sort(high, axis=0)
    alpha = 1 - level
    j, k = int(np.floor(alpha * (n + 1) + 1e-9)), int(np.ceil((1 - alpha) * (n + 1) - 1e-9))
    return low[j - 1], high[k - 1]


@pytest.mark.parametrize(
    "estimator",
    [
        KernelRidge(alpha=0.1, kernel=K),
        KernelRidge(alpha=0.1, kernel=K, free=1),
        KernelRidge(alpha=0.1, kernel=Power(1.0), fit_intercept=True),
        KernelMachine("squared", kernel=K, alpha=0.1, free=0),
        KernelInterpolator(Gaussian(0.3)),
        ThinPlateSpline(alpha=0.05),
    ],
)
@pytest.mark.parametrize("level", [0.7, 0.9])
def test_closed_forms_equal_refits(estimator, level) -> None:
    model = JackknifePlus(estimator, level=level).fit(X, y)
    assert model.method_ == "closed_form"
    low, high = model.interval(NEW)
    expected = brute(estimator, X, y, NEW, level)
    assert np.allclose(low, expected[0], atol=1e-7) and np.allclose(high, expected[1], atol=1e-7)
    assert np.allclose(model.predict(NEW), clone(estimator).fit(X, y).predict(NEW))


def test_the_smoothing_spline_needs_no_refit() -> None:
    x = np.sort(rng.uniform(size=N))
    x[7] = x[8]
    target = np.sin(6 * x) + 0.2 * rng.normal(size=N)
    new = np.array([-0.1, x[3], x[7], 0.5, 1.2])  # also outside, at a sample, and at two of them
    model = JackknifePlus(SmoothingSpline(alpha=1e-3), level=0.8).fit(x, target)
    assert model.method_ == "closed_form"
    low, high = model.interval(new)
    expected = brute(SmoothingSpline(alpha=1e-3), x, target, new, 0.8)
    assert np.allclose(low, expected[0], atol=1e-8) and np.allclose(high, expected[1], atol=1e-8)


@pytest.mark.parametrize(
    "estimator",
    [AnovaSpline(alpha=0.1, theta=[1.0, 1.0]), KernelRidge(0.1, kernel=K, gram=Nystrom(9), random_state=0)],
    ids=["components", "landmarks"],
)
def test_what_comes_from_all_samples_is_frozen(estimator) -> None:
    found = JackknifePlus(estimator).fit(X, y)._left_out(NEW)
    ends = {*X.argmin(axis=0), *X.argmax(axis=0)}  # without these the interval of the components would be another
    for i in [i for i in range(N) if i not in ends][:6]:
        one = clone(estimator).fit(X, y, np.where(np.arange(N) == i, 0.0, 1.0))  # which keeps the landmarks
        assert np.allclose(found[:, i], one.predict(NEW), atol=1e-8)


@pytest.mark.parametrize(
    "estimator",
    [
        SVR(kernel=K, C=3.0, tol=1e-7),
        KernelQuantileRegression(K, quantiles=0.5, alpha=0.3),
        KernelMachine("huber", kernel=K, alpha=0.1, free=0),
        LinearRegression(),
    ],
)
def test_others_are_fitted_again(estimator) -> None:
    model = JackknifePlus(estimator, level=0.8).fit(X, y)
    assert model.method_ == "refit"
    found, expected = model.interval(NEW), brute(estimator, X, y, NEW, 0.8)
    assert np.allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("estimator", "columns"), [(KernelRidge(alpha=0.1, kernel=K), 2), (SmoothingSpline(), 1), (ThinPlateSpline(), 2)]
)
def test_closed_forms_need_one_fit(estimator, columns) -> None:
    kind = type(estimator)
    with patch.object(kind, "fit", autospec=True, side_effect=kind.fit) as fit:
        JackknifePlus(estimator).fit(X[:, :columns], y).interval(NEW[:, :columns])
    assert fit.call_count == 1


def test_splines_of_samples_that_are_equal_but_for_rounding_and_that_nearly_interpolate() -> None:
    x = np.sort(X[:, 0])
    x[8] = np.nextafter(x[7], np.inf)
    for points, alpha, tol in ((x, 1e-3, 1e-9), (np.sort(X[:, 0]), 1e-10, 1e-8)):
        model = JackknifePlus(SmoothingSpline(alpha=alpha), level=0.8).fit(points, y)
        expected = brute(SmoothingSpline(alpha=alpha), points, y, NEW[:, 0], 0.8)
        assert np.allclose(model.interval(NEW[:, 0]), expected, rtol=0, atol=tol)


def test_refits_choose_again() -> None:
    estimator = KernelRidge(alpha=0.1, kernel="gaussian(lengthscale='median')")
    model = JackknifePlus(estimator, level=0.8, refit=True).fit(X, y)
    assert np.allclose(model.interval(NEW), brute(estimator, X, y, NEW, 0.8), atol=1e-8)
    fixed = clone(estimator).set_params(kernel=clone(estimator).fit(X, y).kernel_)
    frozen = JackknifePlus(estimator, level=0.8).fit(X, y)
    assert np.allclose(frozen.interval(NEW), brute(fixed, X, y, NEW, 0.8), atol=1e-7)


def test_folds() -> None:
    cv = KFold(3)
    model = JackknifePlus(KernelRidge(alpha=0.1, kernel=K), level=0.8, cv=cv).fit(X, y)
    folds = [test for _, test in cv.split(X)]
    assert np.allclose(model.interval(NEW), brute(KernelRidge(alpha=0.1, kernel=K), X, y, NEW, 0.8, folds), atol=1e-8)
    assert len(model._fits) == 3


def test_precomputed_kernels() -> None:
    plain = JackknifePlus(KernelRidge(alpha=0.1, kernel=K), level=0.8).fit(X, y)
    for refit in (False, True):
        model = JackknifePlus(KernelRidge(alpha=0.1, kernel="precomputed"), level=0.8, refit=refit).fit(K(X), y)
        assert np.allclose(model.interval(K(NEW, X)), plain.interval(NEW), atol=1e-8)


@pytest.mark.parametrize("level", [0.9, 0.8])
def test_coverage(level) -> None:
    draw = np.random.default_rng(21)
    estimator = KernelRidge(alpha=1e-3, kernel="gaussian(lengthscale=0.3)")  # far too wiggly for its noise
    hits, plain, trials = 0, 0, 300
    for _ in range(trials):
        x = draw.uniform(size=(21, 1))
        target = np.sin(6 * x[:, 0]) + 0.3 * draw.standard_t(3, size=21)
        model = JackknifePlus(estimator, level=level).fit(x[:20], target[:20])
        low, high = model.interval(x[20:])
        hits += bool(low[0] <= target[20] <= high[0])
        inside = np.quantile(np.abs(target[:20] - model.predict(x[:20])), level)
        plain += bool(abs(target[20] - model.predict(x[20:])[0]) <= inside)
    floor = 1 - 2 * (1 - level)
    assert hits / trials >= floor
    assert abs(hits / trials - level) < 4 * np.sqrt(level * (1 - level) / trials)
    assert plain / trials < level - 0.1  # residuals of the fit itself promise too much


def test_a_level_beyond_the_sample_is_infinite() -> None:
    low, high = JackknifePlus(KernelRidge(alpha=0.1, kernel=K), level=0.99).fit(X, y).interval(NEW)
    assert np.all(np.isneginf(low)) and np.all(np.isposinf(high))


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"level = 1\.5 must be < 1"):
        JackknifePlus(KernelRidge(), level=1.5).fit(X, y)
    with pytest.raises(TypeError, match="predicts labels"):
        JackknifePlus(LogisticRegression()).fit(X, y > 0)
    with pytest.raises(ValueError, match="fit one target at a time"):
        JackknifePlus(KernelRidge()).fit(X, np.stack([y, y], axis=1))
    with pytest.raises(ValueError, match="predicts several numbers"):
        JackknifePlus(KernelQuantileRegression(K, quantiles=[0.1, 0.9])).fit(X, y)
    with pytest.raises(ValueError, match="use alpha > 0"):
        JackknifePlus(KernelRidge(alpha=0.0)).fit(X, y)


@parametrize_with_checks([JackknifePlus(KernelRidge())])
def test_sklearn(estimator, check) -> None:
    check(estimator)
