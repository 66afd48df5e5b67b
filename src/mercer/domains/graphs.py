"""Graphs with labels and attributes, from networkx objects, adjacency matrices, or lists of edges."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from .._array import is_sparse
from .._errors import check_number, is_gap, where
from ..types import Array, Checked
from ._base import Domain, require_sequence
from .structured import content
from .vectors import refuse_masked


class Graph:
    """A graph for kernels: immutable, compared by content.

    Parameters
    ----------
    n : int
        The number of nodes, 0 … n − 1.
    edges : (m, 2) array of int
        Pairs of nodes. Unless `directed`, each edge is given once, in either direction.
    labels, edge_labels : sequences of hashable values, optional
        One per node, and one per edge. Labels match if they are equal in Python (1 == 1.0); None: all match.
    attributes : (n, d) array, optional
        Real attributes of the nodes.
    weights : (m,) array, optional
        Positive weights (for shortest paths: lengths) of the edges; 1 if not given.
    directed : bool
        Whether (i, j) differs from (j, i).

    Attributes
    ----------
    indptr, indices : arrays of int
        The neighbours of node i are ``indices[indptr[i]:indptr[i + 1]]``, in ascending order. Undirected edges appear
        twice; `edge_labels` and `weights` are in the order of `indices`.
    edges : (m, 2) array of int
        Each edge once.
    key : hashable
        The content in hashable form.

    Examples
    --------
    >>> g = Graph(3, [(0, 1), (1, 2)], labels="CCO")
    >>> g.indices[g.indptr[1] : g.indptr[2]], g.labels
    (array([0, 2], dtype=int32), ('C', 'C', 'O'))
    >>> g == Graph.from_adjacency([[0, 1, 0], [1, 0, 1], [0, 1, 0]], ["C", "C", "O"])
    True
    """

    __slots__ = ("attributes", "directed", "edge_labels", "indices", "indptr", "key", "labels", "n", "weights")

    n: int
    indptr: np.ndarray
    indices: np.ndarray
    labels: tuple[Hashable, ...] | None
    edge_labels: tuple[Hashable, ...] | None
    attributes: np.ndarray | None
    weights: np.ndarray
    directed: bool
    key: Hashable

    def __init__(
        self,
        n: int,
        edges: Any,
        labels: Iterable[Any] | None = None,
        edge_labels: Iterable[Any] | None = None,
        attributes: Any = None,
        weights: Array = None,
        directed: bool = False,
    ):
        check_number("Graph", "n", n, at_least=1, integer=True)
        ends = _ends(edges, n)
        m = len(ends)
        w = np.ones(m) if weights is None else np.asarray(weights, dtype=np.float64).reshape(-1)
        names, nodes = _labels(edge_labels, "edge_labels"), _labels(labels, "labels")
        for what, values, count in (("labels", nodes, n), ("edge_labels", names, m), ("weights", w, m)):
            if values is not None and len(values) != count:
                raise ValueError(f"Graph: {what} has {len(values)} entries, expected {count}.")
        if not np.all(np.isfinite(w)) or np.any(w <= 0):
            raise ValueError(f"Graph: weights hold {w[~(np.isfinite(w) & (w > 0))][0]:g}; they must be finite and > 0.")
        A = None if attributes is None else _attributes(attributes, n)
        which = np.arange(m)
        if not directed:
            twice = ends[:, 0] != ends[:, 1]
            ends, which = np.concatenate([ends, ends[twice][:, ::-1]]), np.concatenate([which, which[twice]])
        order = np.lexsort((ends[:, 1], ends[:, 0]))
        ends, which = ends[order], which[order]
        if np.any((np.diff(ends, axis=0) == 0).all(axis=1)):
            raise ValueError("Graph: edges contains an edge twice; only simple graphs are supported, so merge them.")
        self._set("n", int(n))
        self._set("indptr", np.searchsorted(ends[:, 0], np.arange(n + 1)).astype(np.int32))
        self._set("indices", ends[:, 1].astype(np.int32))
        self._set("labels", nodes)
        self._set("edge_labels", None if names is None else tuple(names[k] for k in which.tolist()))
        self._set("attributes", A)
        self._set("weights", w[which])
        self._set("directed", bool(directed))
        arrays = [self.indptr, self.indices, self.weights, *([] if A is None else [A])]
        # the labels themselves, since equal labels may print or pickle differently
        self._set("key", (content(*arrays), self.labels, self.edge_labels, self.directed))

    def _set(self, name: str, value: Any) -> None:
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Graph is immutable; create a new one to change {name}.")

    def __reduce__(self) -> Any:
        once = self.once
        edge_labels = None if self.edge_labels is None else [self.edge_labels[k] for k in once.tolist()]
        return Graph, (self.n, self.edges, self.labels, edge_labels, self.attributes, self.weights[once], self.directed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Graph) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Graph({self.n} nodes, {self.n_edges} edges)"

    @property
    def n_edges(self) -> int:
        """The number of edges, each counted once."""
        return len(self.once)

    @property
    def once(self) -> np.ndarray:
        """The position in `indices` where each edge (in a directed graph, each arc) first appears."""
        return np.flatnonzero((self._source() <= self.indices) | self.directed)

    @property
    def edges(self) -> np.ndarray:
        """The (m, 2) array of the edges, each once."""
        return np.stack([self._source(), self.indices], axis=1)[self.once]

    def _source(self) -> np.ndarray:
        """The node that each entry of `indices` is a neighbour of."""
        return np.repeat(np.arange(self.n), np.diff(self.indptr))

    @property
    def adjacency(self) -> csr_array:
        """The (n, n) matrix of the weights."""
        return csr_array((self.weights, self.indices, self.indptr), shape=(self.n, self.n))

    def relabelled(self, order: Any) -> Graph:
        """The same graph with node order[i] at position i."""
        order = np.asarray(order)
        place = np.empty(self.n, dtype=np.int64)
        place[order] = np.arange(self.n)
        n, ends, labels, edge_labels, attributes, weights, directed = self.__reduce__()[1]
        labels = None if labels is None else [labels[i] for i in order]
        attributes = None if attributes is None else attributes[order]
        return Graph(n, place[ends], labels, edge_labels, attributes, weights, directed)

    @classmethod
    def from_adjacency(cls, adjacency: Any, labels: Iterable[Any] | None = None, attributes: Any = None) -> Self:
        """From a dense or sparse matrix whose entries ≠ 0 are the weights of the edges; directed unless symmetric."""
        refuse_masked(adjacency, "Graph", "adjacency")
        A = adjacency if is_sparse(adjacency) else np.asarray(adjacency)
        if A.ndim != 2 or A.shape[0] != A.shape[1]:
            raise ValueError(f"Graph: adjacency has shape {A.shape}; it must be square.")
        if A.dtype.kind not in "biuf":
            raise TypeError(f"Graph: adjacency holds {A.dtype} values; they must be real numbers.")
        A = csr_array(A, dtype=np.float64, copy=True)  # the next lines would change the caller's matrix
        A.sum_duplicates()
        A.eliminate_zeros()
        directed = bool((A != A.T).nnz)
        (rows, columns), weights = A.tocoo().coords, A.data
        kept = (rows <= columns) | directed
        ends = np.stack([rows[kept], columns[kept]], axis=1)
        return cls(A.shape[0], ends, labels, None, attributes, weights[kept], directed)

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        label: str = "label",
        edge_label: str = "label",
        weight: str = "weight",
        attributes: str | Sequence[str] = "attributes",
    ) -> Self:
        """From a networkx graph; the arguments name node and edge data, used if every node or edge has them.

        `attributes` names one array per node, or several numbers.
        """
        if graph.is_multigraph():
            raise TypeError("Graph: the networkx graph is a multigraph; merge its parallel edges first.")
        place = {v: i for i, v in enumerate(graph.nodes)}
        data = [d for _, d in graph.nodes(data=True)]
        ends = list(graph.edges(data=True))
        given = [attributes] if isinstance(attributes, str) else list(attributes)
        columns = [_field(data, name) for name in given]
        if len(given) > 1 and None in columns:
            raise ValueError(f"Graph: no node has the attribute {given[columns.index(None)]!r}; name existing ones.")
        return cls(
            len(place),
            [(place[u], place[v]) for u, v, _ in ends],
            _field(data, label),
            _field([d for *_, d in ends], edge_label),
            None if None in columns else [np.hstack(values) for values in zip(*columns, strict=True)],
            _field([d for *_, d in ends], weight),
            graph.is_directed(),
        )


def _field(data: list[dict[str, Any]], name: str) -> list[Any] | None:
    """The values under a name, or None if no entry has it."""
    having = sum(name in d for d in data)
    if having not in (0, len(data)):
        raise ValueError(f"Graph: {having} of {len(data)} nodes or edges have a {name!r}; give it to all or to none.")
    return [d[name] for d in data] if having else None


def _ends(edges: Any, n: int) -> np.ndarray:
    """The edges as an (m, 2) array of existing nodes."""
    ends = np.asarray(edges if hasattr(edges, "__array__") else list(edges))
    if ends.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu":
        raise ValueError(
            f"Graph: edges has shape {ends.shape} and type {ends.dtype}; give pairs of integers, of shape (m, 2)."
        )
    if ends.min() < 0 or ends.max() >= n:
        raise ValueError(f"Graph: edges name nodes {ends.min()} … {ends.max()}; give nodes in 0 … {n - 1}.")
    return ends.astype(np.int64)


def _attributes(values: Array, n: int) -> np.ndarray:
    """A new (n, d) array; a vector becomes a column."""
    try:
        A = np.array(values, dtype=np.float64)
    except ValueError:
        raise ValueError("Graph: attributes must be numbers, equally many for each node.") from None
    A = A[:, None] if A.ndim == 1 else A
    if A.ndim != 2 or len(A) != n:
        raise ValueError(f"Graph: attributes has shape {A.shape}, expected a row for each of {n} nodes.")
    if not np.all(np.isfinite(A)):
        raise ValueError("Graph: attributes contain NaN or infinity; impute them first.")
    return A


def _labels(values: Iterable[Any] | None, name: str) -> tuple[Hashable, ...] | None:
    if values is None:
        return None
    if isinstance(values, (Mapping, Set)):
        raise TypeError(
            f"Graph: {name} is a {type(values).__name__}; give a sequence, in the order of the nodes or edges."
        )
    return tuple(_plain(v) for v in values)


def _plain(value: Any) -> Hashable:
    """A label as a plain Python value, even if it came from an array."""
    plain = value.item() if isinstance(value, np.generic) else tuple(value) if isinstance(value, list) else value
    try:
        hash(plain)
    except TypeError:
        raise TypeError(
            f"Graph: the label {value!r} is not hashable; give numbers, strings or tuples of them."
        ) from None
    if plain is not None and is_gap(plain):
        raise ValueError(f"Graph: the label {value!r} does not equal itself; name missing labels, or use None.")
    return plain


class Graphs(Domain):
    """A sequence of graphs: `Graph`, networkx objects, adjacency matrices or pairs ``(adjacency, labels)``."""

    def check(self, X: Checked, owner: object, name: str = "X") -> Any:
        require_sequence(X, owner, name, "graph")
        if hasattr(X, "is_multigraph") or is_sparse(X):
            raise TypeError(f"{where(owner)}: {name} is one graph; give a list of graphs.")
        return [self._graph(x, f"{where(owner)}: {name}[{i}]") for i, x in enumerate(X)]

    @staticmethod
    def _graph(x: Array, place: str) -> Graph:
        if isinstance(x, Graph):
            return x
        try:
            if hasattr(x, "is_multigraph"):
                return Graph.from_networkx(x)
            if isinstance(x, tuple):
                return Graph.from_adjacency(*x)
            return Graph.from_adjacency(x)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"{place} is not a graph ({error}) Give networkx graphs, adjacency matrices, pairs (adjacency, labels) "
                "or mercer.domains.Graph objects."
            ) from error

    def key(self, x: Any) -> Hashable:
        if type(x) is not Graph:  # compiled code relies on the checks of Graph
            raise TypeError(f"Graphs: expected a Graph, got a {type(x).__name__}; give collections checked by Graphs.")
        return x.key

    def sample(self, rng: np.random.Generator, n: int) -> Any:
        return [random_graph(rng, int(size)) for size in [1, *rng.integers(2, 8, n - 1)]]


def random_graph(rng: np.random.Generator, n: int) -> Graph:
    """A graph with n nodes, random edges, labels and attributes, for the law tests."""
    i, j = np.triu_indices(n, 1)
    kept = rng.random(len(i)) < 0.45
    m = int(kept.sum())
    return Graph(
        n,
        np.stack([i[kept], j[kept]], axis=1),
        rng.choice(list("CNO"), n).tolist(),
        rng.integers(0, 2, m).tolist(),
        rng.normal(size=(n, 2)),
    )
