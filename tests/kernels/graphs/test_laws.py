"""What every kernel on graphs obeys, over the registry, besides the laws of `check_kernel`."""

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

import mercer
import mercer.kernels.graphs
from mercer import SVC, KernelRidge
from mercer.domains import Graph, Graphs
from mercer.domains.graphs import random_graph
from mercer.kernels import parse, registry
from mercer.kernels._structured import clear_cache
from mercer.kernels.graphs import WeisfeilerLehman
from mercer.testing import check_gram, check_kernel

CLASSES = [cls for cls in registry.values() if isinstance(cls.domain, Graphs)]
KERNELS = [k for cls in CLASSES for k in cls.examples()]
kernels = pytest.mark.parametrize("kernel", KERNELS, ids=str)


def attributed(kernel):
    return getattr(kernel, "node_kernel", None) is not None


def test_all_are_registered() -> None:
    assert {cls.__name__ for cls in CLASSES} >= set(mercer.kernels.graphs.__all__)


@kernels
@pytest.mark.parametrize("seed", [1, 2])
def test_laws(kernel, seed) -> None:
    check_kernel(kernel, seed=seed)
    assert kernel.definiteness.is_pd


@kernels
@pytest.mark.parametrize("directed", [False, True])
def test_order_of_the_nodes_means_nothing(kernel, directed) -> None:
    rng = np.random.default_rng(0)
    drawn = [random_graph(rng, n) for n in (1, 2, 4, 7, 9)]
    X = [
        Graph(n, ends, labels, edge_labels, attributes, rng.uniform(0.5, 2, len(ends)), directed)
        for n, ends, labels, edge_labels, attributes, *_ in (g.__reduce__()[1] for g in drawn)
    ]
    Y = [g.relabelled(rng.permutation(g.n)) for g in X]
    assert any(a != b for a, b in zip(X, Y, strict=True))
    K = kernel(X)
    assert np.allclose(kernel(X, Y), K, rtol=1e-12)
    assert np.allclose(kernel(Y), K, rtol=1e-12)


@kernels
def test_degenerate_graphs(kernel) -> None:
    """A node, nodes without edges, labels here and none there, labels and edges that nothing else has."""
    A = np.zeros((3, 2))
    X = [
        Graph(1, [], attributes=A[:1]),
        Graph(1, [], "C", attributes=A[:1]),
        Graph(3, [], attributes=A),
        Graph(3, [(0, 1)], "CCO", attributes=A),
        Graph(3, [(0, 1), (1, 2)], [1, ("a", 2), None], ["x", "y"], attributes=A),
        Graph(3, [(0, 1), (1, 2)], attributes=A, directed=True),
        Graph(3, [(0, 0), (0, 1)], attributes=A),
    ]
    K = kernel(X)
    assert np.all(np.isfinite(K)) and np.all(K >= 0)
    assert kernel.check(X).ok
    N = kernel.normalized()(X)
    assert np.allclose(np.diagonal(N)[np.diagonal(K) > 0], 1)
    assert np.all(N[np.diagonal(K) == 0] == 0)


@kernels
def test_no_edge_anywhere(kernel) -> None:
    X = [Graph(n, [], attributes=np.zeros((n, 1))) for n in (1, 2, 5)]
    K = kernel(X)
    # what there is to count are nodes, and what they refine to, or subsets of them
    assert np.all(K == K.T) and np.all(K >= 0) and kernel.check(X).ok
    assert np.array_equal(kernel(X[:1], X), K[:1])


@kernels
def test_new_labels_at_prediction(kernel) -> None:
    rng = np.random.default_rng(1)
    X = [random_graph(rng, n) for n in (3, 4, 5, 6, 7, 8)]
    model = KernelRidge(alpha=1.0, kernel=kernel).fit(X, np.arange(6.0))
    copy = pickle.loads(pickle.dumps(model))
    clear_cache()  # as in another process
    new = [Graph(4, [(0, 1), (1, 2), (2, 3)], "WXYZ", "uvw", np.zeros((4, 2))), *X[:2]]
    found = model.predict(new)
    assert np.all(np.isfinite(found))
    clear_cache()
    assert np.array_equal(copy.predict(new), found)
    expected = kernel(new, X) @ np.linalg.solve(kernel(X) + np.eye(6), np.arange(6.0))
    assert np.allclose(found, expected, rtol=1e-8)


