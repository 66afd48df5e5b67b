"""The Stein kernel and its test against closed forms, definitions, and the level and power that are promised."""

import numpy as np
import pytest

from mercer.inference.stein import SteinKernel, stein_test
from mercer.kernels import Delta, Gaussian, InverseMultiquadric, Laplace, Linear, Polynomial, Power, RationalQuadratic

rng = np.random.default_rng(5)
D = 3
PRECISION = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 1.5]])
MEAN = np.array([0.2, -0.1, 0.5])
X = rng.multivariate_normal(MEAN, np.linalg.inv(PRECISION), size=12)
KERNELS = [Gaussian(0.9), InverseMultiquadric(0.7, 1.2), RationalQuadratic(1.5, 0.8), Polynomial(2)]


def score(A):
    """∇ log p of a normal density."""
    return -(A - MEAN) @ PRECISION


def by_differences(kernel, x, y):
    """h(x, y) with every derivative by central differences."""
    k = lambda a, b: kernel(a[None, :], b[None, :])[0, 0]  # noqa: E731
    e, s, t = 1e-4 * np.eye(D), score(x[None, :])[0], score(y[None, :])[0]
    total = s @ t * k(x, y)
    for i in range(D):
        total += s[i] * (k(x, y + e[i]) - k(x, y - e[i])) / 2e-4
        total += t[i] * (k(x + e[i], y) - k(x - e[i], y)) / 2e-4
        crossed = k(x + e[i], y + e[i]) - k(x + e[i], y - e[i]) - k(x - e[i], y + e[i]) + k(x - e[i], y - e[i])
        total += crossed / 4e-8
    return total


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_stein_kernel_is_its_definition(kernel):
    h = SteinKernel(kernel, score)
    expected = [[by_differences(kernel, x, y) for y in X[:5]] for x in X[5:9]]
    assert np.allclose(h(X[5:9], X[:5]), expected, rtol=1e-5, atol=1e-5)
    H = h(X)
    assert np.allclose(H, H.T) and np.allclose(np.diag(H), h.diag(X))
    assert np.linalg.eigvalsh(H)[0] > -1e-10 * np.abs(H).max() and h.check(X).ok


def test_rows_in_parts_are_the_rows(monkeypatch):
    whole = SteinKernel(Gaussian(0.9), score)(X)
    monkeypatch.setattr("mercer.inference.stein.CELLS", 100)
    assert np.allclose(SteinKernel(Gaussian(0.9), score)(X), whole, rtol=1e-14)


def test_functions_of_its_space_have_mean_zero():
    """By quadrature: ∫ h(x, y) p(y) dy = 0 for every x."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    h = SteinKernel(InverseMultiquadric(1.0, 1.5), np.negative)
    values = h(np.array([[-1.0], [0.3], [2.0]]), nodes[:, None]) @ (weights / weights.sum())
    assert np.allclose(values, 0, atol=1e-7)


def test_linear_kernel_by_hand():
    """k = xᵀy and s(x) = −x give h = (xᵀy)² − ‖x‖² − ‖y‖² + d."""
    A, B = X[:4], X[4:9]
    expected = (A @ B.T) ** 2 - np.sum(A**2, axis=1)[:, None] - np.sum(B**2, axis=1)[None, :] + D
    assert np.allclose(SteinKernel(Linear(), np.negative)(A, B), expected)


@pytest.mark.parametrize("gram", ["auto", "dense", "lazy"])
def test_the_statistic_and_its_bootstrap(gram):
    test = stein_test(X, score, kernel=Gaussian(0.9), n_draws=300, gram=gram, random_state=0)
    H = SteinKernel(Gaussian(0.9), score)(X)
    assert np.isclose(test.statistic, H.mean())
    signs = np.array(np.meshgrid(*[[-1, 1]] * 12)).reshape(12, -1)
    every = np.sum(signs * (H @ signs), axis=0) / 144
    assert np.all(np.min(np.abs(test.null[:, None] - every[None, :]), axis=1) < 1e-12)
    p = np.mean(every >= test.statistic)
    assert abs(test.p_value - p) <= 4 * (p * (1 - p) / 300) ** 0.5 + 1 / 300
    assert abs(test.null.mean() - np.trace(H) / 144) <= 4 * every.std() / 300**0.5


def test_slow_signs_follow_a_slow_chain():
    """E wᵢwⱼ = (1 − 2·flip)^|i − j|, so that the null's mean is Σ hᵢⱼ(1 − 2·flip)^|i − j|/n²."""
    chain = X[np.argsort(X[:, 0])]
    H = SteinKernel(Gaussian(0.9), score)(chain)
    lag = np.abs(np.subtract.outer(range(12), range(12)))
    test = stein_test(chain, score, kernel=Gaussian(0.9), flip=0.1, n_draws=20000, random_state=0)
    expected = np.sum(H * 0.8**lag) / 144
    assert abs(test.null.mean() - expected) <= 4 * test.null.std() / 20000**0.5
    assert abs(expected - np.trace(H) / 144) > 8 * test.null.std() / 20000**0.5


