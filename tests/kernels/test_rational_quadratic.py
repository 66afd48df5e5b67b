"""RationalQuadratic against scikit-learn, its Gaussian limit and its scale mixture."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma
from sklearn.gaussian_process.kernels import RationalQuadratic as Reference

from mercer.kernels.cauchy import Cauchy
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.rational_quadratic import RationalQuadratic

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))


@pytest.mark.parametrize("alpha", [0.2, 1.0, 3.5])
def test_scikit_learn(alpha):
    reference = Reference(length_scale=0.7, alpha=alpha)
    np.testing.assert_allclose(RationalQuadratic(0.7, alpha)(X, Y), reference(X, Y), rtol=1e-12)


def test_gradient_theta_against_scikit_learn():
    _, G = Reference(length_scale=0.7, alpha=1.8)(X, eval_gradient=True)
    ours = RationalQuadratic(0.7, 1.8).gradient_theta(X)
    # scikit-learn differentiates in the logarithm of the parameters, in alphabetical order
    np.testing.assert_allclose(1.8 * ours["alpha"], G[..., 0], atol=1e-12)
    np.testing.assert_allclose(0.7 * ours["lengthscale"], G[..., 1], atol=1e-12)


def test_gaussian_limit():
    np.testing.assert_allclose(RationalQuadratic(0.7, 1e14)(X, Y), Gaussian(0.7)(X, Y), rtol=1e-11)


@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_scale_mixture(alpha):
    value = RationalQuadratic(2.0, alpha)([[0.0]], [[3.0]])[0, 0]
    mixture = quad(lambda t: np.exp(-t * 9 / 8) * gamma.pdf(t, alpha, scale=1 / alpha), 0, np.inf, epsabs=1e-13)[0]
    assert value == pytest.approx(mixture, abs=1e-9)


def test_alpha_one_is_cauchy():
    np.testing.assert_allclose(RationalQuadratic(1.3, 1.0)(X, Y), Cauchy(1.3 * np.sqrt(2))(X, Y), rtol=1e-13)


@pytest.mark.parametrize("alpha", [0.0, -2.0, float("inf")])
def test_bad_alpha(alpha):
    with pytest.raises(ValueError, match="RationalQuadratic: alpha = "):
        RationalQuadratic(1.0, alpha)(X)
