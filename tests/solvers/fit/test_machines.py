"""The compiled solvers of linear machines against definitions, LIBLINEAR, and the solver that they hand over to."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC as ReferenceSVC
from sklearn.svm import LinearSVR as ReferenceSVR

from mercer.context import Context, Status
from mercer.solvers.fit import primal
from mercer.solvers.fit.dual_sets import Intervals
from mercer.solvers.fit.linear_map import LinearMap
from mercer.solvers.fit.primal import minimise_all

rng = np.random.default_rng(0)
N, D, MACHINES = 90, 12, 4
X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.6)
COST = rng.uniform(0.5, 2.0, (MACHINES, N))
SIGN = np.where(X @ rng.normal(size=(D, MACHINES)) + 0.5 * rng.normal(size=(N, MACHINES)) > 0, 1.0, -1.0).T
TARGET = (X @ rng.normal(size=(D, MACHINES)) + rng.normal(size=(N, MACHINES))).T
LOSSES = {
    "hinge": Intervals.classification(SIGN, COST, False),
    "squared hinge": Intervals.classification(SIGN, COST, True),
    "insensitive": Intervals.regression(TARGET, COST, 0.3, False),
    "squared insensitive": Intervals.regression(TARGET, COST, 0.3, True),
}


def objective(loss: Intervals, k: int, w, b, tau: float) -> float:
    """By definition."""
    f = X @ w + b
    xi = np.maximum(0, 1 - SIGN[k] * f) if loss.epsilon == 0 else np.maximum(0, np.abs(TARGET[k] - f) - loss.epsilon)
    return 0.5 * w @ w + 0.5 * tau * b * b + COST[k] @ (xi**2 if loss.own else xi)


def lower_bound(loss: Intervals, k: int, beta, tau: float) -> float:
    """The dual objective, by definition."""
    linear = loss.target[k] @ beta - loss.epsilon * np.abs(beta).sum() - loss.own / 2 * np.sum(beta**2 / COST[k])
    return linear - 0.5 * np.sum((X.T @ beta) ** 2) - beta.sum() ** 2 / (2 * tau)


def by_rows(monkeypatch) -> csr_array:
    """The data as the solver takes them that have too many features for Hessians."""
    monkeypatch.setattr(primal, "DIRECT_SPARSE", 0)
    return csr_array(X)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("way", ["newton", "rows", "rows in small calls"])
@pytest.mark.parametrize("tau", [0.25, 4.0])
def test_certificates_hold_and_liblinear_is_not_lower(name, way, tau, monkeypatch) -> None:
    loss, data = LOSSES[name], X if way == "newton" else by_rows(monkeypatch)
    if way == "rows in small calls":
        monkeypatch.setattr(primal, "WORK", 3 * MACHINES * (data.nnz + N))
    monkeypatch.setattr(primal, "_Newton", None)  # the compiled solvers do it alone
    monkeypatch.setattr(primal, "PASSES", 100_000)
    for k, found in enumerate(minimise_all(LinearMap(data, True, tau), loss, 1e-4, 100_000)):
        value = objective(loss, k, found.weights, found.intercept, tau)
        assert found.converged and found.objective == pytest.approx(value, rel=1e-12)
        assert np.all((found.dual >= loss.lower[k]) & (found.dual <= loss.upper[k]))
        bound = lower_bound(loss, k, found.dual, tau)
        assert -1e-14 * value <= value - bound <= 1e-8 * value * (1 + 1e-3)
        assert found.gap == pytest.approx(value - bound, abs=1e-12 * value)
        reference = (ReferenceSVC if loss.epsilon == 0 else ReferenceSVR)(
            loss=("squared_" * bool(loss.own)) + ("hinge" if loss.epsilon == 0 else "epsilon_insensitive"),
            dual=True,
            intercept_scaling=tau**-0.5,
            tol=1e-9,
            max_iter=10**6,
            random_state=0,
            **({} if loss.epsilon == 0 else {"epsilon": loss.epsilon}),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            reference.fit(X, SIGN[k] if loss.epsilon == 0 else TARGET[k], COST[k])
        theirs = objective(loss, k, np.ravel(reference.coef_), float(reference.intercept_[0]), tau)
        assert value <= theirs * (1 + 1e-8) and bound <= theirs * (1 + 1e-12)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("way", ["newton", "rows"])
def test_the_other_solver_takes_over(name, way, monkeypatch) -> None:
    """After one step or pass, and without them."""
    loss, data = LOSSES[name], X if way == "newton" else by_rows(monkeypatch)
    design, best = LinearMap(data, True, 1.0), minimise_all(LinearMap(X, True, 1.0), loss, 1e-5, 1000)
    for limits in ({"QUICK": 1, "PASSES": 1}, {"SMALL": 0, "PASSES": 0}):
        for limit, value in limits.items():
            monkeypatch.setattr(primal, limit, value)
        for found, known in zip(minimise_all(design, loss, 1e-5, 1000), best, strict=True):
            assert found.converged and found.objective == pytest.approx(known.objective, rel=1e-9)


@pytest.mark.parametrize("way", ["newton", "rows"])
def test_machines_do_not_meet(way, monkeypatch) -> None:
    """All together, a part at a time or alone: the same, but for BLAS, whose rounding depends on where arrays lie."""
    loss, data = LOSSES["squared hinge"], X if way == "newton" else by_rows(monkeypatch)
    design = LinearMap(data, True, 1.0)
    together = minimise_all(design, loss, 1e-4, 1000)
    monkeypatch.setattr(primal, "SMALL", 2 * N * 16 * 16)
    for k, (found, part) in enumerate(zip(together, minimise_all(design, loss, 1e-4, 1000), strict=True)):
        (alone,) = minimise_all(design, loss[[k]], 1e-4, 1000)
        for other in (alone, part):
            np.testing.assert_allclose(found.weights, other.weights, rtol=1e-11)
            assert found.n_iter == other.n_iter


def test_equal_costs_share_their_first_hessian() -> None:
    loss = Intervals.classification(SIGN, np.ones(COST.shape), True)
    for k, found in enumerate(minimise_all(LinearMap(X, True, 1.0), loss, 1e-6, 1000)):
        (alone,) = minimise_all(LinearMap(X, True, 1.0), loss[[k]], 1e-6, 1000)
        assert found.objective == pytest.approx(alone.objective, rel=1e-12)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("way", ["newton", "rows"])
@pytest.mark.parametrize("size", [1e-140, 1e-60, 1e60, 1e140])
def test_any_floats_end(name, way, size, monkeypatch) -> None:
    """Whatever overflows or vanishes: an answer whose certificate is made of numbers, and no endless loop."""
    loss = LOSSES[name]
    data = size * X if way == "newton" else size * by_rows(monkeypatch)
    with Context(time_budget=20.0).active(), np.errstate(all="ignore"):
        found = minimise_all(LinearMap(data, True, 1.0), loss, 1e-4, 30)
    for k, solution in enumerate(found):
        assert solution.status is not Status.TIME_BUDGET
        if solution.converged:
            assert solution.objective <= loss[k].value(loss[k].attain(np.zeros(N)), np.zeros(N)).sum() * (1 + 1e-9)


@pytest.mark.parametrize("way", ["newton", "rows"])
def test_a_spent_budget_leaves_the_start(way, monkeypatch) -> None:
    context = Context()
    context.interrupt()
    with context.active():
        found = minimise_all(
            LinearMap(X if way == "newton" else by_rows(monkeypatch), True, 1.0), LOSSES["hinge"], 1e-4, 1000
        )
    assert len(found) == MACHINES
    assert all(s.status is Status.INTERRUPTED and not s.weights.any() for s in found)


def test_wide_dense_samples_are_reduced_once_for_all_machines() -> None:
    wide = rng.normal(size=(N, 3 * N))
    loss = LOSSES["squared hinge"]
    for k, found in enumerate(minimise_all(LinearMap(wide, True, 1.0), loss, 1e-5, 1000)):
        assert np.allclose(wide.T @ found.dual, found.weights, atol=1e-4)
        xi = np.maximum(0, 1 - SIGN[k] * (wide @ found.weights + found.intercept))
        assert np.allclose(np.abs(found.dual), 2 * COST[k] * xi, atol=1e-3)  # optimality conditions
