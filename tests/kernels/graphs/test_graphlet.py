"""Closed formulas against all subsets of nodes."""

from collections import Counter
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from mercer.domains import Graph
from mercer.kernels.graphs import Graphlet
from mercer.kernels.graphs.graphlet import CONNECTED, WITHIN


def counted(g, size, connected):
    """The induced subgraphs; up to four nodes, the degrees tell all graphs apart."""
    A = g.adjacency.toarray() > 0
    A = (A | A.T) & ~np.eye(g.n, dtype=bool)
    found = Counter()
    for nodes in combinations(range(g.n), size):
        B = A[np.ix_(nodes, nodes)]
        if not connected or nx.is_connected(nx.from_numpy_array(B)):
            found[tuple(sorted(B.sum(axis=0).tolist()))] += 1
    return found


def matrix(graphs, size, connected):
    found = [counted(g, size, connected) for g in graphs]
    return [[sum(a[t] * b[t] for t in a) for b in found] for a in found]


@pytest.mark.parametrize("connected", [False, True])
@pytest.mark.parametrize("size", [3, 4])
def test_definition(graphs, size, connected) -> None:
    assert np.array_equal(Graphlet(size, connected)(graphs), matrix(graphs, size, connected))


@pytest.mark.parametrize("size", [3, 4])
def test_dense_graphs_and_loops(size) -> None:
    rng = np.random.default_rng(3)
    dense = [np.triu(rng.random((n, n)) < p) for n, p in ((9, 0.8), (10, 0.6), (6, 1.0), (7, 0.9))]
    graphs = [Graph.from_adjacency(A | A.T) for A in dense]
    for connected in (False, True):
        assert np.array_equal(Graphlet(size, connected)(graphs), matrix(graphs, size, connected))


@pytest.mark.parametrize("size", [3, 4])
def test_table_of_subgraphs(size) -> None:
    """How often each graph lies in each other: by subsets of edges."""
    atlas = [G for G in nx.graph_atlas_g() if G.number_of_nodes() == size]

    def degrees(edges):
        return tuple(sorted(np.bincount(np.ravel(edges).astype(int), minlength=size).tolist()))

    names = {degrees(list(G.edges)): G for G in atlas}
    assert len(names) == len(WITHIN[size])
    lies = {a: dict.fromkeys(names, 0) for a in names}
    for b, G in names.items():
        for m in range(G.number_of_edges() + 1):
            for edges in combinations(G.edges, m):
                lies[degrees(edges)][b] += 1
    # two tables without a common order: each graph by what lies in it, and by all in which it lies
    found = {(*sorted(lies[a][b] for a in names), sum(lies[b].values())) for b in names}
    table = WITHIN[size]
    assert found == {(*sorted(table[:, k].tolist()), int(table[k].sum())) for k in range(len(table))}
    assert sum(nx.is_connected(G) for G in atlas) == len(CONNECTED[size])


def test_large_graphs_have_exact_counts() -> None:
    n = 60
    complete = Graph.from_adjacency(1 - np.eye(n))
    count = n * (n - 1) * (n - 2) * (n - 3) // 24
    assert Graphlet(4)([complete]) == Graphlet(4, connected=True)([complete]) == count**2


@pytest.mark.parametrize("size", [2, 5, 3.0])
def test_size_is_checked(size) -> None:
    with pytest.raises(ValueError, match=r"Graphlet: size = .* choose one of 3, 4"):
        Graphlet(size)([[[0]]])
