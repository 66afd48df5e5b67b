"""The weighted-degree kernel: common substrings at the same or nearly the same position."""

from __future__ import annotations

import numpy as np

from ..._errors import FROM_ONE, FROM_ZERO
from .._base import register
from .._definiteness import PD
from ._compiled import matches_in_place
from ._letters import Joined, Spelled


@register
class WeightedDegree(Spelled):
    r"""Weighted-degree kernel: common substrings up to a length at nearly the same position.

    .. math:: k(x, y) = \sum_{|i - j| \le S} \Bigl( 1 - \frac{|i - j|}{S + 1} \Bigr) \sum_{l=1}^{k}
              \beta_l\, [x_{i \dots i+l-1} = y_{j \dots j+l-1}], \qquad \beta_l = \frac{2 (k - l + 1)}{k (k + 1)}

    Parameters
    ----------
    length : int >= 1
        k, the length of the longest substrings. Raising it rewards long matches.
    shift : int >= 0
        S, the largest difference between positions. Raising it tolerates insertions and deletions, but blurs
        position-specific signals.

    Notes
    -----
    For aligned strings, such as windows around a site. Positive definite: a product of delta kernels on substrings and
    the triangular kernel on positions, the overlap of [i, i + S + 1] and [j, j + S + 1]; the literature weights a shift
    s by 1/(2(s + 1)) instead. A value costs O((2S + 1) min(|x|, |y|)), because matching substrings are counted by runs
    of equal letters.

    References
    ----------
    Rätsch, Sonnenburg, *Accurate splice site detection for Caenorhabditis elegans* (2004). Rätsch, Sonnenburg,
    Schölkopf, *RASE: recognition of alternatively spliced exons in C. elegans* (2005), with shifts.

    Examples
    --------
    >>> WeightedDegree(length=2)(["abc"], ["abd", "bca"]).round(4)
    array([[1.6667, 0.    ]])
    """

    proven = PD
    trials = [(), (3, 2)]
    rules = {"length": FROM_ONE, "shift": FROM_ZERO}

    def __init__(self, length: int = 5, shift: int = 0):
        self.length, self.shift = length, shift

    def fill(self, A: Joined, B: Joined, out: np.ndarray) -> None:
        k = int(self.length)
        weights = 2 * np.arange(k, 0, -1) / (k * (k + 1))
        matches_in_place(*A, *B, np.concatenate([[0.0], np.cumsum(weights)]), int(self.shift), out)
