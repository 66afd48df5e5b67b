"""Histogram intersection against the assignment problem that it solves."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from mercer.kernels.graphs import OptimalAssignment


def colours(graphs, iterations, edge_labels):
    """The labels of all nodes after each refinement, by equality of tuples; graphs one after the other."""
    now = [("label", None if g.labels is None else g.labels[v]) for g in graphs for v in range(g.n)]
    first = np.cumsum([0, *(g.n for g in graphs)])
    history = [now]
    for _ in range(iterations):
        new = []
        for g, start in zip(graphs, first, strict=False):
            for v in range(g.n):
                arcs = range(g.indptr[v], g.indptr[v + 1])
                edge = [g.edge_labels[p] if edge_labels and g.edge_labels else 0 for p in arcs]
                ends = [repr(now[start + g.indices[p]]) for p in arcs]
                new.append((now[start + v], tuple(sorted(zip(edge, ends, strict=True)))))
        now = new
        history.append(now)
    return history, first


@pytest.mark.parametrize("edge_labels", [False, True])
@pytest.mark.parametrize("iterations", [0, 2])
def test_best_matching(graphs, iterations, edge_labels) -> None:
    history, first = colours(graphs, iterations, edge_labels)
    nodes = len(history[0])
    similarity = sum(np.array([[a == b for b in level] for a in level], dtype=float) for level in history)
    assert similarity.shape == (nodes, nodes)
    K = np.empty((len(graphs), len(graphs)))
    for i, (a, b) in enumerate(pairwise(first)):
        for j, (c, d) in enumerate(pairwise(first)):
            block = similarity[a:b, c:d]
            K[i, j] = block[linear_sum_assignment(block, maximize=True)].sum()
    kernel = OptimalAssignment(iterations, edge_labels)
    assert np.array_equal(kernel(graphs), K)
    assert np.array_equal(kernel.diag(graphs), [(iterations + 1) * g.n for g in graphs])
