"""Kernels between graphs: counts of labels, paths, walks and small subgraphs.

Graphs are accepted in the forms of `mercer.domains.Graphs`: a networkx object, an adjacency matrix, a pair
(adjacency, labels), or a `mercer.domains.Graph`. A node or edge without a label has the label None. An undirected edge
is a pair of arcs, and kernels that follow edges follow arcs.
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
