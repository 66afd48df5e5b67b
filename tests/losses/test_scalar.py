"""The special functions and the safeguarded Newton method of losses of one variable."""

import numpy as np
import pytest
from array_api_compat import numpy as xp
from scipy.optimize import brentq
from scipy.special import wrightomega, xlogy

from mercer.losses import Exponential, LogCosh, Logistic, Poisson
from mercer.losses._scalar import entropy, inside, log_omega, newton


def test_log_omega_is_the_logarithm_of_wrights_function() -> None:
    z = np.concatenate([np.linspace(-30, 30, 601), [1.0, np.nextafter(1, 2), 1e3, 1e8, 1e200]])
    assert np.allclose(log_omega(z, xp), np.log(wrightomega(z)), rtol=1e-15, atol=1e-15)
    assert log_omega(np.array([-1e5]), xp) == -1e5


def test_newton_on_a_function_that_defeats_plain_newton() -> None:
    # φ' is a steep step, flat on both sides, where Newton's method alone jumps back and forth
    def slope(x):
        return np.tanh(50 * x)

    def curvature(x):
        return 50 * (1 - np.tanh(50 * x) ** 2)

    t, step = np.linspace(-3, 3, 41), 2.0
    x = newton(slope, curvature, t, step, xp)
    assert np.abs(x - t + step * slope(x)).max() <= 1e-13


@pytest.mark.parametrize("loss", [Logistic(), LogCosh()], ids=repr)
@pytest.mark.parametrize("step", [1e-3, 1.0, 1e3, 1e6])
def test_prox_by_root_finding(loss, step) -> None:
    y, v = np.ones(7), np.array([-1e4, -40.0, -2.0, 0.0, 1.0, 30.0, 1e4])
    p = loss.prox(y, v, step)

    def residual(x, i):
        return x - v[i] + step * loss.gradient(y[i : i + 1], np.array([x]))[0]

    for i in range(7):
        root = brentq(residual, v[i] - step - 1, v[i] + step + 1, args=(i,), xtol=1e-300, rtol=1e-15, maxiter=2000)
        assert p[i] == pytest.approx(root, rel=1e-12, abs=1e-12)


def test_prox_where_the_gradient_overflows() -> None:
    """Exponential and Poisson go through logarithms, so that no start is too far."""
    (x,) = Exponential().prox(np.ones(1), np.array([-1e4]), 2.0)
    assert np.log(x + 1e4) + x == pytest.approx(np.log(2.0), abs=1e-11)  # x − v = 2e⁻ˣ
    (x,) = Poisson().prox(np.array([[3.0, 2.0]]), np.array([1e4]), 0.5)
    assert np.log((1e4 + 1.5 - x) / 1.0) == pytest.approx(x, rel=1e-13)  # v + step·y − x = step·E·eˣ


def test_entropy_is_xlogx() -> None:
    p = np.array([0.0, 1e-300, 0.3, 1.0, 5.0])
    assert np.allclose(entropy(p, xp), xlogy(p, p), rtol=1e-15)


def test_inside_forgives_rounding_only() -> None:
    at, within = inside(np.array([-1e-3, 1 + 1e-16, 0.5, 1 + 1e-9]), 0.0, 1.0, xp)
    assert np.array_equal(at, [0.0, 1.0, 0.5, 1.0])
    assert np.array_equal(within, [False, True, True, False])


@pytest.mark.parametrize("loss", [LogCosh(), Logistic(), Exponential(), Poisson()], ids=repr)
def test_conjugate_is_the_supremum(loss) -> None:
    y = loss.targets(np.random.default_rng(0), 6)
    u = loss.gradient(y, np.linspace(-1.5, 1.5, 6))
    grid = np.linspace(-3, 3, 20_001)
    best = [max(u[i] * grid - loss.value(np.repeat(y[i : i + 1], len(grid), axis=0), grid)) for i in range(6)]
    assert np.allclose(loss.conjugate(y, u), best, rtol=1e-6, atol=1e-6)
    assert np.all(loss.conjugate(y, u) >= np.array(best) - 1e-14)


def test_labels_are_checked() -> None:
    Logistic().check(np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match="Logistic: labels y must be −1 or 1"):
        Logistic().check(np.array([0.0, 1.0]))
