"""The conditional independence test against ridge regressions of explicit features, and its level and power."""

import numpy as np
import pytest
from scipy.stats import gamma as gamma_distribution
from sklearn.linear_model import Ridge

from mercer.inference.conditional import ALPHAS, RATIOS, TOLERANCE, _residuals, conditional_independence_test
from mercer.inference.hsic import hsic_test
from mercer.kernels import Delta, Gaussian, Linear, Power, Sigmoid
from mercer.kernels.bandwidth import median

rng = np.random.default_rng(6)
N = 40
Z = rng.normal(size=(N, 2))
X = Z @ rng.normal(size=(2, 2)) + rng.normal(size=(N, 2))
Y = Z[:, :1] * Z[:, 1:] + rng.normal(size=(N, 1))


def residuals(features, alpha=3.0):
    return features - Ridge(alpha=alpha).fit(Z, features).predict(Z).reshape(features.shape)


PAIRED = (X[:, :, None] * Z[:, None, :]).reshape(N, -1)  # the features x ⊗ z of linear kernels


LINEAR = {"kernel": Linear(), "kernel_z": Linear(), "alpha": 3.0}


def test_the_statistic_is_the_covariance_of_ridge_residuals():
    covariance = residuals(PAIRED).T @ residuals(Y)
    test = conditional_independence_test(X, Y, Z, **LINEAR, random_state=0)
    assert np.isclose(test.statistic, np.sum(covariance**2) / N, rtol=1e-9)


def test_the_null_distribution_is_that_of_signs_and_new_regressions():
    hat = residuals(np.eye(N))
    noise = residuals(PAIRED) / np.linalg.norm(hat, axis=1)[:, None]  # of a variance that is not reduced by the fit
    draws = 4000
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (N, draws, 1))
    again = residuals((signs * noise[:, None, :]).reshape(N, -1)).T @ residuals(Y)
    expected = np.sum(again.reshape(draws, -1) ** 2, axis=1) / N
    mean, variance = expected.mean(), expected.var()
    test = conditional_independence_test(X, Y, Z, **LINEAR, n_draws=20000, random_state=0)
    assert abs(test.null.mean() - mean) <= 5 * (variance / draws) ** 0.5
    assert abs(test.null.std() / variance**0.5 - 1) <= 0.1
    by_gamma = conditional_independence_test(X, Y, Z, **LINEAR, null="gamma", n_draws=5)
    expected = gamma_distribution(mean**2 / variance, scale=variance / mean)
    assert abs(by_gamma.p_value - expected.sf(test.statistic)) < 0.03
    assert abs(by_gamma.p_value - test.p_value) < 0.05


def test_minus_the_squared_distance_is_twice_the_linear_kernel():
    by_distance = conditional_independence_test(
        X, Y, Z, kernel=Power(2.0), kernel_z=Gaussian(1.0), alpha=3.0, random_state=0
    )
    A, B = X - X.mean(axis=0), Y - Y.mean(axis=0)
    linear = conditional_independence_test(A, B, Z, kernel=Linear(), kernel_z=Gaussian(1.0), alpha=3.0, random_state=0)
    assert np.isclose(by_distance.statistic, 4 * linear.statistic, rtol=1e-10)
    assert by_distance.p_value == linear.p_value


def test_nothing_known_leaves_plain_independence():
    nothing = np.zeros((N, 1))
    test = conditional_independence_test(X, Y, nothing, kernel=Gaussian(1.0), random_state=0)
    plain = hsic_test(X, Y, kernel=Gaussian(1.0), statistic="biased", n_draws=1, random_state=0)
    assert np.isclose(test.statistic, N * plain.statistic, rtol=1e-9)


def test_the_regression_leaves_least_among_those_of_nearly_least_generalised_cross_validation():
    H = np.eye(N) - 1 / N
    M = H @ (Y @ Y.T) @ H
    candidates, scores = [], {}
    for ratio in RATIOS:
        K = H @ Gaussian(ratio * median(Z))(Z) @ H
        candidates.append((ratio, *np.linalg.eigh(K)))
        for a in ALPHAS * np.linalg.eigvalsh(K)[-1]:
            hat = 1 / N + K @ np.linalg.inv(K + a * np.eye(N)) @ H
            rest = Y - hat @ Y
            scores[ratio, a] = N * np.sum(rest**2) / (N - np.trace(hat)) ** 2, np.trace(hat), rest
    enough = (1 + TOLERANCE) * min(score for score, *_ in scores.values())
    best = max((c for c in scores if scores[c][0] <= enough), key=lambda c: scores[c][1])
    found, R, chosen = _residuals(M, candidates, None)
    assert chosen == best[0]
    assert np.allclose(found, scores[best][2] @ scores[best][2].T, atol=1e-8)
    assert np.allclose(R @ (H @ Y), scores[best][2], atol=1e-8)
    test = conditional_independence_test(X, Y, Z, kernel=Gaussian(1.0), kernel_y=Linear(), random_state=0)
    assert test.kernel == (Gaussian(1.0), Linear(), Gaussian(best[0] * median(Z)))


