"""The working-set solver against SciPy's trust-region method and against the optimality conditions."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from mercer.kernels import Gaussian
from mercer.solvers.fit._rows import Block, Segment
from mercer.solvers.fit.working_set import BoxProblem, minimise

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
KERNEL = Gaussian(1.0)
K = KERNEL(X)


def segment(dtype):
    points = KERNEL.prepare(X.astype(dtype))
    return Segment(points, points, np.ones(len(X)), lambda rows, columns: KERNEL(X[rows], X[columns]))


def solve(problem, dtype=np.float64, capacity=40, tol=1e-9):
    S = segment(dtype)
    return minimise([S], [[Block(S, S, capacity, dtype)]], problem, tol)


def reference(problem):
    """The same problem by a general method."""
    constraints = []
    for g in range(problem.groups):
        row = (problem.group == g).astype(float)
        total = 0.0 if problem.start is None else float(row @ problem.start)
        constraints.append(LinearConstraint(row, total, total))
    start = np.zeros(len(K)) if problem.start is None else problem.start
    result = minimize(
        lambda b: 0.5 * b @ K @ b - problem.linear @ b,
        start,
        jac=lambda b: K @ b - problem.linear,
        bounds=list(zip(problem.lower, problem.upper, strict=True)),
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    return result.x, result.fun


def problems():
    y = np.where(rng.normal(size=40) > 0, 1.0, -1.0)
    p, bound = rng.normal(size=40), rng.uniform(0.2, 1.0, 40)
    box = np.where(y > 0, 0.0, -bound), np.where(y > 0, bound, 0.0)
    one, two = np.zeros(40, dtype=int), (y > 0).astype(int)
    yield pytest.param(BoxProblem(p, *box, None), id="no equality")
    yield pytest.param(BoxProblem(p, *box, one), id="one equality")
    yield pytest.param(BoxProblem(p, *box, two, 0.3 * np.where(y > 0, bound, -bound)), id="two equalities")
    yield pytest.param(BoxProblem(p, -bound, bound, one, 0.5 * bound), id="warm start")


@pytest.mark.parametrize("problem", list(problems()))
def test_equals_a_general_method(problem) -> None:
    beta, value = reference(problem)
    ours = solve(problem)
    assert ours.converged and ours.gap <= 1e-9
    assert ours.objective == pytest.approx(0.5 * ours.beta @ K @ ours.beta - problem.linear @ ours.beta)
    assert ours.objective <= value + 1e-9
    assert np.allclose(ours.beta, beta, atol=1e-4)
    for g in range(problem.groups):
        mine = problem.group == g
        start = np.zeros(40) if problem.start is None else problem.start
        assert ours.beta[mine].sum() == pytest.approx(start[mine].sum(), abs=1e-10)


@pytest.mark.parametrize("problem", list(problems()))
def test_single_precision_rows_and_a_small_cache(problem) -> None:
    exact = solve(problem)
    coarse = solve(problem, np.float32, capacity=8, tol=1e-3)
    assert coarse.converged and coarse.gap <= 1e-3
    assert coarse.objective == pytest.approx(exact.objective, abs=1e-3 * np.abs(exact.beta).sum())


def test_the_history_ends_at_the_gap_and_the_objective_falls() -> None:
    problem = next(problems()).values[0]
    solution = solve(problem)
    values = [h["objective"] for h in solution.history]
    assert solution.history[-1]["gap"] == solution.gap
    assert np.all(np.diff(values) <= 1e-12)


def test_the_monitor_can_stop() -> None:
    S = segment(np.float64)
    problem = next(problems()).values[0]
    solution = minimise([S], [[Block(S, S, 40, float)]], problem, 1e-9, monitor=lambda state: "enough")
    assert not solution.converged and solution.message == "enough"


def test_offset_without_a_free_variable_is_the_middle() -> None:
    S = segment(np.float64)
    tiny = np.full(40, 1e-6)
    y = np.where(np.arange(40) < 20, 1.0, -1.0)
    problem = BoxProblem(y, np.where(y > 0, 0, -tiny), np.where(y > 0, tiny, 0), np.zeros(40, dtype=int))
    solution = minimise([S], [[Block(S, S, 40, float)]], problem, 1e-9)
    free = (solution.beta > problem.lower) & (solution.beta < problem.upper)
    assert not free.any()
    f = y - K @ solution.beta
    ends = f[solution.beta < problem.upper].max(), f[solution.beta > problem.lower].min()
    assert solution.offsets[0] == pytest.approx(np.mean(ends), abs=1e-9)
