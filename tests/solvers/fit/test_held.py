"""Problems on a held matrix: optimality by definition, an interior-point method, and the solver on rows."""

import pickle

import numpy as np
import pytest

from mercer import SVC, SVR
from mercer.context import Context, Status
from mercer.kernels import Gaussian
from mercer.solvers.fit import boxes, held
from mercer.solvers.fit.working_set import BoxProblem
from mercer.solvers.quadratic import quadratic_program

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
y = np.where(X[:, 0] + 0.7 * rng.normal(size=60) > 0, 1.0, -1.0)
K = Gaussian(1.5)(X)
ZERO = np.zeros(60)
ONE = np.zeros(60, dtype=np.int64)
SIZES = np.where(y > 0, (y > 0).sum(), (y < 0).sum())

PROBLEMS = {
    "hinge": BoxProblem(y, np.minimum(0, 2 * y), np.maximum(0, 2 * y), ONE),
    "no offset": BoxProblem(y, np.minimum(0, 2 * y), np.maximum(0, 2 * y)),
    "squared hinge": BoxProblem(y, np.where(y > 0, 0, -1e300), np.where(y > 0, 1e300, 0), ONE, ridge=np.full(60, 0.25)),
    "one class": BoxProblem(ZERO, ZERO, ZERO + 1, ONE, np.repeat([1.0, 0.0], 30)),
    "nu": BoxProblem(ZERO, np.minimum(0, y), np.maximum(0, y), (y < 0).astype(np.int64), 8 * y / SIZES),
}


def solved(problem, index=None, tol=1e-6, **options):
    index = np.arange(60) if index is None else index
    return held.minimise(K, index, np.array([0, len(index)]), problem, tol, **options)[0]


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_the_conditions_hold_by_definition(problem) -> None:
    found = solved(problem)
    ridge = ZERO if problem.ridge is None else problem.ridge
    start = ZERO if problem.start is None else problem.start
    f = problem.linear - K @ found.beta - ridge * found.beta
    assert found.status is Status.CONVERGED and found.gap <= 1e-6
    np.testing.assert_allclose(found.f, f, atol=1e-12)
    np.testing.assert_allclose(found.values, K @ found.beta, atol=1e-12)
    assert np.all((found.beta >= problem.lower) & (found.beta <= problem.upper))
    up, low = found.beta < problem.upper, found.beta > problem.lower
    if problem.group is None:
        assert max(f[up].max(), -f[low].min()) <= 1e-6
    for g in range(problem.groups):
        mine = problem.group == g
        assert np.isclose(found.beta[mine].sum(), start[mine].sum())
        assert f[up & mine].max() - f[low & mine].min() <= 1e-6
        assert f[low & mine].min() - 1e-6 <= found.offsets[g] <= f[up & mine].max() + 1e-6
    value = 0.5 * found.beta @ (K @ found.beta + ridge * found.beta) - problem.linear @ found.beta
    assert np.isclose(found.objective, value) and -1e-9 <= found.duality_gap <= 1e-3


@pytest.mark.parametrize("name", ["hinge", "no offset", "one class", "nu"])
def test_interior_points_find_the_same(name) -> None:
    problem = PROBLEMS[name]
    start = ZERO if problem.start is None else problem.start
    rows = np.array([(problem.group == g).astype(float) for g in range(problem.groups)]).reshape(-1, 60)
    equal = {"r": np.zeros(len(rows)), "tol": 1e-10}
    truth = quadratic_program(-problem.linear, K, rows, rows @ start, lower=problem.lower, upper=problem.upper, **equal)
    assert np.isclose(solved(problem).objective, truth.objective, rtol=1e-6)


def test_copies_of_a_sample_cancel_exactly() -> None:
    """Large β⁺ and β⁻ of one sample, times large kernel values, must leave what their sum gives."""
    large, both = 1e12 * K, np.tile(np.arange(60), 2)
    targets, start = np.tile(rng.normal(size=60), 2), np.repeat([5.0, -5.0], 60)
    box = np.repeat([0.0, -1e4], 60), np.repeat([1e4, 0.0], 60)
    problem = BoxProblem(targets, *box, np.repeat([0, 1], 60), start)
    found = held.minimise(large, both, np.array([0, 120]), problem, 1e-5, max_iter=1000)[0]
    values = large @ (found.beta[:60] + found.beta[60:])
    np.testing.assert_allclose(found.values, np.tile(values, 2), atol=1e-6)


def test_problems_one_after_another_are_those_alone() -> None:
    parts = [np.arange(0, 40), np.arange(20, 60), np.arange(60)[::2], np.arange(60)[::-1]]
    problems = [BoxProblem(y[p], np.minimum(0, y[p]), np.maximum(0, y[p]), ONE[: len(p)]) for p in parts]
    edges = np.cumsum([0, *map(len, parts)])
    together = held.minimise(K, np.concatenate(parts), edges, held.joined(problems), 1e-4)
    assert len(together) == 4 and together[-1].beta.shape == (60,) and len(together[1:3]) == 2
    for one, part, problem in zip(together, parts, problems, strict=True):
        alone = solved(problem, part, 1e-4)
        assert np.array_equal(one.beta, alone.beta) and one.inner_iter == alone.inner_iter
    with pytest.raises(IndexError, match="4 solutions"):
        together[4]


def test_threads_share_the_problems_and_change_no_digit(monkeypatch) -> None:
    monkeypatch.setattr(held, "ALONE", 0)
    digits = rng.normal(size=(120, 4))
    labels = np.arange(120) % 5
    one, two = (SVC(n_jobs=n).fit(digits, labels) for n in (1, 2))
    assert np.array_equal(one.dual_coef_, two.dual_coef_) and np.array_equal(one.intercept_, two.intercept_)
    shares = held._shares(np.array([0, 10, 20, 30, 200]), 2)
    assert [(s.start, s.stop) for s in shares] == [(0, 3), (3, 4)]


