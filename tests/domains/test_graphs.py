"""Graphs from every kind of input, as content."""

import pickle

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_matrix

from mercer.domains import Graph, Graphs
from mercer.domains.graphs import random_graph
from mercer.kernels.graphs import VertexHistogram

A = np.array([[0, 1, 0, 0], [1, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]])
EDGES = [(0, 1), (1, 2), (1, 3), (2, 3)]


def test_neighbours_are_sorted_and_edges_stand_twice() -> None:
    g = Graph(4, [(3, 1), (0, 1), (2, 3), (2, 1)], "abcd", ["31", "01", "23", "21"], weights=[4, 1, 6, 3])
    assert g.indptr.tolist() == [0, 1, 4, 6, 8]
    assert g.indices.tolist() == [1, 0, 2, 3, 1, 3, 1, 2]
    assert g.edge_labels == ("01", "01", "21", "31", "21", "23", "31", "23")
    assert g.weights.tolist() == [1, 1, 3, 4, 3, 6, 4, 6]
    assert g.n_edges == 4 and repr(g) == "Graph(4 nodes, 4 edges)"
    assert np.array_equal(g.adjacency.toarray() != 0, A != 0)


KINDS = [np.asarray, np.matrix, np.ndarray.tolist, csr_matrix, csc_array, coo_array, lambda M: M > 0]


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("form", KINDS)
def test_adjacency_of_every_kind(form) -> None:
    assert Graph.from_adjacency(form(A)) == Graph(4, EDGES)
    assert Graph.from_adjacency(form(0 * A)) == Graph(4, [])


def test_sparse_adjacency_is_left_as_it_is() -> None:
    twice = csr_matrix((np.full(4, 0.5), [1, 1, 0, 0], [0, 2, 4]), shape=(2, 2))
    zeros = csr_matrix((np.array([1.0, 0.0, 1.0, 0.0]), [1, 0, 0, 1], [0, 2, 4]), shape=(2, 2))
    for M in (twice, zeros):
        assert Graph.from_adjacency(M) == Graph(2, [(0, 1)])
        assert M.nnz == 4


def test_adjacency_that_is_not_symmetric_is_directed() -> None:
    g = Graph.from_adjacency(np.triu(2.0 * A))
    assert g.directed and g.n_edges == 4 and np.all(g.weights == 2)
    assert g == Graph(4, EDGES, weights=np.full(4, 2.0), directed=True)
    assert g != Graph(4, EDGES, weights=np.full(4, 2.0))


def test_networkx() -> None:
    G = nx.Graph()
    G.add_nodes_from([("x", {"label": "C", "attributes": [1.0, 2.0]}), ("y", {"label": "O", "attributes": [3.0, 4.0]})])
    G.add_edge("y", "x", label="=", weight=2.5)
    assert Graph.from_networkx(G) == Graph(2, [(0, 1)], "CO", "=", [[1, 2], [3, 4]], [2.5])
    D = nx.DiGraph([(0, 1), (1, 0), (1, 2)])
    assert Graph.from_networkx(D) == Graph(3, [(0, 1), (1, 0), (1, 2)], directed=True)


def test_networkx_with_other_names() -> None:
    G = nx.Graph()
    G.add_nodes_from([(0, {"atom": 6, "x": 1.0, "y": 2.0}), (1, {"atom": 8, "x": 3.0, "y": 4.0})])
    G.add_edge(0, 1, bond=2, length=1.2)
    found = Graph.from_networkx(G, label="atom", edge_label="bond", weight="length", attributes=["x", "y"])
    assert found == Graph(2, [(0, 1)], [6, 8], [2], [[1, 2], [3, 4]], [1.2])


