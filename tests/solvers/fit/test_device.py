"""Box-constrained problems on a torch device: optimal by definition, for every kind of problem."""

import importlib
import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

from mercer import SVC
from mercer.context import Status
from mercer.gram import Lazy
from mercer.kernels import Gaussian, Linear
from mercer.solvers.fit.boxes import Device, Samples, box_solver
from mercer.solvers.fit.held import joined
from mercer.solvers.fit.working_set import BoxProblem

torch = pytest.importorskip("torch")
device = importlib.import_module("mercer.solvers.fit.device")
rng = np.random.default_rng(0)
N = 60
X, y, p = rng.normal(size=(N, 3)), np.where(rng.normal(size=N) > 0, 1.0, -1.0), rng.normal(size=N)
K = Gaussian()(X)
bound, ridge = rng.uniform(0.5, 2.0, N), rng.uniform(0.0, 1.0, N)
BOX = np.where(y > 0, 0.0, -bound), np.where(y > 0, bound, 0.0)
ONE, TWO = np.zeros(N, dtype=np.int64), (y > 0).astype(np.int64)
PROBLEMS = {
    "no equality": BoxProblem(p, *BOX),
    "one equality": BoxProblem(y, *BOX, ONE),
    "two equalities": BoxProblem(0 * p, *BOX, TWO, 0.3 * (BOX[0] + BOX[1])),
    "ridge": BoxProblem(p, *BOX, ONE, ridge=ridge),
    "ridge, no equality": BoxProblem(p, *BOX, ridge=ridge),
    "warm start": BoxProblem(y, -bound, bound, ONE, 0.5 * bound),
    "tiny units": BoxProblem(1e-200 * y, *(1e-200 * b for b in BOX), ONE),
}


def solver(tol=1e-3, dtype=np.float64, **settings):
    sample = torch.tensor(X.astype(dtype))
    return box_solver("auto", Samples(Lazy().build(Gaussian(), sample), **settings), tol)


def violation(problem, beta, K=K):
    """LIBSVM's criterion, from the matrix."""
    R = 0.0 if problem.ridge is None else problem.ridge
    f = problem.linear - K @ beta - R * beta
    up, low = beta < problem.upper, beta > problem.lower
    if problem.group is None:
        return max(f[up].max(initial=0.0), (-f[low]).max(initial=0.0))
    groups = [problem.group == g for g in range(problem.groups)]
    return max(f[up & g].max(initial=-np.inf) - f[low & g].min(initial=np.inf) for g in groups)


@pytest.fixture(params=["whole problems", "working sets", "few rows"])
def size(request, monkeypatch):
    monkeypatch.setattr(device, "WHOLE", 1024 if request.param == "whole problems" else 16)
    monkeypatch.setattr(device, "SIZE", 16)
    if request.param == "few rows":
        monkeypatch.setattr(Samples, "cache", 1.0)  # as few as a working set needs


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize(("tol", "dtype"), [(1e-3, np.float32), (1e-3, np.float64), (1e-7, np.float64)])
@pytest.mark.usefixtures("size")
def test_solutions_are_optimal(name, tol, dtype):
    problem, found = PROBLEMS[name], solver(tol if name != "tiny units" else 1e-200 * tol, dtype)
    assert isinstance(found, Device)
    solution = found.solve(problem)
    unit = np.abs(problem.linear).max() or 1.0
    assert solution.converged and solution.gap <= found.tol
    assert np.all(solution.beta >= problem.lower) and np.all(solution.beta <= problem.upper)
    start = 0.0 if problem.start is None else problem.start
    for g in range(problem.groups):
        assert abs(np.sum((solution.beta - start)[problem.group == g])) <= 1e-12 * unit
    kernel = Gaussian()(X.astype(dtype).astype(np.float64))
    assert violation(problem, solution.beta, kernel) == pytest.approx(solution.gap, rel=1e-6, abs=1e-12 * unit)
    R = np.zeros(N) if problem.ridge is None else problem.ridge
    objective = 0.5 * solution.beta @ (kernel + np.diag(R)) @ solution.beta - problem.linear @ solution.beta
    assert solution.objective == pytest.approx(objective, rel=1e-9)
    assert -1e-12 * unit**2 <= solution.duality_gap <= N * 2 * bound.max() * unit * max(tol, 1e-3)


@pytest.mark.usefixtures("size")
def test_problems_of_different_sizes_advance_together():
    parts = [np.arange(40), np.arange(20, 60), rng.permutation(60)[:7]]
    problems = [BoxProblem(y[i], BOX[0][i], BOX[1][i], ONE[i]) for i in parts]
    edges = np.cumsum([0] + [len(i) for i in parts])
    solutions = solver(1e-6).solve_all(joined(problems), edges, np.concatenate(parts))
    for i, problem, solution in zip(parts, problems, solutions, strict=True):
        assert solution.converged and violation(problem, solution.beta, K[np.ix_(i, i)]) <= 1e-6


