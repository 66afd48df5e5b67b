"""The pieces of the primal solver against brute force: responses, projections, the gap, the searches."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.sparse import csc_array, csr_array, random_array

from mercer import LinearSVC
from mercer.context import Context, Status
from mercer.solvers.fit import primal, primal_l1
from mercer.solvers.fit._lasso import _along_signs, lasso_columns, lasso_exactly, scaled_columns
from mercer.solvers.fit.dual_sets import Intervals, Simplices
from mercer.solvers.fit.l1 import along_signs, violation
from mercer.solvers.fit.linear_map import LinearMap
from mercer.solvers.fit.primal import minimise, search
from mercer.solvers.fit.primal_l1 import minimise_l1

rng = np.random.default_rng(0)
COST = rng.uniform(0.5, 2.0, 30)
SIGN = np.where(rng.normal(size=30) > 0, 1.0, -1.0)
TARGET = rng.normal(size=30)
BOXES = {
    "hinge": Intervals.classification(SIGN, COST, False),
    "squared hinge": Intervals.classification(SIGN, COST, True),
    "insensitive": Intervals.regression(TARGET, COST, 0.3, False),
    "squared insensitive": Intervals.regression(TARGET, COST, 0.3, True),
}


@pytest.mark.parametrize("box", BOXES.values(), ids=BOXES)
@pytest.mark.parametrize("h", [0.1, 2.0])
def test_response_maximises_over_the_box(box, h) -> None:
    F, centre = rng.normal(size=30), rng.uniform(-0.5, 0.5, 30)
    beta, _ = box.respond(F, h, centre)
    for i in range(30):

        def cost(b, i=i):
            penalty = h / (2 * box.cost[i]) * (b - centre[i]) ** 2 + box.own / (2 * box.cost[i]) * b**2
            return penalty + box.epsilon * abs(b) - b * (box.target[i] - F[i])

        ends = max(box.lower[i], -1e3), min(box.upper[i], 1e3)
        best = minimize_scalar(cost, bounds=ends, method="bounded", options={"xatol": 1e-10})
        assert cost(beta[i]) <= best.fun + 1e-12


@pytest.mark.parametrize("box", BOXES.values(), ids=BOXES)
def test_losses_by_definition(box) -> None:
    F = 2 * rng.normal(size=30)
    xi = np.maximum(0, 1 - SIGN * F) if box.epsilon == 0 else np.maximum(0, np.abs(TARGET - F) - 0.3)
    assert np.allclose(box.value(box.attain(F), F), COST * (xi**2 if box.own else xi))


def test_projection_on_simplices() -> None:
    label = np.arange(30) % 4
    pieces = Simplices(label, 4, COST)
    F, centre = rng.normal(size=(30, 4)), np.zeros((30, 4))
    beta, active = pieces.respond(F, 0.5, centre)
    assert np.allclose(beta.sum(axis=1), 0)
    assert np.all(beta <= pieces.cost * pieces.target + 1e-12)
    assert np.array_equal(active, beta < pieces.cost * pieces.target)
    wish = pieces.cost / 0.5 * (pieces.target - F)
    for _ in range(200):  # no other feasible row is nearer
        other = pieces.cost * (pieces.target - rng.dirichlet(np.ones(4), size=30))
        assert np.all(np.sum((beta - wish) ** 2, axis=1) <= np.sum((other - wish) ** 2, axis=1) + 1e-12)
    own = F[np.arange(30), label]
    loss = COST * (1 - pieces.target + F - own[:, None]).max(axis=1)
    assert np.allclose(pieces.value(pieces.attain(F), F), loss)


@pytest.mark.parametrize("box", BOXES.values(), ids=BOXES)
def test_dual_variables_give_the_lower_bound_that_the_gap_claims(box) -> None:
    X = rng.normal(size=(30, 4))
    for tau in (0.25, 0.0):
        solution = minimise(LinearMap(X, True, tau), box, 1e-2, 1000)
        beta = solution.dual
        lower = box.target @ beta - box.epsilon * np.abs(beta).sum() - box.own / 2 * np.sum(beta**2 / COST)
        lower -= 0.5 * np.sum((X.T @ beta) ** 2) + (beta.sum() ** 2 / (2 * tau) if tau else 0.0)
        assert np.all((beta >= box.lower) & (beta <= box.upper))
        assert solution.objective - lower == pytest.approx(solution.gap, abs=1e-9 * solution.objective)


def test_l1_dual_variables_are_feasible_and_bound_the_objective() -> None:
    X = rng.normal(size=(30, 50))
    box = BOXES["squared hinge"]
    for data in (X, csr_array(X)):
        solution = minimise_l1(LinearMap(data, True, 0.5), box, 1e-2, 1000)
        beta = solution.dual
        assert np.abs(X.T @ beta).max() <= 1 + 1e-12 and abs(beta.sum()) <= 0.5 + 1e-12
        lower = box.target @ beta - np.sum(beta**2 / (4 * COST))
        assert solution.objective - lower == pytest.approx(solution.gap, abs=1e-9 * solution.objective)


def test_l1_steps_are_cheap_where_features_are_parallel_but_for_rounding() -> None:
    """Passes of coordinate descent alone do not solve their model: each took 10⁷ operations, 1000 steps minutes."""
    X = rng.normal(size=(30, 2)) + 1e8
    with Context(time_budget=20.0).active():
        solution = minimise_l1(LinearMap(X, True, 1.0), BOXES["squared hinge"], 1e-4, 1000)
    assert solution.status is not Status.TIME_BUDGET
    near = minimise_l1(LinearMap(X - 1e8 + 1e4, True, 1.0), BOXES["squared hinge"], 1e-4, 1000)
    assert near.converged and near.n_iter < 100


def test_l1_by_lapack_and_by_compiled_code(monkeypatch) -> None:
    X, pieces, found = rng.normal(size=(30, 12)), Intervals.classification(SIGN, 0.1 * COST, True), []
    for limit in (0, 100):
        monkeypatch.setattr(primal_l1, "COMPILED", limit)
        found.append(minimise_l1(LinearMap(X, True, 0.5), pieces, 1e-6, 1000))
        assert found[-1].converged and 0 < np.count_nonzero(found[-1].weights) < 12
    np.testing.assert_allclose(found[0].weights, found[1].weights, atol=1e-6)


@pytest.mark.parametrize("limit", [0, 1000])
def test_l1_with_more_features_than_samples_meets_its_conditions(limit, monkeypatch) -> None:
    """More weights than samples are nonzero on the way, so that many drop out in a step with fixed signs."""
    monkeypatch.setattr(primal_l1, "COMPILED", limit)
    X, cost = np.random.default_rng(5).normal(size=(30, 400)), np.full(30, 5.0)
    solution = minimise_l1(LinearMap(X, True, 0.5), Intervals.classification(SIGN, cost, True), 1e-6, 1000)
    w, b = solution.weights, float(solution.intercept)
    beta = 2 * cost * np.maximum(0, 1 - SIGN * (X @ w + b)) * SIGN
    slope = X.T @ beta
    assert solution.converged and 5 < np.count_nonzero(w) <= 30
    assert np.abs(slope).max() <= 1 + 1e-5 and abs(beta.sum()) <= 0.5 + 1e-5
    np.testing.assert_allclose(slope[w != 0], np.sign(w[w != 0]), atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_compiled_steps_with_fixed_signs_are_those_that_solve_anew(seed) -> None:
    rng = np.random.default_rng(seed)
    A, g, v = rng.normal(size=(60, 40)), 30 * rng.normal(size=40), rng.normal(size=40)
    H, penalty, expected = A.T @ A, np.where(np.arange(40) % 8, 3.0, 0.0), v.copy()
    v[5] = expected[5] = 0.0
    slope, start = g.copy(), v.copy()
    along_signs(H, g.copy(), penalty, expected, np.linalg.solve)
    assert _along_signs(H, slope, penalty, v) and 8 < np.count_nonzero(v == 0) < 35
    np.testing.assert_allclose(v, expected, atol=1e-10)
    np.testing.assert_allclose(slope, g + H @ (v - start), atol=1e-9)


def test_l1_of_sparse_and_wide_samples_is_that_of_dense_ones() -> None:
    """Coordinate descent comes first for them."""
    rng = np.random.default_rng(3)
    X = random_array((60, 1500), density=0.02, format="csr", rng=rng)
    y = np.where(X[:, [3]].toarray()[:, 0] - X[:, [7]].toarray()[:, 0] + 0.01 * rng.normal(size=60) > 0, 1.0, -1.0)
    pieces = Intervals.classification(y[None], np.full((1, 60), 30.0), True)[0]
    for tau in (0.5, 0.0):
        found, expected = (minimise_l1(LinearMap(Z, True, tau), pieces, 1e-5, 1000) for Z in (X, X.toarray()))
        assert found.status is expected.status is Status.CONVERGED and np.count_nonzero(found.weights) > 5
        np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-9)
        slack = np.maximum(0, 1 - y * (X @ found.weights + found.intercept))
        definition = np.abs(found.weights).sum() + tau * abs(found.intercept) + 30 * np.sum(slack**2)
        np.testing.assert_allclose(found.objective, definition, rtol=1e-12)


def test_lasso_steps_end_at_the_conditions_of_optimality() -> None:
    rng = np.random.default_rng(4)
    A, X = rng.normal(size=(40, 12)), random_array((40, 30), density=0.2, format="csc", rng=rng)
    g, start, penalty = 8 * rng.normal(size=12), np.where(np.arange(12) % 3, rng.normal(size=12), 0.0), np.ones(12)
    penalty[-1] = 0.0
    H, v = A.T @ A, start.copy()
    lasso_exactly(H, g.copy(), penalty, v, 1e-10, 1, 100)
    slope = g + H @ (v - start)
    assert np.all(np.abs(slope[v == 0]) <= penalty[v == 0]) and 0 < np.count_nonzero(v) < 12
    np.testing.assert_allclose(slope[v != 0], -(penalty * np.sign(v))[v != 0], atol=1e-9)
    root, chosen = np.where(rng.random(40) > 0.3, rng.random(40), 0.0), np.array([2, 5, 6, 29])
    indptr, indices, data = scaled_columns((X.indptr, X.indices, X.data), root, chosen)
    Y = csc_array((data, indices, indptr), shape=(40, 4))
    np.testing.assert_array_equal(Y.toarray(), X.toarray()[:, chosen] * root[:, None])
    H, v, g, penalty, u = (Y.T @ Y).toarray(), np.ones(4), rng.normal(size=4), np.full(4, 0.1), np.zeros(40)
    lasso_columns((indptr, indices, data), g, penalty, v, u, 1e-12, 10_000)
    np.testing.assert_allclose(u, Y @ (v - 1), atol=1e-12)
    assert violation(g + H @ (v - 1), v, penalty) <= 1e-10


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("box", BOXES.values(), ids=BOXES)
def test_compiled_newton_of_sparse_samples_gives_the_bound_that_the_gap_claims(box, intercept) -> None:
    X = random_array((30, 20), density=0.15, format="csr", rng=np.random.default_rng(5))
    (found,) = primal._together(LinearMap(X, intercept, 0.25), box[None], 1e-10, 100)
    beta, w, b = found.dual, found.weights, float(found.intercept)
    penalty = 0.5 * w @ w + intercept * 0.125 * b * b
    f = X @ w + b
    definition = penalty + float(box.value(box.attain(f), f).sum())
    lower = box.target @ beta - box.epsilon * np.abs(beta).sum() - box.own / 2 * np.sum(beta**2 / COST)
    lower -= 0.5 * np.sum((X.T @ beta) ** 2) + intercept * 2 * beta.sum() ** 2
    assert found.converged and found.objective == pytest.approx(definition, rel=1e-12)
    assert np.all((beta >= box.lower) & (beta <= box.upper))
    assert definition - lower <= 1.01e-10 * definition + 1e-12


def test_search_finds_the_zero_of_a_piecewise_linear_slope() -> None:
    kinks = np.array([0.2, 0.7, 3.0, 40.0])

    def slope(t):
        return -5.0 + float(np.sum(np.maximum(t - kinks, 0))) + 0.01 * t, 0.01 + float(np.sum(t > kinks))

    t = search(slope, -5.0)
    assert abs(slope(t)[0]) <= 0.05


def test_zero_steps_return_the_start_and_its_gap() -> None:
    solution = minimise(LinearMap(rng.normal(size=(30, 4)), True, 1.0), BOXES["hinge"], 1e-4, 0)
    assert not solution.weights.any() and not solution.converged
    assert solution.gap == pytest.approx(solution.objective) == pytest.approx(COST.sum())


@pytest.mark.parametrize("tol", [0.01, 0.3])
def test_a_loose_tolerance_that_is_met_counts_as_converged(tol) -> None:
    X = np.random.default_rng(1).normal(size=(30, 3))
    found = minimise(LinearMap(X, True, 0.0), BOXES["hinge"], tol, 1000)
    assert found.status is Status.CONVERGED and found.gap <= tol**2 * found.objective
    found = minimise_l1(LinearMap(np.hstack([X, X**2, X**3]), True, 1.0), BOXES["squared hinge"], tol, 1000)
    assert found.status is Status.CONVERGED and 1e-6 * found.objective < found.gap <= tol**2 * found.objective


@pytest.mark.parametrize("sparse", [False, True])
def test_machines_have_the_same_bits_on_any_number_of_threads(monkeypatch, sparse) -> None:
    X = random_array((300, 2000), density=0.02, format="csr", random_state=1) if sparse else rng.normal(size=(300, 8))
    y, found, split = np.arange(300) % 5, [], []
    monkeypatch.setattr(primal, "THREADS", 0)
    monkeypatch.setattr(primal, "run", lambda jobs, work: (split.append(len(jobs)), [work(job) for job in jobs]))
    for threads in (1, 2, 5):
        monkeypatch.setattr(primal, "n_threads", lambda threads=threads: threads)
        found.append(LinearSVC(random_state=0).fit(X, y).coef_)
    assert split == [1, 2, 5]
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
