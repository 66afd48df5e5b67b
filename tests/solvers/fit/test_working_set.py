"""The working-set solver against SciPy's trust-region method and against the optimality conditions."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize, minimize_scalar

from mercer.kernels import Gaussian
from mercer.solvers.fit._rows import Block, Segment
from mercer.solvers.fit.working_set import BoxProblem, minimise

rng = np.random.default_rng(0)

X = rng.normal(size=(40, 3))

KERNEL = Gaussian(1.0)

K = KERNEL(X)


def segment(dtype):
    return Segment(KERNEL.bind(X), dtype)


def solve(problem, dtype=np.float64, capacity=40, tol=1e-9):
    S = segment(dtype)
    return minimise([S], [[Block(S, S, capacity, dtype)]], problem, tol)


def reference(problem):
    """The same problem by a general method."""
    H = K if problem.ridge is None else K + np.diag(problem.ridge)
    constraints = []
    for g in range(problem.groups):
        row = (problem.group == g).astype(float)
        total = 0.0 if problem.start is None else float(row @ problem.start)
        constraints.append(LinearConstraint(row, total, total))
    start = np.zeros(len(K)) if problem.start is None else problem.start
    result = minimize(
        lambda b: 0.5 * b @ H @ b - problem.linear @ b,
        start,
        jac=lambda b: H @ b - problem.linear,
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
    far = np.where(y > 0, 0.0, -1e300), np.where(y > 0, 1e300, 0.0)
    ridge = rng.uniform(0.01, 2.0, 40)
    yield pytest.param(BoxProblem(y, *far, None, ridge=ridge), id="ridge, no equality")
    yield pytest.param(BoxProblem(y, *far, one, ridge=ridge), id="ridge, one equality")
    yield pytest.param(
        BoxProblem(p, *box, two, 0.3 * np.where(y > 0, bound, -bound), ridge=ridge), id="ridge, two equalities"
    )


@pytest.mark.parametrize("problem", list(problems()))
def test_equals_a_general_method(problem) -> None:
    beta, value = reference(problem)
    ours = solve(problem)
    assert ours.converged and ours.gap <= 1e-9
    ridge = 0.0 if problem.ridge is None else problem.ridge
    value_here = 0.5 * ours.beta @ (K @ ours.beta + ridge * ours.beta) - problem.linear @ ours.beta
    assert ours.objective == pytest.approx(value_here)
    assert np.allclose(ours.values, K @ ours.beta, atol=1e-10)
    assert ours.objective <= value + 1e-9
    assert np.allclose(ours.beta, beta, atol=1e-4)
    for g in range(problem.groups):
        mine = problem.group == g
        start = np.zeros(40) if problem.start is None else problem.start
        assert ours.beta[mine].sum() == pytest.approx(start[mine].sum(), abs=1e-10)


@pytest.mark.parametrize("steps", [0, 5, 20, -1])
@pytest.mark.parametrize("problem", list(problems()))
def test_the_duality_gap_is_primal_less_dual(problem, steps) -> None:
    """The primal is ½βᵀKβ + Σ max (ux − ½Rx²) + the sums times the offsets, its maxima found point by point."""
    S = segment(np.float64)
    ours = minimise([S], [[Block(S, S, 40, float)]], problem, 1e-9, max_iter=steps)
    ridge = np.zeros(40) if problem.ridge is None else problem.ridge
    b = ours.offsets[problem.group] if problem.groups else np.zeros(40)
    u = problem.linear - K @ ours.beta - b
    loss = [
        -minimize_scalar(lambda x, i=i: 0.5 * ridge[i] * x * x - u[i] * x, bounds=ends, options={"xatol": 1e-12}).fun
        for i, ends in enumerate(np.clip([problem.lower, problem.upper], -1e6, 1e6).T)
    ]
    primal = 0.5 * ours.beta @ K @ ours.beta + np.sum(loss) + b @ ours.beta
    assert ours.duality_gap >= 0
    assert ours.duality_gap == pytest.approx(primal + ours.objective, abs=1e-6 * max(1, abs(primal)))
    assert (ours.duality_gap < 1e-6) == (steps < 0)


@pytest.mark.parametrize("problem", list(problems()))
def test_single_precision_rows_and_a_small_cache(problem) -> None:
    exact = solve(problem)
    coarse = solve(problem, np.float32, capacity=8, tol=1e-3)
    assert coarse.converged and coarse.gap <= 1e-3
    assert coarse.objective == pytest.approx(exact.objective, abs=1e-3 * np.abs(exact.beta).sum())


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


@pytest.mark.parametrize("capacity", [4, 40])
@pytest.mark.parametrize("problem", list(problems()))
def test_near_an_earlier_run_it_comes_to_the_same_end(problem, capacity) -> None:
    """From Kβ of a run with another linear part, to which the rows of the variables that differ are added."""
    S = segment(np.float64)
    grid = [[Block(S, S, capacity, np.float64)]]
    cold = minimise([S], grid, problem, 1e-9)
    other = minimise([S], grid, replace(problem, linear=problem.linear + 0.3 * X[:, 0]), 1e-9)
    start = cold.beta if problem.start is None else problem.start
    start = np.where(np.arange(40) % 4 == 0, other.beta, start) if problem.group is None else start
    again = minimise([S], grid, replace(problem, start=start, near=(other.beta, other.values)), 1e-9)
    assert again.converged
    assert again.objective == pytest.approx(cold.objective, rel=1e-12)
    assert np.allclose(again.beta, cold.beta, atol=1e-7)
    assert np.allclose(again.values, K @ again.beta, atol=1e-10)


def test_near_itself_no_row_and_no_step_is_needed() -> None:
    S = segment(np.float64)
    problem = list(problems())[1].values[0]
    cold = minimise([S], [[Block(S, S, 40, np.float64)]], problem, 1e-9)
    block = Block(S, S, 40, np.float64)
    again = minimise([S], [[block]], replace(problem, start=cold.beta, near=(cold.beta, cold.values)), 1e-9)
    assert again.inner_iter == 0 and block.computed == 0
    assert np.array_equal(again.beta, cold.beta)


def test_ridge_and_near_with_a_cache_of_one_percent() -> None:
    """Ten rows of a thousand, in single precision: eviction in the middle of the first Kβ."""
    A = np.random.default_rng(1).normal(size=(1000, 4))
    y = np.where(np.sin(2 * A[:, 0]) + 0.5 * A[:, 1] > 0, 1.0, -1.0)
    G = KERNEL(A)
    S = Segment(KERNEL.bind(A), np.float32)
    far = np.where(y > 0, 0.0, -1e300), np.where(y > 0, 1e300, 0.0)
    problem = BoxProblem(y, *far, np.zeros(1000, dtype=int), ridge=np.full(1000, 0.5))
    whole = minimise([S], [[Block(S, S, 1000, np.float32)]], problem)
    block = Block(S, S, 10, np.float32)
    nudged = np.where(np.arange(1000) % 3 == 0, 0.9, 1.0) * whole.beta
    nudged[nudged < 0] *= nudged[nudged > 0].sum() / -nudged[nudged < 0].sum()
    small = minimise([S], [[block]], replace(problem, start=nudged, near=(whole.beta, whole.values)))
    assert small.converged and block.evicted > 0
    f = y - G @ small.beta - 0.5 * small.beta
    assert f[small.beta < far[1]].max() - f[small.beta > far[0]].min() <= 1.05e-3
    assert small.objective == pytest.approx(whole.objective, rel=1e-5)
