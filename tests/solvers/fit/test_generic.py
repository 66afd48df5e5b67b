"""Every loss with every solver that suits it: the objective of a generic convex solver, optimality, agreement."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer import KernelMachine
from mercer.context import Context, Status
from mercer.gram import Dense, Nystrom
from mercer.kernels import Gaussian
from mercer.losses import Absolute, Hampel, Huber, Logistic, registry
from mercer.solvers.fit._base import FitProblem, duality_gap, finish
from mercer.solvers.fit.eigenbasis import Eigenbasis, admm, lbfgs
from mercer.solvers.fit.newton import newton

N, ALPHA = 14, 0.3
rng = np.random.default_rng(3)
X = rng.normal(size=(N, 2))
WEIGHT = rng.uniform(0.3, 2, N)
K = Gaussian()(X)
FREE = {None: np.zeros((N, 0)), 0: np.ones((N, 1)), 1: np.column_stack([np.ones(N), X])}
NOISE = rng.normal(size=N)

ALL = {"newton", "newton_cg", "lbfgs", "admm"}
SUITS = {  # with an intercept
    "absolute": {"admm", "working_set"},
    "cox": {"newton_cg", "lbfgs"},
    "custom": {"newton_cg", "lbfgs"},
    "epsilon_insensitive": {"admm", "working_set"},
    "expectile": ALL | {"working_set"},
    "exponential": ALL,
    "hampel": {"newton", "lbfgs"},
    "hinge": {"admm", "working_set"},
    "huber": ALL | {"working_set"},
    "log_cosh": ALL,
    "logistic": ALL,
    "multinomial": {"newton_cg", "lbfgs"},
    "pinball": {"admm", "working_set"},
    "poisson": ALL,
    "smoothed_hinge": ALL | {"working_set"},
    "squared": ALL | {"direct", "working_set"},
    "squared_epsilon_insensitive": ALL | {"working_set"},
    "squared_hinge": ALL | {"working_set"},
}
LINES = {  # losses with corners as maxima of lines: slopes and intercepts of each in f, for a target y
    "absolute": lambda y: [(-1.0, y), (1.0, -y)],
    "pinball": lambda y: [(-0.5, 0.5 * y), (0.5, -0.5 * y)],
    "epsilon_insensitive": lambda y: [(0.0, 0 * y), (-1.0, y - 0.1), (1.0, -y - 0.1)],
    "hinge": lambda y: [(0.0, 0 * y), (-y, 1.0)],
}


def targets(loss):
    if loss.task == "binary":
        return np.where(np.arange(N) % 2 == 0, 1.0, -1.0)  # which no line separates
    if loss.task == "multiclass":
        return np.arange(N) % 3
    if loss.task == "regression":
        return 2 * X[:, 0] + NOISE
    return loss.targets(np.random.default_rng(1), N)


def reference(loss, y, H):
    """The least objective, by SciPy: BFGS, or sequential least squares where the loss has corners."""
    values, V = np.linalg.eigh(K)
    A = np.hstack([V * np.sqrt(values.clip(0)), H])
    k = loss.outputs(y)

    def parts(x):
        W = x.reshape(A.shape[1], *k)
        return W, A @ W

    def penalty(W):
        return 0.5 * ALPHA * np.sum(W[:N] ** 2)

    if loss.name not in LINES:

        def objective(x):
            W, f = parts(x)
            gradient = A.T @ loss.gradient(y, f, WEIGHT)
            gradient[:N] += ALPHA * W[:N]
            return float(loss.total(y, f, WEIGHT)) + penalty(W), gradient.ravel()

        start = np.zeros(A.shape[1] * int(np.prod(k, dtype=int)))
        return minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 2000}).fun
    lines = LINES[loss.name](y)
    size = A.shape[1]
    constraints = [
        {
            "type": "ineq",
            "fun": lambda x, s=s, c=c: x[size:] - s * (A @ x[:size]) - c,
            "jac": lambda x, s=s: np.hstack([-np.broadcast_to(s, N)[:, None] * A, np.eye(N)]),
        }
        for s, c in lines
    ]
    result = minimize(
        lambda x: WEIGHT @ x[size:] + penalty(x[:size]),
        np.concatenate([np.zeros(size), loss.value(y, np.zeros(N)) + 1]),
        jac=lambda x: np.concatenate([ALPHA * x[:N], np.zeros(size - N), WEIGHT]),
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-11, "maxiter": 2000},
    )
    assert min(c["fun"](result.x).min() for c in constraints) > -1e-9
    return result.fun


# an offset has no meaning for Cox's loss
@pytest.mark.parametrize(("name", "free"), [(s, f) for s in sorted(registry) for f in FREE if (s, f) != ("cox", 0)])
def test_least_objective(name, free) -> None:
    loss = registry[name].examples()[0]
    if name == "epsilon_insensitive":
        loss = registry[name](0.1)
    y, H = targets(loss), FREE[free]
    least = reference(loss, y, H)
    solvers = SUITS[name] - ({"working_set"} if free == 1 else set())
    for solver in solvers:
        tol = 1e-7 if solver in ("admm", "working_set") else 1e-9
        model = KernelMachine(loss, kernel=Gaussian(), alpha=ALPHA, free=free, solver=solver, tol=tol)
        s = model.fit(X, y, WEIGHT).solution_
        assert s.converged and s.method == solver
        smooth = K @ s.coefficients
        values = smooth if s.free is None else smooth + H @ s.free
        value = float(loss.total(y, values, WEIGHT)) + 0.5 * ALPHA * float(np.sum(s.coefficients * smooth))
        assert s.objective == pytest.approx(value, rel=1e-10)
        assert value == pytest.approx(least, rel=1e-6), solver
        assert np.allclose(H.T @ s.coefficients, 0, atol=1e-7 * np.abs(s.coefficients).sum())
        if s.gap is not None:
            assert -1e-9 * value <= s.gap <= 1e-6 * value, solver
        if loss.smooth and solver != "admm":
            assert s.gradient_norm < 1e-5, solver
        assert s.gap is not None or s.gradient_norm < 1e-5
    for solver in {"direct", "newton", "newton_cg", "lbfgs", "admm", "working_set"} - solvers:
        with pytest.raises(ValueError, match="does not suit"):
            KernelMachine(loss, free=free, solver=solver).fit(X, y)


def stopping():
    """A context in which a callback has asked to stop."""
    context = Context()
    context.stopped = True
    return context.active()


def problem(loss, y, alpha=ALPHA, weight=None, H=None, gram=None):
    gram = Dense().build(Gaussian(), X) if gram is None else gram
    return FitProblem(gram, loss, y, alpha, np.ones(N) if weight is None else weight, H)


def test_gap_bounds_the_distance_to_the_optimum() -> None:
    """At any coefficients in the domain the dual value lies below the optimum, and the objective above."""
    y = targets(Logistic())
    p = problem(Logistic(), y)
    best = newton(p, "auto", 1e-12).objective
    for scale in (0.1, 0.5, 0.9):
        a = y * scale / ALPHA
        s = finish(p, a, None, 0, True, "none")
        dual = s.objective - duality_gap(p, a, s.objective)
        assert dual <= best + 1e-12 and s.objective >= best - 1e-12
    assert duality_gap(p, -y / ALPHA, best) is None  # outside the domain there is no dual value


def test_coordinates_are_those_of_the_kernel_matrix() -> None:
    for gram in (Dense().build(Gaussian(), X), Nystrom(rank=6).build(Gaussian(), X, np.random.default_rng(0))):
        at = Eigenbasis(problem(Huber(), NOISE, gram=gram))
        assert np.allclose(at.Z.A @ at.Z.A.T, gram.dense(), atol=1e-10)
        u = np.random.default_rng(1).normal(size=len(at.values))
        assert np.allclose(gram @ at.coefficients(u), at.Z @ u, atol=1e-8)
    x = np.random.default_rng(2).normal(size=len(at.values))
    value, gradient = at.objective(x)
    for i in range(len(x)):
        e = 1e-6 * (np.arange(len(x)) == i)
        assert (at.objective(x + e)[0] - at.objective(x - e)[0]) / 2e-6 == pytest.approx(gradient[i], abs=1e-6)
    assert value > 0


def test_hampel_is_stationary() -> None:
    """Where the loss is not convex there is no gap; the gradient vanishes, and small moves only raise the objective."""
    p = problem(Hampel(0.5, 1.0, 3.0), 3 * NOISE)
    for s in (newton(p, "auto", 1e-13), lbfgs(p, 1e-10)):
        assert s.gap is None and s.gradient_norm < 1e-5
        for direction in np.random.default_rng(0).normal(size=(20, N)):
            assert finish(p, s.coefficients + 1e-2 * direction, None, 0, True, "moved").objective > s.objective


def test_a_straight_loss_needs_no_curvature_to_start() -> None:
    """At f = 0 all margins lie where the smoothed hinge is straight, and a free part has no curvature at all."""
    y = targets(Logistic())
    for free in (0, 1):
        found = [
            KernelMachine("smoothed_hinge", kernel=Gaussian(), free=free, solver=s, tol=1e-9).fit(X, y).solution_
            for s in ("newton", "newton_cg")
        ]
        assert found[0].objective == pytest.approx(found[1].objective, rel=1e-9)


def test_newton_starts_near_and_stops_when_told() -> None:
    p = problem(Logistic(), targets(Logistic()), H=FREE[0])
    solver = "auto"
    far = newton(p, solver, 1e-10)
    near = newton(p, solver, 1e-10, start=(far.coefficients, far.free))
    assert near.n_iter == 1 < far.n_iter
    with stopping():
        stopped = newton(p, solver, 1e-10)
    assert stopped.status is Status.STOPPED and stopped.n_iter == 1
    few = newton(p, solver, 1e-14, max_iter=2)
    assert few.status is Status.MAX_ITER
    objectives = [h["objective"] for h in far.history]
    assert all(a >= b for a, b in pairwise(objectives))


def test_admm_reports_its_best_when_stopped() -> None:
    p = problem(Absolute(), NOISE, H=FREE[1])
    good, few = admm(p, 1e-8), admm(p, 1e-12, max_iter=20)
    assert not few.converged and few.n_iter == 20 and few.objective >= good.objective - 1e-8
    with stopping():
        assert not admm(p, 1e-12).converged
