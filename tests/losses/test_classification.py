"""Losses of the margin against their definitions elsewhere, and the links as population minimisers."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit
from sklearn.metrics import d2_log_loss_score, hinge_loss, log_loss

from mercer.losses import Exponential, Hinge, Logistic, SmoothedHinge, SquaredHinge, as_loss

rng = np.random.default_rng(0)
F = 2 * rng.normal(size=60)
Y = rng.choice([-1.0, 1.0], 60)


def test_means_of_scikit_learn() -> None:
    weight = rng.uniform(size=60)
    assert Hinge().total(Y, F, weight) / weight.sum() == pytest.approx(hinge_loss(Y, F, sample_weight=weight))
    expected = log_loss(Y, expit(F), sample_weight=weight)
    assert Logistic().total(Y, F, weight) / weight.sum() == pytest.approx(expected, rel=1e-12)
    rate = np.full(60, logit(np.mean(Y > 0)))
    share = 1 - Logistic().total(Y, F) / Logistic().total(Y, rate)
    assert share == pytest.approx(d2_log_loss_score(Y, expit(F)), rel=1e-12)


def test_definitions() -> None:
    slack = np.maximum(1 - Y * F, 0)
    assert np.allclose(SquaredHinge().value(Y, F), slack**2, rtol=1e-14)
    assert np.allclose(Exponential().value(Y, F), np.exp(-Y * F), rtol=1e-14)
    h = 0.7
    expected = np.where(slack < h, slack**2 / (2 * h), slack - h / 2)
    assert np.allclose(SmoothedHinge(h).value(Y, F), expected, rtol=1e-13, atol=1e-16)


def test_smoothed_hinge_is_the_envelope_of_the_hinge() -> None:
    p = Hinge().prox(Y, F, 0.7)
    assert np.allclose(SmoothedHinge(0.7).value(Y, F), Hinge().value(Y, p) + (p - F) ** 2 / 1.4, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("loss", [Logistic(), Exponential(), SquaredHinge()], ids=repr)
@pytest.mark.parametrize("probability", [0.1, 0.5, 0.8])
def test_link_is_the_population_minimiser(loss, probability) -> None:
    y, weight = np.array([1.0, -1.0]), np.array([probability, 1 - probability])
    best = minimize_scalar(lambda c: float(loss.total(y, np.full(2, c), weight)), bracket=(-1, 1), tol=1e-12).x
    assert float(loss.link(np.asarray(probability))) == pytest.approx(best, abs=1e-6)
    assert float(loss.link_inverse(np.array([best]))[0]) == pytest.approx(probability, abs=1e-6)


def test_logistic_at_the_ends() -> None:
    y, f = np.array([1.0, 1.0]), np.array([-800.0, 800.0])
    assert np.array_equal(Logistic().value(y, f), [800.0, 0.0])
    assert np.allclose(Logistic().link_inverse(np.array([-50.0])), np.exp(-50.0), rtol=1e-12)


def test_width_is_checked() -> None:
    with pytest.raises(ValueError, match="SmoothedHinge: width = 0 must be > 0"):
        as_loss("smoothed_hinge(0)")
