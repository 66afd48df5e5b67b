"""Solvers of box-constrained problems: the conditions of optimality on the same problems, the choice, and refusals."""

import numpy as np
import pytest

from mercer._checkpoint import Checkpoint
from mercer.context import Context, Status
from mercer.gram import Dense, Lazy, Nystrom
from mercer.kernels import Gaussian, Linear
from mercer.solvers.fit import boxes
from mercer.solvers.fit.boxes import Factored, Held, Pairs, Samples, WorkingSet, box_solver
from mercer.solvers.fit.working_set import BoxProblem

N = 60
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
Y = np.where(X[:, 0] + 0.6 * rng.normal(size=N) > 0, 1.0, -1.0)
TARGET = X[:, 1] + 0.3 * rng.normal(size=N)
C = rng.uniform(0.5, 2.0, size=N)
NONE, ONE = np.zeros(N), np.zeros(N, dtype=np.int64)
TUBE = np.concatenate([TARGET - 0.1, TARGET + 0.1]), np.concatenate([NONE, -C]), np.concatenate([C, NONE])

PROBLEMS = {
    "hinge": (BoxProblem(Y, np.minimum(0, C * Y), np.maximum(0, C * Y), ONE), 1),
    "no offset": (BoxProblem(Y, np.minimum(0, C * Y), np.maximum(0, C * Y)), 1),
    "tube": (BoxProblem(*TUBE, np.zeros(2 * N, dtype=np.int64)), 2),
    "fixed sum": (BoxProblem(NONE, NONE, C, ONE, 0.3 * C), 1),
}


def gram(n_samples=N):
    """An operator with a thin factor."""
    return Nystrom(3).build(Linear(), X[:n_samples], np.random.default_rng(0))


@pytest.mark.parametrize("solver", [Held, WorkingSet, Factored])
@pytest.mark.parametrize(("problem", "copies"), PROBLEMS.values(), ids=PROBLEMS)
def test_conditions_of_optimality(solver, problem, copies) -> None:
    found = solver(1e-6).on(Samples(gram(), copies=copies)).solve(problem)
    K = np.tile(gram().dense(), (copies, copies))
    f = problem.linear - K @ found.beta
    grows, falls = f[found.beta < problem.upper], f[found.beta > problem.lower]
    gap = grows.max() - falls.min() if problem.groups else max(grows.max(), -falls.min())
    assert found.converged and gap <= (2e-3 if found.method == "primal" else 1.1e-6)
    assert np.all((found.beta >= problem.lower) & (found.beta <= problem.upper))
    np.testing.assert_allclose(problem.sums(found.beta), 0.0, atol=1e-6)
    np.testing.assert_allclose(found.values, K @ found.beta, atol=1e-9)


@pytest.mark.parametrize(
    ("operator", "copies", "choice"),
    [
        (Lazy().build(Gaussian(), X), 1, Held),
        (Lazy().build(Gaussian(), X), 2, WorkingSet),
        (Dense().build(Gaussian(), np.tile(X, (2, 1))), 1, WorkingSet),
        (Nystrom(12).build(Gaussian(), np.tile(X, (2, 1)), rng), 1, Factored),
        (Nystrom(20).build(Gaussian(), np.tile(X, (2, 1)), rng), 1, WorkingSet),
        (Nystrom(12).build(Gaussian(), X, rng), 1, Held),
    ],
)
def test_the_table(operator, copies, choice, monkeypatch) -> None:
    """The limits are 100 variables for a matrix, two thirds of that for two copies, and 100 samples for a factor."""
    for name, value in (("SMALL", 0), ("HELD", 100), ("MANY", 100)):
        monkeypatch.setattr(boxes, name, value)
    found = box_solver("auto", Samples(operator, copies=copies), 1e-4, 7)
    assert type(found) is choice and (found.tol, found.max_iter) == (1e-4, 7)
    short = box_solver("auto", Samples(operator, copies=copies, cache_size=0.01))
    assert type(short) is (WorkingSet if choice is Held else choice)


