"""The marginal likelihood: gradients by finite differences, the maximum against scikit-learn's."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from mercer.basis import Polynomials
from mercer.context import Status
from mercer.gram import Dense
from mercer.kernels import Constant, Gaussian, Linear, Log, Matern, Periodic, Polynomial, Power, RationalQuadratic
from mercer.solvers.likelihood import log_marginal_likelihood, maximise_likelihood
from mercer.solvers.spectral import Spectral

rng = np.random.default_rng(3)
n = 40
X = rng.normal(size=(n, 2))
B = np.stack([np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=n), X[:, 0] * X[:, 1]], axis=1)
WEIGHT = rng.uniform(0.2, 3, n)
ZERO = np.where(np.arange(n) % 7 == 0, 0.0, WEIGHT)
FREE = {"none": None, "linear": Polynomials(1)(X)}
WEIGHTS = {"equal": None, "weighted": WEIGHT, "some zero": ZERO}
KERNELS = [
    Gaussian(0.9),
    Gaussian(np.array([0.7, 1.4])),
    Gaussian(np.array([[1.0, 0.3], [-0.2, 0.8]])),
    2.0 * Matern(nu=2.5, lengthscale=np.array([0.7, 1.4])) + 0.5 * Linear(),
    RationalQuadratic(lengthscale=1.1, alpha=0.7) * Constant(1.5),
    Polynomial(2, scale=0.5, offset=1.0),
    Gaussian(0.8).on([0]) + Periodic().on([1]),
    Gaussian(0.8) * Matern(nu=1.5, lengthscale=np.array([0.7, 1.4])) + 0.3 * RationalQuadratic(1.2).on([1]),
    (Gaussian(0.8) + Linear()) * (Constant(0.5) + Periodic().on([0])),
]


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("free", ["none", "linear"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_gradients_of_the_likelihood_by_differences(kernel, free, weight):
    H, w = FREE[free], WEIGHTS[weight]
    value, gradient = log_marginal_likelihood(kernel, X, B, 0.3, H, w)
    path = Spectral(Dense().build(kernel, X), H, w)
    assert value == pytest.approx(float(path.log_marginal_likelihood(B, np.array([0.3])).sum()), rel=1e-9)

    def at(name, step):
        if name == "alpha":
            return log_marginal_likelihood(kernel, X, B, 0.3 + step, H, w)[0]
        moved = clone(kernel).set_params(**{name: kernel.get_params()[name] + step})
        return log_marginal_likelihood(moved, X, B, 0.3, H, w)[0]

    assert len(gradient) > 1
    for name, slope in gradient.items():
        shape = np.shape(slope)
        for place in np.ndindex(*shape):
            step = np.zeros(shape)
            step[place] = 1e-5
            difference = (at(name, step if shape else 1e-5) - at(name, -step if shape else -1e-5)) / 2e-5
            assert np.asarray(slope)[place] == pytest.approx(difference, rel=2e-5, abs=1e-5), name


def test_the_maximum_of_the_likelihood_has_no_slope_and_equals_that_of_scikit_learn():
    b = B[:, :1]
    kernel, alpha, value, status = maximise_likelihood(1.0 * Gaussian(np.ones(2)), X, b, 0.1)
    assert status is Status.CONVERGED
    _, gradient = log_marginal_likelihood(kernel, X, b, alpha)
    slopes = [gradient["alpha"] * alpha, gradient["scale"] * kernel.scale]
    slopes += list(gradient["kernel__lengthscale"] * kernel.kernel.lengthscale)
    assert np.abs(slopes).max() < 1e-2
    theirs = GaussianProcessRegressor(ConstantKernel() * RBF(np.ones(2)) + WhiteKernel(0.1)).fit(X, b[:, 0])
    assert value == pytest.approx(theirs.log_marginal_likelihood_value_, abs=1e-5)
    np.testing.assert_allclose(kernel.kernel.lengthscale, theirs.kernel_.k1.k2.length_scale, rtol=1e-2)
    assert alpha == pytest.approx(theirs.kernel_.k2.noise_level, rel=1e-2)


def test_the_search_stays_where_the_kernel_is_definite():
    x = rng.uniform(0, 5, size=(60, 1))
    b = x**2 + 0.1 * rng.normal(size=(60, 1))
    H = np.ones((60, 1))
    for start in (Power(1.0), Log(1.0)):  # both are definite for degrees up to 2 only
        before = log_marginal_likelihood(start, x, b, 0.1, H)[0]
        kernel, alpha, value, _ = maximise_likelihood(start, x, b, 0.1, H)
        assert kernel.definiteness == start.definiteness and value > before + 10
        assert value == pytest.approx(log_marginal_likelihood(kernel, x, b, alpha, H)[0])


def test_every_array_library(xp):
    kernel, H = Gaussian(np.array([0.7, 1.4])), Polynomials(1)(X)
    value, gradient = log_marginal_likelihood(
        kernel, xp.asarray(X), xp.asarray(B), 0.3, xp.asarray(H), xp.asarray(ZERO)
    )
    expected = log_marginal_likelihood(kernel, X, B, 0.3, H, ZERO)
    assert value == pytest.approx(expected[0])
    np.testing.assert_allclose(gradient["lengthscale"], expected[1]["lengthscale"])
