"""Estimators on samples of which some have a label."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import (
    SVC,
    SVR,
    KernelLogisticRegression,
    KernelMachine,
    KernelPCA,
    KernelPLSClassifier,
    KernelRidge,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    LeastSquaresSVC,
    LinearSVC,
)
from mercer.kernels import PD, Callable, Gaussian, Precomputed
from mercer.kernels.deformed import Deformed, deformed
from mercer.methods.semi_supervised import SemiSupervised

CLOUD = "a sample of weight 0 is still a point of the cloud, and one that is repeated is a neighbour of itself"
WEIGHTS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")


@pytest.mark.long
@parametrize_with_checks(
    [SemiSupervised(SVC(), unlabelled=None), SemiSupervised(KernelRidge(alpha=1e-3, kernel="rbf"))],
    expected_failed_checks=lambda estimator: dict.fromkeys(WEIGHTS, CLOUD),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def moons(n=120):
    X, y = make_moons(n, noise=0.06, random_state=0)
    known = np.sort(np.concatenate([np.flatnonzero(y == c)[:3] for c in (0, 1)]))
    return X, y, known


CLASSIFIERS = [
    SVC(C=10.0),
    SVC(kernel="poly", degree=2, coef0=1.0),
    KernelLogisticRegression(kernel="gaussian(lengthscale='median')", alpha=0.01),
    KernelRidgeClassifierCV(),
    KernelMachine("squared_hinge", kernel="gaussian(lengthscale=0.3)"),
    KernelPLSClassifier(2),
]


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda e: type(e).__name__)
def test_it_is_the_estimator_with_a_deformed_kernel(estimator, normalized):
    X, y, known = moons()
    marked = np.where(np.isin(np.arange(120), known), y, -1)
    model = SemiSupervised(estimator, graph=5, weight=20.0, power=2, normalized=normalized).fit(X, marked)
    plain = clone(estimator).fit(X, y).kernel_  # with data-driven values of all samples
    kernel = Deformed(plain, X, 5, 20.0, 2)
    kernel = kernel.normalized() if normalized else kernel
    assert model.kernel_ == kernel
    defaults = {
        name: type(estimator)().get_params()[name] for name in ("degree", "coef0", "gamma") if hasattr(estimator, name)
    }
    direct = clone(estimator).set_params(kernel=kernel, **defaults).fit(X[known], y[known])
    np.testing.assert_array_equal(model.predict(X), direct.predict(X))
    np.testing.assert_allclose(model.decision_function(X), direct.decision_function(X), atol=1e-10)
    np.testing.assert_array_equal(np.flatnonzero(model.labelled_), known)
    expected = np.where(marked >= 0, y, direct.predict(X))
    np.testing.assert_array_equal(model.transduction_, expected)
    assert model.score(X, y) == direct.score(X, y)


def test_unlabelled_samples_help():
    X, y, known = moons()
    marked = np.full(120, -1)
    marked[known] = y[known]
    svc = SVC(kernel=Gaussian(0.3))
    assert (
        np.mean(SemiSupervised(svc).fit(X, marked).transduction_ == y) > svc.fit(X[known], y[known]).score(X, y) + 0.05
    )


def test_one_label_of_each_digit():
    """An offset between single labels goes astray where k(x, x) is of every size, and not where it is 1."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:400] / 16, y[:400]
    known = np.array([np.flatnonzero(y == c)[0] for c in range(10)])
    marked = np.full(400, -1)
    marked[known] = y[known]
    right = [
        np.mean(SemiSupervised(SVC(), normalized=normalized).fit(X, marked).transduction_ == y)
        for normalized in (False, True)
    ]
    assert right[1] > right[0] + 0.05
    assert right[1] > SVC().fit(X[known], y[known]).score(X, y) + 0.05


def test_regression_knows_nan():
    X, _, known = moons()
    values = np.sin(X[:, 0])
    marked = np.full(120, np.nan)
    marked[known] = values[known]
    marked[known[0]] = -1  # a value like any other
    model = SemiSupervised(KernelRidge(alpha=1e-3, kernel="rbf")).fit(X, marked)
    assert model.labelled_.sum() == len(known) and model.transduction_[known[0]] == -1
    assert np.all(np.isfinite(model.transduction_))
    two = SemiSupervised(KernelRidge(alpha=1e-3, kernel="rbf")).fit(X, np.column_stack([marked, 2 * marked]))
    np.testing.assert_allclose(two.transduction_[:, 1], 2 * model.transduction_, atol=1e-9)
    SemiSupervised(SVR()).fit(X, marked)


