"""Criteria of support vector machines: values by definition, gradients by differences."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone

from mercer import SVC
from mercer.gram import Dense
from mercer.kernels import (
    Gaussian,
    Linear,
    Polynomial,
)
from mercer.solvers.hyper import MARGIN, MarginCriterion
from mercer.solvers.hyper.margin import Machine, Span, radius
from mercer.solvers.kinks import span as plain_span
from mercer.solvers.leave_one_out import FormulaError

N = 30


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 3))
    b = np.stack([np.sin(X[:, 0]), X[:, 1] ** 2], axis=1) + 0.1 * rng.normal(size=(N, 2))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=N) > 0.8, 1.0, -1.0)
    return X, b, y, rng.uniform(0.5, 2, N)


def slopes(criterion, kernel, strength, h):
    """Central differences in the strength and in every entry of every parameter, relative steps."""

    def at(name, value):
        return criterion(clone(kernel).set_params(**{name: value}), strength)[0]

    up, down = (criterion(kernel, strength * (1 + s * h))[0] for s in (1, -1))
    out = {criterion.strength: (up - down) / (2 * h * strength)}
    for name in criterion(kernel, strength)[1].keys() - out.keys():
        value = np.asarray(kernel.get_params()[name], dtype=float)
        numeric = np.empty(value.shape)
        for i in np.ndindex(value.shape):
            bump = np.zeros(value.shape)
            bump[i] = h * value[i]
            ends = [value + bump, value - bump]
            up, down = (at(name, v if v.ndim else float(v)) for v in ends)
            numeric[i] = (up - down) / (2 * bump[i])
        out[name] = numeric
    return out


def machine(y, w):
    return Machine(np.arange(len(y)), y, w)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), Polynomial(2)])
def test_radius_is_that_of_a_general_solver(data, kernel):
    X = data[0][:12]
    K = kernel(X)

    def objective(g):
        return g @ K @ g - g @ np.diagonal(K)

    equality = {"type": "eq", "fun": lambda g: g.sum() - 1}
    options = {"ftol": 1e-14, "maxiter": 1000}
    start = np.full(12, 1 / 12)
    best = minimize(objective, start, bounds=[(0, 1)] * 12, constraints=equality, method="SLSQP", options=options)
    R2, gamma = radius(K)
    np.testing.assert_allclose(R2, -best.fun, rtol=1e-6)
    distances = np.diagonal(K) - 2 * K @ gamma + gamma @ K @ gamma  # all within the ball
    assert distances.max() == pytest.approx(R2, rel=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_radius_margin_is_its_definition(data, loss):
    X, _, y, w = data
    C, kernel = 1.7, Gaussian(1.2)
    model = SVC(C=C, kernel=kernel, loss=loss, tol=1e-9).fit(X, y, w)
    slack = np.maximum(0, 1 - y * model.decision_function(X))
    K, norm = kernel(X), model.function_.norm() ** 2
    if loss == "hinge":
        expected = (radius(K)[0] + 1 / C) * (norm + 2 * C * w @ slack)
    else:  # a hard margin in the space of K + 1/2Cw
        expected = radius(K + np.diag(1 / (2 * C * w)))[0] * (norm + 2 * C * w @ slack**2)
    criterion = MarginCriterion("radius_margin", X, [machine(y, w)], loss == "squared_hinge")
    assert criterion(kernel, C)[0] == pytest.approx(expected / w.sum(), rel=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.3, 30.0])
def test_four_times_radius_margin_bounds_the_errors_of_leaving_one_out(data, loss, C):
    X, _, y, _ = data
    kernel = Gaussian(1.2)
    model = SVC(C=C, kernel=kernel, loss=loss, tol=1e-6)
    kept = ~np.eye(N, dtype=bool)
    wrong = sum(model.fit(X[k], y[k]).predict(X[~k])[0] != y[~k][0] for k in kept)
    criterion = MarginCriterion("radius_margin", X, [machine(y, np.ones(N))], loss == "squared_hinge")
    assert wrong / N <= 4 * criterion(kernel, C)[0]


def test_two_points_show_that_the_factor_is_needed():
    """Each is in error when it is left out; R² = ‖f‖² = 1."""
    X, y = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])
    value = MarginCriterion("radius_margin", X, [machine(y, np.ones(2))])(Linear(), 1e9)[0]
    assert value == pytest.approx(1 / 2)


@pytest.mark.parametrize("name", MARGIN)
@pytest.mark.parametrize("squared", [False, True])
def test_samples_of_weight_zero_do_not_count(data, name, squared):
    X, _, y, w = data
    some = np.arange(0, N, 2)
    whole = MarginCriterion(name, X, [Machine(some, y[some], w[some])], squared)(Gaussian(1.2), 2.0)
    alone = MarginCriterion(name, X[some], [machine(y[some], w[some])], squared)(Gaussian(1.2), 2.0)
    assert whole[0] == pytest.approx(alone[0], rel=1e-9)
    assert whole[1]["C"] == pytest.approx(alone[1]["C"], rel=1e-6)


def spanned(X, y, w, C, squared, intercept, eta):
    criterion = MarginCriterion("span", X, [], squared, intercept)
    return Span(criterion._solved(machine(y, w), Gaussian(1.2)(X), C), eta)


@pytest.mark.parametrize("intercept", [True, False])
def test_span_without_smoothing_is_the_plain_one(data, intercept):
    X, _, y, w = data
    found = spanned(X, y, w, 2.0, False, intercept, 0.0)
    free = np.zeros(N, bool)
    free[found.free] = True
    gram = Dense().build(Gaussian(1.2), X)
    moved = plain_span(gram.block, gram.diagonal(), found.a, free, np.ones((N, 1)) if intercept else None)
    assert len(found.free) > 3 and len(found.held) > 1
    np.testing.assert_allclose(found.a * found.squares, moved, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("intercept", [True, False])
def test_span_without_smoothing_is_leaving_one_out(data, loss, intercept):
    X, _, y, w = data
    options = {"C": 2.0, "kernel": Gaussian(1.2), "loss": loss, "tol": 1e-10, "fit_intercept": intercept}
    found = spanned(X, y, w, 2.0, loss == "squared_hinge", intercept, 0.0)
    everyone, exact = set(found.free), 0
    for i in range(N):
        kept = np.arange(N) != i
        model = SVC(**options).fit(X[kept], y[kept], w[kept])
        index = np.flatnonzero(kept)[model.support_]
        bounds = 2.0 * w[index] if loss == "hinge" else np.inf
        inside = set(index[np.abs(model.dual_coef_[0]) < (1 - 1e-6) * bounds])
        held = set(index) - inside
        if inside == everyone - {i} and held == set(found.held) - {i}:  # no other sample met or left a bound
            exact += 1
            assert found.left_out[i] == pytest.approx(model.decision_function(X[i : i + 1])[0], abs=1e-6)
    assert exact >= 5


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_span_is_continuous(data, loss):
    X, _, y, w = data
    criterion = MarginCriterion("span", X, [machine(y, w)], loss == "squared_hinge")

    def largest_step(count):
        lengths = np.linspace(0.8, 1.6, count)
        return np.abs(np.diff([criterion(Gaussian(s), 2.0, frozenset())[0] for s in lengths])).max()

    assert largest_step(161) < 0.7 * largest_step(41)  # a jump would stay


@pytest.mark.parametrize(("name", "intercept"), [*((name, True) for name in MARGIN), ("span", False)])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("C", [0.5, 5.0])
def test_gradients_of_machines(data, name, squared, intercept, C):
    X, _, y, w = data
    kernel = 2.0 * Gaussian(np.array([1.0, 2.0, 1.5])) + 0.5 * Linear()
    index = np.arange(N - 5)
    parts = [machine(y, w), Machine(index, np.where(X[index, 2] > 0, 1.0, -1.0), w[index])]
    criterion = MarginCriterion(name, X, parts, squared, intercept)
    _, found = criterion(kernel, C)
    expected = slopes(criterion, kernel, C, 1e-5)
    scale = max(np.abs(v).max() for v in expected.values())
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-3, atol=1e-4 * scale)


def test_span_says_where_it_tells_nothing(data):
    X = data[0]
    y = np.where(np.arange(N) % 2 == 0, 1.0, -1.0)
    with pytest.raises(FormulaError, match="start from another C"):
        MarginCriterion("span", X, [machine(y, np.ones(N))])(Gaussian(1e3), 1e-6)