def test_rows_are_kept_as_far_as_there_is_memory(monkeypatch):
    """The solutions are the same; with more memory fewer rows are computed again."""
    monkeypatch.setattr(device, "WHOLE", 16)
    monkeypatch.setattr(device, "SIZE", 16)
    computed = []
    for room in (16, 40, 60):
        found = solver(1e-6, cache_size=8 * N * room / 2**20)
        solution = found.solve(PROBLEMS["one equality"])
        assert solution.converged and violation(PROBLEMS["one equality"], solution.beta) <= 1e-6
        assert len(found.K.K) == room and found.K.whole == (room == N)
        computed.append(found.K.computed)
    assert computed[0] > computed[1] and computed[2] == N


def test_rows_are_those_of_the_matrix(monkeypatch):
    monkeypatch.setattr(device, "WHOLE", 4)
    rows = device.DeviceMatrix(Lazy().build(Gaussian(), torch.tensor(X)).evaluator, np.float64, 5 * 8 * N)
    for some in ([0, 1, 2, 3, 4], [4, 4, 7], [59, 0, 7, 8, 9], [1]):
        places = rows.places(torch.tensor(some))
        np.testing.assert_allclose(rows.K[places].numpy(), K[some], rtol=1e-12)
    assert rows.computed == 5 + 1 + 4 + 1


def test_rows_that_overflow_are_refused(monkeypatch):
    monkeypatch.setattr(device, "WHOLE", 4)
    Z = torch.ones((10, 1), dtype=torch.float64)
    Z[9] = 1e200
    rows = device.DeviceMatrix(Lazy().build(Linear(), Z).evaluator, np.float64, 5 * 8 * 10)
    with pytest.raises(OverflowError, match="overflow"):
        rows.places(torch.tensor([3, 9]))


def test_two_variables_for_each_sample():
    """Support vector regression: copies of a sample share a row."""
    problem = BoxProblem(
        np.concatenate([p - 0.1, p + 0.1]),
        np.repeat([0.0, -1.0], N),
        np.repeat([1.0, 0.0], N),
        np.zeros(2 * N, dtype=np.int64),
    )
    solution = solver(1e-6, copies=2).solve(problem)
    assert solution.converged and violation(problem, solution.beta, np.tile(K, (2, 2))) <= 1e-6


def test_some_of_the_samples():
    index = np.arange(5, 45)
    problem = BoxProblem(y[index], BOX[0][index], BOX[1][index], ONE[index])
    found = solver(1e-6, index=index)
    np.testing.assert_allclose(found.diagonal, np.ones(40))
    np.testing.assert_allclose(found.part(10), K[np.ix_(index[::4], index[::4])], rtol=1e-12)
    assert violation(problem, found.solve(problem).beta, K[np.ix_(index, index)]) <= 1e-6


def test_the_monitor_can_stop_and_the_report_is_exact(monkeypatch):
    monkeypatch.setattr(device, "CALL", 1)
    monkeypatch.setattr(device, "WHOLE", 16)
    monkeypatch.setattr(device, "SIZE", 16)
    problem = PROBLEMS["one equality"]
    calls = iter([None, None, Status.STOPPED])
    solution = solver(1e-6).solve(problem, monitor=lambda state: next(calls))
    assert solution.status is Status.STOPPED
    assert violation(problem, solution.beta) == pytest.approx(solution.gap, rel=1e-9)


def test_double_precision_follows_where_single_fails(monkeypatch):
    """Without patience, a gap that single precision hides ends the run on rows in single precision."""
    monkeypatch.setattr(device, "PATIENCE", 0)
    problem = BoxProblem(y, 300 * BOX[0], 300 * BOX[1], ONE)
    found = solver(1e-5)
    assert found.K.single
    solution = found.solve(problem)
    assert not found.K.single and solution.converged and violation(problem, solution.beta) <= 1e-5


def test_values_that_overflow_are_refused():
    kernel = 1e200 * Gaussian()
    found = box_solver("auto", Samples(Lazy().build(kernel, torch.tensor(X))), 1e-3)
    with pytest.raises(OverflowError, match="overflow"):
        found.solve(PROBLEMS["one equality"])


def test_what_does_not_suit_is_refused(tmp_path):
    with pytest.raises(ValueError, match="Device needs samples on a device; give tensors"):
        Device().on(Samples(Lazy().build(Gaussian(), X)))
    with pytest.raises(ValueError, match="keeps no state for a checkpoint; leave it out, or give NumPy arrays"):
        SVC(checkpoint=tmp_path / "fit.npz").fit(torch.tensor(X), torch.tensor(y))


