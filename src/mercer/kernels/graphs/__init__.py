"""Kernels between graphs: counts of labels, paths, walks and small subgraphs.

A graph is what `mercer.domains.Graphs` takes: a networkx object, an adjacency matrix, a pair (adjacency, labels), or a
`mercer.domains.Graph`. A node or an edge without a label has the label None. An undirected edge is a pair of arcs, and
kernels that go along edges go along arcs.
"""

from .graphlet import Graphlet
from .histograms import EdgeHistogram, VertexHistogram
from .optimal_assignment import OptimalAssignment
from .random_walk import RandomWalk
from .shortest_path import ShortestPath
from .weisfeiler_lehman import WeisfeilerLehman

__all__ = [
    "EdgeHistogram",
    "Graphlet",
    "OptimalAssignment",
    "RandomWalk",
    "ShortestPath",
    "VertexHistogram",
    "WeisfeilerLehman",
]
