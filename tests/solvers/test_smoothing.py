import numpy as np
import pytest

from mercer.basis import Polynomials
from mercer.gram import Dense, Nystrom
from mercer.kernels import Gaussian, Sobolev
from mercer.solvers.smoothing import DemmlerReinsch, line_search


def dense_smoother(K, H, w, alpha):
    n = len(K)
    inverse = np.linalg.inv(K / alpha + np.diag(1 / w))
    P = inverse - inverse @ H @ np.linalg.solve(H.T @ inverse @ H, H.T @ inverse)
    return np.eye(n) - P / w[:, None], P


@pytest.fixture(params=["full", "low rank"])
def case(request):
    rng = np.random.default_rng(0)
    n = 40
    X = rng.uniform(size=(n, 2))
    y, w = np.sin(5 * X[:, 0]) + 0.2 * rng.normal(size=n), rng.uniform(0.3, 3, size=n)
    representation = Dense() if request.param == "full" else Nystrom(landmarks=list(range(9)))
    gram = representation.build(Gaussian(0.4), X, rng)
    H = Polynomials(1)(X)
    return DemmlerReinsch(gram, y, H, w), gram, X, y, H, w


@pytest.mark.parametrize("alpha", [1e-3, 0.3, 40.0])
def test_every_alpha_against_dense_algebra(case, alpha):
    problem, gram, _, y, H, w = case
    S, P = dense_smoother(gram.dense(), H, w, alpha)
    n = len(y)
    r = y - S @ y
    np.testing.assert_allclose(problem.residual(alpha), np.sqrt(w) * r, atol=1e-8)
    np.testing.assert_allclose(problem.leverage(alpha), np.diagonal(S), atol=1e-8)
    np.testing.assert_allclose(problem.edf(alpha), np.trace(S), rtol=1e-8)
    np.testing.assert_allclose(problem.rss(alpha), np.sum(w * r**2), rtol=1e-8)
    np.testing.assert_allclose(problem.penalised(alpha), y @ P @ y, rtol=1e-8)
    np.testing.assert_allclose(
        problem.criterion("gcv", alpha), n * np.sum(w * r**2) / (n - np.trace(S)) ** 2, rtol=1e-8
    )
    left_out = r / (1 - np.diagonal(S))
    np.testing.assert_allclose(problem.criterion("loo", alpha), np.sum(w * left_out**2) / n, rtol=1e-8)
    a, c = problem.coefficients(alpha)
    np.testing.assert_allclose(gram.dense() @ a + H @ c, S @ y, atol=1e-8)
    np.testing.assert_allclose(H.T @ a, 0, atol=1e-8 * np.abs(a).max())


def test_restricted_likelihood_against_dense_formula(case):
    problem, gram, _, y, H, w = case
    n, p = H.shape

    def dense(alpha):
        M = gram.dense() / alpha + np.diag(1 / w)
        P = dense_smoother(gram.dense(), H, w, alpha)[1]
        determinants = np.linalg.slogdet(M)[1] + np.linalg.slogdet(H.T @ np.linalg.solve(M, H))[1]
        return (n - p) * np.log(y @ P @ y / (n - p)) + determinants

    difference = problem.criterion("reml", 0.1) - problem.criterion("reml", 5.0)
    np.testing.assert_allclose(difference, dense(0.1) - dense(5.0), atol=1e-7)


@pytest.mark.parametrize("name", ["gcv", "loo", "reml"])
def test_best_is_a_minimum(case, name):
    problem = case[0]
    alpha = problem.best(name)
    value = problem.criterion(name, alpha)
    low, high = problem.interval()
    if np.exp(low) * 1.01 < alpha < np.exp(high) / 1.01:
        assert value <= min(problem.criterion(name, alpha * f) for f in (0.99, 1.01))
    assert value <= problem.criterion(name, np.exp(high))


def test_edf_is_met(case):
    problem = case[0]
    np.testing.assert_allclose(problem.edf(problem.with_edf(7.5)), 7.5, rtol=1e-9)


def test_variance_is_the_posterior_of_a_gaussian_process():
    rng = np.random.default_rng(4)
    X, new = rng.uniform(size=(25, 1)), rng.uniform(size=(6, 1))
    w, alpha = rng.uniform(0.5, 2, size=25), 0.05
    kernel = Sobolev(2)
    problem = DemmlerReinsch(Dense().build(kernel, X, rng), rng.normal(size=25), Polynomials(1)(X), w)
    ours = problem.variance(alpha, kernel(X, new), kernel.diag(new), Polynomials(1)(new))
    # the limit of a proper prior of large variance on the line
    big = 1e7

    def prior(A, B):
        return kernel(A, B) / alpha + big * Polynomials(1)(A) @ Polynomials(1)(B).T

    cross = prior(X, new)
    posterior = prior(new, new) - cross.T @ np.linalg.solve(prior(X, X) + np.diag(1 / w), cross)
    np.testing.assert_allclose(ours, np.diagonal(posterior), rtol=1e-4)


def test_covariance_of_the_free_part(case):
    problem, gram, _, _, H, w = case
    expected = np.linalg.inv(H.T @ np.linalg.solve(gram.dense() / 0.3 + np.diag(1 / w), H))
    np.testing.assert_allclose(problem.free_covariance(0.3), expected, rtol=1e-6, atol=1e-8)


def test_line_search_lets_the_judge_decide_between_minima():
    def two_wells(t):
        return min((t + 3) ** 2 - 0.5, (t - 3.21) ** 2)

    assert line_search(two_wells, two_wells, -8, 8, 33) == pytest.approx(-3, abs=1e-5)
    assert line_search(two_wells, lambda t: -t, -8, 8, 33) == pytest.approx(3.21, abs=1e-5)
    assert line_search(lambda t: -t, lambda t: -t, -8, 8, 9) == pytest.approx(8, abs=1e-5)
