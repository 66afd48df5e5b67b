"""Losses of the residual against their definitions elsewhere, and what their minimisers are."""

import numpy as np
import pytest
from scipy import special
from scipy.optimize import minimize_scalar
from sklearn.metrics import d2_absolute_error_score, d2_pinball_score, mean_absolute_error, mean_pinball_loss
from sklearn.metrics import mean_squared_error as mse

from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Expectile,
    Hampel,
    Huber,
    LogCosh,
    Pinball,
    Squared,
    SquaredEpsilonInsensitive,
    as_loss,
)

rng = np.random.default_rng(0)
Y, F = rng.normal(size=(2, 50))
R = Y - F


def test_means_of_scikit_learn() -> None:
    assert Squared().total(Y, F) / 50 == pytest.approx(mse(Y, F) / 2, rel=1e-14)
    assert Absolute().total(Y, F) / 50 == pytest.approx(mean_absolute_error(Y, F), rel=1e-14)
    weight = rng.uniform(size=50)
    for level in (0.0, 0.2, 0.5, 0.9, 1.0):
        expected = mean_pinball_loss(Y, F, alpha=level, sample_weight=weight)
        assert Pinball(level).total(Y, F, weight) / weight.sum() == pytest.approx(expected, rel=1e-13)


def test_scores_of_scikit_learn() -> None:
    for loss, score in ((Absolute(), d2_absolute_error_score), (Pinball(0.3), d2_pinball_score)):
        level = getattr(loss, "quantile", 0.5)
        null = np.full(50, np.percentile(Y, 100 * level))
        expected = score(Y, F, alpha=level) if loss.name == "pinball" else score(Y, F)
        assert 1 - loss.total(Y, F) / loss.total(Y, null) == pytest.approx(expected, rel=1e-12)


def test_huber_is_scipys() -> None:
    for delta in (0.3, 1.345, 10.0):
        assert np.allclose(Huber(delta).value(Y, F), special.huber(delta, R), rtol=1e-14)
    assert np.allclose(Huber(0.5).gradient(Y, F), -np.clip(R, -0.5, 0.5), rtol=1e-14)
    assert np.allclose(Huber(0.5).majorizer(Y, F), np.minimum(1, 0.5 / np.abs(R)), rtol=1e-14)
    assert Huber(0.5).majorizer(Y, Y) == pytest.approx(1)


def test_hampel_by_its_pieces() -> None:
    a, b, c = 0.5, 1.0, 2.5
    loss = Hampel(a, b, c)
    r = np.array([-3.0, -2.5, -2.0, -1.0, -0.7, -0.5, -0.2, 0.0, 0.2, 0.5, 0.7, 1.0, 2.0, 2.5, 3.0])
    size, sign = np.abs(r), np.sign(r)
    cases = [size <= a, size <= b, size <= c]
    psi = np.select(cases, [r, a * sign, a * sign * (c - size) / (c - b)], 0.0)
    rho = np.select(
        cases,
        [r**2 / 2, a * size - a**2 / 2, a * (b + c - a) / 2 - a * (c - size) ** 2 / (2 * (c - b))],
        a * (b + c - a) / 2,
    )
    assert np.allclose(loss.value(r, 0 * r), rho, rtol=1e-13, atol=1e-15)
    assert np.allclose(loss.gradient(r, 0 * r), -psi, rtol=1e-13, atol=1e-15)
    assert np.all(loss.majorizer(r, 0 * r)[size >= c] == 0)


@pytest.mark.parametrize("loss", [Huber(0.7), Hampel(0.5, 1.0, 2.5), Hampel(0.5, 0.5, 1.0)], ids=repr)
def test_reweighting_parabola_lies_above(loss) -> None:
    at = np.concatenate([np.linspace(-4, 4, 161), [0.0]])
    M, g, value = loss.majorizer(at, 0 * at), loss.gradient(at, 0 * at), loss.value(at, 0 * at)
    for d in np.linspace(-8, 8, 321):
        parabola = value + g * d + 0.5 * M * d**2
        assert np.all(parabola - loss.value(at, 0 * at + d) >= -1e-12)


def test_tubes() -> None:
    for epsilon in (0.0, 0.3):
        beyond = np.maximum(np.abs(R) - epsilon, 0)
        assert np.allclose(EpsilonInsensitive(epsilon).value(Y, F), beyond, rtol=1e-13, atol=1e-16)
        assert np.allclose(SquaredEpsilonInsensitive(epsilon).value(Y, F), beyond**2, rtol=1e-13, atol=1e-16)


def test_log_cosh_near_and_far() -> None:
    assert np.allclose(LogCosh().value(Y, F), np.log(np.cosh(R)), rtol=1e-12, atol=1e-15)
    small = np.array([1e-9, -1e-5, 1e-3])
    assert np.allclose(LogCosh().value(small, 0 * small), small**2 / 2 - small**4 / 12, rtol=1e-6, atol=0)
    far = np.array([-800.0, 800.0])
    assert np.allclose(LogCosh().value(far, 0 * far), 800 - np.log(2), rtol=1e-15)
    assert np.all(LogCosh().hessian(far, 0 * far) >= 0)
    assert LogCosh().hessian(np.array([20.0]), np.zeros(1)) == pytest.approx(1 / np.cosh(20.0) ** 2, rel=1e-12)


def minimiser(loss, y):
    return minimize_scalar(lambda c: loss.total(y, np.full(len(y), c)), bracket=(-1, 1), tol=1e-12).x


def test_minimisers_are_the_statistics() -> None:
    y = rng.exponential(size=41)
    assert minimiser(Squared(), y) == pytest.approx(y.mean(), abs=1e-6)
    assert minimiser(Absolute(), y) == pytest.approx(np.median(y), abs=1e-6)
    assert minimiser(Pinball(0.8), y) == pytest.approx(np.sort(y)[32], abs=1e-6)  # the 33rd of 41: 0.8 · 41 = 32.8
    c = minimiser(Expectile(0.8), y)
    assert 0.8 * np.maximum(y - c, 0).sum() == pytest.approx(0.2 * np.maximum(c - y, 0).sum(), rel=1e-6)
    assert np.allclose(Expectile(0.5).value(Y, F), Squared().value(Y, F), rtol=1e-14)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("huber(0)", "Huber: delta = 0 must be > 0"),
        ("hampel(a=0)", "Hampel: a = 0 must be > 0"),
        ("hampel(b=1)", "Hampel: b = 1 must be >= 2"),
        ("hampel(c=4)", "Hampel: c = 4 must be > 4"),
        ("epsilon_insensitive(-1)", "epsilon = -1 must be >= 0"),
        ("squared_epsilon_insensitive(-1)", "epsilon = -1 must be >= 0"),
        ("pinball(-0.1)", "quantile = -0.1 must be >= 0"),
        ("expectile(0)", "level = 0 must be > 0"),
        ("expectile(1)", "level = 1 must be < 1"),
    ],
)
def test_parameters_are_checked(text, message) -> None:
    with pytest.raises(ValueError, match=message):
        as_loss(text)