def test_forms_of_labels():
    X, y, known = moons()
    names = np.array(["lower", "upper"])[y]
    hidden = ~np.isin(np.arange(120), known)
    with_none = names.astype(object)
    with_none[hidden] = None
    with_nan = y.astype(float)
    with_nan[hidden] = np.nan
    marked = np.where(hidden, -1, y)
    expected = SemiSupervised(SVC()).fit(X, marked).transduction_
    found = SemiSupervised(SVC()).fit(X, with_none)
    assert found.classes_.tolist() == ["lower", "upper"]
    np.testing.assert_array_equal(found.transduction_, np.array(["lower", "upper"])[expected])
    text = SemiSupervised(SVC(), unlabelled="?").fit(X, np.where(hidden, "?", names))
    np.testing.assert_array_equal(text.transduction_, found.transduction_)
    for mixed in (
        [-1 if gap else name for gap, name in zip(hidden, names, strict=True)],
        pd.Series(with_none, dtype="string"),
        pd.Series(with_none, dtype="category"),
    ):
        np.testing.assert_array_equal(SemiSupervised(SVC()).fit(X, mixed).transduction_, found.transduction_)
    for labels in (with_nan, pd.Series(marked), marked.tolist()):
        np.testing.assert_array_equal(SemiSupervised(SVC()).fit(X, labels).transduction_, expected)
    everything = SemiSupervised(SVC()).fit(X, y)
    np.testing.assert_array_equal(everything.transduction_, y)


def test_forms_of_samples():
    X, y, known = moons()
    marked = np.where(np.isin(np.arange(120), known), y, -1)
    model = SemiSupervised(SVC()).fit(X, marked)
    frame = pd.DataFrame(X, columns=["a", "b"])
    named = SemiSupervised(SVC()).fit(frame, marked)
    assert named.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_allclose(named.decision_function(frame), model.decision_function(X), atol=1e-12)
    sparse = SemiSupervised(SVC()).fit(csr_array(X), marked)
    np.testing.assert_allclose(sparse.decision_function(csr_array(X)), model.decision_function(X), atol=1e-8)


def common_letters(x, y):
    return float(len(set(x) & set(y)))


def test_strings():
    words = ["abc", "abd", "bcd", "cde", "xyz", "wxy", "vwx", "uvw"]
    model = SemiSupervised(KernelLogisticRegression(kernel=Callable(common_letters, PD)), graph=2)
    model.fit(words, [0, -1, -1, -1, 1, -1, -1, -1])
    assert model.transduction_.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert model.predict(["de", "uv"]).tolist() == [0, 1]


def test_several_kernels_are_all_bent():
    X, _, known = moons()
    marked = np.where(np.isin(np.arange(120), known), X[:, 1], np.nan)
    kernels = [Gaussian(0.2), "gaussian(lengthscale='median')"]
    model = SemiSupervised(KernelRidgeCV(kernel=kernels)).fit(X, marked)
    plain = [Gaussian(0.2), Gaussian("median").resolve(X)]
    assert model.estimator_.kernels_ == [deformed(k, X).normalized() for k in plain]


def test_weights_and_probabilities():
    X, y, known = moons()
    marked = np.where(np.isin(np.arange(120), known), y, -1)
    weight = np.random.default_rng(0).uniform(1, 3, 120)
    model = SemiSupervised(KernelLogisticRegression(kernel="gaussian")).fit(X, marked, sample_weight=weight)
    direct = KernelLogisticRegression(kernel=deformed("gaussian", X).normalized())
    direct.fit(X[known], y[known], sample_weight=weight[known])
    np.testing.assert_allclose(model.predict_proba(X), direct.predict_proba(X), atol=1e-8)
    assert not hasattr(SemiSupervised(SVC()), "predict_proba")
    assert not hasattr(SemiSupervised(KernelRidge()), "decision_function")


