"""Kernels on common substrings of all lengths, ConstantWeight and ExponentialDecay, by suffix automata.

The substrings of y are the paths of its smallest automaton, which has at most 2|y| states. Reading x through it gives,
after each letter, the longest suffix that occurs in y, hence the sum over all substrings of x that end there.
References: Blumer et al., *The smallest automaton recognizing the subwords of a text* (1985); Vishwanathan, Smola,
*Fast kernels for string and tree matching* (2003), which uses suffix trees instead.
"""

from __future__ import annotations

import numpy as np

from ..._errors import check_number, where
from .._base import register
from .._definiteness import CPD, Definiteness
from .._structured import Store
from ._compiled import common_substrings
from ._letters import Joined, Spelled, check_end, codes, number

LARGEST = 600.0  # logarithm up to which values are certainly finite, with room for sums


class _AllLengths(Spelled):
    """Σ_s λ^{2|s|} n_s(x) n_s(y) over all substrings."""

    decay: float = 1.0
    end: str
    form_parameters = ("end",)

    def validate(self) -> None:
        check_number(self, "decay", self.decay, above=0)
        check_end(self, self.end)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return CPD(0, strict=bool(self.end))

    def form(self, x: str, store: Store) -> np.ndarray:
        return codes(x + self.end)

    def fill(self, A: Joined, B: Joined, out: np.ndarray) -> None:
        longest = int(min(np.diff(A.starts).max(), np.diff(B.starts).max()))
        if 2 * longest * np.log(float(self.decay)) > LARGEST:
            raise ValueError(
                f"{where(self)}: decay = {self.decay!r} overflows on common substrings of up to {longest} letters; "
                "lower it."
            )
        A, B, alphabet = number(A, B)
        total = np.concatenate([[0.0], np.cumsum(float(self.decay) ** (2 * np.arange(1, longest + 1)))])
        common_substrings(A.letters, A.starts, B.letters, B.starts, len(alphabet), total, out)


@register
class ConstantWeight(_AllLengths):
    r"""Constant-weight kernel: common substrings of all lengths.

    .. math:: k(x, y) = \sum_{s \ne \varepsilon} n_s(x)\, n_s(y)

    where :math:`n_s(x)` is the number of occurrences of s in x, including overlaps.

    Parameters
    ----------
    end : str
        Appended to every string before counting. ``"\n"`` gives the values of kernlab's
        ``stringdot(type="constant")``.

    Notes
    -----
    Positive definite as an inner product of counts. Strictly on non-empty strings, and with a non-empty `end` on all:
    among distinct strings a longest one is a feature that no other has, so its coefficient is 0, and by induction all
    are. A value costs O(|x| + |y|), with an automaton of y that is shared by many x.

    References
    ----------
    Vishwanathan, Smola, *Fast kernels for string and tree matching* (2003).

    Examples
    --------
    >>> ConstantWeight()(["ab", "abb"])
    array([[3., 4.],
           [4., 8.]])
    """

    def __init__(self, end: str = ""):
        self.end = end


@register
class ExponentialDecay(_AllLengths):
    r"""Exponential-decay kernel: common substrings of all lengths, with a decay factor for each letter.

    .. math:: k(x, y) = \sum_{s \ne \varepsilon} \lambda^{2|s|}\, n_s(x)\, n_s(y)

    where :math:`n_s(x)` is the number of occurrences of s in x, including overlaps.

    Parameters
    ----------
    decay : float > 0
        λ, a factor for each letter of a feature. Raising it gives long substrings more weight; 1 is `ConstantWeight`.
    end : str
        Appended to every string before counting. With ``"\n"`` and λ = ``lambda**-0.5`` the values are those of
        kernlab's ``stringdot(type="exponential")``.

    Notes
    -----
    Positive definite as an inner product of weighted counts, strictly on non-empty strings (see `ConstantWeight`). A
    value costs O(|x| + |y|).

    References
    ----------
    Vishwanathan, Smola, *Fast kernels for string and tree matching* (2003).

    Examples
    --------
    >>> ExponentialDecay(decay=0.5)(["ab"], ["abb"])
    array([[0.8125]])
    """

    trials = [(), (1.2, "\n")]

    def __init__(self, decay: float = 0.8, end: str = ""):
        self.decay, self.end = decay, end
