"""The closed forms of T + αI against dense inverses."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mercer.kernels import Gaussian, Matern
from mercer.solvers import _tridiagonal
from mercer.solvers.decomposition import Diagonal, Tridiagonal, _thin_factor, _tridiagonalised, of_factor, of_matrix

rng = np.random.default_rng(3)
ALPHAS = np.array([1e-3, 0.1, 5.0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 2, 3, 70])
def test_every_form_of_a_full_matrix(n, dtype):
    M = Matern(nu=0.5)(rng.normal(size=(n, 3))).astype(dtype)
    core, V = of_matrix(M, 1.0)
    b, tol = rng.normal(size=(n, 2)).astype(dtype), 1e-9 if dtype == np.float64 else 2e-2
    z = V.T @ b
    np.testing.assert_allclose(core.values, np.linalg.eigvalsh(M.astype(float)), atol=tol)
    for j, alpha in enumerate(ALPHAS):
        inverse = np.linalg.inv(M + alpha * np.eye(n))
        np.testing.assert_allclose((V @ core.solve(z, ALPHAS.astype(dtype))[:, :, j]), inverse @ b, atol=tol)
        np.testing.assert_allclose(core.quadratic(V, ALPHAS.astype(dtype))[:, j], np.diagonal(inverse), rtol=tol)
        half = core.half(V, dtype(alpha))
        assert half.dtype == dtype
        np.testing.assert_allclose(half.T @ half, inverse, atol=10 * tol)
    own = core.solve(z, np.array([[0.1], [5.0]], dtype=dtype))  # one strength of each column
    np.testing.assert_allclose(own[:, 0, 0], core.solve(z, ALPHAS.astype(dtype))[:, 0, 1])
    np.testing.assert_allclose(own[:, 1, 0], core.solve(z, ALPHAS.astype(dtype))[:, 1, 2])
    assert isinstance(core, Tridiagonal if n > 1 else Diagonal)


def test_more_samples_than_a_sweep_takes_at_once():
    n = 150
    M = Matern(nu=0.5)(rng.normal(size=(n, 3)))
    core, V = of_matrix(M, 1.0)
    np.testing.assert_allclose(core.quadratic(V, ALPHAS[1:2])[:, 0], np.diagonal(np.linalg.inv(M + 0.1 * np.eye(n))))
    W = core.lift(V)
    np.testing.assert_allclose((W * core.values) @ W.T, M, atol=1e-12)


def test_a_factor_is_decomposed_by_its_singular_values():
    Z = rng.normal(size=(9, 3))
    core, V = of_factor(Z)
    np.testing.assert_allclose(V * core.values @ V.T, Z @ Z.T, atol=1e-12)
    assert V.shape == (9, 3)


def test_a_matrix_of_low_numerical_rank_has_a_thin_basis():
    Z = np.sort(rng.uniform(0, 3, size=(400, 1)), axis=0)
    M = Gaussian(0.5)(Z)
    core, V = of_matrix(M, 1.0)
    assert V.shape[1] < 60
    np.testing.assert_allclose(V * core.values @ V.T, M, atol=1e-12)
    assert _thin_factor(Gaussian(0.01)(Z), 1.0) is None
    off = np.kron(np.eye(200), [[0.0, 1.0], [1.0, 0.0]])
    off[0, 0] = 1.0
    assert _thin_factor(off, 1.0) is None  # its rest has no diagonal, but is not zero


def test_a_matrix_of_zeros_has_no_basis():
    core, V = of_matrix(np.zeros((6, 6)), 0.0)
    assert V.shape == (6, 0) and core.values.shape == (0,)


def test_tridiagonal_elimination_is_refused_at_the_level_of_rounding():
    M = Matern(nu=0.5)(rng.normal(size=(30, 2)))
    core, _ = of_matrix(M - (np.linalg.eigvalsh(M)[0] - 1e-13) * np.eye(30), 1.0)
    assert isinstance(core, Tridiagonal) and core.holds(1e-6) and not core.holds(1e-14)


def test_vectors_of_another_width_are_refused():
    """Compiled sweeps would read beyond the factors."""
    T = Tridiagonal(np.full(3, 2.0), np.ones(2), 0.0)
    for sweep in (lambda V: T.quadratic(V, np.ones(1)), lambda V: T.half(V, 1.0)):
        with pytest.raises(ValueError, match="V has 5 columns, but the matrix has 3"):
            sweep(np.ones((2, 5)))


def test_small_sweeps_by_numpy_are_those_of_compiled_code():
    rng = np.random.default_rng(0)
    V, lower, pivots = rng.normal(size=(12, 7)), 0.3 * rng.normal(size=(5, 11)), 1 + rng.random((5, 12))
    assert V.size <= _tridiagonal.SMALL
    np.testing.assert_allclose(_tridiagonal.swept(V, lower[0]), _tridiagonal._swept(V, lower[0]), rtol=1e-13)
    found = _tridiagonal.quadratic(V, lower, pivots)
    compiled = np.empty_like(found)
    _tridiagonal._quadratic(V, lower, pivots, compiled)
    np.testing.assert_allclose(found, compiled, rtol=1e-13)


@pytest.mark.parametrize("n", [33, 64, 100, 200])
def test_equal_eigenvalues_have_extremes(n):
    """Bisection by index fails for some of these matrices, which are the identity but for rounding or a projection."""
    X = np.random.default_rng(n).normal(size=(n, 80))
    flat = np.eye(n) - 1 / n
    for M in (np.eye(n), np.exp(-0.5 * cdist(X, X, "sqeuclidean")), flat[1:, 1:], 3 * np.eye(n) + flat):
        T, _ = _tridiagonalised(M, 1e-12)
        np.testing.assert_allclose(T.extremes, np.linalg.eigvalsh(M)[[0, -1]], rtol=1e-9)


def test_threads_share_the_vectors_of_a_sweep():
    rng, n, alphas = np.random.default_rng(1), 450, np.geomspace(0.1, 10, 24)
    assert n * n * len(alphas) > _tridiagonal.SHARED
    T = Tridiagonal(2 + rng.random(n), 0.5 * rng.normal(size=n - 1), 1e-12)
    V = np.asfortranarray(rng.normal(size=(n + 3, n)))
    dense = np.diag(T.diagonal) + np.diag(T.below, 1) + np.diag(T.below, -1)
    expected = [np.einsum("ij,ij->i", V, np.linalg.solve(dense + a * np.eye(n), V.T).T) for a in alphas]
    np.testing.assert_allclose(T.quadratic(V, alphas), np.stack(expected, axis=1), rtol=1e-9)
    np.testing.assert_allclose(T.extremes, np.linalg.eigvalsh(dense)[[0, -1]], rtol=1e-10)
