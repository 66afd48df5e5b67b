"""The dual box of piecewise losses: its solution minimises Σ bᵢ ℓ(yᵢ, f(xᵢ)) + ½‖f‖²."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from mercer.kernels import Gaussian
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    Pinball,
    SmoothedHinge,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    registry,
)
from mercer.solvers.fit._rows import Block, Segment
from mercer.solvers.fit.working_set import BoxProblem, minimise

N = 14
rng = np.random.default_rng(3)
X = rng.normal(size=(N, 2))
KERNEL = Gaussian(1.0)
K = KERNEL(X)
BOUND = rng.uniform(0.2, 2.0, N)
NUMBERS = np.sin(2 * X[:, 0]) + rng.standard_t(2, N)
LABELS = np.where(X[:, 0] + rng.normal(size=N) > 0, 1.0, -1.0)
LOSSES = [
    Squared(),
    Absolute(),
    Huber(0.4),
    EpsilonInsensitive(0.3),
    SquaredEpsilonInsensitive(0.3),
    Pinball(0.8),
    Expectile(0.8),
    Hinge(),
    SquaredHinge(),
    SmoothedHinge(0.5),
]


def targets(loss):
    return LABELS if loss.task == "binary" else NUMBERS


def solve(loss, bound, offset):
    """β and the offset, by the working-set solver on the boxes one after the other."""
    boxes = loss.box(targets(loss), bound)
    points = np.tile(X, (len(boxes), 1))
    segment = Segment(KERNEL.bind(points))
    linear, lower, upper = (np.concatenate([box[k] for box in boxes]) for k in range(3))
    ridge = None if boxes[0].ridge is None else np.concatenate([box.ridge for box in boxes])
    group = np.zeros(len(points), dtype=np.int64) if offset else None
    problem = BoxProblem(linear, lower, upper, group, ridge=ridge)
    solution = minimise([segment], [[Block(segment, segment, len(points), np.float64)]], problem, 1e-10)
    assert solution.converged
    return solution.beta.reshape(len(boxes), N).sum(axis=0), float(solution.offsets[0]) if offset else 0.0


def affine_parts(loss):
    """(a, c) with ℓ = max_j aⱼf + cⱼ, for losses without curvature."""
    y = targets(loss)
    one, zero = np.ones(N), np.zeros(N)
    return {
        "hinge": lambda: [(zero, zero), (-y, one)],
        "absolute": lambda: [(one, -y), (-one, y)],
        "epsilon_insensitive": lambda: [(zero, zero), (one, -y - loss.epsilon), (-one, y - loss.epsilon)],
        "pinball": lambda: [
            (-loss.quantile * one, loss.quantile * y),
            ((1 - loss.quantile) * one, (loss.quantile - 1) * y),
        ],
    }[loss.name]()


def reference(loss, offset):
    """The smallest Σ bᵢ ℓ(yᵢ, fᵢ) + ½βᵀKβ, by a general method in β and the offset (and bounds ξ ≥ ℓ for kinks)."""
    y, free = targets(loss), 1.0 if offset else 0.0

    def split(z):
        return z[:N], free * z[N], z[N + 1 :]

    if loss.smooth:

        def objective(z):
            beta, c, _ = split(z)
            return loss.total(y, K @ beta + c, BOUND) + 0.5 * beta @ K @ beta

        def gradient(z):
            beta, c, _ = split(z)
            g = loss.gradient(y, K @ beta + c, BOUND)
            return np.append(K @ (g + beta), free * g.sum())

        return minimize(objective, np.zeros(N + 1), jac=gradient, method="BFGS", options={"gtol": 1e-9}).fun
    rows = [np.hstack([a[:, None] * K, free * a[:, None], -np.eye(N)]) for a, _ in affine_parts(loss)]
    ends = np.concatenate([-c for _, c in affine_parts(loss)])

    def objective(z):
        beta, _, xi = split(z)
        return BOUND @ xi + 0.5 * beta @ K @ beta

    def gradient(z):
        return np.concatenate([K @ z[:N], [0.0], BOUND])

    start = np.concatenate([np.zeros(N + 1), np.full(N, 10.0)])
    above = LinearConstraint(np.vstack(rows), -np.inf, ends)
    options = {"ftol": 1e-14, "maxiter": 1000}
    return minimize(objective, start, jac=gradient, constraints=[above], method="SLSQP", options=options).fun


@pytest.mark.parametrize("offset", [False, True], ids=["no offset", "offset"])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_box_solves_the_primal_problem(loss, offset) -> None:
    y = targets(loss)
    beta, c = solve(loss, BOUND, offset)
    f = K @ beta + c
    objective = loss.total(y, f, BOUND) + 0.5 * beta @ K @ beta
    assert objective == pytest.approx(reference(loss, offset), rel=1e-7)

    # −β/b is a subgradient at f, for which no derivative of ours is used, and Σβ = 0: together these are optimality
    for x in f + np.linspace(-5, 5, 201)[:, None]:
        rise = BOUND * (loss.value(y, x) - loss.value(y, f)) + beta * (x - f)
        assert rise.min() >= -1e-8
    assert not offset or abs(beta.sum()) <= 1e-10

    # and the sum of both objectives certifies it
    gap = objective + 0.5 * beta @ K @ beta + BOUND @ loss.conjugate(y, -beta / BOUND)
    assert abs(gap) <= 1e-8


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_sample_of_weight_zero_is_left_out(loss) -> None:
    bound = BOUND.copy()
    bound[::3] = 0.0
    beta, _ = solve(loss, bound, False)
    assert np.all(beta[::3] == 0) and np.any(beta != 0)


def test_every_box_is_here() -> None:
    assert {type(loss) for loss in LOSSES} == {cls for cls in registry.values() if "box" in cls.abilities}


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_conjugate_is_the_supremum(loss) -> None:
    y = targets(loss)
    grid = np.linspace(-40, 40, 80_001)
    for u in (0.3, -0.3, -0.15, 0.0):
        found = loss.conjugate(y, np.full(N, u))
        for i in range(N):
            near, far = (np.max(u * x - loss.value(y[i], x)) for x in (grid, 10 * grid))
            if np.isfinite(found[i]):
                assert found[i] == pytest.approx(near, abs=2e-3)
            else:
                assert far > near + 10


def test_kinks_have_the_subgradient_zero() -> None:
    y = np.array([1.0])
    for loss in (Absolute(), Pinball(0.2), Hinge(), EpsilonInsensitive(0.0)):
        assert loss.gradient(y, y) == 0
