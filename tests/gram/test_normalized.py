"""The normalised affinities against their definition, on every representation and on a sparse graph."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_moons
from sklearn.neighbors import kneighbors_graph

from mercer.gram import Dense, Lazy, Nystrom
from mercer.gram.normalized import GraphGram, NormalizedGram
from mercer.kernels import Gaussian


def normalised(K):
    """The matrix from its definition."""
    A = K - np.diag(np.diag(K))
    root = np.sqrt(A.sum(axis=1))
    return A / np.outer(root, root)


@pytest.mark.parametrize("representation", [Dense(), Lazy(), Nystrom(rank=30), "graph"], ids=str)
def test_operator_is_the_definition(representation):
    X, _ = make_moons(80, noise=0.06, random_state=0)
    if representation == "graph":
        C = kneighbors_graph(X, 7, include_self=True)
        base = GraphGram(csr_array(0.5 * (C + C.T)))
    else:
        base = representation.build(Gaussian(0.5), X, 0)
    N, gram = normalised(np.asarray(base.dense())), NormalizedGram(base)
    V = np.random.default_rng(0).normal(size=(80, 3))
    np.testing.assert_allclose(gram @ V, N @ V, atol=1e-12)
    np.testing.assert_allclose(gram @ V[:, 0], N @ V[:, 0], atol=1e-12)
    np.testing.assert_allclose(gram.dense(), N, atol=1e-12)
    np.testing.assert_allclose(gram.diagonal(), 0)
    index = np.array([5, 3, 70])
    np.testing.assert_allclose(gram.block(slice(2, 9), index), N[2:9, index], atol=1e-12)
    assert not gram.isolated.any()
