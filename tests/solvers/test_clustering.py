"""Clusters in the space, by products and by the factor, against the definition."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from mercer.context import Context, Status
from mercer.gram import Dense, Lazy, LowRank
from mercer.kernels import Linear
from mercer.solvers._clusters import ProductClusters
from mercer.solvers.clustering import (
    Clusters,
    FactorClusters,
    clusters_of,
    partition,
    partitions,
    random_seeds,
    spread_seeds,
)


def points(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.uniform(0.5, 2.0, n)


def squared_distances(X, weight, labels, k):
    """(k, n), from the definition."""
    means = np.array([np.average(X[labels == c], axis=0, weights=weight[labels == c]) for c in range(k)])
    return ((means[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)


def objective(X, weight, labels):
    total = 0.0
    for c in np.unique(labels):
        own = labels == c
        mean = np.average(X[own], axis=0, weights=weight[own])
        total += weight[own] @ ((X[own] - mean) ** 2).sum(axis=1)
    return total


REPRESENTATIONS = {"dense": Dense(), "lazy": Lazy(), "factor": LowRank()}


@pytest.fixture(params=REPRESENTATIONS)
def representation(request):
    return REPRESENTATIONS[request.param]


def made(representation, X, weight):
    return clusters_of(representation.build(Linear(), X), weight)


def test_factor_where_there_is_one():
    X, w = points()
    assert isinstance(made(Dense(), X, w), ProductClusters)
    assert isinstance(made(LowRank(), X, w), FactorClusters)


def test_distances_and_objective_follow_moves(representation):
    X, w = points()
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 4, 60)
    state = made(representation, X, w)
    state.start(labels, 4)
    for size in (1, 5, 40):  # the last is most of them, which products compute anew
        index = rng.choice(60, size, replace=False)
        target = rng.integers(0, 4, size)
        state.move(index, target)
        labels[index] = target
        np.testing.assert_array_equal(state.labels, labels)
        np.testing.assert_allclose(state.distances(), squared_distances(X, w, labels, 4), atol=1e-12)
        assert state.objective() == pytest.approx(objective(X, w, labels), rel=1e-12)
    index = np.array([3, 50])
    gaps = ((X[index][:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    np.testing.assert_allclose(state.between(index), gaps, atol=1e-12)


def test_large_means_cost_no_digits():
    X, w = points()
    state = FactorClusters(X + 1e6, w)
    labels = np.arange(60) % 4
    state.start(labels, 4)
    assert state.objective() == pytest.approx(objective(X, w, labels), rel=1e-8)
    np.testing.assert_allclose(state.distances(), squared_distances(X, w, labels, 4), rtol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_bounds_change_nothing(seed):
    """Hamerly's bounds skip only points that stay: each round equals that of all distances."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 4)) + 2.5 * rng.integers(0, 2, (500, 4))
    state = FactorClusters(X, np.ones(500))
    state.start(rng.integers(0, 7, 500), 7)
    rounds = 0
    while True:
        target, plain = state.nearest(), Clusters.nearest(state)
        np.testing.assert_array_equal(target, plain)
        moved = np.flatnonzero(target != state.labels)
        if not len(moved):
            break
        state.move(moved, target[moved])
        rounds += 1
    assert rounds > 5
    assert np.mean(state.upper < state.lower) > 0.9  # most points are skipped at the end


def test_a_round_and_the_best_move_equal_brute_force(representation):
    X, w = points(25, 2, 3)
    state = made(representation, X, w)
    labels = np.random.default_rng(4).integers(0, 3, 25)
    state.start(labels, 3)
    np.testing.assert_array_equal(state.nearest(), squared_distances(X, w, labels, 3).argmin(axis=0))
    moves = {}
    for i, c in product(range(25), range(3)):
        other = labels.copy()
        other[i] = c
        moves[i, c] = objective(X, w, other)
    (index,), (target,) = state.best_move()
    assert (index, target) == min(moves, key=moves.get)


