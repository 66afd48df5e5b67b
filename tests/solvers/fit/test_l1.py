"""Sparse expansions: scikit-learn's lasso, the conditions of optimality, nearly singular matrices."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from mercer.context import Status
from mercer.gram import Dense
from mercer.kernels import Gaussian, Laplace
from mercer.losses import Cox, Custom, Huber, LogCosh, Logistic, Squared
from mercer.solvers.fit._base import FitProblem
from mercer.solvers.fit.l1 import l1

N = 20
rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-3, 3, N))[:, None]
Y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=N)
LABELS = np.where(Y > 0, 1.0, -1.0)
WEIGHT = rng.uniform(0.5, 2, N)


def problem(loss, alpha, y=Y, weight=None, H=None, kernel=None):
    kernel = Gaussian() if kernel is None else kernel
    return FitProblem(Dense().build(kernel, X), loss, y, alpha, np.ones(N) if weight is None else weight, H)


@pytest.mark.parametrize("alpha", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("kernel", [Gaussian(), Laplace()], ids=["gaussian", "laplace"])
def test_squares_are_the_lasso(alpha, free, kernel) -> None:
    s = l1(problem(Squared(), alpha, H=np.ones((N, 1)) if free else None, kernel=kernel), 1e-7)
    lasso = Lasso(alpha / N, fit_intercept=free, tol=1e-12, max_iter=1_000_000).fit(kernel(X), Y)
    least = 0.5 * np.sum((Y - lasso.predict(kernel(X))) ** 2) + alpha * np.abs(lasso.coef_).sum()
    assert s.converged and s.objective == pytest.approx(least, rel=1e-6)
    assert np.allclose(s.values, lasso.predict(kernel(X)), atol=1e-3)


@pytest.mark.parametrize("loss", [Huber(0.3), Logistic(), LogCosh()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("columns", [0, 1, 2])
def test_conditions(loss, columns) -> None:
    """|Kᵀs| ≤ α for the slopes s, with the opposite sign where a coefficient is not zero, and Hᵀs = 0."""
    H = np.column_stack([np.ones(N), X])[:, :columns] if columns else None
    y = LABELS if loss.name == "logistic" else Y
    counts = []
    for alpha in (0.05, 4.0):
        s = l1(problem(loss, alpha, y, WEIGHT, H), 1e-6)
        slopes = loss.gradient(y, s.values, WEIGHT)
        pull, used = Gaussian()(X) @ slopes, s.coefficients != 0
        scale = np.abs(Gaussian()(X) @ loss.gradient(y, np.zeros(N), WEIGHT)).max()
        assert s.converged and s.gradient_norm <= 1e-6
        assert np.abs(pull).max() <= alpha + 1e-6 * scale
        assert np.allclose(pull[used], -alpha * np.sign(s.coefficients[used]), atol=1e-6 * scale)
        assert H is None or np.abs(H.T @ slopes).max() <= 1e-5 * scale
        assert s.objective == pytest.approx(loss.total(y, s.values, WEIGHT) + alpha * np.abs(s.coefficients).sum())
        counts.append(used.sum())
    assert counts[1] <= min(counts[0], N // 4)


def test_a_large_penalty_leaves_the_free_part() -> None:
    s = l1(problem(Squared(), 1e4, H=np.ones((N, 1))))
    assert np.all(s.coefficients == 0) and s.free[0] == pytest.approx(Y.mean())


def test_constant_targets_and_one_sample() -> None:
    s = l1(problem(Squared(), 0.1, 0 * Y))
    assert s.converged and np.all(s.coefficients == 0)
    one = FitProblem(Dense().build(Gaussian(), X[:1]), Squared(), np.array([3.0]), 0.5, np.ones(1))
    assert l1(one).coefficients[0] == pytest.approx(2.5)  # 3 − α, since k(x, x) = 1


def test_says_when_it_stops_early() -> None:
    s = l1(problem(Huber(0.1), 1e-3), 1e-8, max_iter=2)
    assert s.status is Status.MAX_ITER


def test_losses_of_which_only_slopes_are_known() -> None:
    """And Cox's, which couples samples: the same conditions."""
    bowl = Custom(LogCosh().total, LogCosh().gradient)
    assert l1(problem(bowl, 0.3)).objective == pytest.approx(l1(problem(LogCosh(), 0.3)).objective, rel=1e-8)
    y = Cox().targets(np.random.default_rng(0), N)
    s = l1(problem(Cox(), 0.3, y))
    pull, used = Gaussian()(X) @ Cox().gradient(y, s.values), s.coefficients != 0
    assert s.converged and 0 < used.sum() < N
    assert np.abs(pull).max() <= 0.3 + 1e-5 and np.allclose(pull[used], -0.3 * np.sign(s.coefficients[used]), atol=1e-5)


@pytest.mark.parametrize("alpha", [1e-3, 0.1])
def test_nearly_singular_matrices(alpha) -> None:
    """Sixty samples under a wide Gaussian: a matrix of rank ten in this precision."""
    Z = np.linspace(-1, 1, 60)[:, None]
    p = FitProblem(Dense().build(Gaussian(2.0), Z), Huber(0.2), np.sin(5 * Z[:, 0]), alpha, np.ones(60))
    s = l1(p, 1e-6)
    pull, used = Gaussian(2.0)(Z) @ Huber(0.2).gradient(np.sin(5 * Z[:, 0]), s.values), s.coefficients != 0
    assert s.converged and np.abs(pull).max() <= alpha + 1e-5
    assert np.allclose(pull[used], -alpha * np.sign(s.coefficients[used]), atol=1e-5)
