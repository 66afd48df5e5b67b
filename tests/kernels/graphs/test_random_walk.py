"""Walks against the inverse of the product graph's matrix, written out."""

import re

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.domains import Graph
from mercer.kernels import Gaussian, Linear, parse
from mercer.kernels.graphs import RandomWalk


def arcs(g, edge_labels):
    """{label: adjacency matrix}"""
    out = {}
    for u in range(g.n):
        for p in range(g.indptr[u], g.indptr[u + 1]):
            label = g.edge_labels[p] if edge_labels and g.edge_labels is not None else None
            out.setdefault(label, np.zeros((g.n, g.n)))[u, g.indices[p]] = g.weights[p]
    return out


def product(g, h, edge_labels=False, node_kernel=None):
    """κ of all pairs of nodes, and the matrix of the product graph with κ at the start of each arc."""
    names, others = g.labels or [None] * g.n, h.labels or [None] * h.n
    S = np.array([[float(a == b) for b in others] for a in names])
    if node_kernel is not None:
        S = S * node_kernel(g.attributes, h.attributes)
    A, B = arcs(g, edge_labels), arcs(h, edge_labels)
    M = sum((np.kron(A[t], B[t]) for t in A.keys() & B.keys()), np.zeros((g.n * h.n, g.n * h.n)))
    return S.ravel(), S.ravel()[:, None] * M


def value(g, h, decay, **options):
    s, M = product(g, h, **options)
    return np.linalg.solve(np.eye(len(s)) - decay * M, s).sum()


@pytest.mark.parametrize("options", [{}, {"edge_labels": True}, {"node_kernel": Gaussian(1.5)}])
@pytest.mark.parametrize("share", [0.3, 0.99])
def test_definition(graphs, options, share) -> None:
    radius = max(np.abs(np.linalg.eigvals(product(g, g, **options)[1])).max() for g in graphs)
    decay = share / max(radius, 1.0)
    K = [[value(g, h, decay, **options) for h in graphs] for g in graphs]
    kernel = RandomWalk(decay, **options)
    assert np.allclose(kernel(graphs), K, rtol=1e-11, atol=0)
    assert np.allclose(kernel(graphs[:3], graphs[2:]), np.array(K)[:3, 2:], rtol=1e-11, atol=0)
    assert np.allclose(kernel.diag(graphs), np.diagonal(K), rtol=1e-11, atol=0)


def test_terms_of_the_series() -> None:
    """By counting walks one step at a time, for the few first steps."""
    g, h = Graph(3, [(0, 1), (1, 2)], "ABA"), Graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)], "ABAB")
    decay, total = 1e-3, 0
    walks = [(i, j) for i in range(3) for j in range(4) if g.labels[i] == h.labels[j]]
    for n in range(6):
        total += decay**n * len(walks)
        walks = [
            (a, b)
            for i, j in walks
            for a in g.indices[g.indptr[i] : g.indptr[i + 1]]
            for b in h.indices[h.indptr[j] : h.indptr[j + 1]]
            if g.labels[a] == h.labels[b]
        ]
    assert np.isclose(RandomWalk(decay)([g], [h])[0, 0], total, rtol=1e-13)


@pytest.mark.parametrize("options", [{}, {"edge_labels": True}, {"node_kernel": Gaussian(1.5)}])
def test_decay_is_held_to_the_spectral_radius(graphs, options) -> None:
    radius = max(np.abs(np.linalg.eigvals(product(g, g, **options)[1])).max() for g in graphs)
    with pytest.raises(ValueError, match=r"RandomWalk: decay = .* must be below .* will do") as error:
        RandomWalk(1.001 / radius, **options)(graphs)
    limit, good = (float(x) for x in re.search(r"below (\S+) .*; (\S+) will do", str(error.value)).groups())
    assert limit <= 1.0005 / radius  # printed with four digits
    assert limit > 0.95 / radius
    assert np.all(np.isfinite(RandomWalk(good, **options)(graphs)))


