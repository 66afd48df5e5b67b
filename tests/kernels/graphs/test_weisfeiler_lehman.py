"""Refined labels against unfolded neighbourhoods, written out as nested tuples."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest

from mercer.domains import Graph
from mercer.kernels._structured import clear_cache
from mercer.kernels.graphs import VertexHistogram, WeisfeilerLehman


def unfolded(g, v, depth, edge_labels):
    """The neighbourhood of a node to a depth, as the definition has it."""
    if depth == 0:
        return ("label", None if g.labels is None else g.labels[v])
    around = []
    for p in range(g.indptr[v], g.indptr[v + 1]):
        edge = g.edge_labels[p] if edge_labels and g.edge_labels is not None else None
        around.append(repr((edge, unfolded(g, g.indices[p], depth - 1, edge_labels))))
    return unfolded(g, v, depth - 1, edge_labels), tuple(sorted(around))


def histogram(g, depth, edge_labels):
    return Counter(unfolded(g, v, i, edge_labels) for i in range(depth + 1) for v in range(g.n))


@pytest.mark.parametrize("edge_labels", [False, True])
@pytest.mark.parametrize("iterations", [0, 1, 3])
def test_definition(graphs, iterations, edge_labels) -> None:
    counts = [histogram(g, iterations, edge_labels) for g in graphs]
    K = [[sum(a[t] * b[t] for t in a) for b in counts] for a in counts]
    assert np.array_equal(WeisfeilerLehman(iterations, edge_labels)(graphs), K)


@pytest.mark.parametrize("edge_labels", [False, True])
def test_hashes_of_networkx(edge_labels) -> None:
    """With loops; undirected, since it refines directed graphs along and against their arcs."""
    rng = np.random.default_rng(5)
    graphs, counts = [], []
    for seed, n in enumerate(rng.integers(1, 15, 12)):
        G = nx.gnp_random_graph(int(n), 0.3, seed=seed)
        G.add_edge(0, 0)
        nx.set_node_attributes(G, {v: str(rng.choice(["a", "b"])) for v in G}, "label")
        nx.set_edge_attributes(G, {e: str(rng.choice(["x", "y"])) for e in G.edges}, "label")
        name = "label" if edge_labels else None
        hashes = nx.weisfeiler_lehman_subgraph_hashes(G, name, "label", 3, include_initial_labels=True)
        counts.append(Counter(level for levels in hashes.values() for level in enumerate(levels)))
        graphs.append(G)
    K = [[sum(a[t] * b[t] for t in a) for b in counts] for a in counts]
    assert np.array_equal(WeisfeilerLehman(3, edge_labels)(graphs), K)


def test_no_refinement_is_the_histogram(graphs) -> None:
    assert np.array_equal(WeisfeilerLehman(0)(graphs), VertexHistogram()(graphs))


def test_edge_labels_tell_edges_apart() -> None:
    single, double = (Graph(2, [(0, 1)], "CC", [bond]) for bond in "-=")
    assert WeisfeilerLehman(1)([single], [double]) == 8
    assert WeisfeilerLehman(1, edge_labels=True)([single], [double]) == 4


def test_labels_agree_across_collections_and_after_the_cache_is_cleared(graphs) -> None:
    kernel = WeisfeilerLehman(3)
    K = kernel(graphs)
    clear_cache()
    kernel(graphs[::-1][:2])
    assert np.array_equal(kernel(graphs[:3], graphs[2:]), K[:3, 2:])
    assert np.array_equal(kernel.diag(graphs), np.diagonal(K))


def test_a_hexagon_and_two_triangles_are_the_same_to_it() -> None:
    hexagon = Graph(6, [(i, (i + 1) % 6) for i in range(6)])
    triangles = Graph(6, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)])
    K = WeisfeilerLehman(5)([hexagon, triangles])
    assert np.all(K == 6 * 36)


def test_directed_graphs_are_refined_along_arcs() -> None:
    out, into = Graph(3, [(0, 1), (0, 2)], directed=True), Graph(3, [(1, 0), (2, 0)], directed=True)
    # the sources see two ends and none, or none and one each: only the two and the one end without arcs agree
    assert WeisfeilerLehman(1)([out], [into]) == 9 + 2 * 1


@pytest.mark.parametrize("iterations", [-1, 1.5, "3"])
def test_iterations_are_checked(iterations) -> None:
    with pytest.raises((TypeError, ValueError), match="WeisfeilerLehman: iterations = "):
        WeisfeilerLehman(iterations)([[[0]]])


def test_edge_labels_are_checked() -> None:
    with pytest.raises(ValueError, match="WeisfeilerLehman: edge_labels = 'yes'"):
        WeisfeilerLehman(edge_labels="yes")([[[0]]])
