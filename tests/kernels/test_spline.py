import numpy as np
import pytest

from mercer.kernels import STRICTLY_PD
from mercer.kernels.sobolev import Sobolev
from mercer.kernels.spline import Spline


@pytest.mark.parametrize("name", ["kernel_splinedot_A", "kernel_splinedot_iris"])
def test_kernlab(oracle, name):
    o = oracle(name)
    X, Y = o["inputs"]["X"], o["inputs"]["Y"]
    np.testing.assert_allclose(Spline()(X), o["outputs"]["K_XX"], rtol=1e-12)
    np.testing.assert_allclose(Spline()(X, Y), o["outputs"]["K_XY"], rtol=1e-12)


def test_equation_by_a_double_loop():
    X = np.random.default_rng(0).uniform(0, 2, size=(5, 3))

    def k(x, y):
        m = np.minimum(x, y)
        return np.prod(1 + x * y + x * y * m - (x + y) / 2 * m**2 + m**3 / 3)

    np.testing.assert_allclose(Spline()(X), [[k(x, y) for y in X] for x in X], rtol=1e-13)


def test_constants_lines_and_sobolev():
    x = np.random.default_rng(1).uniform(0, 2, size=(6, 1))
    np.testing.assert_allclose(Spline()(x), 1 + x @ x.T + Sobolev(2)(x), rtol=1e-14)


def test_strict_also_at_zero():
    assert Spline().definiteness == STRICTLY_PD
    assert Spline().definiteness.strict
    assert np.linalg.eigvalsh(Spline()(np.array([[0.0], [0.5], [1.0], [2.0]])))[0] > 1e-6


def test_negative_inputs_are_refused():
    with pytest.raises(ValueError, match=r"Spline: Negative values in data: X holds -0.5, but must be >= 0"):
        Spline()([[-0.5]])
