import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from mercer.gram import Dense, IncompleteCholesky, Lazy
from mercer.kernels import Gaussian
from mercer.solvers.multitask import Complete, Scattered, TaskGram, learn
from mercer.solvers.spectral import Spectral

B = np.array([[1.0, 0.6, -0.3], [0.6, 2.0, 0.1], [-0.3, 0.1, 0.5]])


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(12, 2)), np.r_[np.arange(12), 3, 5, 7, 7]
    tasks = np.r_[rng.integers(0, 3, 12), 2, 2, 0, 1]
    tasks[[3, 5, 7]] = 0, 1, 2
    return X, rows, tasks, rng.normal(size=len(rows))


def entries(X, rows, tasks):
    return Gaussian()(X)[np.ix_(rows, rows)] * B[np.ix_(tasks, tasks)]


@pytest.mark.parametrize("base", [Dense(), Lazy(), IncompleteCholesky(rank=12, tol=0.0), IncompleteCholesky(rank=5)])
def test_matrix_of_entries(sample, base):
    X, rows, tasks, y = sample
    held = base.build(Gaussian(), X)
    gram = TaskGram(held, rows, tasks, B)
    K = np.asarray(held.dense())[np.ix_(rows, rows)] * B[np.ix_(tasks, tasks)]
    V = np.stack([y, y**2], axis=1)
    np.testing.assert_allclose(gram.dense(), K, atol=1e-12)
    np.testing.assert_allclose(gram @ V, K @ V, atol=1e-12)
    np.testing.assert_allclose(gram @ y, K @ y, atol=1e-12)
    np.testing.assert_allclose(gram.diagonal(), np.diagonal(K), atol=1e-12)
    np.testing.assert_allclose(gram.block(slice(2, 5), np.array([0, 9])), K[2:5][:, [0, 9]], atol=1e-12)
    assert np.linalg.norm(gram.sketch(60) @ gram.sketch(60).T - K) < 0.5 * np.linalg.norm(K)
    # f_t(xᵢ) = Σ aⱼₛ B_st k(xᵢ, xⱼ) with the coefficients spread over samples and tasks
    F = np.asarray(held.dense()) @ gram.spread(y) @ B
    np.testing.assert_allclose(F[rows, tasks], K @ y, atol=1e-12)


def test_factor_of_entries():
    X = np.random.default_rng(1).normal(size=(40, 2))
    tasks = np.arange(40) % 3
    held = IncompleteCholesky(rank=4).build(Gaussian(), X)
    gram = TaskGram(held, np.arange(40), tasks, B)
    assert gram.provides == {"factor"}
    Z = gram.factor()
    assert Z.shape == (40, 12)
    np.testing.assert_allclose(Z @ Z.T, held.dense() * B[np.ix_(tasks, tasks)], atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_scattered_evidence_is_the_density(sample, weighted):
    X, rows, tasks, y = sample
    weight = np.random.default_rng(2).uniform(0.5, 2, len(y)) if weighted else None
    cover = entries(X, rows, tasks) + 0.3 * np.diag(np.ones(len(y)) if weight is None else 1 / weight)
    evidence = Scattered(Gaussian()(X)[np.ix_(rows, rows)], tasks, np.stack([y, 2 * y + 1], axis=1), weight)
    expected = multivariate_normal(cov=cover).logpdf(y) + multivariate_normal(cov=cover).logpdf(2 * y + 1)
    assert evidence(B, 0.3)[0] == pytest.approx(expected, rel=1e-10)
    check_slopes(evidence)


def test_entries_of_weight_zero_take_no_part(sample):
    X, rows, tasks, y = sample
    K = Gaussian()(X)[np.ix_(rows, rows)]
    weight = np.r_[np.ones(10), np.zeros(len(y) - 10)]
    part = Scattered(K[:10, :10], tasks[:10], y[:10, None])
    whole = Scattered(K, tasks, y[:, None], weight)
    assert whole(B, 0.2)[0] == pytest.approx(part(B, 0.2)[0], rel=1e-12)
    assert whole.scale == part.scale


@pytest.mark.parametrize("base", [Dense(), IncompleteCholesky(rank=5)])
@pytest.mark.parametrize("weighted", [False, True])
def test_complete_evidence_is_that_of_all_entries(base, weighted):
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(11, 2)), rng.normal(size=(11, 3))
    weight = rng.uniform(0.5, 2, 11) if weighted else None
    held = base.build(Gaussian(), X)
    rows, tasks = np.repeat(np.arange(11), 3), np.tile(np.arange(3), 11)
    K = np.asarray(held.dense())[np.ix_(rows, rows)]
    scattered = Scattered(K, tasks, Y.reshape(-1, 1), None if weight is None else weight[rows])
    complete = Complete(Spectral(held, None, weight), Y)
    for mine, theirs in zip(complete(B, 0.3), scattered(B, 0.3), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-10)
    assert complete.scale == pytest.approx(scattered.scale, rel=1e-10)
    assert complete.size == scattered.size
    check_slopes(complete)