def test_what_does_not_suit_is_refused(tmp_path) -> None:
    samples = Samples(Lazy().build(Gaussian(), X))
    with pytest.raises(TypeError, match=r"^Factored needs a Gram operator that provides factor; LazyGram provides"):
        Factored().on(samples)
    with pytest.raises(
        ValueError, match=r"^solver = 'newton' is unknown; pass a BoxSolver or one of 'auto', 'device', 'held', "
    ):
        box_solver("newton", samples)
    samples.context = Context()
    samples.context.checkpoint = Checkpoint(tmp_path / "file", "Test", {})
    with pytest.raises(ValueError, match=r"^Held keeps no state for a checkpoint"):
        box_solver("held", samples)
    assert type(box_solver("auto", samples)) is WorkingSet


def test_double_precision_follows_where_single_fails() -> None:
    """Rows begin in single precision, which cannot reach a tolerance of 1e-12."""
    problem, _ = PROBLEMS["hinge"]
    solver = WorkingSet(1e-3).on(Samples(Lazy().build(Gaussian(), X)))
    solver.rows = solver._rows(np.float32)
    found = solver.solve(problem, slack=1e-9)
    assert found.converged and found.gap <= 1e-12 and solver.rows[1][0][0].K.dtype == np.float64
    solver = WorkingSet(1e-3, double=True).on(Samples(Lazy().build(Gaussian(), X)))
    np.testing.assert_allclose(solver.solve(problem, slack=1e-9).beta, found.beta, atol=1e-9)


def test_a_start_needs_no_more_rows() -> None:
    problem, _ = PROBLEMS["hinge"]
    solver = WorkingSet(1e-6).on(Samples.of(gram().dense()))
    first = solver.solve(problem)
    computed = solver.computed
    again = solver.solve(problem, first)
    assert again.inner_iter == 0 and solver.computed == computed
    stopped = solver.solve(problem, monitor=lambda state: Status.TIME_BUDGET)
    assert stopped.status is Status.TIME_BUDGET


def test_part_is_the_matrix_of_some_variables() -> None:
    operator = Lazy().build(Gaussian(), X)
    K, index = Gaussian()(X), rng.permutation(N)[:40]
    every = np.tile(index, 2)[::9]
    for solver in (Held(), WorkingSet()):
        solver = solver.on(Samples(operator, index, copies=2))
        np.testing.assert_allclose(solver.part(9), K[np.ix_(every, every)], atol=1e-12)
        np.testing.assert_allclose(solver.diagonal, 1.0)


@pytest.mark.parametrize("cache_size", [np.inf, 1e-4])
def test_pairs_share_the_rows_within_a_class(cache_size) -> None:
    """With room for them; the solutions are those on the rows of each pair alone."""
    members = np.split(rng.permutation(N), 3)
    samples = Samples(Lazy().build(Gaussian(), X), cache_size=cache_size, n_jobs=1)
    pairs = Pairs(WorkingSet(1e-6).on(samples), members)
    y = np.repeat([1.0, -1.0], 20)
    problem = BoxProblem(y, np.minimum(0, 2 * y), np.maximum(0, 2 * y), ONE[:40])

    def beta(*pair):
        solver = pairs[pair]
        assert (solver.rows[1][0][0] is pairs[pair[0], 1].rows[1][0][0]) is (cache_size == np.inf)
        return pairs[pair].solve(problem).beta

    for pair, found in zip([(0, 1), (0, 2), (1, 2)], pairs.gather(beta, [(0, 1), (0, 2), (1, 2)]), strict=True):
        both = np.concatenate([members[c] for c in pair])
        alone = WorkingSet(1e-6).on(Samples(samples.operator, both)).solve(problem)
        np.testing.assert_allclose(found, alone.beta, atol=1e-4)
