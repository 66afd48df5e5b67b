"""Criteria of ridge regression: values by definition, gradients by differences."""

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.stats import multivariate_normal
from sklearn.base import clone

from mercer import KernelRidge
from mercer.basis import Polynomials
from mercer.kernels import (
    Gaussian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
)
from mercer.solvers.hyper import RIDGE, RidgeCriterion

N = 30


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 3))
    b = np.stack([np.sin(X[:, 0]), X[:, 1] ** 2], axis=1) + 0.1 * rng.normal(size=(N, 2))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=N) > 0.8, 1.0, -1.0)
    return X, b, y, rng.uniform(0.5, 2, N)


def left_out(kernel, X, b, alpha, basis, weight):
    """Predictions at each sample of fits without it."""
    out = np.empty_like(b)
    for i in range(len(X)):
        kept = np.arange(len(X)) != i
        model = KernelRidge(alpha, kernel=kernel, free=basis)
        model.fit(X[kept], b[kept], None if weight is None else weight[kept])
        out[i] = model.predict(X[i : i + 1])[0]
    return out


@pytest.mark.parametrize("free", [None, 0, 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_that_of_refits(data, free, weighted):
    X, b, _, w = data
    kernel, weight = Gaussian(1.3), w if weighted else None
    H = None if free is None else Polynomials(free)(X)
    value, _ = RidgeCriterion("loo", X, b, H, weight)(kernel, 0.2)
    errors = (b - left_out(kernel, X, b, 0.2, free, weight)) ** 2
    assert value == pytest.approx(np.average(errors.mean(axis=1), weights=weight), rel=1e-8)


@pytest.mark.parametrize("free", [None, 1])
def test_gcv_is_its_definition(data, free):
    X, b, _, w = data
    H = None if free is None else Polynomials(free)(X)
    value, _ = RidgeCriterion("gcv", X, b, H, w)(Gaussian(1.3), 0.2)
    model = KernelRidge(0.2, kernel=Gaussian(1.3), free=free).fit(X, np.eye(N), w)  # the matrix from y to values
    hat = model.predict(X)
    rest = w @ (b - hat @ b) ** 2 / N
    assert value == pytest.approx(np.mean(rest) / (1 - np.trace(hat) / N) ** 2, rel=1e-8)


def test_likelihood_is_that_of_the_process(data):
    X, b, _, w = data
    kernel, H = 1.5 * Gaussian(1.3), Polynomials(1)(X)
    covariance = kernel(X) + 0.2 * np.diag(1 / w)
    value, _ = RidgeCriterion("marginal_likelihood", X, b, None, w)(kernel, 0.2)
    assert value == pytest.approx(-multivariate_normal(np.zeros(N), covariance).logpdf(b.T).sum(), rel=1e-10)
    value, _ = RidgeCriterion("marginal_likelihood", X, b, H, w)(kernel, 0.2)
    A = null_space(H.T)  # contrasts, of which the free part is not seen
    process = multivariate_normal(np.zeros(A.shape[1]), A.T @ covariance @ A)
    expected = process.logpdf((A.T @ b).T).sum() - 2 * np.linalg.slogdet(H.T @ H)[1] / 2
    assert value == pytest.approx(-expected, rel=1e-10)


def slopes(criterion, kernel, strength, h):
    """Central differences in the strength and in every entry of every parameter, relative steps."""

    def at(name, value):
        return criterion(clone(kernel).set_params(**{name: value}), strength)[0]

    up, down = (criterion(kernel, strength * (1 + s * h))[0] for s in (1, -1))
    out = {criterion.strength: (up - down) / (2 * h * strength)}
    for name in criterion(kernel, strength)[1].keys() - out.keys():
        value = np.asarray(kernel.get_params()[name], dtype=float)
        numeric = np.empty(value.shape)
        for i in np.ndindex(value.shape):
            bump = np.zeros(value.shape)
            bump[i] = h * value[i]
            ends = [value + bump, value - bump]
            up, down = (at(name, v if v.ndim else float(v)) for v in ends)
            numeric[i] = (up - down) / (2 * bump[i])
        out[name] = numeric
    return out


COMPOSITE = (
    2.0 * Gaussian(np.array([1.0, 2.0, 1.5])) * Matern(2.5, lengthscale=2.0)
    + 0.5 * Linear()
    + RationalQuadratic(1.2, alpha=1.3).on([0, 2])
    + Polynomial(2, scale=0.3, offset=0.7)
)

NAMES = {"alpha", "0__0__scale", "0__0__kernel__lengthscale", "0__1__lengthscale", "1__scale"} | {
    *("2__kernel__lengthscale", "2__kernel__alpha", "3__scale", "3__offset")
}


@pytest.mark.parametrize("name", RIDGE)
@pytest.mark.parametrize("free", [None, 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_of_ridge(data, name, free, weighted):
    X, b, _, w = data
    w = w.copy()
    w[4] = 0.0
    H = None if free is None else Polynomials(free)(X)
    criterion = RidgeCriterion(name, X, b, H, w if weighted else None)
    _, found = criterion(COMPOSITE, 0.3)
    expected = slopes(criterion, COMPOSITE, 0.3, 1e-5)
    assert found.keys() == NAMES
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-7 * abs(criterion(COMPOSITE, 0.3)[0]))


def test_a_determined_sample_is_refused(data):
    X, b, _, _ = data
    H = np.stack([np.ones(N), np.arange(N) == 2], axis=1).astype(float)
    with pytest.raises(ValueError, match="sample 2 is always fitted exactly"):
        RidgeCriterion("loo", X, b, H)(Gaussian(), 0.1)
