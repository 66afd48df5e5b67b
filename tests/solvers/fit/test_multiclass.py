"""The multiclass solver against a general method, the definition of its losses, LIBLINEAR and kernlab."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from mercer._threads import Workers
from mercer.context import Status
from mercer.kernels import Gaussian, Linear
from mercer.solvers.fit import multiclass
from mercer.solvers.fit._multiclass import nearest
from mercer.solvers.fit._rows import Block, Segment
from mercer.solvers.fit.multiclass import MulticlassProblem, minimise_multiclass

rng = np.random.default_rng(0)
FORMS = ("crammer_singer", "kbb")
LABELS = np.arange(300) % 4
X = rng.normal(size=(300, 3)) + 0.8 * np.array([[0, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 2]])[LABELS]
BOUND = rng.uniform(0.3, 3.0, 300)


def solve(X, problem, kernel=None, dtype=np.float64, tol=1e-9, capacity=None, **options):
    kernel = kernel or Gaussian(1.5)
    S = Segment(kernel.bind(X), dtype)
    block = Block(S, S, len(X) if capacity is None else capacity, dtype)
    return minimise_multiclass(S, block, problem, tol, **options)


def matrix(X, problem, kernel=None):
    return (kernel or Gaussian(1.5))(X) + problem.offset


def violation(K, problem, beta):
    """The definition of the gap, sample by sample, in double precision."""
    margin, count = (1.0, 1) if problem.form == "crammer_singer" else (2.0, problem.n_classes - 1)
    F, worst = K @ beta, 0.0
    for i, c in enumerate(problem.labels):
        f = -F[i]
        f[c] += margin
        rise = [f[m] for m in range(problem.n_classes) if beta[i, m] < (count * problem.bound[i] if m == c else 0.0)]
        fall = [f[m] for m in range(problem.n_classes) if beta[i, m] > (0.0 if m == c else -problem.bound[i])]
        worst = max([worst] + [a - b for a in rise for b in fall])
    return worst


def values(K, problem, beta):
    """The primal and the negative dual value, from their definitions."""
    F = K @ beta
    quadratic = 0.5 * np.sum(beta * F)
    loss = linear = 0.0
    for i, c in enumerate(problem.labels):
        rivals = [m for m in range(problem.n_classes) if m != c]
        if problem.form == "crammer_singer":
            loss += problem.bound[i] * max(0.0, max(F[i, m] + 1 - F[i, c] for m in rivals))
            linear += beta[i, c]
        else:
            loss += problem.bound[i] * sum(max(0.0, 2 - (F[i, c] - F[i, m])) for m in rivals)
            linear += 2.0 * beta[i, c]
    return quadratic + loss, linear - quadratic


def reference(K, problem):
    """β by sequential quadratic programming, in the multipliers α of the rivals."""
    margin, count = (1.0, 1) if problem.form == "crammer_singer" else (2.0, problem.n_classes - 1)
    pairs = [(i, m) for i, c in enumerate(problem.labels) for m in range(problem.n_classes) if m != c]
    expand = np.zeros((len(K), problem.n_classes, len(pairs)))
    for t, (i, m) in enumerate(pairs):
        expand[i, m, t], expand[i, problem.labels[i], t] = -1.0, 1.0
    H = np.einsum("imt,ij,jms->ts", expand, K, expand)
    sums = np.array([[float(i == j) for j, _ in pairs] for i in range(len(K))])
    result = minimize(
        lambda a: 0.5 * a @ H @ a - margin * a.sum(),
        np.zeros(len(pairs)),
        jac=lambda a: H @ a - margin,
        bounds=[(0.0, problem.bound[i]) for i, _ in pairs],
        constraints={"type": "ineq", "fun": lambda a: count * problem.bound - sums @ a, "jac": lambda a: -sums},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return expand @ result.x, result.fun


@pytest.mark.parametrize("k", [2, 3, 7])
def test_the_nearest_point_is_that_of_a_root_search(k) -> None:
    for _ in range(200):
        lower, upper = -rng.uniform(0, 1, k) * (rng.random(k) < 0.8), rng.uniform(0, 1, k) * (rng.random(k) < 0.8)
        v, out = 3.0 * rng.normal(size=k), np.empty(k)
        nearest(v, lower, upper, np.empty(k, bool), out)
        theta = brentq(lambda t, v=v, b=(lower, upper): np.clip(v - t, *b).sum(), -20, 20, xtol=1e-14)
        assert np.allclose(out, np.clip(v - theta, lower, upper), atol=1e-12)
        assert out.sum() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_equals_a_general_method(form, offset) -> None:
    problem = MulticlassProblem(LABELS[:24], BOUND[:24], 4, form, offset)
    K = matrix(X[:24], problem)
    beta, value = reference(K, problem)
    ours = solve(X[:24], problem)
    assert ours.converged and ours.gap <= 1e-9
    assert ours.objective == pytest.approx(value, rel=1e-9)
    assert np.allclose(ours.beta, beta, atol=1e-5)
    assert np.allclose(ours.values, K @ ours.beta, atol=1e-12)
    assert np.allclose(ours.intercept, offset * ours.beta.sum(axis=0), atol=1e-14)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_optimality_conditions_and_duality_gap(form, offset) -> None:
    problem = MulticlassProblem(LABELS, BOUND, 4, form, offset)
    K = matrix(X, problem)
    ours = solve(X, problem)
    own = LABELS[:, None] == np.arange(4)
    most = BOUND * (1 if form == "crammer_singer" else 3)
    assert np.all(ours.beta[own] >= 0) and np.all(ours.beta[own] <= most)
    assert np.all(ours.beta[~own] <= 0) and np.all(ours.beta >= -BOUND[:, None])
    assert np.allclose(ours.beta.sum(axis=1), 0.0, atol=1e-13)
    assert violation(K, problem, ours.beta) <= 1e-9
    primal, dual = values(K, problem, ours.beta)
    assert ours.objective == pytest.approx(-dual, rel=1e-12)
    assert ours.duality_gap == pytest.approx(primal - dual, abs=1e-9)
    assert 0 <= ours.duality_gap <= 2 * 3 * 1e-9 * BOUND.sum()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("tol", [1e-2, 1e-3])
def test_single_precision_rows_reach_the_true_gap(form, tol) -> None:
    problem = MulticlassProblem(LABELS, 100 * BOUND, 4, form, True)
    ours = solve(X, problem, dtype=np.float32, tol=tol)
    assert ours.converged
    assert violation(matrix(X, problem), problem, ours.beta) <= tol


@pytest.mark.parametrize("form", FORMS)
def test_errors_of_the_rows_are_corrected(form) -> None:
    problem = MulticlassProblem(LABELS, BOUND, 4, form)
    kernel = Gaussian(1.5)
    S = Segment(kernel.bind(X.astype(np.float16).astype(np.float64)))
    S.exact = kernel.bind(X).exact
    ours = minimise_multiclass(S, Block(S, S, 300, np.float64), problem, 1e-4)
    assert ours.converged and violation(matrix(X, problem), problem, ours.beta) <= 1e-4


@pytest.mark.parametrize(("size", "capacity"), [(512, 4), (8, 40)])
@pytest.mark.parametrize("form", FORMS)
def test_a_cache_of_few_rows_has_the_same_optimum(form, size, capacity, monkeypatch) -> None:
    monkeypatch.setattr(multiclass, "SIZE", size)
    problem = MulticlassProblem(LABELS, BOUND, 4, form, True)
    kernel = Gaussian(1.5)
    S = Segment(kernel.bind(X))
    block = Block(S, S, capacity, np.float64)
    whole = solve(X, problem)
    for _ in range(2):  # the second run begins with the rows that the first one left
        small = minimise_multiclass(S, block, problem, 1e-3)
        assert small.converged and block.evicted > 0
        assert violation(matrix(X, problem), problem, small.beta) <= 1e-3
        assert 0 <= small.objective - whole.objective <= small.duality_gap
        assert np.all(np.diff([h["objective"] for h in small.history]) < 1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_liblinear(weighted) -> None:
    weight = BOUND if weighted else np.ones(300)
    machine = LinearSVC(C=0.7, multi_class="crammer_singer", fit_intercept=False, tol=1e-10, max_iter=1_000_000)
    machine.fit(X, LABELS, weight)
    problem = MulticlassProblem(LABELS, 0.7 * weight, 4)
    assert np.allclose(solve(X, problem, Linear()).beta.T @ X, machine.coef_, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_two_classes_are_the_binary_machine(form) -> None:
    labels = (LABELS > 1).astype(int)
    machine = LinearSVC(C=0.1, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=1_000_000).fit(X, labels)
    C = 0.05 if form == "crammer_singer" else 0.1
    w = solve(X, MulticlassProblem(labels, np.full(300, C), 2, form), Linear()).beta.T @ X
    assert np.allclose(w[0], -w[1], atol=1e-9)
    assert np.allclose(w[1] - w[0] if form == "crammer_singer" else w[1], machine.coef_[0], atol=1e-5)


def test_kernlab() -> None:
    path = Path(__file__).parents[2] / "oracles" / "ksvm_kbbsvc_iris.json"  # its lists of indices are ragged
    reference = json.loads(path.read_text(encoding="utf-8"))
    X, outputs = np.array(reference["inputs"]["X"]), reference["outputs"]
    labels = np.array(reference["inputs"]["y"], dtype=int) - 1
    kernel = Gaussian.from_gamma(reference["parameters"]["sigma"])
    C = float(reference["parameters"]["C"])
    problem = MulticlassProblem(labels, np.full(50, C), 3, "kbb", True)
    ours = solve(X, problem, kernel)
    alpha = np.array([np.delete(-row, c) for row, c in zip(ours.beta, labels, strict=True)])
    theirs = np.reshape(outputs["alpha"], (2, 50)).T
    beta = np.array([np.insert(-a, c, a.sum()) for a, c in zip(theirs, labels, strict=True)])
    primal, dual = values(matrix(X, problem, kernel), problem, beta)
    assert dual <= -ours.objective <= primal < dual + 1e-5  # kernlab's own gap: its alpha are good to four digits
    assert np.allclose(alpha, theirs, atol=1e-4)
    assert np.allclose(-alpha.sum(axis=0), outputs["b"], atol=2e-4)
    for points, expected in ((X, "predict_train"), (np.array(reference["inputs"]["Xnew"]), "predict_new")):
        decision = kernel(points, X) @ ours.beta + ours.intercept
        assert np.allclose(decision, (kernel(points, X) + 1.0) @ beta, atol=1e-5)
        assert np.array_equal(decision.argmax(axis=1) + 1, np.array(outputs[expected], dtype=int))


@pytest.mark.parametrize("form", FORMS)
def test_weights_are_repetitions(form) -> None:
    count = 1 + np.arange(60) % 3
    weighted = solve(X[:60], MulticlassProblem(LABELS[:60], 0.4 * count, 4, form))
    again = np.repeat(np.arange(60), count)
    repeated = solve(X[again], MulticlassProblem(LABELS[again], np.full(len(again), 0.4), 4, form))
    assert repeated.objective == pytest.approx(weighted.objective, rel=1e-9)
    assert np.allclose(repeated.values, weighted.values[again], atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_a_sample_of_weight_zero_is_left_out(form) -> None:
    keep = np.arange(60) % 5 != 0
    ours = solve(X[:60], MulticlassProblem(LABELS[:60], np.where(keep, 1.0, 0.0), 4, form))
    without = solve(X[:60][keep], MulticlassProblem(LABELS[:60][keep], np.ones(keep.sum()), 4, form))
    assert not ours.beta[~keep].any()
    assert np.allclose(ours.beta[keep], without.beta, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_the_same_point_in_all_classes(form) -> None:
    labels = np.arange(4)
    ours = solve(np.zeros((4, 2)), MulticlassProblem(labels, np.ones(4), 4, form))
    assert ours.converged and np.allclose(ours.values, 0.0, atol=1e-9)
    assert ours.objective == pytest.approx(-4.0 if form == "crammer_singer" else -24.0)


@pytest.mark.parametrize("form", FORMS)
def test_a_class_without_samples(form) -> None:
    problem = MulticlassProblem(LABELS[:60] % 3, BOUND[:60], 4, form)
    ours = solve(X[:60], problem)
    assert violation(matrix(X[:60], problem), problem, ours.beta) <= 1e-9
    assert not np.any(ours.values.argmax(axis=1) == 3)


@pytest.mark.parametrize("form", FORMS)
def test_points_of_norm_zero(form) -> None:
    points = np.vstack([np.zeros((2, 3)), X[:30]])
    problem = MulticlassProblem(np.arange(32) % 4, np.ones(32), 4, form)
    ours = solve(points, problem, Linear())
    assert ours.converged
    primal, dual = values(matrix(points, problem, Linear()), problem, ours.beta)
    assert primal - dual <= 1e-6


@pytest.mark.parametrize("form", FORMS)
def test_a_warm_start_saves_steps(form) -> None:
    cold = solve(X, MulticlassProblem(LABELS, BOUND, 4, form))
    assert solve(X, MulticlassProblem(LABELS, BOUND, 4, form, start=cold.beta)).inner_iter == 0
    near = solve(X, MulticlassProblem(LABELS, 1.01 * BOUND, 4, form, start=1.01 * cold.beta), tol=1e-4)
    far = solve(X, MulticlassProblem(LABELS, 1.01 * BOUND, 4, form), tol=1e-4)
    assert near.objective == pytest.approx(far.objective, rel=1e-5)
    assert near.inner_iter < far.inner_iter / 2


def test_a_start_outside_the_constraints_is_moved_inside() -> None:
    problem = MulticlassProblem(LABELS, BOUND, 4, start=rng.normal(size=(300, 4)))
    started = solve(X, problem)
    assert np.allclose(started.beta.sum(axis=1), 0.0, atol=1e-13)
    assert started.objective == pytest.approx(solve(X, MulticlassProblem(LABELS, BOUND, 4)).objective, rel=1e-9)


def test_the_objective_falls_and_the_history_ends_at_the_gap() -> None:
    ours = solve(X, MulticlassProblem(LABELS, 100 * BOUND, 4, "kbb"), capacity=40)
    objective = [h["objective"] for h in ours.history]
    assert np.all(np.diff(objective) < 1e-9 * np.abs(objective[-1]))
    assert ours.history[-1]["gap"] == ours.gap and len(ours.history) >= ours.n_iter


def test_the_monitor_sees_the_state_and_can_stop() -> None:
    problem = MulticlassProblem(LABELS, BOUND, 4)
    seen = []

    def monitor(state):
        seen.append(np.abs(matrix(X, problem) @ state["beta"] - state["values"]).max())
        return Status.STOPPED if state["round"] == 3 else None

    ours = solve(X, problem, capacity=20, monitor=monitor)
    assert (ours.converged, ours.status, ours.n_iter) == (False, Status.STOPPED, 3)
    assert len(seen) == 4 and max(seen) < 1e-10
    assert ours.gap > 1e-9


def test_threads_find_the_same_optimum() -> None:
    many = np.vstack([X + 0.3 * j for j in range(8)])  # enough columns for two parts of each product
    problem = MulticlassProblem(np.tile(LABELS, 8), np.tile(BOUND, 8), 4, "kbb", True)
    with ThreadPoolExecutor(3) as pool:
        ours = solve(many, problem, tol=1e-3, workers=Workers(pool, 2))
    assert ours.converged and violation(matrix(many, problem), problem, ours.beta) <= 1e-3


def test_the_number_of_steps_can_be_limited() -> None:
    ours = solve(X, MulticlassProblem(LABELS, BOUND, 4), max_iter=100)
    assert ours.inner_iter == 100 and ours.status is Status.MAX_ITER


def test_rows_of_too_few_digits_are_said_to_be() -> None:
    ours = solve(X, MulticlassProblem(LABELS, 100 * BOUND, 4), dtype=np.float32, tol=1e-12)
    assert ours.status is Status.PRECISION


def test_digits_in_single_precision() -> None:
    X, labels = load_digits(return_X_y=True)
    problem = MulticlassProblem(labels, np.full(len(X), 10.0), 10, "crammer_singer", True)
    kernel = Gaussian(30.0)
    ours = solve(X, problem, kernel, dtype=np.float32, tol=1e-3)
    K = matrix(X, problem, kernel)
    primal, dual = values(K, problem, ours.beta)
    assert ours.converged and violation(K, problem, ours.beta) <= 1e-3
    assert ours.duality_gap == pytest.approx(primal - dual, rel=1e-2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"form": "ovo"}, "form = 'ovo' is unknown; choose one of 'crammer_singer', 'kbb'"),
        ({"n_classes": 1}, "n_classes = 1 must be >= 2"),
        ({"n_classes": 2}, r"labels\[2\] = 2 must be in 0 … 1"),
        ({"bound": np.array([1.0, -1.0, 1.0])}, r"bound\[1\] = -1.0 must be >= 0 and finite"),
        ({"bound": np.array([1.0, np.inf, 1.0])}, r"bound\[1\] = inf must be >= 0 and finite"),
        ({"start": np.zeros((3, 2))}, r"start has shape \(3, 2\); it must be \(3, 3\)"),
    ],
)
def test_errors(change, message) -> None:
    with pytest.raises(ValueError, match=message):
        MulticlassProblem(**({"labels": np.arange(3), "bound": np.ones(3), "n_classes": 3} | change))