@kernels
def test_text(kernel) -> None:
    assert parse(str(kernel)) == kernel
    both = parse(f"0.5*{kernel} + {kernel}.normalized()")
    X = Graphs().sample(np.random.default_rng(2), 5)
    assert np.allclose(both(X), 0.5 * kernel(X) + kernel.normalized()(X))


@kernels
def test_networkx_adjacency_and_graph_are_one(kernel) -> None:
    if attributed(kernel):
        pytest.skip("attributes come with Graph and networkx only")
    edges = [(0, 1), (1, 2), (2, 0), (2, 3)]
    G = nx.Graph(edges)
    nx.set_node_attributes(G, dict(enumerate("CCNO")), "label")
    A = nx.to_numpy_array(G, nodelist=range(4))
    K = kernel([G, (A, list("CCNO")), Graph(4, edges, "CCNO")])
    assert np.ptp(K) == 0


def test_collections_of_every_kind_pass_through_cross_validation() -> None:
    graphs, y = [nx.gnp_random_graph(6, 0.5, seed=i) for i in range(18)], np.arange(18) % 2
    objects = np.empty(18, dtype=object)
    objects[:] = graphs
    matrices = [nx.to_numpy_array(g) for g in graphs]
    collections = [
        tuple(graphs),
        objects,
        pd.Series(graphs, index=range(18, 0, -1)),
        matrices,
        np.stack(matrices),
        [(nx.to_scipy_sparse_array(g), [None] * 6) for g in graphs],
    ]
    model = SVC(kernel=WeisfeilerLehman().normalized())
    expected = cross_val_score(model, graphs, y, cv=3, error_score="raise")
    for X in collections:
        assert np.array_equal(cross_val_score(model, X, y, cv=3, error_score="raise"), expected)


@kernels
def test_model_files(kernel, tmp_path) -> None:
    rng = np.random.default_rng(8)
    X = [random_graph(rng, n) for n in (2, 3, 4, 5, 6, 7)]
    model = KernelRidge(kernel=kernel.normalized()).fit(X, np.arange(6.0))
    mercer.save(model, tmp_path / "model")
    assert np.array_equal(mercer.load(tmp_path / "model").predict(X), model.predict(X))


@pytest.mark.parametrize("gram", ["dense", "lazy", "nystrom", "incomplete_cholesky"])
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_representations(cls, gram) -> None:
    check_gram(gram, cls.examples()[0].normalized())


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_machine_on_tiles(cls) -> None:
    """A sample of more than one tile gives the values of single pairs."""
    rng = np.random.default_rng(5)
    X = [random_graph(rng, int(n)) for n in rng.integers(1, 7, 70)]
    kernel = cls.examples()[0]
    K = kernel(X)
    pick = [0, 31, 32, 50, 69]
    assert np.allclose(K[np.ix_(pick, pick)], [[kernel([X[i]], [X[j]])[0, 0] for j in pick] for i in pick], rtol=1e-12)
    y = np.array([g.n > 3 for g in X])
    assert SVC(C=10.0, kernel=kernel).fit(X, y).score(X, y) >= 0.6


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_folds_never_compute_a_form_again(cls, monkeypatch) -> None:
    clear_cache()
    rng = np.random.default_rng(6)
    X = [random_graph(rng, n) for n in range(3, 15)]
    seen, forms = [], cls.forms

    def counted(self, members, store):
        seen.extend(members)
        return forms(self, members, store)

    monkeypatch.setattr(cls, "forms", counted)
    y = np.arange(12) % 2
    cross_val_score(SVC(kernel=cls.examples()[0].normalized()), X, y, cv=3, error_score="raise")
    assert sorted(g.n for g in seen) == list(range(3, 15))
