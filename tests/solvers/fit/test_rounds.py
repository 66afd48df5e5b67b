"""The rounds of the working-set solvers: their history, and when they end."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from mercer.context import Status
from mercer.kernels import Gaussian
from mercer.solvers.fit._rows import Block, Segment
from mercer.solvers.fit.working_set import BoxProblem, minimise

rng = np.random.default_rng(0)

X = rng.normal(size=(40, 3))

KERNEL = Gaussian(1.0)


def segment(dtype):
    return Segment(KERNEL.bind(X), dtype)


def solve(problem, dtype=np.float64, capacity=40, tol=1e-9):
    S = segment(dtype)
    return minimise([S], [[Block(S, S, capacity, dtype)]], problem, tol)


def one_block(A, dtype):
    S = Segment(KERNEL.bind(A), dtype)
    return [S], [[Block(S, S, len(A), dtype)]]


def optimality(beta, problem, matrix) -> float:
    """LIBSVM's criterion, from the matrix."""
    f = problem.linear - matrix @ beta
    return float(f[beta < problem.upper].max() - f[beta > problem.lower].min())


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


def test_the_history_ends_at_the_gap_and_the_objective_falls() -> None:
    problem = next(problems()).values[0]
    solution = solve(problem)
    values = [h["objective"] for h in solution.history]
    assert solution.history[-1]["gap"] == solution.gap
    assert np.all(np.diff(values) <= 1e-12)


def test_steps_of_rounding_end() -> None:
    """With a large C single precision steps up and down for ever; it has to say so, and double precision to finish."""
    A, y = make_moons(120, noise=0.3, random_state=0)
    y, C = 2.0 * y - 1.0, 1e6
    problem = BoxProblem(y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0), np.zeros(120, dtype=int))
    coarse, fine = (minimise(*one_block(A, dtype), problem, 1e-3, max_iter=10**8) for dtype in (np.float32, np.float64))
    assert coarse.status is Status.PRECISION
    assert fine.converged and optimality(fine.beta, problem, KERNEL(A)) <= 1e-3
    assert coarse.gap == pytest.approx(
        optimality(coarse.beta, problem, KERNEL(A)), rel=1e-6
    )  # told in double precision


def test_rows_that_miss_their_own_diagonal_are_not_trusted() -> None:
    """Rows in single precision in which k(x, x) comes out as less than it is, far from the points that decide."""
    A = 1e6 * np.random.default_rng(0).normal(size=(50, 3))
    y = np.where(np.arange(50) < 30, 1.0, -1.0)
    problem = BoxProblem(y, np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0), np.zeros(50, dtype=int))
    (segment,), blocks = one_block(A, np.float32)
    assert minimise([segment], blocks, problem, 1e-3).converged  # distances of a million lengthscales are right
    segment.diagonal = 2.0 * segment.diagonal
    assert minimise([segment], blocks, problem, 1e-3).status is Status.PRECISION
    fine = minimise(*one_block(A, np.float64), problem, 1e-3)
    assert fine.converged and optimality(fine.beta, problem, np.eye(50)) <= 1e-2


def test_the_monitor_can_stop() -> None:
    S = segment(np.float64)
    problem = next(problems()).values[0]
    solution = minimise([S], [[Block(S, S, 40, float)]], problem, 1e-9, monitor=lambda state: Status.STOPPED)
    assert solution.status is Status.STOPPED
