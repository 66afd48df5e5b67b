"""ARPACK on held matrices of middle size: the eigenvalues of LAPACK, also repeated ones, and its way out."""

import numpy as np
import pytest

from mercer import KernelPCA
from mercer.gram import Dense
from mercer.gram.centered import CenteredGram
from mercer.gram.dense import DenseGram
from mercer.kernels import Gaussian, Linear
from mercer.methods.pca import MANY
from mercer.solvers.eigen import BlockKrylov, Eigenproblem, Lanczos, eigen_solver


def held(K):
    return DenseGram(Linear(), np.ones((len(K), 1)), K)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_and_vectors_are_those_of_lapack(dtype):
    X = np.random.default_rng(0).normal(size=(300, 6)).astype(dtype)
    gram = CenteredGram(Dense().build(Gaussian(2.0), X))
    found = eigen_solver("auto", problem := Eigenproblem(gram, 5)).solve(problem)
    exact = np.linalg.eigvalsh(gram.dense().astype(float))[::-1][:5]
    assert found.method == "lanczos" and found.vectors.dtype == dtype
    unit = np.finfo(dtype).eps
    np.testing.assert_allclose(found.values, exact, rtol=100 * unit)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(5), atol=100 * unit)
    assert found.residual <= 100 * unit


def test_copies_of_an_eigenvalue_are_found():
    A = np.random.default_rng(0).normal(size=(100, 100))
    B = A @ A.T
    K = np.kron(np.eye(3), B)  # every eigenvalue three times
    found = Lanczos().solve(Eigenproblem(held(K), 7))
    np.testing.assert_allclose(found.values, np.repeat(np.linalg.eigvalsh(B)[::-1][:3], 3)[:7], rtol=1e-7)


@pytest.mark.parametrize("K", [np.zeros((200, 200)), np.eye(200), np.ones((200, 200))], ids=["0", "I", "1"])
def test_matrices_of_few_eigenvalues(K):
    found = Lanczos().solve(Eigenproblem(held(K), 3))
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(K)[::-1][:3], atol=1e-8)
    np.testing.assert_allclose(K @ found.vectors, found.vectors * found.values, atol=1e-6)


def test_samples_decide_who_finds_the_components():
    X = np.random.default_rng(0).normal(size=(240, 3))
    assert KernelPCA(3, kernel="rbf").fit(X[:100]).spectrum_.method == "dense"
    assert KernelPCA(3, kernel="rbf").fit(X).spectrum_.method == "lanczos"
    assert KernelPCA(30, kernel="rbf").fit(X).spectrum_.method == "dense"
    needs = KernelPCA(3, kernel="rbf")._needs
    assert (needs(MANY), needs(MANY + 1)) == ("matrix", "products")
    assert KernelPCA(3, eigen_solver=BlockKrylov())._needs(MANY + 1) == "matrix"