def test_the_witness_is_the_mean_in_the_space():
    test = stein_test(X, score, random_state=0)
    assert np.isclose(test.witness.norm() ** 2, test.statistic)
    new = rng.normal(size=(4, D))
    assert np.allclose(test.witness(new), SteinKernel(test.kernel, score)(new, X).mean(axis=1))
    assert str(test.witness.kernel) == f"stein({test.kernel})"
    assert len(test.kernels) == len(test.p_values) == 5 and test.p_value >= test.p_values.min()


def test_other_array_libraries(xp):
    def other(A):
        return -(A - xp.asarray(MEAN)) @ xp.asarray(PRECISION)

    found = stein_test(xp.asarray(X), other, kernel=Gaussian(0.9), n_draws=60, random_state=0)
    plain = stein_test(X, score, kernel=Gaussian(0.9), n_draws=60, random_state=0)
    assert np.allclose(found.null, plain.null) and found.p_value == plain.p_value


# ---- level and power


@pytest.mark.long
def test_level_and_power():
    draw, repetitions = np.random.default_rng(1), 200
    p = np.array(
        [
            [stein_test(A, np.negative, n_draws=199, random_state=i).p_value for A in (fair, moved)]
            for i in range(repetitions)
            for fair, moved in [(draw.normal(size=(80, 2)), draw.normal(0.4, size=(80, 2)))]
        ]
    )
    sigma = (0.1 * 0.9 / repetitions) ** 0.5
    assert 0.1 - 4 * sigma <= np.mean(p[:, 0] <= 0.1) <= 0.1 + 3 * sigma
    assert np.mean(p[:, 1] <= 0.05) >= 0.8


@pytest.mark.long
def test_a_chain_needs_slow_signs():
    """An autoregressive chain with the right stationary law: independent signs reject it, slow ones seldom."""
    draw, rejected = np.random.default_rng(2), []
    for i in range(60):
        steps = draw.normal(size=200)
        chain = np.empty((200, 1))
        chain[0] = steps[0]
        for t in range(1, 200):
            chain[t] = 0.8 * chain[t - 1] + 0.6 * steps[t]
        tests = (stein_test(chain, np.negative, flip=f, n_draws=199, random_state=i) for f in (0.5, 0.03))
        rejected.append([test.p_value <= 0.05 for test in tests])
    fast, slow = np.mean(rejected, axis=0)
    assert fast > 0.4 and slow < 0.15


# ---- bad input


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"flip = 0.7 must be > 0 and <= 0.5"):
        stein_test(X, score, flip=0.7)
    with pytest.raises(AttributeError, match="Laplace does not provide gradient_x"):
        stein_test(X, score, kernel=Laplace())
    with pytest.raises(ValueError, match="use a positive definite one"):
        stein_test(X, score, kernel=Power(2))
    with pytest.raises(TypeError, match="does not compare vectors"):
        stein_test(X, score, kernel=Delta())
    with pytest.raises(TypeError, match="must be a function"):
        stein_test(X, 3.0)
    with pytest.raises(ValueError, match=r"score gives shape \(12,\)"):
        stein_test(X, lambda A: A[:, 0])
    with pytest.raises(ValueError, match="NaN or infinite"):
        stein_test(X, lambda A: A * np.nan)
    with pytest.raises(ValueError, match="at least two"):
        stein_test(X[:1], score)
