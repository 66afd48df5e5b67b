"""Block Krylov iterations: hard spectra, restarts, equal eigenvalues, early ends."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer._array import host
from mercer.gram import Dense, Lazy
from mercer.kernels import FiniteDomain, Gaussian
from mercer.solvers.eigen import BlockKrylov, DenseEigen, Eigenproblem


def check(spectrum, K, k, tol=1e-7):
    """Eigenvalues, orthonormality, and the eigen-equation; vectors are only defined up to clusters."""
    values, vectors = host(spectrum.values).astype(float), host(spectrum.vectors).astype(float)
    expected = np.linalg.eigvalsh(K)[::-1][:k]
    scale = np.abs(expected).max() or 1.0
    assert values.shape == (k,) and vectors.shape == (len(K), k)
    np.testing.assert_allclose(values, expected, atol=tol * scale)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=tol * 10)
    residual = np.linalg.norm(K @ vectors - vectors * values, axis=0).max() / scale
    assert residual <= tol * 10
    assert spectrum.residual <= tol * 10 and spectrum.converged


def gram_of(K, lazy=True, xp=np):
    """A Gram operator of a given matrix."""
    representation = Lazy() if lazy else Dense()
    return representation.build(FiniteDomain(K), xp.asarray(np.arange(len(K))), np.random.default_rng(0))


def with_spectrum(values, seed=0):
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))[0]
    K = (Q * np.asarray(values, dtype=float)) @ Q.T
    return (K + K.T) / 2


SPECTRA = {
    "geometric": 0.7 ** np.arange(120),
    "slow decay": 1 / (1 + np.arange(120.0)),
    "all equal": np.ones(120),
    "multiple top": np.r_[np.full(6, 5.0), 0.5 ** np.arange(114)],
    "cluster": np.r_[1 + 1e-10 * np.arange(5), 0.5 * 0.8 ** np.arange(115)],
    "cut inside a cluster": np.r_[3.0, np.full(9, 2.0), 0.9 ** np.arange(110)],
    "low rank": np.r_[3.0, 2.0, 1.0, np.zeros(117)],
    "rank below the number wanted": np.r_[2.0, np.zeros(119)],
    "indefinite": np.linspace(-2, 1, 120),
    "zero": np.zeros(120),
}


@pytest.mark.parametrize("values", SPECTRA.values(), ids=SPECTRA)
@pytest.mark.parametrize("k", [1, 5, 30])
@pytest.mark.parametrize("width", [2, 3, 8])
def test_krylov_on_hard_spectra(values, k, width):
    """Narrow bases restart many times; wide ones not at all."""
    K = with_spectrum(values)
    check(BlockKrylov(width=width, max_iter=1000).solve(Eigenproblem(gram_of(K), k)), K, k)


def test_restarts_do_not_lose_what_was_found():
    """The error after many restarts is as small as without, and the basis never grows beyond its width."""
    K = with_spectrum(1 / (1 + np.arange(400.0)) ** 0.5, seed=1)
    widths = []

    class Counting(type(gram_of(K))):
        def __matmul__(self, V):
            widths.append(V.shape[1])
            return super().__matmul__(V)

    gram = gram_of(K)
    gram.__class__ = Counting
    narrow = BlockKrylov(width=3, oversample=4, max_iter=400).solve(Eigenproblem(gram, 4))
    check(narrow, K, 4)
    assert max(widths) <= 8 and narrow.n_iter > 6


def test_fewer_products_than_a_dense_solve():
    """A kernel matrix with a fast spectrum takes a handful of block products."""
    points = np.random.default_rng(2).normal(size=(700, 2))
    gram = Lazy().build(Gaussian(), points, np.random.default_rng(0))
    spectrum = BlockKrylov().solve(Eigenproblem(gram, 5))
    check(spectrum, Gaussian()(points), 5)
    assert spectrum.n_iter <= 8


@pytest.mark.parametrize("oversample", [0, 2, 16])
def test_what_the_starting_subset_has_not_seen_is_found(oversample):
    """A few samples apart from all others, of the largest eigenvalues."""
    weights = np.r_[0.9 ** np.arange(1900.0), 5.0, 4.0, 3.0]
    gram = gram_of(np.diag(weights[np.random.default_rng(4).permutation(1903)]))
    for seed in range(3):
        spectrum = BlockKrylov(oversample=oversample).solve(Eigenproblem(gram, 3, np.random.default_rng(seed)))
        np.testing.assert_allclose(spectrum.values, [5, 4, 3], rtol=1e-8)


def test_non_convergence_warns():
    K = with_spectrum(1 + 1e-3 * np.random.default_rng(3).uniform(size=300))
    with pytest.warns(ConvergenceWarning, match="stopped after 2 block products"):
        spectrum = BlockKrylov(max_iter=2, oversample=0).solve(Eigenproblem(gram_of(K), 3))
    assert not spectrum.converged and spectrum.residual > 1e-8


def test_generator_does_not_change_the_answer():
    K = with_spectrum(0.8 ** np.arange(50))
    one, two = (BlockKrylov().solve(Eigenproblem(gram_of(K), 4, np.random.default_rng(s))) for s in (1, 2))
    np.testing.assert_allclose(one.values, two.values, atol=1e-9)


@pytest.mark.parametrize("n", [50, 200, 400])
def test_equal_eigenvalues(n):
    """A centred identity, as of a kernel much narrower than the data: LAPACK's bisection finds none of its values."""
    K = np.eye(n) - 1 / n
    check(DenseEigen().solve(Eigenproblem(gram_of(K, lazy=False), 3)), K, 3)
