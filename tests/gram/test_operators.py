"""One contract for every operator: products, diagonal and blocks are those of one symmetric matrix."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

from mercer.gram import Centered, Dense, IncompleteCholesky, Lazy, LowRank, Nystrom, Packed, RandomFeatures
from mercer.gram.combined import Combined
from mercer.gram.normalized import GraphGram, NormalizedGram
from mercer.kernels import Gaussian, Linear, Sigmoid
from mercer.methods.krein import FlippedGram
from mercer.solvers._part import Part
from mercer.solvers.eigen.shift_invert import ResolventGram
from mercer.solvers.laplacian import _Spread
from mercer.solvers.linear._base import Conditioned
from mercer.solvers.multitask import TaskGram

N = 12
rng = np.random.default_rng(4)
X = rng.normal(size=(N, 3))
AFFINITY = csr_array(np.where(rng.random((N, N)) < 0.4, 1.0, 0.0))
AFFINITY = csr_array(AFFINITY + AFFINITY.T + np.eye(N)[np.roll(np.arange(N), 1)] + np.eye(N)[np.roll(np.arange(N), -1)])
Q = np.linalg.qr(rng.normal(size=(N, 2)))[0]
SCALE = rng.uniform(0.5, 2, N)
TASKS = rng.integers(0, 2, N)
COUPLING = np.array([[1.0, 0.3], [0.3, 0.8]])


def built(representation, kernel=None):
    return representation.build(Gaussian(1.5) if kernel is None else kernel, X, 0)


OPERATORS = {
    "dense": lambda: built(Dense()),
    "lazy": lambda: built(Lazy()),
    "packed": lambda: built(Packed()),
    "low rank": lambda: built(LowRank(), Linear()),
    "incomplete Cholesky": lambda: built(IncompleteCholesky(rank=5)),
    "Nystrom": lambda: built(Nystrom(rank=5)),
    "random features": lambda: built(RandomFeatures(20)),
    "centred": lambda: built(Centered("dense")),
    "centred factor": lambda: built(Centered(Nystrom(rank=5))),
    "combined": lambda: Combined([built(Dense()), built(Dense(), Linear())], [2.0, 0.5]).build(
        2 * Gaussian(1.5) + 0.5 * Linear(), X
    ),
    "combined factors": lambda: Combined([built(Nystrom(rank=4)), built(LowRank(), Linear())], [2.0, 0.5]).build(
        2 * Gaussian(1.5) + 0.5 * Linear(), X
    ),
    "graph": lambda: GraphGram(AFFINITY),
    "normalised": lambda: NormalizedGram(built(Dense())),
    "normalised graph": lambda: NormalizedGram(GraphGram(AFFINITY)),
    "spread": lambda: _Spread(NormalizedGram(built(Dense())), 0.7),
    "resolvent": lambda: ResolventGram(NormalizedGram(GraphGram(AFFINITY)), AFFINITY),
    "conditioned": lambda: Conditioned(built(Dense()), SCALE, Q, 0.5),
    "conditioned factor": lambda: Conditioned(built(Nystrom(rank=5)), SCALE, Q),
    "part": lambda: Part(built(Dense()), np.array([7, 2, 5, 0])),
    "part of a factor": lambda: Part(built(Nystrom(rank=5)), np.array([7, 2, 5, 0])),
    "tasks": lambda: TaskGram(built(Lazy()), np.arange(N), TASKS, COUPLING),
    "tasks of a factor": lambda: TaskGram(built(Nystrom(rank=4)), np.arange(N), TASKS, COUPLING),
    "flipped": lambda: FlippedGram(Sigmoid(0.5, -0.2), X),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_is_one_symmetric_matrix(name):
    operator = OPERATORS[name]()
    K = operator @ np.eye(operator.n)
    tol = {"rtol": 1e-7, "atol": 1e-9 * np.abs(K).max()}
    np.testing.assert_allclose(K, K.T, **tol)
    assert operator.shape == K.shape and operator.dtype == K.dtype == operator.like.dtype
    V = rng.normal(size=(operator.n, 3))
    np.testing.assert_allclose(operator @ V, K @ V, **tol)
    np.testing.assert_allclose(operator @ V[:, 0], K @ V[:, 0], **tol)
    np.testing.assert_allclose(operator.dense(), K, **tol)
    np.testing.assert_allclose(operator.diagonal(), np.diagonal(K), **tol)
    for rows, columns in ((slice(1, 3), slice(None)), (np.array([3, 0]), np.array([1, 2, 2])), (slice(None), [0])):
        np.testing.assert_allclose(operator.block(rows, columns), K[rows][:, columns], **tol)
    if "factor" in operator.provides:
        Z = operator.factor()
        np.testing.assert_allclose(Z @ Z.T, K, rtol=1e-6, atol=1e-8 * np.abs(K).max())
    assert f"{operator.n} × {operator.n}" in repr(operator)


@pytest.mark.parametrize("name", [name for name in OPERATORS if name != "resolvent"])  # a compiled factorisation
def test_operators_pickle(name):
    operator = OPERATORS[name]()
    V = rng.normal(size=(operator.n, 2))
    np.testing.assert_allclose(pickle.loads(pickle.dumps(operator)) @ V, operator @ V, rtol=1e-12, atol=1e-12)