def test_the_message_knows_all_graphs_not_only_those_of_a_tile() -> None:
    stars = [Graph(n, [(0, i) for i in range(1, n)]) for n in range(2, 62)]
    with pytest.raises(ValueError, match=r"must be below 0\.01667 "):
        RandomWalk(0.5)(stars)
    for kernel in (RandomWalk(0.5), RandomWalk(0.5).normalized(), 2.0 * RandomWalk(0.5) + RandomWalk(0.001)):
        with pytest.raises(ValueError, match=r"must be below 0\.01667 .* on a graph of 61 nodes"):
            KernelRidge(kernel=kernel).fit(stars, np.arange(60.0))


def test_a_new_graph_on_which_it_diverges_is_refused() -> None:
    stars = [Graph(n, [(0, i) for i in range(1, n)]) for n in (2, 3, 4, 10)]
    for kernel in (RandomWalk(0.2), RandomWalk(0.2).normalized()):
        model = KernelRidge(kernel=kernel).fit(stars[:3], [1.0, 2.0, 3.0])
        with pytest.raises(ValueError, match=r"RandomWalk: decay = 0\.2 must be below 0\.1111 .* graph of 10 nodes"):
            model.predict(stars[2:])


def test_no_cycles_no_limit() -> None:
    """A directed graph without cycles has finitely many walks; the bound is not exact there, but far away."""
    chain = Graph(3, [(0, 1), (1, 2)], directed=True)
    assert np.isclose(RandomWalk(2.0)([chain])[0, 0], 9 + 2 * 4 + 4 * 1)


@pytest.mark.parametrize("decay", [1e-6, 1.0])
def test_terms_that_fall_and_rise_again(decay) -> None:
    g = Graph(4, [(0, 1), (1, 2), (2, 3)], weights=[1e9, 1e-9, 1e9], directed=True)
    assert np.isclose(RandomWalk(decay)([g])[0, 0], value(g, g, decay), rtol=1e-14)


def test_weights_multiply() -> None:
    edge = Graph(2, [(0, 1)], weights=[3.0])
    assert np.isclose(RandomWalk(0.1)([edge])[0, 0], 4 / (1 - 0.9))


class OneValue(Gaussian):
    def evaluate(self, X, Y=None):
        return np.ones((1, 1))


def test_node_kernel_gives_a_value_for_each_pair_of_nodes(graphs) -> None:
    with pytest.raises(ValueError, match=r"node_kernel returned a matrix of shape \(1, 1\) for "):
        RandomWalk(node_kernel=OneValue())(graphs)


def test_node_kernel_is_resolved_on_all_attributes(graphs) -> None:
    kernel = RandomWalk(0.001, node_kernel=Gaussian("median")).resolve(graphs)
    every = np.concatenate([g.attributes for g in graphs])
    assert kernel.node_kernel == Gaussian("median").resolve(every)


def test_node_kernel_is_part_of_text_parameters_and_cache(graphs) -> None:
    kernel = parse("random_walk(decay=0.001, node_kernel=gaussian(lengthscale=0.5))")
    assert parse(str(kernel)) == kernel
    K = kernel(graphs)
    wide = kernel.set_params(node_kernel__lengthscale=5.0)
    assert np.all(wide.diag(graphs)[3:] > np.diagonal(K)[3:])
    assert np.array_equal(wide(graphs), RandomWalk(0.001, node_kernel=Gaussian(5.0))(graphs))


def test_what_a_node_kernel_needs(graphs) -> None:
    with pytest.raises(ValueError, match=r"node_kernel needs node attributes .* but a graph has none"):
        RandomWalk(node_kernel=Gaussian())([[[0, 1], [1, 0]]])
    wide = Graph(2, [], attributes=np.zeros((2, 5)))
    with pytest.raises(ValueError, match=r"of equal length, but they have \[2, 5\] columns"):
        RandomWalk(node_kernel=Gaussian())([*graphs, wide])
    with pytest.raises(ValueError, match=r"RandomWalk: node_kernel has the value -.*; all must be >= 0"):
        RandomWalk(0.001, node_kernel=Linear())(graphs)
    with pytest.raises(TypeError, match="RandomWalk: node_kernel = 'gaussian' must be a Kernel"):
        RandomWalk(node_kernel="gaussian")(graphs)


@pytest.mark.parametrize("decay", [0.0, -1.0, np.nan, "small"])
def test_decay_is_checked(decay) -> None:
    with pytest.raises((TypeError, ValueError), match="RandomWalk: decay = "):
        RandomWalk(decay)([[[0]]])
