"""Shortest paths against networkx, pair by pair."""

import networkx as nx
import numpy as np
import pytest

from mercer.domains import Graph
from mercer.kernels.graphs import ShortestPath


def paths(g):
    """(label, label, length) of all ordered pairs of nodes."""
    G = nx.from_scipy_sparse_array(g.adjacency, create_using=nx.DiGraph)
    names = g.labels or [None] * g.n
    lengths = dict(nx.all_pairs_dijkstra_path_length(G))
    return [(names[u], names[v], d) for u in lengths for v, d in lengths[u].items() if u != v]


def test_definition(graphs) -> None:
    found = [paths(g) for g in graphs]
    K = [[sum(p[:2] == q[:2] and abs(p[2] - q[2]) < 1e-9 for p in a for q in b) for b in found] for a in found]
    assert np.array_equal(ShortestPath()(graphs), K)


def test_lengths_in_another_order_of_summation_are_equal() -> None:
    weights = [0.1, 0.2, 0.3]
    there, back = (Graph(4, [(0, 1), (1, 2), (2, 3)], "ABBA", weights=w) for w in (weights, weights[::-1]))
    assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1
    assert ShortestPath()([there], [back]) == ShortestPath()([there])


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e12])
def test_different_lengths_differ_at_every_scale(scale) -> None:
    one, other = (Graph(2, [(0, 1)], weights=[w * scale]) for w in (1.7, 1.7000001))
    assert ShortestPath()([one], [other]) == 0
    assert ShortestPath()([one]) == 4


def test_weights_of_one_are_steps() -> None:
    """Breadth-first and weighted searches find the same lengths."""
    rng = np.random.default_rng(4)
    i, j = np.triu_indices(9, 1)
    kept = rng.random(len(i)) < 0.3
    edges = np.stack([i[kept], j[kept]], axis=1)
    steps = Graph(9, edges)
    doubled, tied = Graph(9, edges, weights=np.full(len(edges), 2.0)), Graph(2, [(0, 1)], weights=[2.0])
    assert ShortestPath()([doubled]) == ShortestPath()([steps])
    assert ShortestPath()([steps], [tied]) == sum(p[2] == 2 for p in paths(steps)) * 2


def test_no_paths() -> None:
    lonely, apart = Graph(1, []), Graph(3, [], "CCC")
    edge = Graph(2, [(0, 1)], "CC")
    assert np.array_equal(ShortestPath()([lonely, apart, edge]), np.diag([0, 0, 4]))
    assert np.array_equal(ShortestPath().normalized()([lonely, apart, edge]), np.diag([0, 0, 1]))


def test_directions_count() -> None:
    ring = Graph(3, [(0, 1), (1, 2), (2, 0)], directed=True)
    assert ShortestPath()([ring]) == 3 * 3 + 3 * 3  # three pairs at distance 1, three at distance 2
    assert ShortestPath()([ring], [Graph(3, [(0, 1), (1, 2), (2, 0)])]) == 3 * 6
