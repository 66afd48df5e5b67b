"""Counts of small induced subgraphs, exact and without enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, triu
from scipy.special import comb

from ..._errors import SWITCH
from ...domains import Graph, Graphs
from ...types import Array
from .._base import register
from .._definiteness import PD
from .._structured import Counted, Counts, Store
from ._compiled import cliques
from ._union import Union

# How often each graph on k nodes (row) occurs in each other (column) as a subgraph, induced or not. The edges in order:
# none, one, two adjacent, a triangle; and none, one, two disjoint, two adjacent, a triangle, a star, a path, a triangle
# with a tail, a square, a square with a diagonal, all.
WITHIN = {
    3: np.array([[1, 1, 1, 1], [0, 1, 2, 3], [0, 0, 1, 3], [0, 0, 0, 1]]),
    4: np.array(
        [
            [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
            [0, 1, 2, 2, 3, 3, 3, 4, 4, 5, 6],
            [0, 0, 1, 0, 0, 0, 1, 1, 2, 2, 3],
            [0, 0, 0, 1, 3, 3, 2, 5, 4, 8, 12],
            [0, 0, 0, 0, 1, 0, 0, 1, 0, 2, 4],
            [0, 0, 0, 0, 0, 1, 0, 1, 0, 2, 4],
            [0, 0, 0, 0, 0, 0, 1, 2, 4, 6, 12],
            [0, 0, 0, 0, 0, 0, 0, 1, 0, 4, 12],
            [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 3],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 6],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        ]
    ),
}
CONNECTED = {3: [2, 3], 4: [5, 6, 7, 8, 9, 10]}


@register
class Graphlet(Counted):
    r"""Graphlet kernel: counts of induced subgraphs with three or four nodes, by isomorphism type.

    .. math::
        k(G, H) = \sum_F \; \#\{S \subset V(G) : G[S] \cong F\} \; \#\{T \subset V(H) : H[T] \cong F\}

    over the graphs F with `size` nodes: 4 of size three and 11 of size four.

    Parameters
    ----------
    size : 3 or 4
        The number of nodes. Raising it captures more structure, at a higher cost.
    connected : bool
        Whether to count only connected F: 2 of size three, 6 of size four. In sparse graphs the others are by far the
        majority, and mainly reflect how large and how dense the graphs are.

    Notes
    -----
    Positive definite, as an inner product of counts. Labels, weights, directions and loops are ignored: i and j
    are neighbours if an arc joins them in either direction. Graphs with fewer nodes than `size` have zero feature
    vectors. ``Graphlet().normalized()`` compares frequencies. Non-induced subgraphs are counted by closed formulas from
    degrees, common neighbours and cliques; the induced counts follow by a linear map, and are exact if the former stay
    below 2⁵³. A feature vector costs O(Σ degree²), plus O(triangles · degree) for size 4; a value costs O(1).

    References
    ----------
    Shervashidze, Vishwanathan, Petri, Mehlhorn, Borgwardt, *Efficient graphlet kernels for large graph comparison*
    (2009).

    Examples
    --------
    A square has four paths of three nodes, a square with a diagonal two, and two triangles.

    >>> square = [[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]]
    >>> diagonal = [[0, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 1], [1, 0, 1, 0]]
    >>> Graphlet(size=3)([square, diagonal])
    array([[16.,  8.],
           [ 8.,  8.]])
    """

    proven = PD
    trials = [(), (3,), (4, True)]
    domain = Graphs()
    form_parameters = ("size", "connected")
    rules = {"size": (3, 4), "connected": SWITCH}

    def __init__(self, size: int = 4, connected: bool = False):
        self.size, self.connected = size, connected

    def forms(self, members: list[Any], store: Store) -> list[Counts]:
        counts = np.rint(np.linalg.solve(WITHIN[self.size].astype(float), _subgraphs(members, self.size)))
        kept = CONNECTED[self.size] if self.connected else range(len(counts))
        return [Counts(features := np.flatnonzero(c), c[features]) for c in counts[kept].T]


def _subgraphs(graphs: list[Graph], size: int) -> np.ndarray:
    """How often each graph on `size` nodes occurs in each of `graphs` (columns), induced or not."""
    union = Union.of(graphs)
    nodes, width = np.diff(union.first).astype(float), union.first[-1]
    ends = union.source != union.target
    A = csr_array((np.ones(ends.sum()), (union.source[ends], union.target[ends])), shape=(width, width))
    A = A.maximum(A.T).tocsr()
    A.sort_indices()
    degree = np.diff(A.indptr).astype(float)
    square = A @ A
    # edges; pairs of nodes with their numbers of common neighbours; edges with their numbers of triangles
    edge, pair, closed = (triu(M, 1, "coo") for M in (A, square, A.multiply(square)))
    (i, j), (u, v), shared = edge.coords, closed.coords, closed.data

    def total(values: Array, at: Any = None) -> np.ndarray:
        """The sum over each graph of values at all nodes, or at the given ones."""
        filled = values if at is None else np.bincount(at, values, width)
        return np.add.reduceat(filled, union.first[:-1])

    edges, wedges, triangles = total(degree) / 2, total(comb(degree, 2)), total(shared, u) / 3
    if size == 3:
        return np.stack([comb(nodes, 3), edges * (nodes - 2), wedges, triangles])
    return np.stack(
        [
            comb(nodes, 4),
            edges * comb(nodes - 2, 2),
            comb(edges, 2) - wedges,
            wedges * (nodes - 3),
            triangles * (nodes - 3),
            total(comb(degree, 3)),
            total((degree[i] - 1) * (degree[j] - 1), i) - 3 * triangles,
            total(shared * (degree[u] + degree[v] - 4), u) / 2,
            total(comb(pair.data, 2), pair.coords[0]) / 2,
            total(comb(shared, 2), u),
            total(cliques(A.indptr, A.indices)),
        ]
    )
