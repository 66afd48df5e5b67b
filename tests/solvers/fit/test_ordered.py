"""Levels in order: SciPy on the joint problem, conditions of optimality, many levels, tiny and large penalties."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer import KernelMachine
from mercer.context import Context, Status
from mercer.gram import Dense, Nystrom
from mercer.kernels import Gaussian, Laplace, ThinPlate
from mercer.losses import EpsilonInsensitive, Expectile, Hinge, Huber, Pinball, registry
from mercer.solvers.fit._base import FitProblem
from mercer.solvers.fit.eigenbasis import admm
from mercer.solvers.fit.ordered import ordered

N = 14
rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-3, 3, N))[:, None]
Y = np.sin(X[:, 0]) + 0.5 * rng.normal(size=N)
WEIGHT = rng.uniform(0.5, 2, N)
ONE = np.ones((N, 1))


def crossing_data(family):
    """Few samples with a wiggly fit, whose levels cross when fitted apart, and the lengthscale."""
    seed, lengthscale = {"pinball": (2, 0.7), "expectile": (4, 1.0)}[family]
    g = np.random.default_rng(seed)
    Z = np.sort(g.uniform(-3, 3, N))[:, None]
    return Z, np.sin(Z[:, 0]) + 0.5 * g.normal(size=N), Gaussian(lengthscale)


@pytest.mark.parametrize("free", [None, 0, 1])
@pytest.mark.parametrize("family", ["pinball", "expectile"])
def test_equals_a_generic_solver(family, free) -> None:
    """Sequential least squares on the joint problem with all constraints written out."""
    Z, y, kernel = crossing_data(family)
    levels = (0.3, 0.5, 0.6)
    losses = [registry[family](t) for t in levels]
    M, H = kernel(Z), {None: np.zeros((N, 0)), 0: np.ones((N, 1)), 1: np.column_stack([np.ones(N), Z])}[free]
    p = FitProblem(Dense().build(kernel, Z), losses[0], y, 0.05, WEIGHT, H if H.shape[1] else None)
    found = ordered(p, losses, 1e-9)
    F = np.stack([s.values for s in found], axis=1)
    assert all(s.converged for s in found) and np.diff(F, axis=1).min() >= -1e-8 * np.ptp(y)
    value = sum(s.objective for s in found)
    assert abs(found[0].gap) <= 1e-7 * value

    d, V = np.linalg.eigh(M)
    A = np.hstack([V * np.sqrt(d.clip(0)), H])
    size, q = A.shape[1], len(levels)
    smooth = family == "expectile"
    extra = 0 if smooth else N * q

    def split(x):
        return x[: size * q].reshape(q, size), x[size * q :].reshape(-1, N)

    def objective(x):
        U, E = split(x)
        loss = (
            sum(los.total(y, A @ u, WEIGHT) for los, u in zip(losses, U, strict=True)) if smooth else np.sum(E @ WEIGHT)
        )
        return float(loss) + 0.025 * float(np.sum(U[:, :N] ** 2))

    def slope(x):
        U, _ = split(x)
        G = np.zeros_like(U)
        G[:, :N] = 0.05 * U[:, :N]
        if smooth:
            G += np.stack([A.T @ los.gradient(y, A @ u, WEIGHT) for los, u in zip(losses, U, strict=True)])
        return np.concatenate([G.ravel(), np.tile(WEIGHT, q if extra else 0)])

    rows = [np.hstack([np.kron(np.eye(q)[j + 1] - np.eye(q)[j], A), np.zeros((N, extra))]) for j in range(q - 1)]
    shifts = [np.zeros(N)] * (q - 1)
    for j in range(0 if smooth else q):
        unit = np.kron(np.eye(q)[j], np.eye(N))
        for s in (levels[j], levels[j] - 1):  # e ≥ s(y − f)
            rows.append(np.hstack([s * np.kron(np.eye(q)[j], A), unit]))
            shifts.append(-s * y)
    G, h = np.vstack(rows), np.concatenate(shifts)
    start = np.concatenate([np.zeros(size * q), np.full(extra, np.abs(y).max() + 1)])
    constraint = {"type": "ineq", "fun": lambda x: G @ x + h, "jac": lambda x: G}
    options = {"ftol": 1e-12, "maxiter": 3000}
    best = minimize(objective, start, jac=slope, constraints=[constraint], method="SLSQP", options=options)
    assert (G @ best.x + h).min() > -1e-9
    assert value == pytest.approx(best.fun, rel=1e-6)
    alone = [admm(FitProblem(p.gram, los, y, 0.05, WEIGHT, p.H), 1e-8) for los in losses]
    assert np.diff(np.stack([s.values for s in alone], axis=1), axis=1).min() < -0.01  # the order binds here
    assert value > sum(s.objective for s in alone) * (1 + 1e-6)


def test_apart_where_nothing_crosses() -> None:
    losses = [Pinball(0.1), Pinball(0.9)]
    p = FitProblem(Dense().build(Gaussian(), X), losses[0], Y, 0.5, WEIGHT, ONE)
    together = ordered(p, losses, 1e-9)
    for s, loss in zip(together, losses, strict=True):
        alone = KernelMachine(loss, kernel=Gaussian(), alpha=0.5, free=0, tol=1e-9).fit(X, Y, WEIGHT).solution_
        assert s.objective == pytest.approx(alone.objective, rel=1e-7)


@pytest.mark.parametrize("loss", [Pinball(0.3), Expectile(0.8), Huber(0.2), EpsilonInsensitive(0.1), Hinge()])
@pytest.mark.parametrize("alpha", [1e-8, 1e-3, 1.0, 1e4])
def test_one_level_of_any_box(loss, alpha) -> None:
    """An upper value by the functions and a lower one by multipliers meet, whatever the penalty."""
    y = np.where(Y > 0, 1.0, -1.0) if loss.task == "binary" else Y
    for kernel in (Gaussian(), Laplace()):
        p = FitProblem(Dense().build(kernel, X), loss, y, alpha, WEIGHT, ONE)
        (s,) = ordered(p, [loss], 1e-9)
        assert s.converged and abs(s.coefficients.sum()) < 1e-8 * np.abs(s.coefficients).sum() + 1e-12
        smooth = kernel(X) @ s.coefficients
        value = loss.total(y, smooth + s.free[0], WEIGHT) + 0.5 * alpha * s.coefficients @ smooth
        rounding = 1e-14 * np.abs(s.coefficients).sum()  # of the sum that f is
        assert s.objective == pytest.approx(value, rel=1e-9, abs=rounding)
        nothing = rounding + 1e-11 * loss.total(y, 0 * y, WEIGHT)
        assert -1e-7 * value - nothing <= s.gap <= 1e-6 * value + nothing


@pytest.mark.parametrize("cls", [Pinball, Expectile])
def test_multipliers_of_many_levels(cls) -> None:
    """Forty-nine levels: α Σⱼ aⱼ is the sum of the slopes, whose λ cancel, and they are in order."""
    levels = np.linspace(0.02, 0.98, 49)
    losses = [cls(t) for t in levels]
    p = FitProblem(Dense().build(Laplace(), X), losses[0], Y, 0.05, WEIGHT, ONE)
    found = ordered(p, losses, 1e-8)
    F = np.stack([s.values for s in found], axis=1)
    assert found[0].converged and np.diff(F, axis=1).min() >= -1e-7
    assert abs(found[0].gap) <= 1e-6 * sum(s.objective for s in found)
    if cls is Expectile:  # whose slopes are known everywhere
        slopes = sum(loss.gradient(Y, F[:, j], WEIGHT) for j, loss in enumerate(losses))
        total = 0.05 * sum(s.coefficients for s in found)
        assert np.allclose(total, -slopes, atol=1e-4 * np.abs(slopes).max())


def test_large_offsets_and_constant_targets() -> None:
    losses = [Pinball(0.2), Pinball(0.5), Pinball(0.8)]
    gram = Dense().build(Gaussian(0.5), X)
    near, far = (ordered(FitProblem(gram, losses[0], Y + c, 0.05, WEIGHT, ONE), losses, 1e-8) for c in (0.0, 1e6))
    for a, b in zip(near, far, strict=True):
        assert b.converged and np.allclose(a.values, b.values - 1e6, atol=1e-4)
    same = ordered(FitProblem(gram, losses[0], np.full(N, 5.0), 0.05, WEIGHT, ONE), losses, 1e-8)
    assert all(s.converged and np.allclose(s.values, 5.0, atol=1e-5) for s in same)


def test_conditional_kernels_low_rank_and_points_without_weight() -> None:
    """Points of weight 0 count for the order alone."""
    losses = [Pinball(0.3), Pinball(0.5), Pinball(0.7)]
    H = np.column_stack([np.ones(N), X])
    plate = ordered(FitProblem(Dense().build(ThinPlate(), X), losses[0], Y, 0.05, WEIGHT, H), losses, 1e-8)
    assert abs(plate[0].gap) <= 1e-6 * sum(s.objective for s in plate)
    assert all(s.converged and np.abs(H.T @ s.coefficients).max() < 1e-6 for s in plate)
    p = FitProblem(Dense().build(Gaussian(0.5), X), losses[0], Y, 0.05, WEIGHT, ONE)
    low = FitProblem(Nystrom(landmarks=np.arange(N)).build(Gaussian(0.5), X), losses[0], Y, 0.05, WEIGHT, ONE)
    for a, b in zip(ordered(p, losses, 1e-9), ordered(low, losses, 1e-9), strict=True):
        assert a.objective == pytest.approx(b.objective, rel=1e-6)
    few = WEIGHT * (np.arange(N) % 2)
    fewer = ordered(FitProblem(p.gram, losses[0], Y, 0.05, few, ONE), losses, 1e-9)
    other = ordered(FitProblem(p.gram, losses[0], np.where(few > 0, Y, 1e3), 0.05, few, ONE), losses, 1e-9)
    assert np.diff(np.stack([s.values for s in fewer], axis=1), axis=1).min() >= -1e-8
    assert sum(s.objective for s in fewer) == pytest.approx(sum(s.objective for s in other), rel=1e-7)


def test_says_when_it_stops_early() -> None:
    losses = [Pinball(0.1), Pinball(0.9)]
    p = FitProblem(Dense().build(Gaussian(), X), losses[0], Y, 0.5, WEIGHT, ONE)
    few = ordered(p, losses, 1e-12, max_iter=2)[0]
    assert few.status is Status.MAX_ITER
    context = Context()
    context.stopped = True
    with context.active():
        assert ordered(p, losses, 1e-12)[0].status is Status.STOPPED
