"""Poisson loss against scikit-learn's deviance, SciPy's likelihood, and the meaning of exposure."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import wrightomega
from scipy.stats import poisson
from sklearn.metrics import d2_tweedie_score, mean_poisson_deviance

from mercer.losses import Poisson

rng = np.random.default_rng(0)
E = rng.uniform(0.2, 5.0, 40)
COUNT = rng.poisson(2 * E).astype(float)
Y = np.column_stack([COUNT, E])
F = rng.normal(size=40)
LOSS = Poisson()


def test_half_the_deviance_of_scikit_learn() -> None:
    weight = rng.uniform(size=40)
    expected = mean_poisson_deviance(COUNT, E * np.exp(F), sample_weight=weight) / 2
    assert LOSS.total(Y, F, weight) / weight.sum() == pytest.approx(expected, rel=1e-12)
    null = np.full(40, np.log(COUNT.mean()))
    share = 1 - LOSS.total(COUNT, F) / LOSS.total(COUNT, null)
    assert share == pytest.approx(d2_tweedie_score(COUNT, np.exp(F), power=1), rel=1e-12)


def test_likelihood_up_to_a_constant() -> None:
    difference = LOSS.value(Y, F) - LOSS.value(Y, 0 * F)
    expected = poisson.logpmf(COUNT, E) - poisson.logpmf(COUNT, E * np.exp(F))
    assert np.allclose(difference, expected, rtol=1e-11, atol=1e-12)


def test_minimiser_is_the_rate() -> None:
    best = minimize_scalar(lambda c: LOSS.total(Y, np.full(40, c)), bracket=(0.0, 1.0), tol=1e-12).x
    assert LOSS.link_inverse(np.array([best]))[0] == pytest.approx(COUNT.sum() / E.sum(), rel=1e-6)


def test_large_counts_keep_their_digits() -> None:
    """y = 1e8 and a mean that is larger by a thousandth: the two terms of the definition agree in ten digits."""
    d, y = 1e-3, 1e8
    expected = y * (d**2 / 2 + d**3 / 6 + d**4 / 24)
    assert LOSS.value(np.array([y]), np.array([np.log(y) + d])) == pytest.approx(expected, rel=1e-10)
    y, f = np.array([1e4], dtype=np.float32), np.array([np.log(1e4)], dtype=np.float32)
    assert 0 <= LOSS.value(y, f)[0] < 1e-7


def test_exposure_is_an_offset() -> None:
    assert np.allclose(LOSS.value(Y, F), LOSS.value(COUNT, F + np.log(E)), rtol=1e-12, atol=1e-14)


def test_prox_by_wrights_function() -> None:
    step = rng.uniform(0.1, 10.0, 40)
    expected = F + step * COUNT - wrightomega(np.log(step * E) + F + step * COUNT)
    assert np.allclose(LOSS.prox(Y, F, step), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([1.0, -2.0]), "counts y must be >= 0; the smallest is -2"),
        (np.array([[1.0, 0.0]]), "exposures must be > 0"),
        (np.ones((3, 3)), "two columns: count and exposure"),
    ],
)
def test_targets_are_checked(y, message) -> None:
    with pytest.raises(ValueError, match=message):
        LOSS.check(y)