def test_any_kind_and_one_repr():
    words = np.array(["a", "b", "c"])[rng.integers(0, 3, N)]
    test = conditional_independence_test(X, words, Z, kernel_y=Delta(), random_state=0)
    assert 0 < test.p_value <= 1 and test.witness is None
    assert repr(test).startswith("<KCI, spectrum null: ") and "delta" in repr(test)
    again = conditional_independence_test(X, words, Z, kernel_y=Delta(), random_state=0)
    assert np.array_equal(test.null, again.null)


def draw(case, n, generator):
    """X, Y, Z; independent given Z, unless the case says otherwise."""
    known, noise = generator.normal(size=(n, 1)), generator.normal(size=(n, 3))
    if case == "rough":
        return np.sin(6 * known) + 0.3 * noise[:, :1], np.sin(6 * known) + 0.3 * noise[:, 1:2], known
    left, right = np.sin(2 * known) + 0.5 * noise[:, :1], known**2 / 2 + 0.5 * noise[:, 1:2]
    if case == "dependent":
        left, right = left + 0.6 * noise[:, 2:], right + 0.6 * noise[:, 2:]
    return left, right, known


def test_what_a_third_variable_explains():
    generator = np.random.default_rng(0)
    known = generator.normal(size=(150, 1))
    left, right = (known + 0.5 * generator.normal(size=(150, 1)) for _ in range(2))
    assert hsic_test(left, right, n_draws=199, random_state=0).p_value <= 0.01
    assert conditional_independence_test(left, right, known, random_state=0).p_value > 0.05
    assert conditional_independence_test(left, right + left, known, random_state=0).p_value < 0.01


@pytest.mark.long
@pytest.mark.parametrize("null", ["spectrum", "gamma"])
def test_level_and_power(null):
    generator, repetitions = np.random.default_rng(1), 200
    p = {case: [] for case in ("smooth", "rough", "dependent")}
    for i in range(repetitions):
        for case, values in p.items():
            sample = draw(case, 100, generator)
            values.append(conditional_independence_test(*sample, null=null, n_draws=499, random_state=i).p_value)
    sigma = (0.1 * 0.9 / repetitions) ** 0.5
    for case in ("smooth", "rough"):
        assert abs(np.mean(np.array(p[case]) <= 0.1) - 0.1) <= 3 * sigma
    assert np.mean(np.array(p["dependent"]) <= 0.05) >= 0.8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"null": "permutation"}, "null = 'permutation' is unknown"),
        ({"alpha": 0.0}, "alpha = 0.0 must be > 0"),
        ({"n_draws": 0}, "n_draws = 0 must be >= 1"),
        ({"kernel": "aggregate"}, "for X is 'aggregate'; give a single kernel"),
        ({"kernel": ["linear", "gaussian"]}, "give a single kernel"),
        ({"kernel_z": Sigmoid()}, "is INDEFINITE"),
    ],
    ids=str,
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        conditional_independence_test(X, Y, Z, **arguments)


def test_bad_samples():
    with pytest.raises(ValueError, match="X has 40 members, Y 39 and Z 40"):
        conditional_independence_test(X, Y[1:], Z)
    with pytest.raises(ValueError, match="X has 40 members, Y 40 and Z 38"):
        conditional_independence_test(X, Y, Z[2:])
    with pytest.raises(ValueError, match="3 triples are too few"):
        conditional_independence_test(X[:3], Y[:3], Z[:3])
    with pytest.raises(ValueError, match="Y is constant"):
        conditional_independence_test(X, np.ones((N, 1)), Z)
    with pytest.raises(ValueError, match="Z contains NaN"):
        conditional_independence_test(X, Y, Z * np.nan)
