"""Where a constant is free, the origin of the data does not matter, however far away the data are."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from mercer import (
    SVC,
    SVR,
    KernelCCA,
    KernelDimensionReduction,
    KernelFisher,
    KernelInterpolator,
    KernelKMeans,
    KernelLogisticRegression,
    KernelMachine,
    KernelMeanClassifier,
    KernelPCA,
    KernelPLS,
    KernelRidge,
    KernelRidgeCV,
    LeastSquaresSVC,
    MultipleKernel,
    NuSVR,
)
from mercer.inference import hsic_test, mmd_test
from mercer.selection import KernelTuner

rng = np.random.default_rng(3)
X = np.round(rng.normal(size=(40, 2)) * 2.0**10) / 2.0**10  # so that a shift by whole numbers changes no digit
NEW = np.round(rng.normal(size=(9, 2)) * 2.0**10) / 2.0**10
SHIFT = np.array([2.0**30, -(2.0**26)])
y = X @ [1.0, -2.0] + np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=40)
KERNELS = ["linear", "affine(offset=3.0)", "polynomial(degree=1, scale=2.0)", "linear.on(0) + 0.5*gaussian"]


def agree(model, found, expected):
    """Answers of the shifted fit to the shifted points, and of the plain one."""
    scale = max(np.abs(expected).max(), 1e-12)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7 * scale, err_msg=str(model))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("gram", ["dense", "lazy", "nystrom"])
def test_ridge(kernel, gram):
    model = KernelRidge(0.5, kernel=kernel, fit_intercept=True, gram=gram, random_state=0)
    far, near = model.fit(X + SHIFT, y), clone(model).fit(X, y)
    agree(model, far.predict(NEW + SHIFT), near.predict(NEW))
    agree(model, far.dual_coef_, near.dual_coef_)
    agree(model, far.function_.norm(), near.function_.norm())
    agree(model, far.leave_one_out(), near.leave_one_out())
    agree(model, far.predict(NEW + SHIFT, return_std=True)[1], near.predict(NEW, return_std=True)[1])


def test_ridge_of_several_targets_and_weights():
    Y, weight = np.stack([y, X[:, 0] ** 2], axis=1), rng.uniform(0.5, 2.0, size=40)
    model = KernelRidge([0.5, 3.0], kernel="linear", fit_intercept=True)
    far, near = model.fit(X + SHIFT, Y, weight), clone(model).fit(X, Y, weight)
    agree(model, far.predict(NEW + SHIFT), near.predict(NEW))
    assert far.kernel_ == near.kernel_
    # the intercept is that of the kernel itself, to the digits that x has so far away
    slope = near.function_.weights()
    np.testing.assert_allclose(far.intercept_, near.intercept_ - SHIFT @ slope, rtol=1e-9)


@pytest.mark.parametrize("alpha", ["loo", "gcv", "reml", "marginal_likelihood", "cv"])
def test_ridge_that_chooses(alpha):
    model = KernelRidgeCV(kernel=["linear", "gaussian"], alpha=alpha)
    far, near = model.fit(X + SHIFT, y), clone(model).fit(X, y)
    assert far.alpha_ == near.alpha_ and far.kernel_ == near.kernel_
    agree(model, far.scores_, near.scores_)
    agree(model, far.predict(NEW + SHIFT), near.predict(NEW))


@pytest.mark.parametrize("kernel", ["0.5*linear", "linear.on(0) + 0.5*gaussian"])
def test_likelihood_and_its_climb(kernel):
    model = KernelRidge(0.5, kernel=kernel, fit_intercept=True)
    far, near = model.fit(X + SHIFT, y), clone(model).fit(X, y)
    (value, slopes), (expected, reference) = (m.log_marginal_likelihood(gradient=True) for m in (far, near))
    agree(model, value, expected)
    assert slopes.keys() == reference.keys()
    for name in slopes:
        agree(model, slopes[name], reference[name])
    model = KernelRidgeCV(kernel=kernel, alpha="marginal_likelihood", optimize=True)
    far, near = model.fit(X + SHIFT, y), clone(model).fit(X, y)
    agree(model, far.best_score_, near.best_score_)
    np.testing.assert_allclose(far.predict(NEW + SHIFT), near.predict(NEW), atol=1e-4)


@pytest.mark.parametrize(
    ("model", "target"),
    [(KernelRidge(0.5, kernel="0.5*linear", fit_intercept=True), y), (SVC(kernel="0.5*linear"), y > 0)],
    ids=["ridge", "svc"],
)
def test_tuned_parameters(model, target):
    tuner = KernelTuner(model, random_state=0)
    far, near = tuner.fit(X + SHIFT, target), clone(tuner).fit(X, target)
    np.testing.assert_allclose(far.best_score_, near.best_score_, rtol=1e-4)


def test_witnesses():
    """To the digits that x itself has so far away, for a function that grows with it."""
    A, B = X[:20], X[20:] + 0.5
    options = {"kernel": "linear", "statistic": "biased", "n_draws": 9, "random_state": 0}
    far = mmd_test(A + SHIFT, B + SHIFT, **options)
    np.testing.assert_allclose(far.witness(NEW + SHIFT), (NEW + SHIFT) @ (A.mean(axis=0) - B.mean(axis=0)), rtol=1e-14)
    assert np.isclose(far.witness.norm() ** 2, far.statistic)
    options = {"kernel": "linear", "kernel_y": "linear", "n_draws": 9, "random_state": 0}
    far, near = hsic_test(X + SHIFT, NEW[:1] + X, **options), hsic_test(X, NEW[:1] + X, **options)
    agree("hsic_test", far.witness((NEW + SHIFT, NEW)), near.witness((NEW, NEW)))


def test_seconds_since_1970():
    time = 1.7e9 + rng.uniform(0, 3e6, size=(60, 1))
    values = 1e-6 * (time[:, 0] - 1.7e9) + 0.01 * rng.normal(size=60)
    assert KernelRidge(1.0, fit_intercept=True).fit(time, values).score(time, values) > 0.999


LABELS = np.digitize(y, np.quantile(y, [0.3, 0.7]))


@pytest.mark.parametrize(
    "model",
    [
        LeastSquaresSVC(kernel="linear", alpha=0.5),
        KernelFisher(kernel="linear", alpha=0.5),
        KernelFisher(kernel="linear", alpha="loo"),
        KernelLogisticRegression(kernel="linear", alpha=0.5),
        KernelMeanClassifier(kernel="linear"),
    ],
    ids=str,
)
@pytest.mark.parametrize("labels", [LABELS, LABELS > 0], ids=["three", "two"])
def test_classifiers(model, labels):
    far, near = model.fit(X + SHIFT, labels), clone(model).fit(X, labels)
    found, expected = far.decision_function(NEW + SHIFT), near.decision_function(NEW)
    if isinstance(model, KernelMeanClassifier) and found.ndim == 2:  # values of classes have a term in common
        found, expected = found - found[:, :1], expected - expected[:, :1]
    agree(model, found, expected)


@pytest.mark.parametrize(
    "loss", ["squared", "huber", "log_cosh", "absolute", "pinball(quantile=0.3)", "epsilon_insensitive"]
)
def test_machines(loss):
    model = KernelMachine(loss, kernel="linear", alpha=0.5, free=0)
    far, near = model.fit(X + SHIFT, y), clone(model).fit(X, y)
    agree(model, far.predict(NEW + SHIFT), near.predict(NEW))
    intercept = near.free_coef_[0] - SHIFT @ near.function_.weights()
    np.testing.assert_allclose(far.free_coef_[0], intercept, rtol=1e-7)


@pytest.mark.parametrize(
    "model",
    [
        KernelPCA(2),
        KernelPCA(1, eigen_solver="krylov"),
        KernelPCA(2, gram="nystrom", random_state=0),
        KernelPLS(2, kernel="linear"),
        KernelFisher(kernel="linear"),
        KernelKMeans(3, kernel="linear", random_state=0),
    ],
    ids=str,
)
def test_features(model):
    labels = LABELS if isinstance(model, KernelFisher) else y
    far, near = model.fit(X + SHIFT, labels), clone(model).fit(X, labels)
    agree(model, far.transform(NEW + SHIFT), near.transform(NEW))


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_directions_that_tell_of_the_target(kernel):
    model = KernelDimensionReduction(1, kernel=kernel, random_state=0)
    far, near = model.fit(X + SHIFT, y), clone(model).fit(X, y)
    agree(model, far.components_, near.components_)


def test_what_components_leave_out():
    far, near = KernelPCA(1).fit(X + SHIFT), KernelPCA(1).fit(X)
    agree(far, far.reconstruction_error(NEW + SHIFT), near.reconstruction_error(NEW))
    agree(far, far.eigenvalues_, near.eigenvalues_)


def test_canonical_correlations():
    other = np.round(np.cos(X) * 2.0**10) / 2.0**10
    model = KernelCCA(2, kernel="linear")
    far, near = model.fit(X + SHIFT, other - SHIFT), clone(model).fit(X, other)
    agree(model, far.correlations_, near.correlations_)


def test_interpolation():
    model = KernelInterpolator("linear + gaussian", free=0)
    far, near = model.fit(X + SHIFT, y), clone(model).fit(X, y)
    agree(model, far.predict(NEW + SHIFT), near.predict(NEW))
    agree(model, far.power(NEW + SHIFT), near.power(NEW))


@pytest.mark.parametrize("shift", [2.0**8, SHIFT], ids=["near", "far"])
@pytest.mark.parametrize("gram", ["auto", "nystrom"])
@pytest.mark.parametrize("method", ["uniform", "alignf", "simplemkl", "lp"])
def test_combined_kernels(method, gram, shift):
    ridge = KernelRidge(0.5, fit_intercept=True, gram=gram, random_state=0)
    model = MultipleKernel(ridge, ["gaussian", "linear", ("linear", [0])], method=method)
    far, near = clone(model).fit(X + shift, y), model.fit(X, y)
    agree(model, far.weights_, near.weights_)
    agree(model, far.scales_, near.scales_)
    agree(model, far.predict(NEW + shift), near.predict(NEW))


@pytest.mark.parametrize("method", ["uniform", "alignf", "easymkl"])
def test_combined_kernels_of_other_estimators(method):
    labels = y > 0
    for inner in (SVC(tol=1e-9), KernelLogisticRegression(), LeastSquaresSVC()):
        model = MultipleKernel(inner, ["gaussian", "linear"], method=method)
        far, near = clone(model).fit(X + SHIFT, labels), model.fit(X, labels)
        found, expected = far.decision_function(NEW + SHIFT), near.decision_function(NEW)
        np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max(), err_msg=str(model))


def test_combined_kernels_beside_no_constant():
    """The kernels themselves, which know the origin."""
    model = MultipleKernel(KernelRidge(0.5), ["gaussian", "linear"], method="uniform").fit(X + 2.0**8, y)
    alone = KernelRidge(0.5, kernel=model.kernel_).fit(X + 2.0**8, y)
    agree(model, model.predict(NEW + 2.0**8), alone.predict(NEW + 2.0**8))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    "model", [SVC(tol=1e-9), SVC(tol=1e-9, loss="squared_hinge"), SVR(tol=1e-9), NuSVR(nu=0.47, tol=1e-9)]
)
def test_sparse_machines(model, kernel):
    """A sparse matrix is solved with as an array about its mean; the answers must know of the same origin."""
    model, target = clone(model).set_params(kernel=kernel), np.sign(y) if isinstance(model, SVC) else y
    far, near = model.fit(csr_array(X + SHIFT), target), clone(model).fit(X, target)
    answer = "decision_function" if isinstance(model, SVC) else "predict"
    agree(model, getattr(far, answer)(csr_array(NEW + SHIFT)), getattr(near, answer)(NEW))
