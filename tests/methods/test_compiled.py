"""Compiled code on as many samples as it is made for, against scikit-learn; small samples take other ways."""

import numpy as np
import pytest
from scipy.interpolate import make_smoothing_spline
from sklearn import svm
from sklearn.decomposition import PCA

from mercer import SVC, SVR, KernelPCA, KernelRidge, LinearSVC, LinearSVR, NuSVC, OneClassSVM, SmoothingSpline

rng = np.random.default_rng(12)
X = rng.normal(size=(2500, 4))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=2500)
TWO, THREE = Y > 0, np.digitize(Y, [-0.7, 0.7])
NEW = rng.normal(size=(50, 4))


@pytest.mark.parametrize(
    ("model", "peer", "y"),
    [
        (SVC(), svm.SVC(), TWO),
        (SVC(decision_function_shape="ovo"), svm.SVC(decision_function_shape="ovo"), THREE),
        (NuSVC(nu=0.3), svm.NuSVC(nu=0.3), TWO),
        (SVC(kernel="poly"), svm.SVC(kernel="poly"), TWO),
        (OneClassSVM(nu=0.1), svm.OneClassSVM(nu=0.1), None),
    ],
    ids=["two classes", "three classes", "nu", "polynomial", "one class"],
)
def test_machines(model, peer, y):
    expected, found = (m.set_params(tol=1e-5).fit(X, y).decision_function(NEW) for m in (peer, model))
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


def test_regression():
    expected, found = (m.set_params(tol=1e-5).fit(X, Y).predict(NEW) for m in (svm.SVR(), SVR()))
    np.testing.assert_allclose(found, expected, atol=1e-3)


@pytest.mark.parametrize(
    ("model", "y"),
    [(SVC(multi_class="crammer_singer"), THREE), (LinearSVC(), THREE), (LinearSVR(), Y)],
    ids=lambda thing: type(thing).__name__ if hasattr(thing, "fit") else "",
)
def test_machines_that_scikit_learn_penalises_otherwise(model, y):
    assert model.fit(X, y).score(X, y) > 0.5


def test_matrices_in_tiles():
    K = np.exp(-0.5 * (np.sum(X**2, axis=1)[:, None] + np.sum(X**2, axis=1) - 2 * X @ X.T))
    ridge = KernelRidge(2.0, kernel="gaussian").fit(X, Y)
    np.testing.assert_allclose(ridge.dual_coef_, np.linalg.solve(K + 2 * np.eye(2500), Y), rtol=1e-6, atol=1e-8)
    pca = KernelPCA(2, kernel="linear", gram="lazy", eigen_solver="krylov", random_state=0).fit(X)
    np.testing.assert_allclose(pca.eigenvalues_, PCA(2).fit(X).explained_variance_ * 2499, rtol=1e-6)


def test_splines():
    x = np.sort(X[:, 0])
    spline = SmoothingSpline(alpha=1e-2).fit(x, Y)
    np.testing.assert_allclose(spline.predict(x), make_smoothing_spline(x, Y, lam=1e-2)(x), atol=1e-6)