def test_a_monitor_ends_it_with_what_is_there() -> None:
    problem = PROBLEMS["hinge"]
    found = solved(problem, monitor=lambda state: Status.TIME_BUDGET)
    assert found.status is Status.TIME_BUDGET and found.inner_iter == 0
    assert not found.beta.any() and found.gap == 2.0 and np.array_equal(found.f, y)
    assert [round["violators"] for round in found.history] == [60, 60]


def test_ctrl_c_keeps_what_is_there(monkeypatch) -> None:
    solve, calls = held.solve, []

    def interrupted(*arguments):
        calls.append(solve(*arguments))
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(held, "solve", interrupted)
    monkeypatch.setattr(held, "QUOTA", 3)
    with Context().active() as context:
        found = solved(PROBLEMS["hinge"])
    assert context.interrupted and found.status is Status.INTERRUPTED and found.inner_iter == 3 and found.beta.any()
    calls.clear()
    model = SVC(C=50.0)
    with pytest.warns(match="interrupted"), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.fit_status_ == 1 and model.predict(X).shape == (60,)


@pytest.mark.parametrize("quota", [1, 7, 1 << 17])
def test_the_quota_changes_the_rounds_alone(quota, monkeypatch) -> None:
    whole = solved(PROBLEMS["hinge"])
    monkeypatch.setattr(held, "QUOTA", quota)
    found = solved(PROBLEMS["hinge"])
    assert found.converged and np.isclose(found.objective, whole.objective, rtol=1e-9)
    assert found.n_iter >= found.inner_iter // quota


def test_steps_are_limited() -> None:
    found = solved(PROBLEMS["hinge"], max_iter=5)
    assert found.status is Status.MAX_ITER and found.inner_iter == 5


def test_values_that_are_no_numbers_are_refused() -> None:
    for value in (np.nan, np.inf):
        broken = K.copy()
        broken[3, 5] = broken[5, 3] = value
        with pytest.raises(OverflowError, match="scale the data"):
            held.minimise(broken, np.arange(60), np.array([0, 60]), PROBLEMS["hinge"])


@pytest.mark.parametrize("power", [-400, -30, 30, 400])
def test_units_change_nothing(power) -> None:
    """2ᵖK with bounds 2⁻ᵖC has 2⁻ᵖβ, in the same steps."""
    problem, plain = PROBLEMS["hinge"], solved(PROBLEMS["hinge"])
    other = BoxProblem(y, np.ldexp(problem.lower, -power), np.ldexp(problem.upper, -power), ONE)
    found = held.minimise(np.ldexp(K, power), np.arange(60), np.array([0, 60]), other, 1e-6)[0]
    assert np.array_equal(found.beta, np.ldexp(plain.beta, -power)) and found.inner_iter == plain.inner_iter


@pytest.mark.parametrize("model", [SVC(C=5.0), SVC(loss="squared_hinge"), SVC(multi_class="ovr"), SVR(C=3.0)], ids=str)
def test_rows_lead_to_the_same_machine(model, monkeypatch) -> None:
    labels = np.argmax(X, axis=1)
    target = X[:, 0] if isinstance(model, SVR) else labels
    small = model.set_params(tol=1e-8).fit(X, target)
    values = small.function_(X)
    assert small.solutions_[0].method == "held" and pickle.loads(pickle.dumps(small.solutions_))[0].gap <= 1e-8
    monkeypatch.setattr(boxes, "SMALL", 0)
    monkeypatch.setattr(boxes, "HELD", 0)
    large = model.fit(X, target)
    assert large.solutions_[0].method == "working_set"
    np.testing.assert_allclose(large.function_(X), values, atol=1e-6)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_numbers_near_the_largest_leave_no_warnings() -> None:
    """A sum of finite kernel values, or the square of the targets, may be beyond all numbers."""
    model = SVR().fit(X, np.where(y > 0, 1e308, 0.0))
    assert np.isfinite(model.predict(X)).all()
    one = np.zeros(2, dtype=np.int64)
    problem = BoxProblem(np.array([1.0, -1.0]), np.array([0.0, -1.0]), np.array([1.0, 0.0]), one)
    found = held.minimise(np.full((2, 2), 1e308), np.arange(2), np.array([0, 2]), problem)[0]
    assert np.isfinite(found.f).all()


def test_problems_that_share_no_sample() -> None:
    """Each is solved on its own part of the matrix, also where together they have each sample once."""
    unscaled = np.ldexp(K, 1 - int(np.frexp(K.max())[1]))
    problem = PROBLEMS["hinge"]
    both = held.minimise(unscaled, np.arange(60), np.array([0, 30, 60]), problem, 1e-8)
    for part, found in zip((slice(0, 30), slice(30, 60)), both, strict=True):
        alone = BoxProblem(problem.linear[part], problem.lower[part], problem.upper[part], ONE[:30])
        own = np.ascontiguousarray(unscaled[part, part])
        truth = held.minimise(own, np.arange(30), np.array([0, 30]), alone, 1e-8)[0]
        np.testing.assert_allclose(found.beta, truth.beta, atol=1e-6)


def test_a_tolerance_below_rounding_is_given_up(monkeypatch) -> None:
    """Also where each compiled call has time for no more than a round: what a call saw, the next one knows."""
    monkeypatch.setattr(held, "QUOTA", 1000)
    problem = BoxProblem(y, np.minimum(0, 1e3 * y), np.maximum(0, 1e3 * y), ONE)
    found = solved(problem, tol=1e-18)
    assert found.status is Status.PRECISION and found.inner_iter < 10**6
