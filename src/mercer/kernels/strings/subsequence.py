"""The gap-weighted subsequence kernel, by dynamic programming over many strings at once."""

from __future__ import annotations

from math import lgamma

import numpy as np

from ..._errors import FROM_ONE, POSITIVE, where
from .._base import register
from .._definiteness import PD
from ._compiled import common_subsequences
from ._letters import Joined, Spelled

LARGEST = 600.0  # logarithm up to which values are certainly finite


@register
class Subsequence(Spelled):
    r"""Gap-weighted subsequence kernel: common subsequences of one length, weighted by the length they span.

    .. math:: k(x, y) = \sum_{|s| = k}\; \sum_{i:\, x[i] = s}\; \sum_{j:\, y[j] = s}
              \lambda^{(i_k - i_1 + 1) + (j_k - j_1 + 1)}

    over increasing index tuples i and j.

    Parameters
    ----------
    length : int >= 1
        k, the number of letters of the subsequences. Raising it makes fewer strings similar.
    decay : float > 0
        λ, a factor for each letter that a subsequence spans. Lowering it penalises gaps: for λ → 0 and divided by
        :math:`\lambda^{2k}` it is the Spectrum kernel.

    Notes
    -----
    Positive definite: φ_s(x) is the sum of λ to the spanned length, over the occurrences of s. A value costs O(k|x||y|)
    time and O(k|y|) memory, and is a sum of non-negative terms. kernlab's ``stringdot(type="sequence")`` gives the same
    values.

    References
    ----------
    Lodhi, Saunders, Shawe-Taylor, Cristianini, Watkins, *Text classification using string kernels* (2002).

    Examples
    --------
    >>> Subsequence(length=2, decay=0.5)(["cat"], ["car", "cat"])
    array([[0.0625  , 0.140625]])
    """

    proven = PD
    trials = [(), (1,), (2, 1.1)]
    rules = {"length": FROM_ONE, "decay": POSITIVE}

    def __init__(self, length: int = 3, decay: float = 0.5):
        self.length, self.decay = length, decay

    def _bound(self, size: int) -> float:
        """The logarithm of a bound on Σ λ^(gaps) over the subsequences of a string with `size` letters."""
        k, decay = int(self.length), float(self.decay)
        if size < k:
            return 0.0
        all_tuples = lgamma(size + 1) - lgamma(k + 1) - lgamma(size - k + 1)
        if decay < 1:  # each gap is bounded by a geometric series
            return min(all_tuples, np.log(size) - (k - 1) * np.log1p(-decay))
        return all_tuples + (size - k) * np.log(decay)

    def fill(self, A: Joined, B: Joined, out: np.ndarray) -> None:
        sizes = [int(np.diff(Z.starts).max()) for Z in (A, B)]
        k, decay = int(self.length), float(self.decay)
        if k > min(sizes):  # all strings on one side are shorter
            out[...] = 0.0
            return
        spread = sum(map(self._bound, sizes))
        if max(spread, spread + 2 * k * np.log(decay)) > LARGEST:
            raise ValueError(
                f"{where(self)}: length = {k} and decay = {decay:g} overflow on strings of {max(sizes)} letters; "
                "lower one of them."
            )
        order = np.argsort(np.diff(B.starts), kind="stable")  # similar lengths side by side
        common_subsequences(*A, *B, order, k, decay, out)
        out *= decay ** (2 * k)
