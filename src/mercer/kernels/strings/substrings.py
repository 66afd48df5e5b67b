"""Kernels that count substrings up to a length: Spectrum, BoundedRange, ExactLength and FullString.

The number of a substring packs its letters into one integer, after a leading 1 that distinguishes lengths. If a store
has seen too many letters for this, substrings with later letters get the next free negative number.
"""

from __future__ import annotations

from itertools import pairwise
from math import log

import numpy as np

from ..._errors import check_number, where
from ...domains import Strings
from .._base import register
from .._definiteness import PD
from .._structured import Counted, Counts, Store
from ._letters import check_end, codes, join

BITS = 62  # of an integer, besides its sign and the leading 1
LARGEST = 600.0  # logarithm up to which weights are certainly finite, with room for sums


class _Substrings(Counted):
    """Σ_s w(|s|)² n_s(x) n_s(y) over substrings s with `shortest` to `length` letters."""

    proven = PD
    domain = Strings()
    length: int
    decay: float = 1.0
    end: str = ""
    form_parameters = ("length", "decay", "end")

    @property
    def shortest(self) -> int:
        return int(self.length)

    def validate(self) -> None:
        check_number(self, "length", self.length, at_least=1, integer=True)
        check_number(self, "decay", self.decay, above=0)
        check_end(self, self.end)
        if 2 * self.length * log(self.decay) > LARGEST:
            raise ValueError(
                f"{where(self)}: decay = {self.decay!r} overflows on substrings of {self.length} letters; lower it."
            )

    def forms(self, members: list[str], store: Store) -> list[Counts]:
        text = "".join(x + self.end for x in members)
        starts = join([codes(x + self.end) for x in members]).starts
        letters, place = np.unique(codes(text), return_inverse=True)
        ids = np.array([store.number(chr(c)) for c in letters], dtype=np.int64)[place]
        bits = BITS // int(self.length)
        early = ids < (1 << bits if bits else 0)
        position, size = np.arange(len(ids)), np.diff(starts)
        owner, stop = np.repeat(np.arange(len(members)), size), np.repeat(starts[1:], size)
        word, packed = np.ones(len(ids), dtype=np.int64), np.ones(len(ids), dtype=bool)
        found, owners, values = [word[:0]], [owner[:0]], [np.zeros(0)]
        for length in range(1, int(min(self.length, size.max())) + 1):
            inside = position + length <= stop
            position, owner, stop, word, packed = (a[inside] for a in (position, owner, stop, word, packed))
            last = position + (length - 1)
            word = (word << bits) + np.where(early[last], ids[last], 0)
            packed = packed & early[last]
            if length >= self.shortest:
                features = word.copy()
                for i in np.flatnonzero(~packed):
                    features[i] = -1 - store.number(text[position[i] : position[i] + length])
                found.append(features)
                owners.append(owner)
                values.append(np.full(len(features), float(self.decay) ** length))
        owner = np.concatenate(owners)
        order = np.argsort(owner, kind="stable")
        bounds = np.searchsorted(owner[order], np.arange(len(members) + 1))
        features, value = np.concatenate(found)[order], np.concatenate(values)[order]
        return [Counts.of(features[a:b], value[a:b]) for a, b in pairwise(bounds)]


@register
class Spectrum(_Substrings):
    r"""Spectrum kernel: common substrings of one length.

    .. math:: k(x, y) = \sum_{|s| = k} n_s(x)\, n_s(y)

    where :math:`n_s(x)` is the number of occurrences of s in x, including overlaps.

    Parameters
    ----------
    length : int >= 1
        k, the length of the substrings. Raising it makes fewer strings similar.
    end : str
        Appended to every string before counting, which marks the last letters. ``"\n"`` gives the values of
        kernlab's ``stringdot(type="spectrum")``.

    Notes
    -----
    Positive definite as an inner product of counts; not strictly, as strings shorter than k are zero vectors. The
    counts of a string x cost O(k|x|), a value one multiplication per common substring.

    References
    ----------
    Leslie, Eskin, Noble, *The spectrum kernel: a string kernel for SVM protein classification* (2002).

    Examples
    --------
    >>> Spectrum(length=2)(["banana", "ananas"])
    array([[9., 8.],
           [8., 9.]])
    """

    def __init__(self, length: int = 3, end: str = ""):
        self.length, self.end = length, end


