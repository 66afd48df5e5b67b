"""A Gram matrix of tensors gives solvers NumPy arrays of doubles, equal to those of the same matrix on the host."""

import numpy as np
import pytest

from mercer.gram import Centered, Dense, IncompleteCholesky, Lazy, Nystrom
from mercer.gram.remote import RemoteGram, Thin, reachable
from mercer.kernels import Gaussian
from mercer.solvers.linear import System, solve

torch = pytest.importorskip("torch")
rng = np.random.default_rng(0)
X, V, b = rng.normal(size=(40, 3)), rng.normal(size=(40, 2)), rng.normal(size=40)
KINDS = {
    "dense": Dense(),
    "lazy": Lazy(),
    "factor": Nystrom(rank=8),
    "pivoted": IncompleteCholesky(rank=8),
    "centred": Centered("dense"),
}


def both(kind):
    here, there = (KINDS[kind].build(Gaussian(), A, np.random.default_rng(0)) for A in (X, torch.tensor(X)))
    assert reachable(here) is here
    return here, reachable(there)


def same(found, expected, atol=1e-9):
    assert type(found) is np.ndarray and found.dtype == np.float64
    np.testing.assert_allclose(found, expected, atol=atol)


@pytest.mark.parametrize("kind", KINDS)
def test_operations_are_those_of_the_host(kind):
    here, there = both(kind)
    assert isinstance(there, RemoteGram) and there.provides == here.provides | {"remote"}
    assert there.n == here.n and there.dtype == np.float64 and there.native.X is there.X
    same(there @ V, here @ V)
    same(there @ b, here @ b)
    same(there.diagonal(), here.diagonal())
    same(there.block(slice(3, 9), np.array([1, 4])), here.block(slice(3, 9), np.array([1, 4])))
    same(there.dense(), here.dense())
    if "factor" in here.provides:
        same(there.factor(), here.factor())
    _, points, coefficients = there.expansion(b)
    assert isinstance(points, torch.Tensor) and isinstance(coefficients, torch.Tensor)


@pytest.mark.parametrize("kind", ["dense", "lazy", "factor"])
@pytest.mark.parametrize("shift", [0.5, np.linspace(0.1, 2.0, 40)], ids=["number", "one for each sample"])
@pytest.mark.parametrize("H", [None, np.stack([np.ones(40), X[:, 0]], axis=1)], ids=["plain", "free"])
def test_systems_are_solved_where_the_matrix_is(kind, shift, H):
    here, there = (solve(System(gram, b, shift, H)) for gram in both(kind))
    assert there.method == here.method
    same(there.coefficients, here.coefficients, 1e-6)
    if H is not None:
        same(there.free, here.free, 1e-6)


@pytest.mark.parametrize("convert", [np.asarray, torch.tensor], ids=["host", "tensor"])
def test_thin_matrices(convert):
    A = Thin(convert(V))
    same(A @ np.array([1.0, -2.0]), V @ [1.0, -2.0], 1e-12)
    same(A.T @ b, V.T @ b, 1e-12)
    same(A.squares(b), V.T @ (b[:, None] * V), 1e-12)
    same(A.sizes(), np.abs(V).sum(axis=0), 1e-12)
    same(A.beside(b[:, None]) @ np.eye(3), np.column_stack([V, b]), 1e-12)
    assert A.shape == (40, 2) and A.beside(b[:, None]).shape == (40, 3)
