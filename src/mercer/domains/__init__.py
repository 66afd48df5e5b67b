"""Domains of kernels: how to check, count, select and join data, so that no method assumes an array.

A *collection* is the argument of a kernel: an ``(n, d)`` array of vectors, a list of strings or graphs, or a pair of
collections. Each kernel declares its `Domain`; the library handles data only through its few methods.
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
