"""Randomly pivoted Cholesky: exact on its pivots, drawn by their residuals, and near the best error of its rank."""

import numpy as np
import pytest

from mercer.gram import Dense, IncompleteCholesky
from mercer.kernels import Gaussian, Linear

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2))
K = Gaussian()(X)


def build(rank=None, seed=0, **options):
    recipe = IncompleteCholesky(rank, pivots="random", **options)
    return recipe.build(Gaussian(), X, np.random.default_rng(seed))


@pytest.mark.parametrize("rank", [1, 7, 40])
def test_factor_is_the_projection_on_the_pivots(rank):
    gram = build(rank)
    p = gram.pivots
    assert len(p) == len(set(p.tolist())) == rank
    expected = K[:, p] @ np.linalg.lstsq(K[np.ix_(p, p)], K[p], rcond=None)[0]
    np.testing.assert_allclose(gram.factor() @ gram.factor().T, expected, atol=1e-7)
    assert gram.trace_error == pytest.approx(np.trace(K - expected), abs=1e-6)
    np.testing.assert_allclose(gram.cross(X[:5]).dense(), expected[:5], atol=1e-7)


def test_tolerance_ends_the_search():
    gram = build(tol=1e-3)
    assert np.max(gram.residual) <= 1e-3 and gram.rank < 300


def test_blocks_draw_as_single_draws(monkeypatch):
    """The law of the first two pivots does not depend on the size of blocks: 4,000 draws of each, by chi squared."""
    points = np.array([[0.0], [0.3], [1.0], [3.0]])
    counts = []
    for proposals in (1, 8):
        monkeypatch.setattr("mercer.gram.incomplete_cholesky.PROPOSALS", proposals)
        seen = np.zeros((4, 4))
        for seed in range(4000):
            recipe = IncompleteCholesky(2, pivots="random")
            seen[tuple(recipe.build(Gaussian(), points, np.random.default_rng(seed)).pivots)] += 1
        counts.append(seen)
    k = Gaussian()(points)
    law = 0.25 * (1 - k**2) / (1 - k**2).sum(axis=1, keepdims=True)  # the second by the residuals of the first
    for seen in counts:
        inside = law > 0
        assert seen[~inside].sum() == 0
        assert np.sum((seen - 4000 * law)[inside] ** 2 / (4000 * law)[inside]) < 31.3  # 11 degrees, 1 in 1,000


def test_error_is_near_the_best():
    """On average over draws, with k columns the error is at most twice that of the best r, for k as in the theorem.

    Chen, Epperly, Tropp, Webber (2024), theorem 5.1: k ≥ r/ε + r log(1/(εη)), η the best error relative to the trace.
    """
    values, r = np.sort(np.linalg.eigvalsh(K))[::-1], 10
    best = values[r:].sum()
    k = int(np.ceil(r + r * np.log(np.trace(K) / best)))
    errors = [build(k, seed).trace_error for seed in range(10)]
    assert values[k:].sum() <= np.mean(errors) <= 2 * best


def test_the_seed_decides():
    assert np.array_equal(build(20, 1).pivots, build(20, 1).pivots)
    assert not np.array_equal(build(20, 1).pivots, build(20, 2).pivots)


def test_low_rank_ends_early():
    gram = IncompleteCholesky(pivots="random").build(Linear(), X, np.random.default_rng(0))
    assert gram.rank == 2
    np.testing.assert_allclose(gram.factor() @ gram.factor().T, Dense().build(Linear(), X).dense(), atol=1e-10)


def test_zero_matrices_have_no_pivot():
    gram = IncompleteCholesky(5, pivots="random").build(Linear(), np.zeros((6, 2)), np.random.default_rng(0))
    assert gram.rank == 0 and gram.dense().shape == (6, 6)


def test_tensors_and_single_precision():
    torch = pytest.importorskip("torch")
    here = build(30)
    recipe = IncompleteCholesky(30, pivots="random")
    there = recipe.build(Gaussian(), torch.tensor(X), np.random.default_rng(0))
    assert np.array_equal(there.pivots, here.pivots)
    np.testing.assert_allclose(there.factor().numpy(), here.factor(), atol=1e-8)
    single = recipe.build(Gaussian(), X.astype(np.float32), np.random.default_rng(0))
    assert single.factor().dtype == np.float32
    assert single.trace_error == pytest.approx(here.trace_error, rel=0.2)


def test_targets_and_random_pivots_exclude_each_other():
    with pytest.raises(ValueError, match="y chooses the pivots"):
        IncompleteCholesky(5, y=X[:, 0], pivots="random").build(Gaussian(), X)
    with pytest.raises(ValueError, match="pivots = 'first' is unknown"):
        IncompleteCholesky(5, pivots="first").build(Gaussian(), X)
