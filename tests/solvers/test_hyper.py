"""Criteria of kernels and strengths against their definitions, and their gradients against differences."""

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn.base import clone

from mercer import SVC, KernelRidge
from mercer.basis import Polynomials
from mercer.gram import Dense
from mercer.kernels import (
    Callable,
    Delta,
    Gaussian,
    Kernel,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Table,
    registry,
)
from mercer.kernels.algebra import Exp, PowerOf, Product, Restricted, Scaled, Series, Sum
from mercer.solvers.hyper import MARGIN, RIDGE, MarginCriterion, RidgeCriterion, chain, contract
from mercer.solvers.hyper.margin import Machine, Span, radius
from mercer.solvers.leave_one_out import FormulaError
from mercer.solvers.leave_one_out import span as plain_span

N = 30
KERNELS = [
    k
    for cls in [*registry.values(), Sum, Product, Scaled, PowerOf, Exp, Series, Restricted]
    for k in cls.examples()
    if "gradient_theta" in k.provides
]


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 3))
    b = np.stack([np.sin(X[:, 0]), X[:, 1] ** 2], axis=1) + 0.1 * rng.normal(size=(N, 2))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=N) > 0.8, 1.0, -1.0)
    return X, b, y, rng.uniform(0.5, 2, N)


# ---- derivatives of the kernel, contracted


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_contraction_is_that_of_the_derivatives(kernel, monkeypatch):
    monkeypatch.setattr("mercer.solvers.hyper.chain.BLOCK", 20)  # several blocks of rows
    rng = np.random.default_rng(0)
    X = kernel.domain.check(kernel.domain.sample(rng, 7), kernel)
    E = rng.normal(size=(7, 7))
    expected = {name: np.tensordot(E, D, axes=2) for name, D in kernel.gradient_theta(X).items()}
    for K in (None, kernel(X)):
        found = contract(kernel, X, E, K=K)
        assert found.keys() == expected.keys()
        for name in expected:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-7, atol=1e-9)


def test_contraction_of_lengthscales_forms_no_derivatives(monkeypatch):
    def refuse(self, X, Y=None):
        raise AssertionError("n × n × d derivatives")

    rng = np.random.default_rng(1)
    X, E = rng.normal(size=(20, 4)), rng.normal(size=(20, 20))
    kernel = 0.5 * Gaussian(np.ones(4)) * Matern(2.5, lengthscale=np.full(4, 2.0)) + Gaussian(1.0).on([0, 1])
    expected = kernel.gradient_theta(X)
    for cls in (Sum, Product, Scaled, Restricted):
        monkeypatch.setattr(cls, "gradient_theta", refuse)
    monkeypatch.setattr(chain, "_plain", refuse)
    found = contract(kernel, X, E)
    for name, D in expected.items():
        np.testing.assert_allclose(found[name], np.tensordot(E, D, axes=2), rtol=1e-9)


def test_only_what_is_wanted_needs_derivatives():
    def product(x, y):
        return float(x @ y)

    kernel = 2.0 * Callable(product) + Gaussian(1.5)
    X, E = np.arange(6.0).reshape(3, 2), np.ones((3, 3))
    found = contract(kernel, X, E, frozenset({"0__scale"}))
    np.testing.assert_allclose(found["0__scale"], (X @ X.T).sum())
    assert found.keys() == {"0__scale"}
    with pytest.raises(AttributeError, match="Damped does not provide gradient_theta"):
        contract(_Damped() + Gaussian(1.5), X, E)


@pytest.mark.parametrize("combine", ["sum", "product", "interactions"])
@pytest.mark.parametrize("missing", ["mean", "match"])
def test_contraction_through_tables(combine, missing, monkeypatch):
    """Against differences, with gaps, and with rows that miss all of a column together in a block."""
    monkeypatch.setattr("mercer.solvers.hyper.chain.BLOCK", 20)
    rng = np.random.default_rng(2)
    rows = {"age": rng.normal(size=8), "size": rng.normal(size=8), "city": list("uvuvuvuv")}
    rows["age"][:4], rows["city"][5] = np.nan, None
    parts = {"age": Gaussian(0.8), ("age", "size"): Matern(2.5, lengthscale=1.3), "city": 0.7 * Delta()}
    kernel = Table(parts, combine, missing).resolve(rows)
    X, E = kernel.domain.check(rows, kernel), rng.normal(size=(8, 8))
    found, start = contract(kernel, X, E), kernel.get_params()
    assert found.keys() == {"age__lengthscale", "age,size__lengthscale", "city__scale"}
    for name, value in found.items():
        up, down = (clone(kernel).set_params(**{name: start[name] * (1 + h)}) for h in (1e-6, -1e-6))
        numeric = np.sum(E * (up(rows) - down(rows))) / (2e-6 * start[name])
        assert value == pytest.approx(numeric, rel=1e-6, abs=1e-8)


