"""Counts of shortest paths by their ends and lengths."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import dijkstra

from ...domains import Graph, Graphs
from .._base import register
from .._definiteness import PD
from .._structured import Counted, Counts, Store
from ._compiled import steps
from ._union import node_numbers

BITS = 33  # of a length, ten digits: sums of the same weights in a different order compare equal


@register
class ShortestPath(Counted):
    r"""Shortest-path kernel: pairs of nodes with equal labels at equal distances.

    .. math::
        k(G, H) = \sum_{u \ne v \in G} \; \sum_{u' \ne v' \in H}
        [\ell(u) = \ell(u')] \, [\ell(v) = \ell(v')] \, [d(u, v) = d(u', v') < \infty]

    Notes
    -----
    Positive definite, as an inner product of counts. The sums are over ordered pairs, so each path counts in both
    directions in an undirected graph, and along its arcs in a directed one. Edge weights are lengths; distances are
    equal if they agree to ten digits. Graphs without edges have zero feature vectors. A feature vector costs
    O(nodes · edges) (times a logarithm with weights), a value at most O(nodes²).

    References
    ----------
    Borgwardt, Kriegel, *Shortest-path kernels on graphs* (2005).

    Examples
    --------
    >>> path, ring = [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> ShortestPath()([path, ring])
    array([[20., 24.],
           [24., 36.]])
    """

    proven = PD
    domain = Graphs()

    def form(self, g: Graph, store: Store) -> Counts:
        D = _distances(g)
        u, v = np.nonzero(np.isfinite(D) & (D > 0))
        lengths, place = np.unique(D[u, v], return_inverse=True)
        labels, which = np.unique(node_numbers([g], store), return_inverse=True)
        shape = len(labels), len(labels), max(1, len(lengths))
        found, count = np.unique(np.ravel_multi_index((which[u], which[v], place), shape), return_counts=True)
        a, b, c = np.unravel_index(found, shape)
        triples = zip(labels[a].tolist(), labels[b].tolist(), lengths[c].tolist(), strict=True)
        return Counts.of([store.number(triple) for triple in triples], count)


def _distances(g: Graph) -> np.ndarray:
    """The lengths of the shortest paths; infinite or negative if there is none."""
    if np.all(g.weights == 1):
        return steps(g.indptr, g.indices)
    mantissa, exponent = np.frexp(dijkstra(g.adjacency))
    return np.ldexp(np.round(mantissa * 2.0**BITS) / 2.0**BITS, exponent)
