"""One contract for every operator: products, diagonal and blocks are those of one symmetric matrix."""

import pickle
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.sparse import csr_array

import mercer  # noqa: F401  every operator is a subclass once everything is loaded
from mercer.gram import (
    Centered,
    Dense,
    Gram,
    IncompleteCholesky,
    Lazy,
    LowRank,
    Nystrom,
    Operator,
    Packed,
    RandomFeatures,
    Wrapped,
)
from mercer.gram.combined import Combined
from mercer.gram.low_rank import LandmarkGram, LowRankGram
from mercer.gram.normalized import GraphGram, NormalizedGram
from mercer.gram.remote import RemoteGram
from mercer.kernels import Gaussian, Linear, Polynomial, Sigmoid
from mercer.methods.krein import FlippedGram
from mercer.solvers._part import Part
from mercer.solvers.eigen.shift_invert import ResolventGram
from mercer.solvers.laplacian import _Spread
from mercer.solvers.linear._base import Conditioned
from mercer.solvers.multitask import TaskGram

N = 12
rng = np.random.default_rng(4)
SAMPLE = rng.normal(size=(N, 3))
AFFINITY = csr_array(np.where(rng.random((N, N)) < 0.4, 1.0, 0.0))
AFFINITY = csr_array(AFFINITY + AFFINITY.T + np.eye(N)[np.roll(np.arange(N), 1)] + np.eye(N)[np.roll(np.arange(N), -1)])
Q = np.linalg.qr(rng.normal(size=(N, 2)))[0]
SCALE = rng.uniform(0.5, 2, N)
TASKS = rng.integers(0, 2, N)
COUPLING = np.array([[1.0, 0.3], [0.3, 0.8]])
PART = np.array([7, 2, 5, 0])


def host(a):
    return a if isinstance(a, np.ndarray) else np.asarray(a)


def built(representation, X, kernel=None):
    return representation.build(Gaussian(1.5) if kernel is None else kernel, X, 0)


def combined(X, *grams):
    return Combined(grams, [2.0, 0.5]).build(2 * grams[0].kernel + 0.5 * grams[1].kernel, X)


OPERATORS = {  # of samples X, with a function into their array library
    "dense": lambda X, to: built(Dense(), X),
    "lazy": lambda X, to: built(Lazy(), X),
    "low rank": lambda X, to: built(LowRank(), X, Linear()),
    "incomplete Cholesky": lambda X, to: built(IncompleteCholesky(rank=5), X),
    "Nystrom": lambda X, to: built(Nystrom(rank=5), X),
    "random features": lambda X, to: built(RandomFeatures(20), X),
    "centred": lambda X, to: built(Centered("dense"), X),
    "centred factor": lambda X, to: built(Centered(Nystrom(rank=5)), X),
    "combined": lambda X, to: combined(X, built(Dense(), X), built(Dense(), X, Linear())),
    "combined factors": lambda X, to: combined(X, built(Nystrom(rank=4), X), built(LowRank(), X, Linear())),
    "combined features": lambda X, to: combined(X, built(LowRank(), X, Linear()), built(LowRank(), X, Polynomial(2))),
    "normalised": lambda X, to: NormalizedGram(built(Dense(), X)),
    "spread": lambda X, to: _Spread(NormalizedGram(built(Dense(), X)), 0.7),
    "conditioned": lambda X, to: Conditioned(built(Dense(), X), to(SCALE), to(Q), 0.5),
    "conditioned factor": lambda X, to: Conditioned(built(Nystrom(rank=5), X), to(SCALE), to(Q)),
    "part": lambda X, to: Part(built(Dense(), X), PART),
    "part of a factor": lambda X, to: Part(built(Nystrom(rank=5), X), PART),
}
ON_HOST = {
    "packed": lambda X, to: built(Packed(), X),
    "graph": lambda X, to: GraphGram(AFFINITY),
    "normalised graph": lambda X, to: NormalizedGram(GraphGram(AFFINITY)),
    "resolvent": lambda X, to: ResolventGram(NormalizedGram(GraphGram(AFFINITY)), AFFINITY),
    "tasks": lambda X, to: TaskGram(built(Lazy(), X), np.arange(N), TASKS, COUPLING),
    "tasks of a factor": lambda X, to: TaskGram(built(Nystrom(rank=4), X), np.arange(N), TASKS, COUPLING),
    "flipped": lambda X, to: FlippedGram(Sigmoid(0.5, -0.2), X),
    "remote": lambda X, to: RemoteGram(built(Dense(), X)),
    "remote factor": lambda X, to: RemoteGram(built(Nystrom(rank=5), X)),
}
ABSTRACT = {Gram, Wrapped, LowRankGram, LandmarkGram}