@register
class BoundedRange(_Substrings):
    r"""Bounded-range kernel: common substrings up to a length, all with the same weight.

    .. math:: k(x, y) = \sum_{1 \le |s| \le k} n_s(x)\, n_s(y)

    where :math:`n_s(x)` is the number of occurrences of s in x, including overlaps. It is the sum of the Spectrum
    kernels of lengths 1 to k.

    Parameters
    ----------
    length : int >= 1
        k, the length of the longest substrings. Raising it adds features.
    end : str
        Appended to every string before counting. ``"\n"`` gives the values of kernlab's
        ``stringdot(type="boundrange")``.

    Notes
    -----
    Positive definite as an inner product of counts; not strictly on a set with the empty string or with two strings of
    the same counts. The counts of a string x cost O(k|x|).

    References
    ----------
    Vishwanathan, Smola, *Fast kernels for string and tree matching* (2003).

    Examples
    --------
    >>> BoundedRange(length=2)(["ab", "abb"])
    array([[3., 4.],
           [4., 7.]])
    """

    shortest = 1

    def __init__(self, length: int = 3, end: str = ""):
        self.length, self.end = length, end


@register
class ExactLength(_Substrings):
    r"""Common substrings of exactly one length, weighted by that length.

    .. math:: k(x, y) = \lambda^{2k} \sum_{|s| = k} n_s(x)\, n_s(y)

    where :math:`n_s(x)` is the number of occurrences of s in x. It is the Subsequence kernel without gaps, and a
    multiple of the Spectrum kernel.

    Parameters
    ----------
    length : int >= 1
        k, the length of the substrings. Raising it makes fewer strings similar.
    decay : float > 0
        λ, a factor for each letter of a feature. It only scales the kernel.

    Notes
    -----
    Positive definite as an inner product of counts. kernlab's ``stringdot(type="string")`` has an additional factor λ²:
    ``decay**2 * ExactLength(length, decay)``. The costs are those of `Spectrum`.

    References
    ----------
    Lodhi, Saunders, Shawe-Taylor, Cristianini, Watkins, *Text classification using string kernels* (2002).

    Examples
    --------
    >>> ExactLength(length=2, decay=0.5)(["banana"], ["ananas"])
    array([[0.5]])
    """

    def __init__(self, length: int = 3, decay: float = 0.5):
        self.length, self.decay = length, decay


@register
class FullString(_Substrings):
    r"""Common substrings up to a length, with a decay factor for each letter.

    .. math:: k(x, y) = \sum_{1 \le |s| \le k} \lambda^{2|s|}\, n_s(x)\, n_s(y)

    where :math:`n_s(x)` is the number of occurrences of s in x, including overlaps.

    Parameters
    ----------
    length : int >= 1
        k, the length of the longest substrings. Raising it adds features.
    decay : float > 0
        λ, a factor for each letter of a feature. Raising it gives long substrings more weight.

    Notes
    -----
    Positive definite as an inner product of weighted counts. kernlab's ``stringdot(type="fullstring")`` gives the same
    values. The costs are those of `BoundedRange`; without a bound on the length it is `ExponentialDecay`.

    References
    ----------
    Lodhi, Saunders, Shawe-Taylor, Cristianini, Watkins, *Text classification using string kernels* (2002).

    Examples
    --------
    >>> FullString(length=2, decay=0.5)(["ab"], ["abb"])
    array([[0.8125]])
    """

    shortest = 1

    def __init__(self, length: int = 3, decay: float = 0.5):
        self.length, self.decay = length, decay
