"""The dual in a box, against SciPy's quadratic programme and the conditions of optimality."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.context import Status
from mercer.gram import Dense, Nystrom
from mercer.kernels import Gaussian
from mercer.losses import Absolute, EpsilonInsensitive, Expectile, Hinge, Huber, Pinball, SquaredHinge
from mercer.solvers.fit._base import FitProblem
from mercer.solvers.fit.box import box

N, ALPHA = 16, 0.3
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 2))
WEIGHT = rng.uniform(0.5, 2, N)
NUMBERS = np.sin(X[:, 0]) + 0.3 * rng.normal(size=N)
LABELS = np.where(X[:, 0] + 0.5 * rng.normal(size=N) > 0, 1.0, -1.0)
LOSSES = [Absolute(), Pinball(0.2), EpsilonInsensitive(0.1), Huber(0.3), Expectile(0.7), Hinge(), SquaredHinge()]


def problem(loss, constant, weight=WEIGHT, gram=None, y=None):
    gram = Dense().build(Gaussian(), X) if gram is None else gram
    y = (LABELS if loss.task == "binary" else NUMBERS) if y is None else y
    return FitProblem(gram, loss, y, ALPHA, weight, np.ones((gram.n, 1)) if constant else None)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("constant", [False, True])
def test_least_objective(loss, constant) -> None:
    """The primal value equals the least dual value that SciPy finds: no gap is left between the two."""
    p = problem(loss, constant)
    s = box(p, 1e-9)
    assert s.converged and (not constant or abs(s.coefficients.sum()) < 1e-9)
    K, parts = p.gram.dense(), loss.box(p.y, WEIGHT / ALPHA)
    linear, lower, upper = (np.concatenate([part[k] for part in parts]) for k in range(3))
    ridge = np.concatenate([np.zeros(N) if part[3] is None else part[3] for part in parts])
    fold = np.tile(np.eye(N), len(parts))
    result = minimize(
        lambda b: 0.5 * (fold @ b) @ K @ (fold @ b) + 0.5 * ridge @ b**2 - linear @ b,
        np.zeros(len(linear)),
        jac=lambda b: fold.T @ (K @ (fold @ b)) + ridge * b - linear,
        bounds=[(None if a < -1e10 else a, None if b > 1e10 else b) for a, b in zip(lower, upper, strict=True)],
        constraints=[{"type": "eq", "fun": np.sum, "jac": np.ones_like}] if constant else [],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    assert s.objective == pytest.approx(-ALPHA * result.fun, rel=1e-7)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.75])
@pytest.mark.parametrize("constant", [False, True])
def test_conditions_of_quantiles(level, constant) -> None:
    """Coefficients are wτ/α above the function, w(τ − 1)/α below, and between these on it."""
    s = box(problem(Pinball(level), constant), 1e-10)
    r, beta = NUMBERS - s.values, ALPHA * s.coefficients / WEIGHT
    assert np.allclose(beta[r > 1e-7], level) and np.allclose(beta[r < -1e-7], level - 1)
    assert np.all((beta > level - 1 - 1e-12) & (beta < level + 1e-12))
    if constant:  # Σ wτ over those above = Σ w(1 − τ) over those below, but for the few on the function
        assert WEIGHT[r < -1e-7].sum() <= level * WEIGHT.sum() <= WEIGHT[r < 1e-7].sum()


def test_weights_of_zero_and_repetitions() -> None:
    count = np.arange(N) % 3
    s = box(problem(Absolute(), True, count.astype(float)), 1e-9)
    assert np.all(s.coefficients[count == 0] == 0)
    gram = Dense().build(Gaussian(), np.repeat(X, count, axis=0))
    repeated = box(problem(Absolute(), True, np.ones(gram.n), gram, np.repeat(NUMBERS, count)), 1e-9)
    assert s.objective == pytest.approx(repeated.objective, rel=1e-8)


def test_low_rank_and_loose_tolerances() -> None:
    gram = Nystrom(landmarks=np.arange(N)).build(Gaussian(), X)
    exact = box(problem(Pinball(0.3), True), 1e-9)
    assert box(problem(Pinball(0.3), True, gram=gram), 1e-9).objective == pytest.approx(exact.objective, rel=1e-7)
    loose = box(problem(Pinball(0.3), True), 1e-3)  # by rows of single precision
    assert exact.objective * (1 - 1e-9) <= loose.objective <= exact.objective * (1 + 1e-3)


def test_stops_when_told() -> None:
    few = box(problem(Absolute(), True), 1e-10, max_iter=3)
    assert few.status is Status.MAX_ITER and few.gap > 0
