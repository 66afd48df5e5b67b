"""Leaving samples out of fits with piecewise linear losses: the span, and the path of active sets, against refits."""

import numpy as np
import pytest

from mercer.gram import Dense
from mercer.kernels import Gaussian
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Pinball,
)
from mercer.solvers.fit._base import FitProblem
from mercer.solvers.fit.box import box
from mercer.solvers.kinks import active_set, at_vertex, span

rng = np.random.default_rng(3)
N = 25
X = rng.normal(size=(N, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=N)
WEIGHT = rng.uniform(0.3, 2, N)
ONES = np.ones((N, 1))


def without(v, i):
    return np.where(np.arange(len(v)) == i, 0.0, v)


@pytest.mark.parametrize("H", [None, ONES], ids=["plain", "offset"])
@pytest.mark.parametrize(("loss", "target"), [(Hinge(), np.sign(Y)), (Pinball(0.3), Y)], ids=["hinge", "pinball"])
def test_span_holds_the_kinks_and_moves_the_rest(loss, target, H) -> None:
    gram = Dense().build(Gaussian(), X)
    K = gram.dense()
    problem = FitProblem(gram, loss, target, 0.3, WEIGHT, H)
    solution = box(problem, tol=1e-10)
    a = solution.coefficients
    free = ~at_vertex(problem, a)
    assert 2 < free.sum() < N
    moved = span(gram.block, gram.diagonal(), a, free, H)
    for i in np.flatnonzero(a):
        kept = np.flatnonzero(free & (np.arange(N) != i))
        p = 0 if H is None else 1
        A = np.zeros((len(kept) + p, len(kept) + p))
        A[: len(kept), : len(kept)] = K[np.ix_(kept, kept)]
        if p:
            A[:-1, -1] = A[-1, :-1] = 1.0
        # aᵢ goes to zero; the coefficients on kinks change so that their values stay, and Hᵀa = 0
        right = np.concatenate([a[i] * K[kept, i], [a[i]] * p])
        change = np.linalg.solve(A, right)
        value = K[i, kept] @ change[: len(kept)] - a[i] * K[i, i] + (change[-1] if p else 0.0)
        assert moved[i] == pytest.approx(-value, abs=1e-6)
    assert np.all(moved[a == 0] == 0)


def test_span_without_free_samples_is_unknown() -> None:
    gram = Dense().build(Gaussian(), X)
    moved = span(gram.block, gram.diagonal(), np.where(np.arange(N) < 5, 1.0, 0.0), np.zeros(N, bool), ONES)
    assert np.all(np.isnan(moved[:5])) and np.all(moved[5:] == 0)


@pytest.mark.parametrize("H", [None, ONES], ids=["plain", "offset"])
@pytest.mark.parametrize(
    ("loss", "target"),
    [(Hinge(), np.sign(Y)), (Pinball(0.3), Y), (EpsilonInsensitive(0.2), Y), (Absolute(), Y)],
    ids=["hinge", "pinball", "epsilon", "absolute"],
)
@pytest.mark.parametrize("alpha", [0.05, 0.3, 5.0])
def test_the_path_of_active_sets_ends_at_the_refit(loss, target, H, alpha) -> None:
    gram = Dense().build(Gaussian(), X)

    def fit(weight):
        return box(FitProblem(gram, loss, target, alpha, weight, H), tol=1e-11)

    whole = fit(WEIGHT)
    found = active_set(FitProblem(gram, loss, target, alpha, WEIGHT, H), whole.coefficients, whole.values)
    exact = np.array([fit(without(WEIGHT, i)).values[i] for i in range(N)])
    known = ~np.isnan(found)
    assert known.mean() > 0.9
    assert np.allclose(found[known], exact[known], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("loss", "target"), [(Hinge(), np.sign(Y)), (EpsilonInsensitive(0.2), Y)], ids=["hinge", "epsilon"]
)
def test_an_offset_that_is_not_unique_is_in_the_middle_as_that_of_a_refit(loss, target) -> None:
    gram, alpha, n = Dense().build(Gaussian(), X), 20.0, N - N % 2

    def fit(weight):
        return box(FitProblem(gram, loss, target, alpha, weight, ONES), tol=1e-11)

    weight = (np.arange(N) < n) * 1.0
    whole = fit(weight)
    problem = FitProblem(gram, loss, target, alpha, weight, ONES)
    found = active_set(problem, whole.coefficients, whole.values)
    left = [fit(without(weight, i)) for i in range(n)]
    open_ended = [i for i, s in enumerate(left) if np.all(at_vertex(problem, s.coefficients))]
    assert len(open_ended) > 3  # no sample on a kink that would tell
    exact = np.array([s.values[i] for i, s in enumerate(left)])
    known = ~np.isnan(found[:n])
    assert known[open_ended].all()
    assert np.allclose(found[:n][known], exact[known], rtol=0, atol=1e-6)
