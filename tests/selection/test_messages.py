"""Errors of public functions name the function, whatever part of it raised them."""

import numpy as np
import pytest

from mercer import KernelPCA, KernelRidge, mercer_expansion
from mercer.datasets import make_circles
from mercer.inference import mmd_test, stein_test
from mercer.selection import (
    alignment,
    choose_components,
    compare,
    expected_loss,
    mean_reciprocal_rank,
    one_class_path,
    silhouette,
    subspace_agreement,
    svm_path,
)

X = np.random.default_rng(0).normal(size=(20, 2))
y = np.arange(20) % 2
TYPO = "kernel expression: unknown name 'guassian'; did you mean 'gaussian'?"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mmd_test(X, X, kernel="guassian"), f"mmd_test: {TYPO}"),
        (lambda: mmd_test(X, X[:, :1], kernel="gaussian"), "mmd_test, Gaussian: X has 2 columns and Y has 1"),
        (lambda: stein_test(X, None), "stein_test, SteinKernel: score = None must be a function"),
        (lambda: alignment("guassian", X, y), f"alignment: {TYPO}"),
        (lambda: alignment("gaussian", X[:, 0], y), "alignment, Gaussian: X has shape (20,)"),
        (lambda: silhouette(X, y, kernel="guassian"), f"silhouette: {TYPO}"),
        (lambda: svm_path(X, y, [1.0], kernel="guassian"), f"svm_path: {TYPO}"),
        (lambda: svm_path(np.nan * X, y, [1.0]), "svm_path: Input X contains NaN"),
        (lambda: one_class_path(X, kernel="guassian"), f"one_class_path: {TYPO}"),
        (lambda: mercer_expansion("guassian", X), f"mercer_expansion: {TYPO}"),
        (lambda: make_circles(random_state="x"), "make_circles: 'x' cannot be used to seed"),
        (lambda: mean_reciprocal_rank("a"), "mean_reciprocal_rank: could not convert"),
        (lambda: subspace_agreement(X, X[:-1]), "subspace_agreement: "),
        (lambda: compare([KernelRidge(), KernelRidge], X, y), "compare: "),
        (
            lambda: expected_loss(KernelRidge, X, y),
            "expected_loss: estimator = KernelRidge is a class; pass an instance",
        ),
        (lambda: expected_loss(None, X, y), "expected_loss: estimator = None must be an estimator"),
        (lambda: choose_components(KernelPCA, X), "choose_components: estimator = KernelPCA is a class; pass an inst"),
        (
            lambda: choose_components(KernelPCA(), X, n_components="10"),
            "choose_components: n_components = '10' must be",
        ),
        (lambda: choose_components(KernelPCA(), X, kernels="rbf"), "choose_components: kernels = 'rbf' must be a list"),
    ],
)
def test_errors_name_the_function(call, words):
    with pytest.raises((TypeError, ValueError)) as error:
        call()
    assert str(error.value).startswith(words)
