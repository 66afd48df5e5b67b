"""Kernels on ordered, labelled trees, given as nested tuples."""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from .._errors import where
from .._jit import njit
from ..domains import Trees
from ._base import register
from ._definiteness import PD
from ._structured import Counted, Counts, Store, Structured

__all__ = ["SubsetTree", "Subtree"]


@register
class Subtree(Counted):
    r"""The complete subtrees that two trees share: nodes with all their descendants.

    .. math:: k(x, y) = \sum_t \lambda^{|t|} \, n_t(x) \, n_t(y)

    where :math:`n_t(x)` is the number of nodes of x whose complete subtree is t, and :math:`|t|` the number of nodes
    of t, not counting leaves.

    Parameters
    ----------
    decay : 0 < float <= 1
        λ. Lowering it makes large subtrees, which few trees share, count less.

    Notes
    -----
    A node is a tuple ``(label, child, …)``, a leaf any other hashable value, for example a word; a leaf alone is not a
    subtree. ``("a",)`` is a node without children. Each subtree is numbered once, so the cost of a matrix is only that
    of the products of the counts.

    References
    ----------
    Vishwanathan, Smola, *Fast kernels for string and tree matching* (2003); with decay: Moschitti, *Efficient
    convolution kernels for dependency and constituent syntactic trees* (2006).

    Examples
    --------
    >>> x = ("S", ("NP", "John"), ("VP", ("V", "saw"), ("NP", "Mary")))
    >>> y = ("S", ("NP", "Mary"), ("VP", ("V", "saw"), ("NP", "Mary")))
    >>> Subtree()([x], [x, y])
    array([[5., 4.]])
    """

    proven = PD
    trials = [(), (0.4,)]
    domain = Trees()
    rules = {"decay": {"above": 0, "at_most": 1}}
    form_parameters = ("decay",)

    def __init__(self, decay: float = 1.0):
        self.decay = decay

    def form(self, tree: Any, store: Store) -> Counts:
        """The subtree at each node, identified by its label and the numbers of the subtrees of its children."""
        number: dict[int, int] = {}
        size: dict[int, int] = {}
        nodes = _upwards(tree)
        for node in nodes:
            below = [child for child in node[1:] if isinstance(child, tuple)]
            size[id(node)] = 1 + sum(size[id(child)] for child in below)
            number[id(node)] = store.number(
                (node[0], *((number[id(c)],) if isinstance(c, tuple) else c for c in node[1:]))
            )
        weight = float(self.decay) ** (np.array([size[id(node)] for node in nodes]) / 2)
        return Counts.of([number[id(node)] for node in nodes], weight)


def _upwards(tree: Any) -> list[tuple[Any, ...]]:
    """All nodes of a tree, children before their parents."""
    nodes = [tree] if isinstance(tree, tuple) else []
    for node in nodes:
        nodes.extend(child for child in node[1:] if isinstance(child, tuple))
    return nodes[::-1]


@njit
def fragments(numbers: Any, starts: Any, children: Any, others: Any, begins: Any, kids: Any, decay: float) -> float:
    """Σ C(a, b) over the nodes of two trees; children come before their parents."""
    C = np.zeros((len(numbers), len(others)))
    total = 0.0
    for a in range(len(numbers)):
        for b in range(len(others)):
            if numbers[a] == others[b]:
                value = decay
                for j in range(starts[a + 1] - starts[a]):
                    value *= 1.0 + C[children[starts[a] + j], kids[begins[b] + j]]
                C[a, b] = value
                total += value
    return total


class Productions(NamedTuple):
    """The nodes of a tree, children first: the numbers of their productions, and their non-leaf children."""

    numbers: np.ndarray
    starts: np.ndarray
    children: np.ndarray

    @property
    def nbytes(self) -> int:
        return sum(int(part.nbytes) for part in self)


@register
class SubsetTree(Structured):
    r"""The fragments that two trees share: parts of subtrees in which each node keeps all of its children or none.

    .. math:: k(x, y) = \sum_{a \in x} \sum_{b \in y} C(a, b), \qquad
        C(a, b) = \begin{cases} \lambda \prod_j \bigl(1 + C(a_j, b_j)\bigr) & \text{a and b have the same production} \\
        0 & \text{otherwise} \end{cases}

    over the nodes a and b and their children :math:`a_j, b_j`; a production is a label with the labels of the children.

    Parameters
    ----------
    decay : 0 < float <= 1
        λ: a fragment with m productions counts :math:`\lambda^m`. The number of fragments grows exponentially with the
        size of a tree, so a decay near 1 makes every tree similar only to itself.

    Notes
    -----
    Positive definite: an inner product of fragment counts. A value costs the product of the numbers of nodes. A
    node is a tuple ``(label, child, …)``, a leaf any other hashable value; C is 0 between leaves. Use ``.normalized()``
    to remove the effect of tree size.

    References
    ----------
    Collins, Duffy, *Convolution kernels for natural language* (2002).

    Examples
    --------
    >>> x = ("NP", ("D", "the"), ("N", "cat"))
    >>> y = ("NP", ("D", "the"), ("N", "dog"))
    >>> SubsetTree(decay=1.0)([x], [x, y])
    array([[6., 3.]])
    """

    proven = PD
    trials = [(), (1.0,)]
    domain = Trees()
    rules = {"decay": {"above": 0, "at_most": 1}}

    def __init__(self, decay: float = 0.4):
        self.decay = decay

    def form(self, tree: Any, store: Store) -> Productions:
        nodes = _upwards(tree)
        place: dict[int, int] = {}
        for i, node in enumerate(nodes):
            # a tuple may occur in several places; its deepest occurrence comes before all its parents
            place.setdefault(id(node), i)
        numbers = [
            store.number((node[0], *((c[0],) if isinstance(c, tuple) else c for c in node[1:]))) for node in nodes
        ]
        children = [[place[id(c)] for c in node[1:] if isinstance(c, tuple)] for node in nodes]
        starts = np.cumsum([0, *map(len, children)])
        return Productions(np.array(numbers, dtype=np.int64), starts, np.array([*chain(*children)], dtype=np.int64))

    def compare(self, A: list[Productions], B: list[Productions] | None) -> np.ndarray:
        out = np.empty((len(A), len(A if B is None else B)))
        for i, a in enumerate(A):
            for j, b in enumerate(A[i:] if B is None else B, start=i if B is None else 0):
                out[i, j] = fragments(*a, *b, float(self.decay))
                if B is None:
                    out[j, i] = out[i, j]
        if not np.isfinite(out).all():
            raise ValueError(f"{where(self)}: decay = {self.decay:g} overflows on trees of this size; lower it.")
        return out
