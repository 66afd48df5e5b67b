"""The best assignment of the nodes of one graph to those of another, in closed form."""

from __future__ import annotations

import numpy as np

from .._base import register
from .._structured import Counts, inner
from .weisfeiler_lehman import Refined


@register
class OptimalAssignment(Refined):
    r"""Weisfeiler–Lehman optimal assignment kernel: the largest total similarity of nodes matched one to one.

    .. math::
        k(G, H) = \max_{B} \sum_{(v, w) \in B} \sum_{i=0}^h [\tau_i(v) = \tau_i(w)]
        = \sum_{\tau} \min\bigl(\#_\tau(G), \#_\tau(H)\bigr)

    over the matchings B of the nodes, with the labels τᵢ of `WeisfeilerLehman`. As the labels form a hierarchy, the
    best matching is given by the intersection of the histograms of all labels.

    Parameters
    ----------
    iterations : int >= 0
        h, the number of refinements. Raising it distinguishes larger neighbourhoods.
    edge_labels : bool
        Whether edges are distinguished by their labels.

    Notes
    -----
    Positive definite, because the hierarchy makes the node similarity strong in the sense of the reference; other
    optimal assignments need not be. Unmatched nodes of the larger graph count nothing. A feature vector costs
    O(h · edges), a value at most O(h · nodes).

    References
    ----------
    Kriege, Giscard, Wilson, *On valid optimal assignment kernels and applications to graph classification* (2016).

    Examples
    --------
    >>> import numpy as np
    >>> triangle, path = np.ones((3, 3)) - np.eye(3), [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> OptimalAssignment(iterations=1)([triangle, path])
    array([[6., 4.],
           [4., 6.]])
    """

    def compare(self, A: list[Counts], B: list[Counts] | None) -> np.ndarray:
        return inner(A, A if B is None else B, minimum=True)

    def squares(self, A: list[Counts]) -> np.ndarray:
        return np.array([form.values.sum() for form in A])
