"""Counts of labels, by Counter."""

from collections import Counter

import numpy as np

from mercer.domains import Graph
from mercer.kernels.graphs import EdgeHistogram, VertexHistogram


def products(counts):
    return [[sum(a[t] * b[t] for t in a) for b in counts] for a in counts]


def test_vertices(graphs) -> None:
    counts = [Counter(g.labels or [None] * g.n) for g in graphs]
    assert np.array_equal(VertexHistogram()(graphs), products(counts))


def test_edges(graphs) -> None:
    def labels(g):
        _, ends, _, edge_labels, *_ = g.__reduce__()[1]
        return Counter(edge_labels or [None] * len(ends))

    assert np.array_equal(EdgeHistogram()(graphs), products([labels(g) for g in graphs]))


def test_a_loop_counts_once() -> None:
    assert EdgeHistogram()([Graph(2, [(0, 0), (0, 1)])]) == 4
