"""scikit-learn's names and parameters give its values."""

import functools
import re

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels

from mercer import SVC, KernelPCA, KernelRidgeCV
from mercer.kernels import Gaussian, Kernel, Polynomial
from mercer.kernels.finite import Callable, Precomputed
from mercer.kernels.sklearn_names import from_sklearn

rng = np.random.default_rng(0)
X, Y = rng.uniform(0.1, 1, size=(5, 4)), rng.uniform(0.1, 1, size=(3, 4))
NAMES = ("linear", "poly", "polynomial", "rbf", "laplacian", "sigmoid", "cosine", "chi2", "additive_chi2")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("params", [{}, {"gamma": 0.7}, {"gamma": 2.0, "degree": 2, "coef0": 0.3}, {"degree": 2.5}])
def test_scikit_learn_values(name, params):
    everything = {"gamma": None, "degree": 3, "coef0": 1} | params
    theirs = everything | {"gamma": 1.0} if name == "chi2" and everything["gamma"] is None else everything
    k = from_sklearn(name, **params, n_features=4)
    assert isinstance(k, Kernel)
    expected = pairwise_kernels(X, Y, metric=name, filter_params=True, **theirs)
    np.testing.assert_allclose(k(X, Y), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_scikit_learn_allows_gamma_zero(name):
    assert np.all(from_sklearn(name, gamma=0.0, n_features=4)(X) == 1)


def test_scikit_learn_precomputed():
    assert from_sklearn("precomputed", n_features=5) == Precomputed()


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid", "cosine"])
def test_scikit_learn_sparse(name):
    S = csr_array(np.where(X > 0.5, X, 0.0))
    np.testing.assert_allclose(from_sklearn(name, n_features=4)(S), pairwise_kernels(S, metric=name), atol=1e-12)


def scaled_dot(x, y, scale=1.0):
    return scale * float(np.dot(x, y))


def test_scikit_learn_callables():
    k = from_sklearn(scaled_dot, kernel_params={"scale": 2.0}, n_features=4)
    assert k == Callable(functools.partial(scaled_dot, scale=2.0))
    np.testing.assert_allclose(k(X, Y), 2 * X @ Y.T, rtol=1e-13)
    assert from_sklearn(scaled_dot, gamma=3.0, n_features=4) == Callable(scaled_dot)  # ignored, as in scikit-learn


@pytest.mark.parametrize("gp", [ConstantKernel(2.0) * RBF(0.7), ExpSineSquared()])
def test_gaussian_process_kernels(gp):
    y = X[:, 0]
    theirs = KernelRidge(kernel=gp).fit(X, y)
    k = from_sklearn(gp, n_features=4)
    np.testing.assert_allclose(k(Y, X) @ theirs.dual_coef_, theirs.predict(Y), rtol=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian(2.0), "gaussian(lengthscale=2.0)"])
@pytest.mark.parametrize(("name", "value"), [("gamma", 1.0), ("degree", 2), ("coef0", 0), ("kernel_params", {"a": 1})])
def test_our_kernels_carry_their_own_parameters(kernel, name, value):
    assert from_sklearn(kernel, n_features=4) == Gaussian(2.0)
    with pytest.raises(ValueError, match=rf"{name} = .* does not apply to kernel = 'gaussian\(lengthscale=2.0\)'"):
        from_sklearn(kernel, **{name: value}, n_features=4)


@pytest.mark.parametrize(
    ("kernel", "word"), [("RBF", "rbf"), ("rbf(0.1)", "rbf"), ("Linear", "linear"), ("poly + 1", "poly")]
)
def test_names_of_scikit_learn_stand_alone_and_in_lower_case(kernel, word):
    words = rf"kernel = '{re.escape(kernel)}' is unknown; use '{word}' alone, with gamma"
    with pytest.raises(ValueError, match=f"SVC: {words}"):
        SVC(kernel=kernel, gamma=0.1).fit(X, np.arange(len(X)) % 2)
    with pytest.raises(ValueError, match=f"KernelPCA: {words}"):
        KernelPCA(kernel=kernel, gamma=0.1).fit(X)


@pytest.mark.parametrize(
    ("kernel", "ours"),
    [
        ("laplacian", "laplace(lengthscale=2, norm=1)"),
        ("chi2", "chi_squared(gamma=1)"),
        ("additive_chi2", "additive_chi_squared(negative=True)"),
    ],
)
def test_machines_point_from_names_that_only_others_take_to_ours(kernel, ours):
    y = np.arange(len(X)) % 2
    with pytest.raises(ValueError, match=f"SVC: kernel = '{kernel}' is unknown; use Mercer's .*'{re.escape(ours)}'"):
        SVC(kernel=kernel).fit(X, y)
    SVC(kernel=ours).fit(np.abs(X), y)
    with pytest.raises(ValueError, match="choose one of 'linear', 'poly', 'rbf', 'sigmoid', 'precomputed', or"):
        SVC(kernel="zzz").fit(X, y)


def test_an_expression_means_one_kernel_to_machines():
    y = np.arange(len(X)) % 2
    assert SVC(kernel="polynomial").fit(X, y).kernel_ == Polynomial()


@pytest.mark.parametrize("name", ["gamma", "degree"])
@pytest.mark.parametrize("model", [SVC(kernel="linear"), KernelPCA(kernel="linear")])
def test_parameters_that_the_kernel_does_not_use_are_in_range(model, name):
    with pytest.raises(ValueError, match=f"{type(model).__name__}: {name} = -1 must be >= 0"):
        clone(model).set_params(**{name: -1}).fit(X, np.arange(len(X)) % 2)


def test_names_of_neither():
    with pytest.raises(ValueError, match="unknown name 'rbff'"):
        from_sklearn("rbff", n_features=2)
    with pytest.raises(TypeError, match="kernel = 3 must be a Kernel"):
        from_sklearn(3, n_features=2)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("rfb", "did you mean 'rbf'"),
        ("polly", "did you mean 'poly'"),
        ("zzz", "choose one of 'linear', 'poly', .*'rbf'"),
    ],
)
def test_names_that_are_nearly_those_of_scikit_learn(kernel, words):
    for model in (SVC(kernel=kernel), KernelPCA(kernel=kernel)):
        with pytest.raises(ValueError, match=f"^{type(model).__name__}: .*unknown name '{kernel}'; {words}"):
            model.fit(X, np.arange(len(X)) % 2)


@pytest.mark.parametrize(("theirs", "ours"), [("rbf", "gaussian"), ("poly", "polynomial"), ("laplacian", "laplace")])
def test_expressions_point_from_the_names_of_scikit_learn_to_ours(theirs, ours):
    with pytest.raises(ValueError, match=f"unknown name '{theirs}', from scikit-learn; here it is '{ours}'"):
        KernelRidgeCV(kernel=theirs).fit(X, X[:, 0])


def test_errors_of_python_name_the_class_that_was_called():
    with pytest.raises(TypeError, match=r"^Gaussian.__init__\(\) got an unexpected keyword argument 'lenghtscale'"):
        Gaussian(lenghtscale=1.0)
    assert clone(Gaussian(3.0)).lengthscale == 3.0
    with pytest.raises(TypeError, match=r"^SVC.fit\(\) missing 1 required positional argument: 'y'"):
        SVC().fit(X)
