from collections import Counter

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix, random_array

from mercer._array import host
from mercer.gram import Nystrom
from mercer.gram.nystrom import leverage_scores, random_pivots, ridge_leverage
from mercer.kernels import PD, Gaussian, Linear
from mercer.kernels.finite import Callable, FiniteDomain, Precomputed
from mercer.kernels.laplace import Laplace

RULES = ("uniform", "kmeans", "leverage", "rpcholesky")


def build(representation, kernel, X, seed=0):
    return representation.build(kernel, X, np.random.default_rng(seed))


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(80, 3))


def projection(kernel, X, C):
    """The definition, with SciPy-independent least squares."""
    return kernel(X, C) @ np.linalg.pinv(kernel(C), hermitian=True) @ kernel(C, X)


@pytest.mark.parametrize("rule", RULES)
def test_is_the_projection_onto_the_landmarks(X, rule):
    gram = build(Nystrom(12, rule), Laplace(), X)
    K = projection(Laplace(), X, gram.features.centres)
    assert gram.rank == 12
    np.testing.assert_allclose(gram.dense(), K, atol=1e-10)
    assert gram.trace_error == pytest.approx(80 - np.trace(K), abs=1e-9)
    assert np.linalg.eigvalsh(Laplace()(X) - gram.dense())[0] > -1e-10


@pytest.mark.parametrize("rule", RULES)
def test_all_samples_give_the_matrix_itself(X, rule):
    gram = build(Nystrom(landmarks=rule), Laplace(), X)
    np.testing.assert_allclose(gram.dense(), Laplace()(X), atol=1e-9)
    assert gram.trace_error == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("landmarks", [[3, 7, 20], np.array([3, 7, 20]), range(3, 21, 4)])
def test_given_samples(X, landmarks):
    gram = build(Nystrom(landmarks=landmarks), Gaussian(), X)
    np.testing.assert_array_equal(gram.pivots, list(landmarks))
    np.testing.assert_allclose(gram.dense(), projection(Gaussian(), X, X[list(landmarks)]), atol=1e-10)


def test_given_points(X):
    C = np.random.default_rng(1).normal(size=(7, 3))
    np.testing.assert_allclose(
        build(Nystrom(landmarks=C), Gaussian(), X).dense(), projection(Gaussian(), X, C), atol=1e-9
    )


def test_given_words():
    kernel = Callable(lambda x, y: len(set(x) & set(y)), definiteness=PD)
    X = ["kernel", "gram", "matrix", "mercer"]
    gram = build(Nystrom(landmarks=["kernel", "matrix"]), kernel, X)
    np.testing.assert_allclose(gram.dense(), projection(kernel, X, ["kernel", "matrix"]), atol=1e-12)
    assert build(Nystrom(rank=3, landmarks="leverage"), kernel, X).rank <= 3


@pytest.mark.parametrize("rule", ["uniform", "leverage", "rpcholesky"])
def test_precomputed_is_the_same(X, rule):
    one, two = build(Nystrom(10, rule), Gaussian(), X), build(Nystrom(10, rule), Precomputed(), Gaussian()(X))
    np.testing.assert_array_equal(one.pivots, two.pivots)
    np.testing.assert_allclose(one.dense(), two.dense(), atol=1e-9)
    np.testing.assert_allclose(one.cross(X[:5]).dense(), two.cross(Gaussian()(X)[:5]).dense(), atol=1e-9)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("container", [csr_array, csr_matrix])
def test_csr_is_the_same(rule, container):
    S = container(random_array((60, 30), density=0.2, rng=np.random.default_rng(0)))
    one, two = (build(Nystrom(10, rule), Gaussian(), A) for A in (S, S.toarray()))
    np.testing.assert_allclose(one.dense(), two.dense(), atol=1e-9)
    np.testing.assert_allclose(one.cross(S[:5]).dense(), one.dense()[:5], atol=1e-9)


def test_drop_leaves_out_small_eigenvalues(X):
    C = X[:30]
    values = np.linalg.eigvalsh(Gaussian(2.0)(C))
    gram = build(Nystrom(landmarks=C, drop=1e-3), Gaussian(2.0), X)
    assert gram.rank == np.sum(values > 1e-3 * values[-1]) < 30


def test_repeated_samples_are_no_trouble():
    X = np.repeat(np.random.default_rng(0).normal(size=(5, 2)), 10, axis=0)
    for rule in ("uniform", "leverage", "rpcholesky"):
        gram = build(Nystrom(20, rule), Gaussian(), X)
        assert gram.rank <= 5
        assert np.all(np.isfinite(gram.dense()))


# ---- randomly pivoted Cholesky


@pytest.mark.long
def test_blocks_leave_the_distribution_of_pivots():
    # n = 4, two pivots: P(i, j) = (kᵢᵢ / Σ kₗₗ) · (rⱼ / Σ rₗ) with r the residual diagonal after i
    B = np.array([[1.0, 0.0], [1.0, 0.3], [0.2, 2.0], [0.5, 0.5]])
    K = B @ B.T + 0.2 * np.eye(4)
    kernel, n_draws = FiniteDomain(K), 20_000
    expected = {}
    for i in range(4):
        r = np.diagonal(K) - K[i] ** 2 / K[i, i]
        for j in set(range(4)) - {i}:
            expected[i, j] = K[i, i] / np.trace(K) * r[j] / (r.sum() - r[i])
    rng = np.random.default_rng(0)
    drawn = Counter(
        tuple(random_pivots(kernel, np.arange(4), np.diagonal(K), 2, rng)[0].tolist()) for _ in range(n_draws)
    )
    chi2 = sum((drawn[pair] - n_draws * p) ** 2 / (n_draws * p) for pair, p in expected.items())
    assert chi2 < 31.3  # the 0.1 % point of χ² with 11 degrees of freedom


