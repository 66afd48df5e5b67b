"""Counts of labels only: the baseline for all other kernels on graphs."""

from __future__ import annotations

from ...domains import Graph, Graphs
from .._base import register
from .._definiteness import PD
from .._structured import Counted, Counts, Store
from ._union import arc_numbers, node_numbers


@register
class VertexHistogram(Counted):
    r"""Inner product of node label counts.

    .. math:: k(G, H) = \sum_\ell \#\{v \in G : \ell(v) = \ell\} \; \#\{w \in H : \ell(w) = \ell\}

    Notes
    -----
    Positive definite, as an inner product. Without labels it is the product of the numbers of nodes. A feature vector
    costs O(nodes), a value O(labels).

    References
    ----------
    Sugiyama, Borgwardt, *Halting in random walk kernels* (2015), where it is the baseline.

    Examples
    --------
    >>> from mercer.domains import Graph
    >>> water, ammonia = Graph(3, [(0, 1), (0, 2)], "OHH"), Graph(4, [(0, 1), (0, 2), (0, 3)], "NHHH")
    >>> VertexHistogram()([water, ammonia])
    array([[ 5.,  6.],
           [ 6., 10.]])
    """

    proven = PD
    domain = Graphs()

    def form(self, g: Graph, store: Store) -> Counts:
        return Counts.of(node_numbers([g], store))


@register
class EdgeHistogram(Counted):
    r"""Inner product of edge label counts.

    .. math:: k(G, H) = \sum_\ell \#\{e \in G : \ell(e) = \ell\} \; \#\{f \in H : \ell(f) = \ell\}

    Notes
    -----
    Positive definite, as an inner product. Each edge counts once; in a directed graph, each arc. Without labels it is
    the product of the numbers of edges; a graph without edges has a zero feature vector. A feature vector costs
    O(edges), a value O(labels).

    References
    ----------
    Sugiyama, Borgwardt, *Halting in random walk kernels* (2015), where it is the baseline.

    Examples
    --------
    >>> from mercer.domains import Graph
    >>> ethene = Graph(6, [(0, 1), (0, 2), (0, 3), (1, 4), (1, 5)], "CCHHHH", "=----")
    >>> methane = Graph(5, [(0, 1), (0, 2), (0, 3), (0, 4)], "CHHHH", "----")
    >>> EdgeHistogram()([ethene, methane])
    array([[17., 16.],
           [16., 16.]])
    """

    proven = PD
    domain = Graphs()

    def form(self, g: Graph, store: Store) -> Counts:
        return Counts.of(arc_numbers([g], store)[g.once])
