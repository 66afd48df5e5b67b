"""The compiled parts of a round against their definitions, by loops over all variables."""

import numpy as np
import pytest

from mercer.solvers.fit import _working_set as parts

N, SIZE, TOL = 60, 24, 0.1


def state(rng, groups):
    f, group = rng.normal(size=N), rng.integers(0, groups, N)
    lower, upper = np.zeros(N), np.ones(N)
    beta = rng.choice([0.0, 0.5, 1.0], N)
    up, low, top, bottom = np.empty(N), np.empty(N), np.empty(groups), np.empty(groups)
    parts.extremes(f, beta, lower, upper, group, up, low, top, bottom)
    return (f, beta, lower, upper), group, (up, low, top, bottom)


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_extremes_and_violators(groups, seed):
    (f, beta, _, _), group, (up, low, top, bottom) = state(np.random.default_rng(seed), groups)
    for g in range(groups):
        assert top[g] == max(f[i] for i in range(N) if group[i] == g and beta[i] < 1)
        assert bottom[g] == min(f[i] for i in range(N) if group[i] == g and beta[i] > 0)
    rises = [beta[i] < 1 and f[i] - bottom[group[i]] > TOL for i in range(N)]
    falls = [beta[i] > 0 and top[group[i]] - f[i] > TOL for i in range(N)]
    assert parts.violators(up, low, top, bottom, group, TOL) == sum(np.logical_or(rises, falls))


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_the_worst_violators_enter_and_the_set_keeps_its_size(groups, seed):
    rng = np.random.default_rng(seed)
    variables, group, extremes = state(rng, groups)
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
