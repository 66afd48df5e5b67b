"""Null distributions against exhaustive permutation and their definitions."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chi2
from scipy.stats import gamma as gamma_distribution

from mercer.inference._nulls import Moments, aggregate, gamma, p_values, permutation_moments, spectrum, tail

rng = np.random.default_rng(4)


def centred(n):
    M = rng.normal(size=(n, n + 1))
    M = M @ M.T
    H = np.eye(n) - 1 / n
    return H @ M @ H


def hollow(n):
    """No diagonal, rows that sum to zero: the off-diagonal part of M + uᵢ + uⱼ."""
    off = ~np.eye(n, dtype=bool)
    M = rng.normal(size=(n, n))
    M = (M + M.T) * off
    # (n − 2)uᵢ + Σuⱼ = −Σⱼ Mᵢⱼ
    u = np.linalg.solve((n - 2) * np.eye(n) + 1, -M.sum(axis=1))
    return (M + u[:, None] + u[None, :]) * off


def moments(A):
    return Moments(np.trace(A), np.sum(np.diag(A) ** 2), np.sum(A**2))


@pytest.mark.parametrize("make", [centred, hollow])
@pytest.mark.parametrize("n", [4, 6])
def test_moments_are_those_over_all_permutations(make, n):
    A, B = make(n), make(n)
    assert np.allclose(A.sum(axis=0), 0) and np.allclose(B.sum(axis=0), 0)
    T = [np.sum(A * B[np.ix_(p, p)]) for p in permutations(range(n))]
    mean, variance = permutation_moments(moments(A), moments(B), n)
    assert np.isclose(mean, np.mean(T), atol=1e-12)
    assert np.isclose(variance, np.var(T), rtol=1e-10)


def test_a_p_value_counts_the_observation_itself():
    assert tail(3.0, np.array([1.0, 2.0, 3.0, 4.0])) == 3 / 5
    assert tail(9.0, np.arange(4.0)) == 1 / 5
    assert tail(-1.0, np.arange(4.0)) == 1.0


def test_equal_but_for_rounding_is_equal():
    assert tail(0.1 + 0.2, np.array([0.3, 0.3, -1.0])) == 3 / 4


def test_what_is_small_beside_the_sums_that_it_comes_from_is_rounding():
    T = 1e-17 * rng.normal(size=(3, 50))
    p, each, _ = aggregate(T, np.array([0.5, 1.0, 2.0]))
    assert p == 1 and np.all(each == 1)
    assert aggregate(np.vstack([T, np.arange(50.0, 0, -1)]), np.array([0.5, 1.0, 2.0, 1.0]))[0] == 1 / 50


def test_one_kernel_needs_no_correction():
    T = rng.normal(size=(1, 200))
    p, each, best = aggregate(T)
    assert p == each[0] == p_values(T)[0, 0] and best == 0


def test_copies_of_a_kernel_cost_nothing_and_many_are_corrected():
    T = rng.normal(size=(1, 200))
    assert aggregate(np.repeat(T, 7, axis=0))[0] == aggregate(T)[0]
    T = rng.normal(size=(5, 400))
    p, each, best = aggregate(T)
    least = p_values(T).min(axis=0)
    assert np.mean(least < least[0]) < p <= np.mean(least <= least[0]) and p >= each.min() == each[best]


def test_what_exceeds_all_draws_of_one_kernel_by_far_has_the_smallest_p_value():
    T = rng.normal(size=(5, 200))
    T[2, 0] = 9.0
    assert aggregate(T)[0] == 1 / 200 and aggregate(T)[2] == 2
    T[2, 0] = T[2, 1:].max() + 1e-6  # hardly above all others, while a draw of another kernel is far above its own
    T[0, 7] = 9.0
    assert 2 / 200 <= aggregate(T)[0] <= 5 / 200


def test_the_corrected_p_value_is_uniform():
    """Over the choice of which column was observed, P(p ≤ α) ≤ α without exception, and nearly = α."""
    T = rng.normal(size=(4, 60)) + rng.normal(size=60)
    p = np.array([aggregate(np.roll(T, -b, axis=1))[0] for b in range(60)])
    for a in (0.05, 0.1, 0.3, 0.6):
        assert a - 0.1 <= np.mean(p <= a) <= a


def test_gamma_has_the_moments_that_it_was_given():
    p, sample = gamma(1.5, 2.0, 0.5, 0.3, 20001)
    assert np.isclose(p, gamma_distribution.sf(1.8, 8, scale=0.25), rtol=1e-12)
    assert np.isclose(sample.mean(), 1.7, atol=1e-4) and np.isclose(sample.var(), 0.5, atol=2e-3)


def test_gamma_of_a_statistic_that_no_permutation_changes():
    p, sample = gamma(0.0, 2.0, 1e-30, 2.0, 3)
    assert p == 1 and np.array_equal(sample, np.zeros(3))


def test_one_weight_is_a_chi_square():
    sample = spectrum(np.array([2.0]), False, 4000, np.random.default_rng(0))
    for q in (0.5, 0.9, 0.95):
        share = np.mean(sample <= 2 * chi2.ppf(q, 1))
        assert abs(share - q) <= 4 * (q * (1 - q) / 4000) ** 0.5


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("ratio", [0.9, -0.9])
def test_a_spectrum_has_its_mean_and_variance(centred, ratio):
    w = ratio ** np.arange(300)  # the tail is cut off, and counts by its mean
    sample = spectrum(w, centred, 20000, np.random.default_rng(1))
    deviation = (2 * np.sum(w**2)) ** 0.5
    assert abs(sample.mean() - (0 if centred else w.sum())) <= 4 * deviation / 20000**0.5
    assert abs(sample.var() / deviation**2 - 1) <= 0.06
