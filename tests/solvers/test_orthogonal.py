"""Minimisation over orthonormal frames against eigenvalues and Procrustes; derivatives by finite differences."""

import numpy as np
import pytest
from scipy import linalg

from mercer.context import Context, Status
from mercer.kernels import Gaussian, Polynomial, RationalQuadratic
from mercer.solvers.orthogonal import ProjectedFactor, minimise, random_frame

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("d", [1, 3])
def test_smallest_eigenvalues(d):
    """tr(BᵀAB) has its minimum on the eigenvectors of the smallest eigenvalues."""
    A = RNG.normal(size=(12, 12))
    A = A @ A.T
    found = minimise(lambda B: (np.trace(B.T @ A @ B), 2 * A @ B), random_frame(12, d, RNG), tol=1e-6, max_iter=500)
    values, vectors = linalg.eigh(A)
    assert found.converged
    assert found.value == pytest.approx(values[:d].sum(), rel=1e-10)
    assert linalg.subspace_angles(found.B, vectors[:, :d]).max() < 1e-6
    np.testing.assert_allclose(found.B.T @ found.B, np.eye(d), atol=1e-13)


def test_procrustes():
    """‖A − CB‖² over orthogonal B of the determinant of the start: the polar factor, where it has the same."""
    C = RNG.normal(size=(30, 4))
    R = random_frame(4, 4, RNG)
    A = C @ R + 0.1 * RNG.normal(size=(30, 4))
    U, _, V = linalg.svd(C.T @ A)
    turn = linalg.expm(0.3 * np.triu(np.ones((4, 4)), 1) - 0.3 * np.tril(np.ones((4, 4)), -1))
    found = minimise(lambda B: (np.sum((A - C @ B) ** 2), -2 * C.T @ (A - C @ B)), U @ V @ turn, tol=1e-9)
    np.testing.assert_allclose(found.B, U @ V, atol=1e-7)


def test_never_rises_and_ends_for_a_reason():
    A = np.diag(np.geomspace(1, 1e4, 15))

    def objective(B):
        return np.trace(B.T @ A @ B), 2 * A @ B

    start = random_frame(15, 2, RNG)
    short = minimise(objective, start, max_iter=5)
    assert short.status is Status.MAX_ITER
    assert short.n_iter == 5
    assert np.all(np.diff(short.history) < 0)
    with Context().active() as context:
        context.interrupt()
        stopped = minimise(objective, start)
    assert stopped.n_iter == 0
    assert stopped.status is Status.INTERRUPTED
    whole = minimise(objective, start, tol=1e-5, max_iter=2000)
    assert np.all(np.diff(whole.history) < 0)
    assert whole.converged
    assert whole.value == pytest.approx(A[0, 0] + A[1, 1], rel=1e-9)


def test_stalls_at_a_kink():
    """The largest of two linear functions on the circle: no descent from the kink, and that is said."""
    axes = np.array([[1.0, 0.0], [-1.0, 0.0]])

    def objective(B):
        values = axes @ B[:, 0]
        return float(values.max()), axes[[values.argmax()]].T

    found = minimise(objective, np.array([[np.sin(0.2)], [np.cos(0.2)]]), tol=1e-8, max_iter=500)
    assert found.status is Status.NO_DESCENT
    assert abs(found.B[0, 0]) < 1e-3


def test_random_frames_are_uniform():
    """Orthonormal; every entry of a uniform one has mean 0 and variance 1/p."""
    frames = np.array([random_frame(3, 2, RNG) for _ in range(4000)])
    np.testing.assert_allclose(frames[0].T @ frames[0], np.eye(2), atol=1e-14)
    assert np.abs(frames.mean(axis=0)).max() < 4 * np.sqrt(1 / 3 / 4000)
    np.testing.assert_allclose((frames**2).mean(axis=0), 1 / 3, atol=0.03)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), RationalQuadratic(1.0), Polynomial(degree=2)], ids=str)
@pytest.mark.parametrize("keep", [False, True])
def test_factor(kernel, keep):
    """ZZᵀ is the centred approximation on the pivots, by its definition; its derivative by finite differences."""
    Y = RNG.normal(size=(25, 2))
    pivots = ProjectedFactor(kernel, Y, 1e-2).pivots
    W = RNG.normal(size=(25, 25))
    W = W + W.T

    def value(Y, pivots=pivots):
        factor = ProjectedFactor(kernel, Y, 1e-2, pivots if keep else None)
        np.testing.assert_array_equal(factor.pivots, pivots)
        return np.sum(W * (factor.Z @ factor.Z.T)), factor

    K, H = kernel(Y), np.eye(25) - 1 / 25
    _, factor = value(Y)
    C = K[:, pivots]
    np.testing.assert_allclose(factor.Z @ factor.Z.T, H @ C @ linalg.solve(C[pivots], C.T) @ H, atol=1e-10)
    gradient, step = factor.gradient(2 * W @ factor.Z), 1e-6
    for i, j in ((0, 0), (int(pivots[0]), 1), (int(pivots[-1]), 0), (24, 1)):
        E = np.zeros_like(Y)
        E[i, j] = step
        slope = (value(Y + E)[0] - value(Y - E)[0]) / (2 * step)
        assert gradient[i, j] == pytest.approx(slope, rel=1e-6, abs=1e-6 * np.abs(gradient).max())


def test_pivots_that_no_longer_serve():
    """Pivots that fall together, or leave too much, are chosen anew."""
    Y = RNG.uniform(-2, 2, size=(40, 2))
    for old in (np.array([0, 1, 2]), np.array([20])):
        factor = ProjectedFactor(Gaussian(1.0), Y, 1e-4, old)
        fresh = ProjectedFactor(Gaussian(1.0), Y, 1e-4)
        np.testing.assert_array_equal(factor.pivots, fresh.pivots)
    twins = Y.copy()
    twins[fresh.pivots[1]] = twins[fresh.pivots[0]]
    moved = ProjectedFactor(Gaussian(1.0), twins, 1e-4, fresh.pivots)
    assert np.isfinite(moved.Z).all()
    assert len(np.unique(twins[moved.pivots], axis=0)) == len(moved.pivots)


@pytest.mark.parametrize("draw", [RNG.uniform, RNG.normal, RNG.standard_cauchy], ids=["bounded", "normal", "far out"])
def test_pivots_on_a_line(draw):
    """Those of points spread evenly leave no more than ten times the tolerance, or the greedy ones are taken."""
    Y = draw(size=(700, 1))
    factor = ProjectedFactor(Gaussian(0.5), Y, 1e-5)
    K = Gaussian(0.5)(Y)
    assert np.diag(K - factor.G @ factor.G.T).max() <= 1e-4
    C = K[:, factor.pivots]
    np.testing.assert_allclose(factor.G @ factor.G.T, C @ linalg.solve(C[factor.pivots], C.T), atol=1e-8)


def test_progress():
    """A descent that creeps is ended as stalled, at an objective that it had reached by then."""
    A = np.diag(np.geomspace(1, 1e6, 30))
    start = random_frame(30, 2, np.random.default_rng(1))

    def objective(B):
        return np.trace(B.T @ A @ B), 2 * A @ B

    crept = minimise(objective, start, tol=1e-12, max_iter=3000, progress=0.5)
    whole = minimise(objective, start, tol=1e-12, max_iter=3000)
    assert crept.status is Status.NO_DESCENT
    assert crept.history == whole.history[: len(crept.history)]
    assert crept.history[-11] - crept.history[-1] < 0.5 * crept.history[-1]
