"""A class without weight is none: a fit on all samples is the fit on those of positive weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier

import mercer
from mercer import (
    SVC,
    KernelFisher,
    KernelLogisticRegression,
    KernelMachine,
    KernelMeanClassifier,
    KernelPLSClassifier,
    KernelRidgeClassifierCV,
    LeastSquaresSVC,
    LinearSVC,
    NuSVC,
)
from mercer.kernels import Gaussian, Polynomial

X, y = load_iris(return_X_y=True)
X = X[::3] + 0.3 * np.random.default_rng(0).normal(size=(50, 4))
y = np.array(["setosa", "versicolor", "virginica"])[y[::3]]
KERNEL = Gaussian(2.0)
CLASSIFIERS = [
    SVC(kernel=KERNEL, tol=1e-9),
    SVC(kernel=KERNEL, tol=1e-9, multi_class="ovr", class_weight="balanced"),
    SVC(kernel=KERNEL, tol=1e-9, multi_class="crammer_singer"),
    NuSVC(kernel=KERNEL, nu=0.3, tol=1e-9),
    LinearSVC(tol=1e-9, max_iter=10_000),
    KernelLogisticRegression(kernel=KERNEL, tol=1e-9),
    KernelMachine("logistic", kernel=KERNEL, tol=1e-9),
    KernelRidgeClassifierCV(kernel=KERNEL),
    LeastSquaresSVC(kernel=KERNEL),
    KernelFisher(kernel=KERNEL),
    KernelMeanClassifier(kernel=KERNEL),
    KernelPLSClassifier(kernel=KERNEL),
]


@pytest.mark.parametrize("missing", ["setosa", "versicolor", "virginica"])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_a_class_without_weight_is_none(model: Any, missing: str) -> None:
    there = y != missing
    all_samples = clone(model).fit(X, y, sample_weight=there.astype(float))
    some = clone(model).fit(X[there], y[there])
    assert all_samples.classes_.tolist() == some.classes_.tolist() == sorted(set(y) - {missing})
    assert np.array_equal(all_samples.predict(X), some.predict(X))
    if hasattr(some, "decision_function"):
        assert np.allclose(all_samples.decision_function(X), some.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("kind", [SVC, LinearSVC])
def test_a_class_weight_of_zero(kind: Any) -> None:
    model = kind(class_weight={"setosa": 0.0, "versicolor": 2.0}).fit(X, y)
    assert model.classes_.tolist() == ["versicolor", "virginica"] and model.class_weight_.tolist() == [2.0, 1.0]


def test_bagging_with_a_rare_class() -> None:
    some = np.r_[0:40]  # four of the last class: many bootstrap samples have none of them
    bag, theirs = (
        BaggingClassifier(machine, n_estimators=20, max_samples=0.3, random_state=0).fit(X[some], y[some])
        for machine in (SVC(), svm.SVC())
    )
    assert min(len(member.classes_) for member in bag.estimators_) == 2
    assert np.array_equal(bag.predict(X), theirs.predict(X))


def test_kernel_values_of_very_different_size_need_few_steps() -> None:
    draw = np.random.default_rng(1)
    A, labels = draw.normal(size=(10, 2)), draw.integers(0, 3, 10)
    order = np.argsort(labels, kind="stable")  # in which the solver sees the samples
    A, labels = A[order], labels[order]
    model = SVC(multi_class="kbb", kernel="polynomial(degree=50)", fit_intercept=False).fit(A, labels)
    solution = model.solutions_[0]
    assert model.fit_status_ == 0 and solution.inner_iter < 10_000
    # Weston and Watkins: β of the own class in [0, 2C], of others in [−C, 0], of sum 0 for each sample
    own, beta = labels[:, None] == np.arange(3), solution.beta
    f = 2.0 * own - Polynomial(50)(A) @ beta
    up = np.where(beta < np.where(own, 2.0, 0.0), f, -np.inf).max(axis=1)
    low = np.where(beta > np.where(own, 0.0, -1.0), f, np.inf).min(axis=1)
    assert (up - low).max() <= model.tol
    assert np.allclose(beta.sum(axis=1), 0, atol=1e-12)


@pytest.mark.parametrize("name", ["KernelRidge", "KernelPCA"])
def test_the_number_of_features_is_kept_for_functions_of_the_user(name):
    """As scikit-learn's do, and another number is refused before the function sees it."""
    model = getattr(mercer, name)(kernel=lambda a, b: float(a @ b)).fit(X, X[:, 0])
    assert model.n_features_in_ == X.shape[1]
    with pytest.raises(ValueError, match=rf"{name}: X has 1 features, but was fitted with {X.shape[1]}"):
        (model.predict if name == "KernelRidge" else model.transform)(X[:, :1])
    assert mercer.SVC(kernel=lambda A, B: A @ B.T).fit(X, X[:, 0] > 5.8).shape_fit_ == X.shape
