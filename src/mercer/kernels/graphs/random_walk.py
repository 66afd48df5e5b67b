"""Walks that two graphs have in common, of all lengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from ..._errors import check_choice, check_number
from ...domains import Graph, Graphs
from ...types import Checked
from .._base import Kernel, is_kernel, register
from .._definiteness import PD, UNKNOWN, Definiteness
from .._structured import Store, Structured, _store
from ..gaussian import Gaussian
from ._compiled import radius, walks
from ._union import arc_numbers, node_numbers


class Walker(NamedTuple):
    """A graph with its arcs sorted by label, and the spectral radius of its product with itself."""

    labels: np.ndarray
    source: np.ndarray
    target: np.ndarray
    arc: np.ndarray
    weights: np.ndarray
    directed: bool
    attributes: np.ndarray | None
    radius: float

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self if isinstance(part, np.ndarray))


@register
class RandomWalk(Structured):
    r"""Geometric random-walk kernel: pairs of equal walks, longer ones with less weight.

    .. math::
        k(G, H) = \sum_{n=0}^\infty \lambda^n \sum_{(v_0 \dots v_n) \in G} \; \sum_{(w_0 \dots w_n) \in H} \;
        \prod_{t=0}^n \kappa(v_t, w_t) \prod_{t=1}^n a(v_{t-1} v_t) \, a(w_{t-1} w_t) \,
        [\ell(v_{t-1} v_t) = \ell(w_{t-1} w_t)]

    with edge weights a. κ(v, w) is 1 for nodes with equal labels and 0 for others, multiplied by the node kernel of
    their attributes if one is given.

    Parameters
    ----------
    decay : float > 0
        λ. Raising it gives longer walks more weight. The series converges for λρ < 1, where ρ is the spectral radius
        of the product of a graph with itself; if λ is too large, an error suggests a valid value. A new graph can have
        a larger ρ than the training graphs, and then raises the same error. For weights and κ ≤ 1, ρ is at most the
        square of the largest degree, so a λ below the reciprocal of that square is safe for all later graphs.
    edge_labels : bool
        Whether edges are distinguished by their labels.
    node_kernel : Kernel, optional
        A kernel on vectors, with values ≥ 0, for node attributes. None ignores attributes.

    Notes
    -----
    Positive definite for a positive definite node kernel, as a sum of positive definite kernels on sequences. By the
    Cauchy–Schwarz inequality, the series converges for two graphs if it does for each with itself.

    With S the matrix of κ and :math:`A_\ell, B_\ell` the adjacency matrices of the edges with label ℓ, k is the sum of
    the entries of F, where :math:`F = S + \lambda S \circ \sum_\ell A_\ell F B_\ell^\top`. Undirected graphs use
    conjugate gradients in the symmetric form :math:`F = S^{1/2} \circ g`; with residual r, the error of k is at most
    :math:`\lVert r \rVert^2 / (1 - \lambda\rho)`, which is kept below rounding. Directed graphs sum the series, in
    :math:`O(1 / (1 - \lambda\rho))` steps. The product graph is never formed: a step costs O(nodes · edges) of the two
    graphs.

    References
    ----------
    Gärtner, Flach, Wrobel, *On graph kernels: hardness results and efficient alternatives* (2003); Vishwanathan,
    Schraudolph, Kondor, Borgwardt, *Graph kernels* (2010), for the computation.

    Examples
    --------
    Two nodes with an edge have two walks of each length, thus 4 pairs for each.

    >>> edge = [[0, 1], [1, 0]]
    >>> RandomWalk(decay=0.5)([edge]).round(12)
    array([[8.]])
    >>> RandomWalk(decay=1.0)([edge])
    Traceback (most recent call last):
        ...
    ValueError: RandomWalk: decay = 1 must be below 1 for the series to converge on a graph of 2 nodes; 0.9 will do.
    """

    domain = Graphs()
    form_parameters = ("edge_labels", "node_kernel")
    tile = 32

    def __init__(self, decay: float = 0.01, edge_labels: bool = False, node_kernel: Kernel | None = None):
        self.decay, self.edge_labels, self.node_kernel = decay, edge_labels, node_kernel

    def validate(self) -> None:
        check_number(self, "decay", self.decay, above=0)
        check_choice(self, "edge_labels", self.edge_labels, (True, False))
        if self.node_kernel is not None:
            if not is_kernel(self.node_kernel):
                raise TypeError(f"RandomWalk: node_kernel = {self.node_kernel!r} must be a Kernel object or None.")
            self.node_kernel.validate()

    def check_arguments(self, X: Checked, Y: Checked = None) -> tuple[Any, Any]:
        X, Y = super().check_arguments(X, Y)
        store = _store(self._kept())  # all graphs at once, so that the error suggests a decay valid for all
        self._check_decay(self._forms(X if Y is None else [*X, *Y], store)[1])
        return X, Y

    def _check_decay(self, forms: list[Walker]) -> None:
        worst = max(forms, key=lambda form: form.radius)
        if self.decay * worst.radius >= 1:
            raise ValueError(
                f"RandomWalk: decay = {self.decay:g} must be below {1 / worst.radius:.4g} for the series to converge "
                f"on a graph of {len(worst.labels)} nodes; {0.9 / worst.radius:.2g} will do."
            )

    def resolve(self, X: Checked) -> Self:
        copy = clone(self)
        if self.node_kernel is not None:
            copy.node_kernel = self.node_kernel.resolve(self._attributes(self.domain.check(X, self)))
        copy.check_arguments(X)  # within other kernels, `compare` gets only a tile of the graphs at a time
        return copy

    def _attributes(self, members: Sequence[Graph | Walker]) -> np.ndarray:
        """The attributes of all nodes."""
        parts = [x.attributes for x in members if x.attributes is not None]
        widths = sorted({part.shape[1] for part in parts})
        if len(parts) < len(members) or len(widths) > 1:
            found = "a graph has none" if len(parts) < len(members) else f"they have {widths} columns"
            raise ValueError(f"RandomWalk: node_kernel needs node attributes of equal length, but {found}.")
        return np.concatenate(parts)

    def form(self, g: Graph, store: Store) -> Walker:
        arc = arc_numbers([g], store) if self.edge_labels else np.zeros(len(g.indices), dtype=np.int64)
        order = np.argsort(arc, kind="stable")
        source = np.repeat(np.arange(g.n), np.diff(g.indptr))[order]
        attributes = None if self.node_kernel is None else self._attributes([g])
        labels, target = node_numbers([g], store), g.indices[order].astype(np.int64)
        arcs = source, target, arc[order], g.weights[order]
        reach = radius(labels, arcs, self._similarity(attributes, attributes))
        return Walker(labels, *arcs, g.directed, attributes, reach)

    def _similarity(self, a: np.ndarray | None, b: np.ndarray | None) -> np.ndarray:
        """The node kernel of the attributes; an empty matrix if there is none."""
        if self.node_kernel is None:
            return np.empty((0, 0))
        K = np.ascontiguousarray(self.node_kernel.evaluate(*self.node_kernel.check_arguments(a, b)), dtype=np.float64)
        shape = len(a), len(a if b is None else b)  # type: ignore[arg-type]
        if K.shape != shape:  # compiled code relies on this
            raise ValueError(f"RandomWalk: node_kernel returned a matrix of shape {K.shape} for {shape} nodes.")
        if K.min() < 0:
            raise ValueError(f"RandomWalk: node_kernel has the value {K.min():g}; all must be >= 0. Use a Gaussian.")
        return K

    def compare(self, A: list[Walker], B: list[Walker] | None) -> np.ndarray:
        columns = A if B is None else B
        self._check_decay([*A, *columns])
        nodes = np.cumsum([0, *(len(b.labels) for b in columns)])
        ends = np.cumsum([0, *(len(b.source) for b in columns)])
        labels, *arcs = (np.concatenate([b[k] for b in columns]) for k in range(5))
        many = nodes, ends, labels, tuple(arcs)
        attributes = None if self.node_kernel is None else self._attributes(columns)
        directed = np.array([b.directed for b in columns])
        rates = self.decay * np.sqrt([b.radius for b in columns])
        out = np.empty((len(A), len(columns)))
        for i, a in enumerate(A):
            first = i if B is None else 0
            similarity = self._similarity(a.attributes, attributes)
            rate = rates * np.sqrt(a.radius)
            walks((a[0], a[1:5]), many, similarity, directed | a.directed, self.decay, rate, first, out[i])
        return out if B is not None else np.triu(out) + np.triu(out, 1).T

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return PD if self.node_kernel is None or self.node_kernel.definiteness.is_pd else UNKNOWN

    @classmethod
    def examples(cls) -> list[Any]:
        return [cls(), cls(0.02, edge_labels=True), cls(0.02, node_kernel=Gaussian(2.0))]
