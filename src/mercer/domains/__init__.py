"""What a kernel's arguments are: check, size, take, join, so that no method assumes an array.

A *collection* is what a kernel is called with: an ``(n, d)`` array of vectors, a list of strings or of graphs, a pair
of collections. Each kernel names its `Domain`; all that the library does to data goes through these few methods.
"""

from ._base import Anything, Domain, Product, take
from .graphs import Graph, Graphs
from .structured import Bags, Sequences, Strings, Trees
from .tables import Tables
from .vectors import Categories, Indices, Rows, Vectors, intersection, plain, refuse_masked

__all__ = [
    "Anything",
    "Bags",
    "Categories",
    "Domain",
    "Graph",
    "Graphs",
    "Indices",
    "Product",
    "Rows",
    "Sequences",
    "Strings",
    "Tables",
    "Trees",
    "Vectors",
    "intersection",
    "plain",
    "refuse_masked",
    "take",
]
