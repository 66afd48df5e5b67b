"""The disjoint union of many graphs, for array operations on all of them at once; numbers for their labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ...domains import Graph
from .._structured import Store


class Union(NamedTuple):
    """The disjoint union of graphs: the first node of each (and the total number), and the arcs ordered by source."""

    first: np.ndarray
    source: np.ndarray
    target: np.ndarray

    @classmethod
    def of(cls, graphs: Sequence[Graph]) -> Union:
        first = np.cumsum([0, *(g.n for g in graphs)])
        degree = np.concatenate([np.diff(g.indptr) for g in graphs])
        shift = np.repeat(first[:-1], [len(g.indices) for g in graphs])
        target = np.concatenate([g.indices for g in graphs]) + shift
        return cls(first, np.repeat(np.arange(first[-1]), degree), target)


def node_numbers(graphs: Iterable[Graph], store: Store) -> np.ndarray:
    """The number of each node's label, one graph after another."""
    return _numbers("node", (v for g in graphs for v in (g.labels or [None] * g.n)), store)


def arc_numbers(graphs: Iterable[Graph], store: Store) -> np.ndarray:
    """The number of each arc's label, one graph after another."""
    return _numbers("edge", (v for g in graphs for v in (g.edge_labels or [None] * len(g.indices))), store)


def _numbers(kind: str, labels: Iterable[Hashable], store: Store) -> np.ndarray:
    return np.array([store.number((kind, v)) for v in labels], dtype=np.int64)
