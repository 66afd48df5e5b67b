"""The compiled parts of a round against their definitions, by loops over all variables."""

import numpy as np
import pytest

from mercer._threads import Workers
from mercer.losses import FAR
from mercer.solvers.fit import _working_set as parts
from mercer.solvers.fit._working_matrix import Rows, WorkingMatrix

N, SIZE, TOL = 60, 24, 0.1


def state(rng, groups):
    f, group = rng.normal(size=N), rng.integers(0, groups, N)
    lower, upper = np.zeros(N), np.ones(N)
    beta = rng.choice([0.0, 0.5, 1.0], N)
    extremes = np.empty(N), np.empty(N), np.empty(groups), np.empty(groups)
    variables, linear = (f, beta, lower, upper), rng.normal(size=N)
    found = parts.assess(variables, linear, group, groups, TOL, extremes)
    assert found[1] == pytest.approx(-0.5 * beta @ (f + linear), rel=1e-12)
    return variables, group, extremes, found


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_extremes_and_violators(groups, seed):
    (f, beta, _, _), group, (_, _, top, bottom), found = state(np.random.default_rng(seed), groups)
    for g in range(groups):
        assert top[g] == max(f[i] for i in range(N) if group[i] == g and beta[i] < 1)
        assert bottom[g] == min(f[i] for i in range(N) if group[i] == g and beta[i] > 0)
    rises = [beta[i] < 1 and f[i] - bottom[group[i]] > TOL for i in range(N)]
    falls = [beta[i] > 0 and top[group[i]] - f[i] > TOL for i in range(N)]
    assert found[0] == max(top - bottom) and found[2] == sum(np.logical_or(rises, falls))


def test_without_groups_f_is_compared_with_zero():
    f, beta = np.array([0.3, -0.5, 0.7, -0.9]), np.array([0.5, 0.5, 1.0, 0.0])  # the last two cannot move that way
    extremes = np.empty(4), np.empty(4), np.empty(1), np.empty(1)
    variables = f, beta, np.zeros(4), np.ones(4)
    gap, _, violators = parts.assess(variables, np.zeros(4), np.zeros(4, np.int64), 0, 0.4, extremes)
    assert (gap, violators) == (0.5, 1)


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_the_worst_violators_enter_and_the_set_keeps_its_size(groups, seed):
    rng = np.random.default_rng(seed)
    variables, group, extremes, _ = state(rng, groups)
    rise = extremes[0] - extremes[3][group]
    first = parts.choose(np.empty(0, np.int64), np.zeros(N, np.int64), 0, SIZE, extremes, variables, group, TOL)
    worst = np.argsort(-rise)[: SIZE // 2]
    assert len(first) == SIZE and np.all(np.diff(first) > 0) and set(worst) <= set(first)
    born = np.zeros(N, np.int64)
    second = parts.choose(first, born, 7, SIZE, extremes, variables, group, TOL)
    new = np.setdiff1d(second, first)
    assert len(second) == SIZE and len(new) == SIZE // 4 and np.all(born[new] == 7)
    outside = np.setdiff1d(np.arange(N), first)
    assert outside[np.argmax(rise[outside])] in new


def test_variables_that_stay_keep_their_rows():
    seats = np.full(8, -1)
    fresh, rows = parts.seat(seats, np.array([2, 5, 9]), 12)
    assert fresh.all() and np.array_equal(seats[rows], [2, 5, 9])
    again, moved = parts.seat(seats, np.array([1, 5, 9, 11]), 12)
    assert again.tolist() == [True, False, False, True] and np.array_equal(moved[1:3], rows[1:])
    assert np.array_equal(seats[moved], [1, 5, 9, 11]) and np.count_nonzero(seats >= 0) == 4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_matrix_of_a_working_set_and_the_new_f(dtype):
    """Two segments whose rows lie in blocks in any order, against the whole matrix."""
    rng = np.random.default_rng(0)
    n, edges = 30, np.array([0, 12, 30])
    K = rng.normal(size=(n, n)).astype(dtype)
    K += K.T
    cuts = [slice(*edges[s : s + 2]) for s in (0, 1)]
    slots = tuple(rng.permutation(edges[s + 1] - edges[s]) for s in (0, 0, 1, 1))
    blocks = tuple(
        np.ascontiguousarray(K[cuts[s], cuts[t]][np.argsort(slots[2 * s + t])]) for s in (0, 1) for t in (0, 1)
    )
    rows = Rows(blocks, slots, edges)
    ridge, diagonal = rng.uniform(size=n), K.diagonal().astype(float)
    matrix = WorkingMatrix(dtype, rows, diagonal + ridge, ridge, Workers())
    for most, working in (20, np.array([1, 4, 7, 11, 12, 20, 29])), (200, np.array([0, 4, 7, 12, 13, 28])):
        matrix.reserve(most)
        assert matrix.admit(working)
        expected = K[np.ix_(working, working)] + np.diag(ridge[working])
        Q = np.ldexp(matrix.Q[np.ix_(matrix.at, matrix.at)].astype(float), matrix.unit)
        np.testing.assert_allclose(Q, expected, rtol=4 * np.finfo(dtype).eps)
        f, change = rng.normal(size=n), rng.choice([0.0, 1.0, -2.0], len(working))
        g = f.copy()
        rows.follow(g, working, change, Workers())
        np.testing.assert_allclose(g, f - K[:, working].astype(float) @ change, rtol=1e-12, atol=1e-12)


def test_variables_enter_and_leave_the_units_of_the_matrix_unchanged():
    rng = np.random.default_rng(1)
    working, at = np.array([2, 5, 9]), np.array([1, 0, 2])
    f, beta = 1e-90 * rng.normal(size=10), 1e-70 * rng.uniform(size=10)
    variables = f, beta, np.full(10, -np.finfo(float).max), np.full(10, 1e-60)
    slope, x, low, high, curve, size = parts.enter(np.zeros((4, 4)), working, at, variables, np.full(10, 8.0), 4, 3)
    assert 1 <= np.abs(slope).max() < 2 and np.ldexp(slope[at], size).tolist() == f[working].tolist()
    assert curve[at].tolist() == [1, 1, 1] and curve[3] == low[3] == high[3] == 0 and np.all(low[at] == -FAR)
    x[at[0]] *= 1.5
    after = parts.leave(x, working, at, beta, size - 3)
    assert after.tolist() == [1.5 * beta[2], beta[5], beta[9]]