def test_contraction_through_a_map():
    rng = np.random.default_rng(0)
    X, E = rng.normal(size=(9, 2)), rng.normal(size=(9, 9))
    found = contract(Gaussian(np.array([1.0, 2.0])).warp(np.tanh), X, E)
    expected = contract(Gaussian(np.array([1.0, 2.0])), np.tanh(X), E)
    np.testing.assert_allclose(found["kernel__lengthscale"], expected["lengthscale"])


class _Damped(Kernel):
    """A kernel with a number that it has no derivative for."""

    def __init__(self, rate: float = 0.5):
        self.rate = rate


# ---- ridge regression


def left_out(kernel, X, b, alpha, basis, weight):
    """Predictions at each sample of fits without it."""
    out = np.empty_like(b)
    for i in range(len(X)):
        kept = np.arange(len(X)) != i
        model = KernelRidge(alpha, kernel=kernel, free=basis)
        model.fit(X[kept], b[kept], None if weight is None else weight[kept])
        out[i] = model.predict(X[i : i + 1])[0]
    return out


@pytest.mark.parametrize("free", [None, 0, 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_that_of_refits(data, free, weighted):
    X, b, _, w = data
    kernel, weight = Gaussian(1.3), w if weighted else None
    H = None if free is None else Polynomials(free)(X)
    value, _ = RidgeCriterion("leave_one_out", X, b, H, weight)(kernel, 0.2)
    errors = (b - left_out(kernel, X, b, 0.2, free, weight)) ** 2
    assert value == pytest.approx(np.average(errors.mean(axis=1), weights=weight), rel=1e-8)


@pytest.mark.parametrize("free", [None, 1])
def test_gcv_is_its_definition(data, free):
    X, b, _, w = data
    H = None if free is None else Polynomials(free)(X)
    value, _ = RidgeCriterion("gcv", X, b, H, w)(Gaussian(1.3), 0.2)
    model = KernelRidge(0.2, kernel=Gaussian(1.3), free=free).fit(X, np.eye(N), w)  # the matrix from y to values
    hat = model.predict(X)
    rest = w @ (b - hat @ b) ** 2 / N
    assert value == pytest.approx(np.mean(rest) / (1 - np.trace(hat) / N) ** 2, rel=1e-8)


def test_likelihood_is_that_of_the_process(data):
    X, b, _, w = data
    kernel, H = 1.5 * Gaussian(1.3), Polynomials(1)(X)
    covariance = kernel(X) + 0.2 * np.diag(1 / w)
    value, _ = RidgeCriterion("marginal_likelihood", X, b, None, w)(kernel, 0.2)
    assert value == pytest.approx(-multivariate_normal(np.zeros(N), covariance).logpdf(b.T).sum(), rel=1e-10)
    value, _ = RidgeCriterion("marginal_likelihood", X, b, H, w)(kernel, 0.2)
    A = null_space(H.T)  # contrasts, of which the free part is not seen
    process = multivariate_normal(np.zeros(A.shape[1]), A.T @ covariance @ A)
    expected = process.logpdf((A.T @ b).T).sum() - 2 * np.linalg.slogdet(H.T @ H)[1] / 2
    assert value == pytest.approx(-expected, rel=1e-10)


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


COMPOSITE = (
    2.0 * Gaussian(np.array([1.0, 2.0, 1.5])) * Matern(2.5, lengthscale=2.0)
    + 0.5 * Linear()
    + RationalQuadratic(1.2, alpha=1.3).on([0, 2])
    + Polynomial(2, scale=0.3, offset=0.7)
)
NAMES = {"alpha", "0__0__scale", "0__0__kernel__lengthscale", "0__1__lengthscale", "1__scale"} | {
    *("2__kernel__lengthscale", "2__kernel__alpha", "3__scale", "3__offset")
}


@pytest.mark.parametrize("name", RIDGE)
@pytest.mark.parametrize("free", [None, 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_of_ridge(data, name, free, weighted):
    X, b, _, w = data
    w = w.copy()
    w[4] = 0.0
    H = None if free is None else Polynomials(free)(X)
    criterion = RidgeCriterion(name, X, b, H, w if weighted else None)
    _, found = criterion(COMPOSITE, 0.3)
    expected = slopes(criterion, COMPOSITE, 0.3, 1e-5)
    assert found.keys() == NAMES
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, rtol=1e-5, atol=1e-7 * abs(criterion(COMPOSITE, 0.3)[0]))


def test_a_determined_sample_is_refused(data):
    X, b, _, _ = data
    H = np.stack([np.ones(N), np.arange(N) == 2], axis=1).astype(float)
    with pytest.raises(ValueError, match="sample 2 is fitted whatever"):
        RidgeCriterion("leave_one_out", X, b, H)(Gaussian(), 0.1)


# ---- support vector machines


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
    moved = plain_span(Dense().build(Gaussian(1.2), X), found.a, free, np.ones((N, 1)) if intercept else None)
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