PROGRAM = """
import numpy as np, torch
from mercer.solvers.fit import _steps, _triton_steps
rng = np.random.default_rng(0)
n, B, q = 60, 3, 40
X = rng.normal(size=(n, 3))
for groups in (0, 1, 2):
    for kind in (torch.float32, torch.float64):
        K = torch.tensor(np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))).to(kind)
        index = torch.tensor(np.array([rng.permutation(n)[:q] for _ in range(B)]))
        order = torch.tensor(rng.permutation(n))
        rows, part = order.argsort()[index], K[order]  # the rows are in another order
        f = torch.tensor(rng.choice([-1.0, 1.0], (B, q)))
        lower, upper = torch.clamp(2 * f, max=0.0), torch.clamp(2 * f, min=0.0)
        if groups == 2:
            lower, upper = -torch.ones_like(f), torch.ones_like(f)
        ridge = torch.tensor(rng.uniform(0, 0.5, (B, q)))
        group = torch.tensor(rng.integers(0, max(groups, 1), (B, q)))
        diagonal = 0.5 * K.diagonal()[index].double() + ridge
        rest = torch.zeros_like(f), lower, upper, diagonal, ridge, group, groups
        target = torch.full((B,), 1e-3, dtype=torch.float64)
        found = [s.minimise(part, 0.5, rows, index, f, *rest, target, 300) for s in (_steps, _triton_steps)]
        after = []
        for module, (beta, _) in zip((_steps, _triton_steps), found):
            g = f - ridge * beta
            module.follow(part, 0.5, rows, beta, index, g)
            after.append(-0.5 * (beta * (g + f)).sum(1))
        exact = kind == torch.float64
        assert not exact or torch.equal(found[0][1], found[1][1])
        assert torch.allclose(after[0], after[1], rtol=1e-12 if exact else 1e-5)
print("same")
"""


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_programs_take_the_same_steps():
    """In Triton's interpreter; in double precision they are the same to the last digits."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True
    )
    assert done.stdout == "same\n", done.stderr


PATHS = """
import numpy as np, torch
from sklearn.model_selection import GridSearchCV
from mercer import SVC
from mercer.selection import KernelSearchCV
from mercer.solvers.fit import boxes, device_path
from mercer.solvers.fit.many import solve_pairs
rng = np.random.default_rng(0)
n, labels = 24, np.repeat([0, 1, 2], 8)  # by class, as searches order them
X = rng.normal(size=(n, 2)) + labels[:, None]
strengths, stop, weight = np.array([0.1, 3.0]), np.zeros(1), rng.uniform(0.5, 2.0, n)
parts = [[rows[labels[rows] == c] for c in range(3)] for rows in (np.arange(0, n, 2), np.arange(4, n))]
for e, programs in ((0, 256), (3, 1)):  # each C on its own; and in another unit, a chain of warm starts in short calls
    K = np.ldexp(np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1)), e).astype(np.float32)
    device_path.PROGRAMS, device_path.QUOTA = programs, 5 if programs == 1 else 1 << 14
    found = device_path.solve_pairs(torch.tensor(K), e, parts, [weight, weight], strengths, 1e-3, stop)
    K = K.astype(np.float64)
    for part, path in zip(parts, found):
        expected, rows = solve_pairs(K, part, weight, strengths, 1e-3, stop), np.arange(0, n, 5)
        assert np.array_equal(path.order, expected.order) and path.gaps.max() <= 1e-3
        values = path.decisions(torch.tensor(K), rows).numpy()
        assert np.abs(values - expected.decisions(K, rows)).max() < 5e-3
        assert np.abs(path.offsets - expected.offsets).max() < 5e-3
        assert np.all(np.abs(path.coefficients.numpy()) <= strengths[:, None, None] * weight[path.order] * (1 + 1e-12))
boxes.Device.compiled = staticmethod(lambda X: True)
grid = {"C": [0.1, 3.0], "gamma": [0.5]}
found = KernelSearchCV(SVC(), grid, cv=2).fit(torch.tensor(X), torch.tensor(labels))
expected = GridSearchCV(SVC(), grid, cv=2).fit(X, labels)
assert found.sharing_["fits"] == 4 and found.sharing_["matrices"] == 1, found.sharing_
assert np.allclose(found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])
assert np.array_equal(found.predict(torch.tensor(X)).numpy(), expected.predict(X))
print("same")
"""


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_searches_over_c_on_a_device_find_the_machines_of_the_host():
    """In Triton's interpreter: chains of C for pairs of classes and folds, in any unit, and a whole search."""
    done = subprocess.run(
        [sys.executable, "-c", PATHS], env=os.environ | {"TRITON_INTERPRET": "1"}, capture_output=True, text=True
    )
    assert done.stdout == "same\n", done.stderr