def test_networkx_attributes_that_do_not_exist() -> None:
    G = nx.path_graph(2)
    nx.set_node_attributes(G, 1.0, "x")
    for names in (["x", "y"], ["y", "x"]):
        with pytest.raises(ValueError, match="no node has the attribute 'y'"):
            Graph.from_networkx(G, attributes=names)
    assert Graph.from_networkx(G, attributes="z").attributes is None
    G.nodes[0]["attributes"], G.nodes[1]["attributes"] = [1.0], [1.0, 2.0]
    with pytest.raises(ValueError, match="attributes must be numbers, equally many for each node"):
        Graph.from_networkx(G)


def test_networkx_data_for_some_only() -> None:
    G = nx.path_graph(3)
    G.nodes[0]["label"] = "C"
    with pytest.raises(ValueError, match="1 of 3 nodes or edges have a 'label'; give it to all or to none"):
        Graph.from_networkx(G)
    with pytest.raises(TypeError, match="multigraph"):
        Graph.from_networkx(nx.MultiGraph([(0, 1), (0, 1)]))


def test_value_semantics() -> None:
    rng = np.random.default_rng(0)
    for g in [random_graph(rng, n) for n in (1, 2, 5, 8)] + [Graph(3, [(0, 1), (1, 1)], directed=True)]:
        copy = pickle.loads(pickle.dumps(g))
        assert copy == g and hash(copy) == hash(g) and copy.key == g.key
    one = Graph(2, [(0, 1)], np.array(["C", "O"]), np.array([1]))
    assert one == Graph(2, [(1, 0)], ["C", "O"], [1])
    differing = [
        Graph(2, [], ["C", "O"], []),
        Graph(2, [(0, 1)], ["O", "C"], [1]),
        Graph(2, [(0, 1)], ["C", "O"], [2]),
        Graph(2, [(0, 1)], ["C", "O"]),
        Graph(2, [(0, 1)], ["C", "O"], [1], [[0.0], [0.0]]),
        Graph(2, [(0, 1)], ["C", "O"], [1], weights=[2.0]),
        Graph(3, [(0, 1)], ["C", "O", "O"], [1]),
    ]
    assert all(one != other for other in differing)
    assert len({one, *differing}) == 8


