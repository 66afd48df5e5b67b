"""`against` and `log_against`, which prepare one side once: for every kernel the values of `evaluate`."""

import pickle

import numpy as np
import pytest

from mercer import RKHS
from mercer.kernels import Gaussian, Laplace, Linear, registry
from mercer.kernels.algebra import ALGEBRA

KERNELS = [k for cls in [*registry.values(), *ALGEBRA] for k in cls.examples() if not k.domain.precomputed]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: f"{type(kernel).__name__} {kernel}"[:60])
def test_values_are_those_of_evaluate(kernel):
    Z = kernel.domain.check(kernel.domain.sample(np.random.default_rng(0), 12), kernel)
    n = kernel.domain.size(Z)
    Y, new = (kernel.domain.take(Z, part) for part in (slice(0, 3 * n // 4), slice(n // 2, n)))
    values = kernel.against(Y)
    expected = np.asarray(kernel.evaluate(new, Y))
    for _ in range(2):  # what is held is not changed
        np.testing.assert_allclose(np.asarray(values(new)), expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    if "log_normalizer" in kernel.provides:
        (logarithms,) = kernel.log_dilated(new, Y, [1.0])
        np.testing.assert_allclose(kernel.log_against(Y)(new), logarithms, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Laplace(2.0)], ids=str)
@pytest.mark.parametrize("size", [1e200, 1e-200, 1.0])
def test_points_without_squares(kernel, size):
    Y = size * np.random.default_rng(0).normal(size=(20, 6))
    for X in (Y[:2], np.full((1, 6), 1e200), np.zeros((1, 6))):
        np.testing.assert_allclose(kernel.against(Y)(X), kernel.evaluate(X, Y), rtol=1e-12)


def test_functions_hold_their_points_beside_their_state():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(40, 6)), rng.normal(size=(2, 6))
    for kernel in (Gaussian(2.0), Gaussian(2.0) + Linear(), 2 * Laplace()):
        f = RKHS(kernel).function(X, rng.normal(size=(40, 3)))
        state = f.__getstate__()
        values = f(new)
        assert "_at_points" in vars(f) and f.__getstate__().keys() == state.keys()
        np.testing.assert_allclose(values, kernel(new, X) @ f.coefficients, rtol=1e-12)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(new), values)
        assert "_at_points" not in vars(2 * f)