def check_slopes(evidence):
    """The derivatives, in B along symmetric directions, against finite differences."""
    _, gradient, slope = evidence(B, 0.3)
    assert approx_fprime([0.3], lambda a: evidence(B, a[0])[0], 1e-7)[0] == pytest.approx(slope, rel=1e-4)
    for s in range(3):
        for t in range(s + 1):
            E = np.zeros((3, 3))
            E[s, t] = E[t, s] = 1.0
            difference = (evidence(B + 1e-5 * E, 0.3)[0] - evidence(B - 1e-5 * E, 0.3)[0]) / 2e-5
            assert difference == pytest.approx(np.sum(gradient * E), rel=1e-5, abs=1e-6)


def functions(cover, n, rng, noise=0.2):
    """Targets of functions drawn with the covariance B ⊗ k."""
    X = np.sort(rng.uniform(0, 10, size=(n, 1)), axis=0)
    root = np.linalg.cholesky(Gaussian()(X) + 1e-10 * np.eye(n))
    F = root @ rng.normal(size=(n, len(cover))) @ np.linalg.cholesky(cover).T
    return X, F + noise * rng.normal(size=F.shape)


def correlations(M):
    root = np.sqrt(np.diagonal(M))
    return M / np.outer(root, root)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("complete", [True, False])
def test_nothing_is_invented_between_unrelated_tasks(seed, complete):
    rng = np.random.default_rng(seed)
    X, Y = functions(np.eye(5), 20 if complete else 100, rng)
    found = learn(evidence_of(X, Y, complete), 5, rank=2)
    assert found.loadings.shape == (5, 0) and found.converged
    np.testing.assert_array_equal(found.matrix, np.diag(np.diagonal(found.matrix)))


def evidence_of(X, Y, complete):
    if complete:
        return Complete(Spectral(Dense().build(Gaussian(), X)), Y)
    tasks = np.arange(len(Y)) % Y.shape[1]
    return Scattered(Gaussian()(X), tasks, Y[np.arange(len(Y)), tasks][:, None])


@pytest.mark.parametrize("complete", [True, False])
def test_relations_are_found(complete):
    loadings = np.array([1.0, 1.0, -1.0, 0.5])
    cover = np.outer(loadings, loadings) + 0.02 * np.eye(4)
    X, Y = functions(cover, 100, np.random.default_rng(0))
    found = learn(evidence_of(X, Y, complete), 4, rank=1)
    assert found.loadings.shape == (4, 1) and found.converged
    assert np.array_equal(np.sign(found.matrix), np.sign(cover))
    assert np.abs(correlations(found.matrix) - correlations(cover))[:3, :3].max() < 0.15


@pytest.mark.parametrize("alpha", [None, 0.1])
def test_the_search_falls_to_a_stationary_point(alpha):
    X, Y = functions(np.ones((3, 3)) + 0.1 * B, 40, np.random.default_rng(4))
    evidence = evidence_of(X, Y, True)
    found = learn(evidence, 3, rank=1, alpha=alpha)
    assert found.loadings.shape == (3, 1) and found.criterion[1] < found.criterion[0]
    assert np.all(np.diff(found.history) <= 0)
    value, G, slope = evidence(found.matrix, found.alpha)
    assert value == pytest.approx(found.log_likelihood, rel=1e-12)
    assert value == pytest.approx(-found.history[-1], rel=1e-12)
    if alpha is None:
        assert abs(slope) * found.alpha < 1e-4 * evidence.size
    else:
        assert found.alpha == alpha
    # of WWᵀ + diag(v) the derivatives are 2GW and the diagonal of G, in log v times v
    assert np.abs(2 * G @ found.loadings).max() * np.sqrt(evidence.scale) < 1e-4 * evidence.size
    held = found.own <= 1.0001e-6 * evidence.scale
    rest = np.diagonal(G) * found.own
    assert np.abs(rest[~held]).max() < 1e-4 * evidence.size and np.all(rest[held] <= 1e-4 * evidence.size)