def test_error_is_within_the_bound():
    n, s, epsilon = 200, 4, 0.5
    U = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))[0]
    values = 0.5 ** np.arange(n) + 1e-4
    kernel = FiniteDomain(U * values @ U.T)
    best = values[s:].sum()
    r = int(np.ceil(s / epsilon + s * np.log(values.sum() / (epsilon * best))))
    errors = [build(Nystrom(r), kernel, np.arange(n), seed).trace_error for seed in range(20)]
    assert np.mean(errors) <= (1 + epsilon) * best


def test_finds_the_small_cluster():
    # a hundredth of the data lies far away: uniform landmarks mostly miss it
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(990, 2)), rng.normal(size=(10, 2)) + 30])
    found = {
        rule: sum(build(Nystrom(30, rule), Gaussian(3.0), X, seed).pivots.max() >= 990 for seed in range(20))
        for rule in ("uniform", "leverage", "rpcholesky")
    }
    assert found["rpcholesky"] >= 19
    assert found["rpcholesky"] >= found["leverage"] > 2 * found["uniform"]


def test_adaptive_rules_beat_uniform_landmarks():
    rng = np.random.default_rng(0)
    X = np.concatenate([0.1 * rng.normal(size=(400, 2)), rng.uniform(-8, 8, size=(100, 2))])
    mean = {r: np.mean([build(Nystrom(40, r), Gaussian(), X, s).trace_error for s in range(8)]) for r in RULES}
    assert all(mean[rule] < 0.8 * mean["uniform"] for rule in ("kmeans", "leverage", "rpcholesky")), mean


# ---- leverage scores


@pytest.mark.parametrize("weights", [1.0, 0.5])
def test_leverage_from_all_samples_is_exact(X, weights, xp):
    # all samples with weight w: (K − K(K + λ/w)⁻¹K)/λ = K(wK + λ)⁻¹
    K = Gaussian()(X)
    scores = ridge_leverage(xp.asarray(K), np.diagonal(K), K, np.full(80, weights), 0.7)
    np.testing.assert_allclose(scores, np.diagonal(K @ np.linalg.inv(weights * K + 0.7 * np.eye(80))), rtol=1e-8)


def test_recursive_leverage_follows_the_exact_scores():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(300, 2)), rng.uniform(-15, 15, size=(30, 2))])
    K, rank = Gaussian(2.0)(X), 60
    s = int(rank / (4 * np.log(rank)))
    ridge = np.linalg.eigvalsh(K)[:-s].sum() / s
    exact = np.diagonal(K @ np.linalg.inv(K + ridge * np.eye(330)))
    found = np.mean(
        [leverage_scores(Gaussian(2.0), X, rank, np.random.default_rng(seed)) for seed in range(10)], axis=0
    )
    assert np.corrcoef(exact, found)[0, 1] > 0.95
    assert found.sum() < 4 * exact.sum()


# ---- input


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"rank": 81}, ValueError, "Nystrom: rank = 81 exceeds the 80 samples; give at most 80, or None"),
        ({"rank": 0}, ValueError, "rank = 0 must be >= 1"),
        ({"landmarks": "best"}, ValueError, "landmarks = 'best' is unknown"),
        ({"landmarks": [0, 80]}, ValueError, "landmarks must be indices in 0 … 79"),
        ({"landmarks": []}, ValueError, "landmarks must be indices in 0 … 79"),
        ({"landmarks": [1, 2], "rank": 3}, ValueError, "rank = 3, but 2 landmarks are given"),
        ({"landmarks": np.ones((2, 5))}, ValueError, "X has 3 columns and Y has 5"),
        ({"drop": -1.0}, ValueError, "drop = -1.0 must be >= 0"),
    ],
)
def test_bad_parameters(X, parameters, error, message):
    with pytest.raises(error, match=message):
        build(Nystrom(**parameters), Gaussian(), X)


def test_kmeans_needs_vectors():
    with pytest.raises(TypeError, match='landmarks = "kmeans" needs vectors; FiniteDomain compares'):
        build(Nystrom(3, "kmeans"), FiniteDomain(np.eye(9)), np.arange(9))


def test_default_rank_is_at_most_the_number_of_samples(X):
    assert build(Nystrom(), Laplace(), X).rank == 80


@pytest.mark.parametrize("rule", RULES)
def test_float32_never_overshoots(X, rule, xp):
    gram = build(Nystrom(60, rule), Gaussian(2.0), xp.asarray(X, dtype=xp.float32))
    assert gram.dtype == xp.float32
    left = Gaussian(2.0)(X) - host(gram.dense())
    assert np.linalg.eigvalsh(left)[0] > -1e-4
    assert gram.trace_error == pytest.approx(np.trace(left), abs=1e-4)
    if rule == "rpcholesky":
        np.testing.assert_allclose(left, 0.0, atol=1e-3)


def test_linear_kernel_has_its_own_rank(X):
    gram = build(Nystrom(20), Linear(), X)
    assert gram.rank == 3
    np.testing.assert_allclose(gram.dense(), X @ X.T, atol=1e-11)
