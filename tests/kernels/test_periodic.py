"""Periodic against its definition, scikit-learn in one dimension, and its Fourier series."""

import numpy as np
import pytest
from scipy.special import ive
from sklearn.gaussian_process.kernels import ExpSineSquared

from mercer._array import host
from mercer.kernels.bandwidth import median
from mercer.kernels.periodic import Periodic

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))


def definition(X, Y, period, lengthscale):
    D = X[:, None, :] - Y[None, :, :]
    return np.prod(np.exp(-2 * np.sin(np.pi * D / period) ** 2 / np.asarray(lengthscale) ** 2), axis=-1)


@pytest.mark.parametrize("period", [1.3, np.array([0.5, 1.0, 4.0])])
@pytest.mark.parametrize("lengthscale", [0.8, np.array([0.5, 1.0, 2.0])])
def test_definition(period, lengthscale, xp):
    K = Periodic(period, lengthscale)(xp.asarray(X), xp.asarray(Y))
    np.testing.assert_allclose(host(K), definition(X, Y, period, lengthscale), rtol=1e-11, atol=1e-15)


def test_scikit_learn_in_one_dimension():
    reference = ExpSineSquared(length_scale=0.8, periodicity=1.3)
    np.testing.assert_allclose(Periodic(1.3, 0.8)(X[:, :1], Y[:, :1]), reference(X[:, :1], Y[:, :1]), rtol=1e-12)


def test_product_over_coordinates():
    parts = [Periodic(1.3, 0.8)(X[:, [j]], Y[:, [j]]) for j in range(3)]
    np.testing.assert_allclose(Periodic(1.3, 0.8)(X, Y), np.prod(parts, axis=0), rtol=1e-12)


def test_repeats_after_a_period():
    kernel, shift = Periodic(np.array([0.5, 1.0, 4.0])), np.array([1.5, -2.0, 400.0])
    np.testing.assert_allclose(kernel(X + shift, Y), kernel(X, Y), rtol=1e-11)
    # not strictly definite: a point and its copy a period away are one point
    twins = np.concatenate([X[:1], X[:1] + shift])
    np.testing.assert_allclose(kernel(twins), np.ones((2, 2)), rtol=1e-12)
    assert kernel.definiteness.is_pd and not kernel.definiteness.strict


def test_far_from_the_origin_in_float32():
    A = (X + 4096).astype(np.float32)
    expected = definition(A.astype(np.longdouble), A.astype(np.longdouble), 2.0, 1.0)
    np.testing.assert_allclose(Periodic(2.0)(A), expected, rtol=0, atol=2e-6)


def test_fourier_series():
    x = np.linspace(0, 2, 9)[:, None]
    kappa = 1 / 0.6**2
    m = np.arange(-60, 61)
    series = np.sum(ive(np.abs(m), kappa) * np.cos(2 * np.pi * m * x / 2.0), axis=1)
    np.testing.assert_allclose(Periodic(2.0, 0.6)(x, np.zeros((1, 1)))[:, 0], series, rtol=1e-12)


def test_resolve_reads_the_circles():
    angle = 2 * np.pi * X / 1.3
    circles = np.concatenate([np.cos(angle), np.sin(angle)], axis=1)
    kernel = Periodic(1.3, "median").resolve(X)
    assert kernel.lengthscale == pytest.approx(median(circles))
    assert Periodic(1.3, "median").lengthscale == "median"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"period": 0.0}, "Periodic: period = 0.0 must be > 0"),
        ({"period": np.array([1.0, -1.0, 2.0])}, "Periodic: period of shape"),
        ({"period": np.ones(2)}, "Periodic: period has 2 entries, but X has 3 columns"),
        ({"lengthscale": np.ones(2)}, "Periodic: lengthscale has 2 entries, but X has 3 columns"),
        ({"lengthscale": np.eye(3)}, "not a matrix"),
        ({"lengthscale": "median"}, r"call kernel.resolve\(X\) first"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        Periodic(**parameters)(X)
