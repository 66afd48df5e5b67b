"""Every eigensolver against eigh."""

import numpy as np
import pytest

from mercer._array import host
from mercer.gram import Centered, Dense, IncompleteCholesky, Lazy, LowRank
from mercer.kernels import Affine, FiniteDomain, Gaussian, Laplace, Linear, Polynomial
from mercer.solvers.eigen import BlockKrylov, DenseEigen, Eigenproblem, FactorEigen, eigen_solver
from mercer.testing import move

RNG = np.random.default_rng(0)

X = RNG.normal(size=(60, 3))

PAIRS = {
    "dense": (DenseEigen(), Dense(), Gaussian()),
    "dense of lazy": (DenseEigen(), Lazy(), Laplace()),
    "dense, centred": (DenseEigen(), Centered("dense"), Gaussian()),
    "factor": (FactorEigen(), LowRank(), Polynomial(2)),
    "factor, centred": (FactorEigen(), Centered(LowRank()), Affine()),
    "factor, approximate": (FactorEigen(), IncompleteCholesky(rank=15), Gaussian()),
    "krylov": (BlockKrylov(), Lazy(), Gaussian()),
    "krylov, rough": (BlockKrylov(), Dense(), Laplace()),
    "krylov, centred": (BlockKrylov(), Centered("lazy"), Gaussian()),
    "krylov, low rank": (BlockKrylov(), LowRank(), Linear()),
}


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


@pytest.mark.parametrize(("solver", "representation", "kernel"), PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("k", [1, 3])
def test_against_eigh(solver, representation, kernel, k, xp):
    gram = representation.build(kernel, xp.asarray(X), np.random.default_rng(0))
    spectrum = solver.solve(Eigenproblem(gram, k))
    assert isinstance(spectrum.values, type(xp.asarray(X))) and isinstance(spectrum.vectors, type(xp.asarray(X)))
    check(spectrum, host(gram.dense()), k)


@pytest.mark.parametrize(("solver", "representation", "kernel"), PAIRS.values(), ids=PAIRS)
def test_single_precision(solver, representation, kernel, xp):
    gram = representation.build(kernel, move(X, xp, "float32"), np.random.default_rng(0))
    spectrum = solver.solve(Eigenproblem(gram, 3))
    assert spectrum.values.dtype == xp.float32 and spectrum.vectors.dtype == xp.float32
    check(spectrum, host(gram.dense()).astype(float), 3, 1e-5)


@pytest.mark.parametrize("n", [1, 2, 5, 20, 41])
@pytest.mark.parametrize("solver", [DenseEigen(), BlockKrylov(), BlockKrylov(oversample=0, width=2)], ids=str)
def test_nearly_all_components(n, solver, xp):
    K = with_spectrum(0.8 ** np.arange(n))
    for k in {1, max(1, n // 2), max(1, n - 1), n}:
        check(solver.solve(Eigenproblem(gram_of(K, xp=xp), k)), K, k)


def test_choice_and_refusals():
    dense, large, factor = (
        Dense().build(Affine(), X, RNG),
        Lazy().build(Affine(), np.zeros((501, 1)), RNG),
        LowRank().build(Affine(), X, RNG),
    )
    assert isinstance(eigen_solver("auto", Eigenproblem(dense, 3)), DenseEigen)
    assert isinstance(eigen_solver("auto", Eigenproblem(large, 3)), BlockKrylov)
    assert isinstance(eigen_solver("auto", Eigenproblem(large, 100)), DenseEigen)
    assert isinstance(eigen_solver("auto", Eigenproblem(factor, 3)), FactorEigen)
    assert isinstance(eigen_solver("krylov", Eigenproblem(dense, 3)), BlockKrylov)
    mine = BlockKrylov(tol=1e-3)
    assert eigen_solver(mine, Eigenproblem(dense, 3)) is mine
    with pytest.raises(ValueError, match=r"solver = 'arpack' is unknown"):
        eigen_solver("arpack", Eigenproblem(dense, 3))
    for solver in (DenseEigen(), BlockKrylov()):
        for bad in (0, 61):
            with pytest.raises(ValueError, match="n_components"):
                solver.solve(Eigenproblem(dense, bad))
    with pytest.raises(ValueError, match="exceeds the rank 4"):
        FactorEigen().solve(Eigenproblem(factor, 5))
    for bad in (BlockKrylov(tol=0.0), BlockKrylov(oversample=-1), BlockKrylov(max_iter=0), BlockKrylov(width=1)):
        with pytest.raises(ValueError, match="BlockKrylov"):
            bad.solve(Eigenproblem(dense, 3))