def test_scores_and_searches_know_only_samples_with_a_label():
    X, y, _ = moons(60)
    marked = np.where(np.arange(60) % 3 == 0, y, -1)
    known = marked >= 0
    weight = np.arange(60.0)
    model = SemiSupervised(SVC(C=0.1)).fit(X, marked)
    assert model.score(X, marked) == model.score(X[known], marked[known])
    assert model.score(X, marked, weight) == model.score(X[known], marked[known], weight[known])
    frame = pd.DataFrame(X, columns=["a", "b"])
    assert SemiSupervised(SVC(C=0.1)).fit(frame, marked).score(frame, marked) == model.score(X, marked)
    values = np.where(known, X[:, 0], np.nan)
    ridge = SemiSupervised(KernelRidge(kernel="rbf")).fit(X, values)
    assert ridge.score(X, values) == ridge.score(X[known], values[known])
    with pytest.raises(ValueError, match="y holds no label to compare predictions with"):
        model.score(X, np.full(60, -1))
    search = GridSearchCV(SemiSupervised(SVC()), {"weight": [0.0, 100.0], "estimator__C": [1.0, 10.0]}, cv=2)
    assert search.fit(X, marked).best_score_ > 0.7  # a third have a label, and could be right


def test_errors():
    X, y, _ = moons()
    with pytest.raises(ValueError, match="y holds no label"):
        SemiSupervised(SVC()).fit(X, np.full(120, -1))
    with pytest.raises(ValueError, match="if -1 is a class and not a missing label"):
        SemiSupervised(SVC()).fit(X, 2 * y - 1)
    with pytest.raises(ValueError, match="X has 120 samples and y has shape"):
        SemiSupervised(SVC()).fit(X, y[:-1])
    for estimator in (LinearSVC(), "svc", GridSearchCV(SVC(), {}), KernelPCA()):
        with pytest.raises(TypeError, match="with a parameter `kernel`"):
            SemiSupervised(estimator).fit(X, y)
    with pytest.raises(TypeError, match="FiniteDomain"):
        SemiSupervised(SVC(kernel=Precomputed())).fit(X @ X.T, y)
    with pytest.raises(ValueError, match="weight = -1"):
        SemiSupervised(SVC(), weight=-1).fit(X, y)


@pytest.mark.long
def test_digits_with_five_labels_of_each():
    """Better than the same machine without the unlabelled digits, on each of several draws."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:900] / 16, y[:900]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        known = np.concatenate([rng.choice(np.flatnonzero(y == c), 5, replace=False) for c in range(10)])
        marked = np.full(900, -1)
        marked[known] = y[known]
        svc, rest = SVC(kernel="gaussian(lengthscale='median')", C=100.0), marked < 0
        plain = svc.fit(X[known], y[known]).score(X[rest], y[rest])
        assert np.mean(SemiSupervised(svc).fit(X, marked).transduction_[rest] == y[rest]) > plain + 0.01


@pytest.mark.parametrize("graph", [3, 6, "connected"])
def test_equally_near_neighbours_are_the_same_of_sparse_and_dense_data(graph):
    rng = np.random.default_rng(0)
    flags = rng.random((60, 12)) < 0.3  # of which many are equally far from each other
    labels = np.where(rng.random(60) < 0.4, flags[:, :3].sum(axis=1) > 1, -1)
    model = SemiSupervised(LeastSquaresSVC(kernel="gaussian(lengthscale='median')"), graph=graph)
    dense = clone(model).fit(flags, labels).decision_function(flags)
    sparse = clone(model).fit(csr_array(flags), labels).decision_function(csr_array(flags))
    np.testing.assert_allclose(sparse, dense, rtol=0, atol=1e-10)


@pytest.mark.parametrize("made", ["method", "kernel"])
def test_the_kernel_does_not_change_with_the_array_that_was_given(made) -> None:
    A = np.random.default_rng(0).normal(size=(30, 2))
    y, given = np.where(A[:, 0] > 0, 1, 2), A.copy()
    if made == "method":
        model = SemiSupervised(SVC()).fit(given, y)
    else:
        model = SVC(kernel=mercer.deformed("gaussian", given)).fit(A[:20], y[:20])
    before = model.decision_function(A)
    given[:] = 777.0
    assert np.array_equal(model.decision_function(A), before)