def test_local_search_ends_where_no_single_move_helps(representation):
    X, w = points(40, 2, 5)
    state = made(representation, X, w)
    start = np.random.default_rng(0).integers(0, 4, 40)
    plain = partition(state, start, 4, max_iter=500, tol=0.0)
    best = partition(state, start, 4, max_iter=500, tol=0.0, local_search=True)
    assert best.converged and best.objective <= plain.objective
    for i, c in product(range(40), range(4)):
        other = best.labels.copy()
        other[i] = c
        assert objective(X, w, other) >= best.objective - 1e-10


def test_empty_clusters_are_filled(representation):
    X, w = points()
    state = made(representation, X, w)
    state.start(np.zeros(60, dtype=int), 5)
    whole = state.objective()
    state.fill()
    assert (np.bincount(state.labels, minlength=5) > 0).all()
    assert state.objective() < whole
    assert state.objective() == pytest.approx(objective(X, w, state.labels))


def test_a_factor_without_columns():
    result = partition(FactorClusters(np.zeros((4, 0)), np.ones(4)), np.zeros(4, dtype=int), 1, max_iter=5, tol=0.0)
    assert result.objective == 0 and (result.labels == 0).all()


def test_objective_falls_in_every_round(representation):
    X, w = points(200, 2, 7)
    result = partition(made(representation, X, w), np.arange(200) % 6, 6, max_iter=100, tol=0.0)
    assert result.converged and len(result.history) > 4
    assert (np.diff(result.history) < 0).all()
    assert result.objective == pytest.approx(objective(X, w, result.labels))


def test_more_clusters_than_points(representation):
    X = np.repeat(np.eye(3), 4, axis=0)
    state = made(representation, X, np.ones(12))
    for seeds in (spread_seeds, random_seeds):
        result = partitions(state, 3, seeds, 3, np.random.default_rng(0), max_iter=20, tol=0.0)[0]
        assert result.objective == pytest.approx(0, abs=1e-12)
        with pytest.raises(ValueError, match=r"n_clusters = 4 exceeds the number of distinct points.*at most 3"):
            partitions(state, 4, seeds, 3, np.random.default_rng(0), max_iter=20, tol=0.0)


def test_seeds_are_drawn_by_squared_distance(representation):
    """All outcomes of two seeds on five weighted points: the first by weight, the better of two draws by wD²."""
    X = np.array([[0.0], [1.0], [3.0], [3.5], [7.0]])
    w = np.array([1.0, 2.0, 1.0, 0.5, 1.5])
    D = (X - X.T) ** 2
    chances = Counter()
    for first in range(5):
        p = w * D[first] / (w @ D[first])
        for a, b in product(range(5), repeat=2):
            if p[a] * p[b] == 0:
                continue
            potential = [w @ np.minimum(D[first], D[j]) for j in (a, b)]
            second = (a, b)[int(np.argmin(potential))]
            chances[(*(D[second] < D[first]), first)] += w[first] / w.sum() * p[a] * p[b]
    state = made(representation, X, w)
    found = Counter()
    draws = 2000
    rng = np.random.default_rng(0)
    for _ in range(draws):
        seed = rng.integers(2**31)
        first = int(np.random.default_rng(seed).choice(5, p=w / w.sum()))  # the first thing that is drawn
        labels = spread_seeds(state, 2, np.random.default_rng(seed))
        found[(*(labels == 1), first)] += 1
    assert set(found) <= set(chances)
    keys = [key for key in chances if chances[key] * draws >= 5]
    rest = draws - sum(found[key] for key in keys)
    observed = [found[key] for key in keys] + ([rest] if len(keys) < len(chances) else [])
    expected = [draws * chances[key] for key in keys]
    expected += [draws - sum(expected)] if len(keys) < len(chances) else []
    assert chisquare(observed, expected).pvalue > 1e-3


def test_stop_ends_rounds_and_starts():
    X, w = points(300, 2)
    state = FactorClusters(X, w)
    with Context().active() as context:
        context.interrupt()
        result = partitions(state, 8, random_seeds, 5, np.random.default_rng(0), max_iter=9, tol=0.0)
    assert len(result) == 1
    assert result[0].status is Status.INTERRUPTED and len(result[0].history) == 2
