"""Conjugate gradients: the preconditioner, the certificate that stops them, and early ends."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer.gram import Dense, Lazy
from mercer.kernels import Gaussian, Laplace, Matern, Power
from mercer.solvers.linear import ConjugateGradient, System
from mercer.solvers.linear.conjugate_gradient import truncated

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
B = RNG.normal(size=(40, 3))


def built(representation, kernel, points=X):
    return representation.build(kernel, points, np.random.default_rng(0))


def exact(K, shift, b):
    return np.linalg.solve(K + shift * np.eye(len(K)), b)


def close(a, b, tol=1e-8):
    np.testing.assert_allclose(a, b, atol=tol * np.abs(b).max(), rtol=0)


def test_preconditioning_of_a_conditionally_definite_kernel():
    """No low-rank sketch of such a matrix exists; the iteration then runs without one."""
    gram, H = built(Lazy(), Power(1.0)), np.ones((40, 1))
    K = np.block([[Power(1.0)(X) + 0.1 * np.eye(40), H], [H.T, np.zeros((1, 1))]])
    expected = np.linalg.solve(K, np.vstack([B, np.zeros((1, 3))]))[:40]
    solution = ConjugateGradient(tol=1e-10).solve(System(gram, B, 0.1, H))
    close(solution.coefficients, expected, 1e-7)


def test_preconditioner_saves_iterations():
    points = np.random.default_rng(1).normal(size=(300, 2))
    gram = built(Lazy(), Gaussian(2.0), points=points)
    b = np.random.default_rng(2).normal(size=300)
    plain, preconditioned = (ConjugateGradient(tol=1e-10, rank=r).solve(System(gram, b, 1e-3)) for r in (0, 60))
    assert preconditioned.n_iter < plain.n_iter / 3
    expected = exact(gram.dense(), 1e-3, b)
    close(preconditioned.coefficients, expected, 1e-6)


def test_each_right_hand_side_stops_on_its_own():
    gram = built(Dense(), Laplace())
    b = np.stack([np.zeros(40), B[:, 0], 1e-12 * B[:, 1], 1e12 * B[:, 2]], axis=1)
    solution = ConjugateGradient(tol=1e-10).solve(System(gram, b, 0.1))
    expected = exact(gram.dense(), 0.1, b)
    assert np.all(solution.coefficients[:, 0] == 0)
    for j in (1, 2, 3):
        close(solution.coefficients[:, j], expected[:, j])


def test_reaching_max_iter_warns():
    gram = built(Lazy(), Gaussian(2.0))
    with pytest.warns(ConvergenceWarning, match="stopped after 2 products"):
        solution = ConjugateGradient(max_iter=2, rank=0).solve(System(gram, B[:, 0], 1e-6))
    assert not solution.converged and solution.n_iter == 2 and solution.residual > 1e-3


def test_an_indefinite_matrix_stops_the_iteration_at_once():
    gram = built(Dense(), -1.0 * Gaussian())
    with pytest.warns(ConvergenceWarning):
        solution = ConjugateGradient(rank=0).solve(System(gram, B[:, 0], 1e-3))
    assert not solution.converged and solution.n_iter < 10


# ---- the certificate

POINTS = np.random.default_rng(3).normal(size=(200, 3))
NEW = np.random.default_rng(4).normal(size=(50, 3))
TARGETS = np.stack([np.sin(POINTS[:, 0]), POINTS[:, 1] ** 2], axis=1) + 0.1 * RNG.normal(size=(200, 2))


@pytest.mark.parametrize("rank", [None, 0])
@pytest.mark.parametrize("shift", [1e-4, 1e-2, 1.0, 1e3])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Matern(nu=1.5), 1e4 * Laplace()], ids=str)
def test_the_default_stops_at_a_certified_function(kernel, shift, rank):
    """Errors of the function at new points are below 1e-6 of its size, and fewer products than to 1e-10 lead there."""
    gram, shift = built(Lazy(), kernel, POINTS), shift * kernel(POINTS[:1])[0, 0]
    system = System(gram, TARGETS, shift)
    found = ConjugateGradient(rank=rank).solve(system)
    long = ConjugateGradient(tol=1e-13, rank=rank, max_iter=5000).solve(system)
    coefficients = exact(kernel(POINTS), shift, TARGETS)
    size = np.sqrt(np.mean((kernel(POINTS) @ coefficients) ** 2, axis=0))
    error = np.abs(kernel(NEW, POINTS) @ (found.coefficients - coefficients))
    assert found.converged and found.n_iter < long.n_iter and np.all(error <= 1e-6 * size)


def test_the_preconditioner_is_left_out_where_few_products_are_enough():
    """Its columns are kernel rows that a large shift makes superfluous."""
    gram = built(Lazy(), Gaussian(), POINTS)
    asked = []
    gram.sketch = lambda rank: asked.append(rank)
    for shift in (1e2, 1e-2):
        assert ConjugateGradient().solve(System(gram, TARGETS, shift)).converged
    assert asked == [50]  # a quarter of the samples


def test_interpolation_has_no_certificate():
    gram = built(Dense(), Laplace(), X)
    solution = ConjugateGradient().solve(System(gram, B, 0.0))
    assert solution.converged and solution.residual <= 1e-9
    close(gram @ solution.coefficients, B)


def test_a_kernel_of_zeros():
    solution = ConjugateGradient().solve(System(built(Dense(), 0.0 * Gaussian()), B, 2.0))
    close(solution.coefficients, B / 2)


@pytest.mark.parametrize("shape", [(20,), (5, 4)])
def test_equations_of_newtons_method(shape):
    A = RNG.normal(size=(20, 20))
    H, b = A @ A.T + np.eye(20), RNG.normal(size=shape)
    x = truncated(lambda v: (H @ v.ravel()).reshape(shape), b, np.diag(H).reshape(shape), 1e-12, 40)
    close(H @ x.ravel(), b.ravel())
