"""Any penalty of the norm: brute force over radii, stationarity, certainty about narrow valleys, balls."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

from mercer import KernelMachine
from mercer.kernels import Laplace
from mercer.losses import Absolute, Hampel, Logistic
from mercer.solvers.fit.penalty import minimise_penalty, within_ball

rng = np.random.default_rng(0)
N = 25
X = np.sort(rng.uniform(-3, 3, N))[:, None]
Y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=N)
K = Laplace()(X)
VALUES, V = np.linalg.eigh(K)
B = V.T @ Y

INTERPOLANT = float(np.sqrt(np.sum(B**2 / VALUES)))  # the norm of the function of least norm through all samples


def ridge_path(mu):
    """Norm and loss of the ridge solutions for many μ, by eigenvalues."""
    shrunk = B / (VALUES + mu[:, None])
    return np.sqrt(shrunk**2 @ VALUES), 0.5 * mu**2 * np.sum(shrunk**2, axis=1)


def least_loss(radius):
    """v, to many digits."""
    mu = brentq(lambda e: ridge_path(np.exp([e]))[0][0] - radius, -30, 20, xtol=1e-15)
    return ridge_path(np.exp([mu]))[1][0]


def brute_force(penalty):
    """The least v(r) + Ψ(r) and its norm, on a fine grid of radii, and on finer ones about its best point."""
    low, high = np.log(1e-14), np.log(1e7)
    for _ in range(4):
        mu = np.exp(np.linspace(low, high, 10_000))
        r, v = ridge_path(mu)
        J = v + np.array([penalty(s) for s in r])
        i = int(np.argmin(J))
        low, high = np.log(mu[[max(i - 1, 0), min(i + 1, len(mu) - 1)]])
    zero = 0.5 * Y @ Y + penalty(0.0)
    return (zero, 0.0) if zero <= J[i] else (J[i], r[i])


def fitted(penalty, alpha=1.0, loss="squared", y=Y, **settings):
    return KernelMachine(loss, kernel=Laplace(), penalty=penalty, alpha=alpha, **settings).fit(X, y)


PENALTIES = {
    "quartic": lambda r: 0.1 * r**4,
    "root": lambda r: 1.5 * np.sqrt(r),
    "logarithm": lambda r: 2.0 * np.log1p(r),
    "capped": lambda r: 3.0 * min(r, 1.0),
    "capped early": lambda r: 5.0 * min(r, 0.3),
    "jump": lambda r: 3.0 * (r > 1.3) + 0.2 * r,
    "staircase": lambda r: 0.35 * np.ceil(4 * r),
    "flat, then rising": lambda r: max(r - 1.7, 0.0) ** 2,
    "flat, then a corner": lambda r: 2 * max(r - 1.7, 0.0),
    "a ball": lambda r: 0.0 if r <= 1.1 else np.inf,
    "nothing but zero": lambda r: np.inf if r > 0 else 0.0,
    "a corner": lambda r: 0.3 * r + 4 * max(r - 1.21, 0.0),
}


@pytest.mark.parametrize("name", PENALTIES)
def test_global_minimum(name) -> None:
    penalty = PENALTIES[name]
    least, norm = brute_force(penalty)
    model = fitted(penalty)
    found = model.function_.norm()
    assert found == pytest.approx(norm, rel=1e-5, abs=1e-12)
    # one part in 10¹² nearer, because rounding decides on which side of a jump the norm is
    assert 0.5 * np.sum((Y - model.predict(X)) ** 2) + penalty(found * (1 - 1e-12)) == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize(("name", "corner"), [("jump", 1.3), ("flat, then a corner", 1.7), ("a ball", 1.1)])
def test_minimum_at_a_corner(name, corner) -> None:
    """Where Ψ jumps or bends the norm is that of the corner, from below at a jump."""
    norm = fitted(PENALTIES[name]).function_.norm()
    assert norm == pytest.approx(corner, rel=1e-8)
    assert name == "flat, then a corner" or norm <= corner * (1 + 1e-14)


@pytest.mark.parametrize("place", [0.7, 1.1, 1.9])
def test_a_valley_between_neighbours_of_the_grid(place) -> None:
    """Up to 1 % before a place Ψ gives back what v gains, and 1 % beyond it more: only a narrow valley is deep."""
    r, v = ridge_path(np.geomspace(1e5, 1e-3, 50_000))

    def penalty(s):
        return v[0] - np.interp(min(s, 0.99 * place), r, v) + 10 * max(s / place - 1.01, 0.0)

    _, norm = brute_force(penalty)
    assert 0.98 * place < norm < 1.02 * place
    assert fitted(penalty).function_.norm() == pytest.approx(norm, rel=1e-5)


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic", "log_cosh"])
@pytest.mark.parametrize("free", [None, 0])
@pytest.mark.parametrize("alpha", [1.0, 1e-3, 1e-6])
def test_stationarity_of_the_norm(loss, free, alpha) -> None:
    """α‖f‖ has the solution of (μ/2)‖f‖² with μ‖f‖ = α."""
    y = np.where(Y > 0.2, 1, -1) if loss == "logistic" else Y
    model = fitted("norm", alpha, loss, y, free=free, tol=1e-13)
    assert model.alpha_ * model.function_.norm() == pytest.approx(alpha, rel=1e-8)


@pytest.mark.parametrize(
    ("penalty", "slope"),
    [
        (lambda r: r**3, lambda r: 3 * r**2),
        (lambda r: np.expm1(r), np.exp),
        (lambda r: 0.5 * r**2, lambda r: r),
        (lambda r: np.log1p(r), lambda r: 1 / (1 + r)),
    ],
    ids=["cubic", "exponential", "squared", "logarithm"],
)
def test_stationarity_of_smooth_functions(penalty, slope) -> None:
    model = fitted(penalty)
    norm = model.function_.norm()
    assert model.alpha_ * norm == pytest.approx(slope(norm), rel=1e-8)


def test_corners_of_the_loss() -> None:
    """With an absolute error v has corners too: SciPy on the problem with slacks."""
    A = V * np.sqrt(VALUES)
    model = fitted("norm", 2.0, "absolute", tol=1e-9)
    rows, shift = np.vstack([np.hstack([s * A, np.eye(N)]) for s in (1.0, -1.0)]), np.concatenate([-Y, Y])
    best = minimize(
        lambda x: x[N:].sum() + 2 * np.linalg.norm(x[:N]),
        np.concatenate([0.1 * A.T @ Y, np.abs(Y) + 2]),
        jac=lambda x: np.concatenate([2 * x[:N] / np.linalg.norm(x[:N]), np.ones(N)]),
        constraints=[{"type": "ineq", "fun": lambda x: rows @ x + shift, "jac": lambda x: rows}],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 2000},
    )
    norm = model.function_.norm()
    assert np.abs(Y - model.predict(X)).sum() + 2 * norm == pytest.approx(best.fun, rel=1e-6)
    assert model.alpha_ * norm == pytest.approx(2.0, rel=1e-6)


def test_zero_is_included() -> None:
    """f = 0 is best as soon as α reaches ‖Σ ℓ′ k(·, xᵢ)‖ there, and not before."""
    threshold = float(np.sqrt(Y @ K @ Y))
    assert fitted("norm", threshold * 1.001).alpha_ == np.inf
    assert fitted("norm", threshold * 1.001).function_.norm() == 0
    small = fitted("norm", threshold * 0.999)
    assert 0 < small.function_.norm() < 1e-2
    assert small.alpha_ * small.function_.norm() == pytest.approx(threshold * 0.999, rel=1e-8)


def test_no_penalty_interpolates_with_the_smallest_norm() -> None:
    model = fitted(lambda r: 0.0)
    assert np.allclose(model.predict(X), Y, atol=1e-9)
    assert model.function_.norm() == pytest.approx(INTERPOLANT, rel=1e-7)
    vanishing = fitted("norm", 1e-10)
    assert vanishing.function_.norm() == pytest.approx(INTERPOLANT, rel=1e-6)


def test_of_ties_the_smallest_norm() -> None:
    """Targets 0: every μ has f = 0. And two valleys of equal depth: the nearer one is taken."""
    model = fitted(lambda r: 0.0, y=0 * Y)
    assert model.function_.norm() == 0 and model.alpha_ == np.inf
    rise = least_loss(0.8) - least_loss(1.6)
    assert fitted(lambda r: 0.0 if r <= 0.8 else rise if r <= 1.6 else np.inf).function_.norm() == pytest.approx(
        0.8, rel=1e-6
    )


def test_decreasing_penalties_are_refused() -> None:
    for penalty in (lambda r: -r, lambda r: np.sin(3 * r), lambda r: -np.log1p(r)):
        with pytest.raises(ValueError, match="must not decrease"):
            fitted(penalty)


def test_nonconvex_losses_are_stationary() -> None:
    model = fitted("norm", 0.5, Hampel(0.5, 1.0, 2.0), tol=1e-13)
    norm = model.function_.norm()
    pull = Hampel(0.5, 1.0, 2.0).gradient(Y, model.predict(X)) + 0.5 * model.dual_coef_ / norm
    assert np.sqrt(pull @ K @ pull) < 1e-5 * np.sqrt(Y @ K @ Y)


# ---- balls


def ridge(mu):
    return type("Ridge", (), {"a": np.linalg.solve(K + mu * np.eye(N), Y), "objective": 1.0})()


def ridge_norm(s):
    return float(np.sqrt(s.a @ K @ s.a))


@pytest.mark.parametrize("radius", [1e-6, 0.5, 1.5, 0.999 * INTERPOLANT])
def test_ball(radius) -> None:
    mu, solution = within_ball(ridge, ridge_norm, radius, 1e5)
    assert ridge_norm(solution) <= radius
    assert ridge_norm(solution) == pytest.approx(radius, rel=1e-9)
    assert 0.5 * np.sum((Y - K @ solution.a) ** 2) == pytest.approx(least_loss(radius), rel=1e-8)
    assert np.allclose((K + mu * np.eye(N)) @ solution.a, Y)


def test_ball_of_no_radius() -> None:
    _, solution = within_ball(ridge, ridge_norm, 0.0, 1e5)
    assert ridge_norm(solution) == 0 and np.abs(K @ solution.a).max() < 1e-100


@pytest.mark.parametrize("loss", ["squared", "huber", "absolute"])
def test_ball_that_does_not_bind(loss) -> None:
    """It holds the function of least norm through all samples, and that is the answer."""
    model = fitted(("ball", 1.5 * INTERPOLANT), loss=loss, tol=1e-10)
    assert np.allclose(model.predict(X), Y, atol=1e-5)
    assert model.function_.norm() == pytest.approx(INTERPOLANT, rel=1e-5)


@pytest.mark.parametrize("loss", [Logistic(), Absolute()])
def test_ball_against_a_generic_solver(loss) -> None:
    y = np.where(Y > 0.2, 1.0, -1.0) if loss.task == "binary" else Y
    model = fitted(("ball", 1.2), loss=loss, y=y, tol=1e-10)
    A = V * np.sqrt(VALUES)
    slacks = N if loss.name == "absolute" else 0
    cons = [
        {"type": "ineq", "fun": lambda x: 1.44 - x[:N] @ x[:N], "jac": lambda x: np.append(-2 * x[:N], [0] * slacks)}
    ]
    if slacks:
        rows, shift = np.vstack([np.hstack([s * A, np.eye(N)]) for s in (1.0, -1.0)]), np.concatenate([-Y, Y])
        cons.append({"type": "ineq", "fun": lambda x: rows @ x + shift, "jac": lambda x: rows})
    best = minimize(
        lambda x: x[N:].sum() if slacks else loss.total(y, A @ x),
        np.concatenate([np.full(N, 0.01), (np.abs(Y) + 1)[:slacks]]),
        jac=lambda x: np.append(0 * x[:N], [1] * N) if slacks else A.T @ loss.gradient(y, A @ x),
        constraints=cons,
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    assert loss.total(y, model.solution_.values) == pytest.approx(best.fun, rel=1e-6)


def test_what_was_tried_is_in_order() -> None:
    calls = []

    def solve(mu):
        calls.append(mu)
        return ridge(mu)

    def loss(s):
        return 0.5 * float(np.sum((Y - K @ s.a) ** 2))

    def at_zero(s):
        return type("Zero", (), {"a": 0 * s.a})()

    best, tried = minimise_penalty(solve, ridge_norm, loss, lambda r: r, 1e5, at_zero)
    assert len(tried) == len(calls) + 1 and tried[0].norm == 0
    assert best.value == min(p.value for p in tried) or best.value == pytest.approx(min(p.value for p in tried), 1e-12)
    norms = [p.norm for p in tried]
    assert norms == sorted(norms)
    assert len(calls) < 80
