"""Quadratic programs: against kernlab, against closed forms, by the optimality conditions, and what has no solution."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from mercer import SVC, quadratic_program
from mercer.context import Context, Status

rng = np.random.default_rng(5)


def test_values_of_kernlab() -> None:
    """kernlab 0.9-32, ipop(c, H, A, b, l, u, r, sigf = 10)."""
    H = np.array([[4, 1, 0.5], [1, 3, 0.2], [0.5, 0.2, 2]])
    A = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 0.0]])
    found = quadratic_program([-1, -2, -3], H, A, [1, -0.2], 0.0, 1.0, [0.0, 0.3], tol=1e-12)
    np.testing.assert_allclose(found.x, [0.0, 1.73913043105e-01, 8.26086956885e-01], atol=1e-8)
    np.testing.assert_allclose(found.multipliers, [1.31304347753, 0.0], atol=1e-6)
    assert found.objective == pytest.approx(-2.06956521738, rel=1e-10)


def test_the_dual_of_a_machine() -> None:
    X = load_iris().data[np.r_[0:20, 50:70]]
    y = np.repeat([1.0, -1.0], 20)
    K = np.exp(-0.1 * np.sum((X[:, None] - X[None]) ** 2, axis=2))
    found = quadratic_program(-np.ones(40), np.outer(y, y) * K, y[None, :], 0.0, 0.0, 2.0, tol=1e-11)
    assert found.objective == pytest.approx(-2.90320392147, rel=1e-8)  # kernlab's ipop
    machine = SVC(C=2.0, gamma=0.1, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(np.abs(machine.dual_coef_[0]), found.x[machine.support_], atol=1e-4)


@pytest.mark.parametrize("n", [1, 2, 5, 30, 100])
def test_the_optimality_conditions(n) -> None:
    for _ in range(5):
        B = rng.normal(size=(n, max(1, n // 2)))  # a singular H for n > 1
        H, c = 10.0 ** rng.uniform(-2, 2) * B @ B.T, 10.0 ** rng.uniform(-2, 2) * rng.normal(size=n)
        A, inside = rng.normal(size=(min(n, 3), n)), rng.uniform(-1, 1, size=n)
        b = A @ inside - rng.uniform(0, 1, size=len(A))
        found = quadratic_program(c, H, A, b, -1.0, 1.0, 1.0, tol=1e-10)
        x, y, values = found.x, found.multipliers, A @ found.x
        size = 1 + np.abs(c).max() + np.abs(H).max()
        assert found.converged and found.gap <= 1e-9 * (size + abs(found.objective))
        small = 1e-6 * size
        assert np.all(np.abs(x) <= 1 + 1e-8) and np.all(values >= b - 1e-7) and np.all(values <= b + 1 + 1e-7)
        slope = H @ x + c + A.T @ y  # along the bounds that x is at, and there only
        assert np.all(slope[x > -1 + 1e-4] <= small) and np.all(slope[x < 1 - 1e-4] >= -small)
        between = (values > b + 1e-4) & (values < b + 1 - 1e-4)
        assert np.all(np.abs(y[between]) <= small)
        # no feasible point nearby is better: the program is convex
        for step in rng.normal(size=(20, n)) * 0.05:
            other = x + step
            if np.all(np.abs(other) <= 1) and np.all(A @ other >= b) and np.all(A @ other <= b + 1):
                assert c @ other + 0.5 * other @ H @ other >= found.objective - 1e-6 * (1 + abs(found.objective))


def test_closed_forms() -> None:
    H = np.array([[2.0, 0.5], [0.5, 1.0]])
    np.testing.assert_allclose(quadratic_program([1, -1], H).x, -np.linalg.solve(H, [1, -1]), atol=1e-7)
    np.testing.assert_allclose(quadratic_program([3, -3], np.eye(2), lower=-1, upper=2).x, [-1, 2], atol=1e-6)
    held = quadratic_program([1.0, 1.0], np.eye(2), lower=[2.0, -np.inf], upper=[2.0, np.inf])
    np.testing.assert_allclose(held.x, [2.0, -1.0], atol=1e-7)
    line = quadratic_program([0.0, 0.0], np.eye(2), [[1.0, 1.0]], 1.0)
    np.testing.assert_allclose(line.x, [0.5, 0.5], atol=1e-7)
    linear = quadratic_program([1.0, 2.0], np.zeros((2, 2)), [[1.0, 1.0]], 1.0, lower=0.0)
    np.testing.assert_allclose(linear.x, [1.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("unit", [2.0**-60, 1e-6, 1e8])
def test_units_change_nothing(unit) -> None:
    """Of the objective, and of x."""
    H, c, A = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([-1.0, 1.0]), np.ones((1, 2))
    whole = quadratic_program(c, H, A, 0.25, -0.5, 0.75)
    other = quadratic_program(unit * c, unit * H, unit * A, unit * 0.25, -0.5, 0.75)
    np.testing.assert_allclose(other.x, whole.x, atol=1e-7)
    np.testing.assert_allclose(other.multipliers, whole.multipliers, atol=1e-6)
    assert other.objective == pytest.approx(unit * whole.objective, rel=1e-6)
    longer = quadratic_program(c, H / unit, A, 0.25 * unit, -0.5 * unit, 0.75 * unit)
    np.testing.assert_allclose(longer.x / unit, whole.x, atol=1e-7)
    np.testing.assert_allclose(longer.multipliers, whole.multipliers, atol=1e-6)


@pytest.mark.parametrize("far", [1e3, 1e8, 1e20, 1e200])
def test_bounds_that_are_far_away_change_nothing(far) -> None:
    """They set the unit of x once, to which tol is relative: a bound of 10⁸ left x = 4000 in the place of 0."""
    np.testing.assert_allclose(quadratic_program([1.0, -1.0], np.eye(2), upper=far, lower=0.0).x, [0.0, 1.0], atol=1e-7)
    np.testing.assert_allclose(quadratic_program([1.0, -1.0], np.eye(2), lower=-far, upper=far).x, [-1.0, 1.0])
    some = quadratic_program([1.0, -1.0], np.eye(2), lower=[0.0, -np.inf], upper=[far, np.inf])
    np.testing.assert_allclose(some.x, [0.0, 1.0], atol=1e-7)
    simplex = quadratic_program([1.0, 2.0], np.zeros((2, 2)), np.ones((1, 2)), 1.0, lower=0.0, upper=far)
    np.testing.assert_allclose(simplex.x, [1.0, 0.0], atol=1e-6)
    nearly = quadratic_program([1.0, -1.0], np.eye(2), lower=1e-12)
    assert nearly.converged and np.allclose(nearly.x, [0.0, 1.0], atol=1e-7)


def test_max_iter_may_be_left_to_the_solver() -> None:
    assert quadratic_program([1.0], [[1.0]], lower=0.0, max_iter=None).converged
    assert quadratic_program([1.0], [[1.0]], lower=0.0, max_iter=1).status is Status.MAX_ITER


def test_what_has_no_solution_says_so() -> None:
    nowhere = quadratic_program([0.0], [[1.0]], [[1.0], [1.0]], [0.0, 1.0])
    assert not nowhere.converged and nowhere.infeasibility > 0.1
    endless = quadratic_program([1.0], [[0.0]])
    assert not endless.converged
    with Context().active() as context:
        context.interrupt()
        assert quadratic_program([1.0, 1.0], np.eye(2), lower=0.0).status is Status.INTERRUPTED


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1.0], np.eye(2)), r"H must have shape \(1, 1\)"),
        (([1.0, 2.0], [[1.0, 2.0], [0.0, 1.0]]), "not symmetric"),
        (([1.0], [[np.nan]]), r"H has shape \(1, 1\), expected finite numbers in two dimensions"),
        (([1.0], [[1.0]], [[1.0, 2.0]], 0.0), "a column for each of the 1"),
        (([1.0], [[1.0]], [[1.0]]), "A, b and r belong together"),
        (([1.0], [[1.0]], None, 1.0), "A, b and r belong together; pass A and b, or none"),
        (([1.0], [[1.0]], None, None, 0.0, 1.0, 1.0), "A, b and r belong together"),
        (([1.0], [[1.0]], [[1.0]], 0.0, 0.0, 1.0, -1.0), "r = -1 must be >= 0"),
        (
            ([1.0], [[1.0]], None, None, 1.0, 0.0),
            r"no number lies between lower\[0\] = 1 and upper\[0\] = 0; use lower <= upper",
        ),
        (([1.0], [[1.0]], None, None, [1.0, 2.0]), "lower has shape"),
        (([1.0], [[1.0]], None, None, np.inf), r"no number lies between lower\[0\] = inf and upper\[0\] = inf"),
        (([1.0], [[1.0]], [[1.0]], np.inf), "b must be finite"),
        (([1.0, 1.0], np.diag([1.0, -1.0])), "positive semidefinite"),
        ((["a"], [[1.0]]), "c must contain real numbers"),
    ],
)
def test_refusals(arguments, words) -> None:
    with pytest.raises(ValueError, match=f"quadratic_program: .*{words}"):
        quadratic_program(*arguments)