class Discreet:
    """A value that does not show in print."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Discreet) and self.value == other.value

    def __hash__(self):
        return hash(("Discreet", self.value))

    def __repr__(self):
        return "…"


def test_labels_are_compared_by_equality_and_not_by_how_they_print() -> None:
    assert Graph(1, [], [Discreet(1)]) == Graph(1, [], [Discreet(1)]) != Graph(1, [], [Discreet(2)])
    assert np.array_equal(VertexHistogram()([Graph(1, [], [Discreet(v)]) for v in (1, 2)]), np.eye(2))
    alike = [Graph(2, [(0, 1)], [one, (one, "a")], [one]) for one in (1, 1.0, True, np.int8(1))]
    assert len(set(alike)) == 1
    assert Graph(1, [], [1]) != Graph(1, [], ["1"])


def test_edges_of_every_kind() -> None:
    for edges in (EDGES, np.array(EDGES, dtype=np.uint8), nx.Graph(EDGES).edges, (e for e in EDGES), set(EDGES)):
        assert Graph(4, edges) == Graph(4, EDGES)


def test_edges_once() -> None:
    assert Graph(4, [(3, 1), (0, 1), (2, 2)]).edges.tolist() == [[0, 1], [1, 3], [2, 2]]
    assert Graph(4, [(3, 1), (0, 1), (1, 0)], directed=True).edges.tolist() == [[0, 1], [1, 0], [3, 1]]
    assert Graph(2, []).edges.shape == (0, 2)


def test_frozen() -> None:
    g = Graph(2, [(0, 1)])
    with pytest.raises(AttributeError, match="Graph is immutable"):
        g.n = 3
    with pytest.raises(ValueError, match="read-only"):
        g.indices[0] = 0


def test_the_caller_keeps_arrays_that_can_be_written() -> None:
    attributes, weights = np.zeros((2, 1)), np.ones(1)
    g = Graph(2, [(0, 1)], attributes=attributes, weights=weights)
    attributes[0], weights[0] = 5.0, 5.0
    assert g.attributes[0] == 0 and g.weights[0] == 1
    assert g == Graph(2, [(0, 1)], attributes=np.zeros((2, 1)))


def test_relabelled() -> None:
    g = Graph(3, [(0, 1), (1, 2)], "abc", "xy", [[0], [1], [2]], [1, 2])
    h = g.relabelled([2, 0, 1])
    assert h == Graph(3, [(1, 2), (2, 0)], "cab", "xy", [[2], [0], [1]], [1, 2])
    assert h.relabelled([1, 2, 0]) == g


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, []), "n = 0 must be >= 1"),
        ((2, [(0, 2)]), "edges name nodes 0 … 2; give nodes in 0 … 1"),
        ((2, [(-1, 0)]), "edges name nodes -1"),
        ((2, [(0, 1)], "C"), "labels has 1 entries, expected 2"),
        ((2, [(0, 1)], None, "xy"), "edge_labels has 2 entries, expected 1"),
        ((2, [(0, 1)], None, None, None, [1.0, 2.0]), "weights has 2 entries, expected 1"),
        ((2, [(0, 1)], None, None, None, [-1.0]), "weights hold -1; they must be finite and > 0"),
        ((2, [(0, 1)], None, None, [[0.0], [np.nan]]), "attributes contain NaN"),
        ((2, [(0, 1), (1, 0)]), "an edge twice"),
        ((1.5, []), "n = 1.5 must be an integer >= 1"),
        ((3, [[0, 1, 2], [1, 2, 0]]), r"edges has shape \(2, 3\)"),
        ((3, [(0, 1.7)]), "type float64; give pairs of integers"),
        ((3, [], None, None, np.zeros((2, 3))), r"attributes has shape \(2, 3\), expected a row for each of 3 nodes"),
        ((1, [], [float("nan")]), "the label nan does not equal itself"),
        ((1, [], [np.float32("nan")]), "does not equal itself"),
    ],
)
def test_what_is_refused(arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        Graph(*arguments)


def test_labels_can_be_looked_up() -> None:
    assert Graph(1, [], [[1, 2]]).labels == ((1, 2),)
    for label in ({}, [1, [2]], ([1],)):
        with pytest.raises(TypeError, match=r"Graph: the label .* is not hashable"):
            Graph(1, [], [label])
    for labels in ({0: "C", 1: "O"}, {"C", "O"}):
        with pytest.raises(TypeError, match="give a sequence, in the order of the nodes"):
            Graph(2, [], labels)


def test_attributes_of_one_column() -> None:
    assert Graph(2, [], attributes=[1.0, 2.0]) == Graph(2, [], attributes=[[1.0], [2.0]])


def test_collections() -> None:
    G = nx.path_graph(3)
    checked = Graphs().check([G, nx.to_numpy_array(G), (nx.to_numpy_array(G), "CCO"), Graph(1, [])], "test")
    assert checked[0] == checked[1] == Graph(3, [(0, 1), (1, 2)])
    assert checked[2].labels == ("C", "C", "O")
    for X, message in [
        (["C"], r"test: X\[0\] is not a graph"),
        ([np.ones((2, 3))], r"test: X\[0\] is not a graph .*adjacency has shape \(2, 3\)"),
        ([G, nx.MultiGraph([(0, 1)])], r"test: X\[1\] is not a graph"),
        ([1, 2], r"test: X\[0\] is not a graph .*adjacency has shape \(\)"),
        ([A.astype(str)], r"test: X\[0\] is not a graph .*adjacency holds"),
        ([1j * A], r"test: X\[0\] is not a graph .*adjacency holds complex"),
        ([np.ma.masked_equal(A, 1)], r"test: X\[0\] is not a graph .*masked"),
        (G, "test: X is one graph; give a list"),
        (csr_matrix(A), "test: X is one graph; give a list"),
        ([], "test: X is empty"),
        ("CCO", "test: X is a str"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            Graphs().check(X, "test")