def subclasses(cls: type) -> Iterator[type]:
    for sub in cls.__subclasses__():
        yield sub
        yield from subclasses(sub)


def test_every_operator_is_here():
    ours = {cls for cls in subclasses(Operator) if cls.__module__.startswith("mercer.")}
    here = {type(make(SAMPLE, host)) for make in (OPERATORS | ON_HOST).values()}
    bases = {base for cls in here for base in cls.__mro__}
    missing = {cls.__name__ for cls in ours - here if cls not in ABSTRACT or cls not in bases}
    assert not missing


def check(operator, to):
    K = host(operator @ to(np.eye(operator.n)))
    tol = {"rtol": 1e-7, "atol": 1e-9 * np.abs(K).max()}
    np.testing.assert_allclose(K, K.T, **tol)
    assert operator.shape == K.shape and operator.dtype == operator.like.dtype == to(K).dtype
    V = np.random.default_rng(7).normal(size=(operator.n, 3))
    for W in (V, V[:, 0]):
        image = operator @ to(W)
        assert type(image) is type(to(W))
        np.testing.assert_allclose(host(image), K @ W, **tol)
    np.testing.assert_allclose(host(operator.dense()), K, **tol)
    np.testing.assert_allclose(host(operator.diagonal()), np.diagonal(K), **tol)
    indices = [(slice(1, 3), slice(None)), (np.array([3, 0]), np.array([1, 2, 2])), (slice(None), np.array([0]))]
    for rows, columns in indices:
        np.testing.assert_allclose(host(operator.block(rows, columns)), K[rows][:, columns], **tol)
    if "factor" in operator.provides:
        Z = host(operator.factor())
        np.testing.assert_allclose(Z @ Z.T, K, rtol=1e-6, atol=1e-8 * np.abs(K).max())
    assert f"{operator.n} × {operator.n}" in repr(operator)


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_is_one_symmetric_matrix(name, xp):
    check(OPERATORS[name](xp.asarray(SAMPLE), xp.asarray), xp.asarray)


@pytest.mark.parametrize("name", ON_HOST)
def test_so_is_one_on_the_host(name):
    check(ON_HOST[name](SAMPLE, host), host)


@pytest.mark.parametrize("name", ["dense", "Nystrom", "combined", "combined features", "flipped"])
def test_a_gram_operator_knows_its_functions(name):
    """`cross` at the sample is the matrix, and `expansion` the same function."""
    gram = (OPERATORS | ON_HOST)[name](SAMPLE, host)
    a = np.random.default_rng(1).normal(size=N)
    kernel, points, coefficients = gram.expansion(a)
    np.testing.assert_allclose(kernel.evaluate(SAMPLE, points) @ coefficients, gram @ a, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(gram.cross(SAMPLE) @ a, gram @ a, rtol=1e-8, atol=1e-8)
    X_new = np.random.default_rng(2).normal(size=(4, 3))
    values = kernel.evaluate(X_new, points) @ coefficients
    np.testing.assert_allclose(gram.cross(X_new) @ a, values, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(gram.cross(X_new).dense() @ a, values, rtol=1e-8, atol=1e-8)


# a compiled factorisation, "resolvent", does not
@pytest.mark.parametrize("name", [name for name in OPERATORS | ON_HOST if name != "resolvent"])
def test_operators_pickle(name):
    operator = (OPERATORS | ON_HOST)[name](SAMPLE, host)
    V = rng.normal(size=(operator.n, 2))
    np.testing.assert_allclose(pickle.loads(pickle.dumps(operator)) @ V, operator @ V, rtol=1e-12, atol=1e-12)
