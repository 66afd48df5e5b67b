"""The mismatch kernel, by exact counts over the neighbourhood of each substring."""

from __future__ import annotations

from itertools import pairwise
from math import log2
from typing import Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from ..._errors import check_number, where
from ...domains import Strings
from .._base import register
from .._definiteness import PD, Definiteness
from .._structured import Counted, Counts, Store
from ._letters import codes, join


@register
class Mismatch(Counted):
    r"""Mismatch kernel: common substrings of one length, up to some wrong letters.

    .. math:: k(x, y) = \sum_{s \in \Sigma^k} n_s^m(x)\, n_s^m(y)

    where :math:`n_s^m(x)` is the number of substrings of x with k letters that differ from s in at most m places.

    Parameters
    ----------
    length : int >= 1
        k, the length of the substrings. Raising it makes fewer strings alike.
    mismatches : int, 0 <= mismatches <= length
        m. Raising it makes more strings alike; 0 is the Spectrum kernel.
    alphabet : str, or None
        Σ, the letters of the features s, such as ``"ACGT"``. Other letters may occur in strings, and differ from all
        in Σ. None takes the letters of the training sample.

    Notes
    -----
    Positive definite as an inner product of counts. A string x has at most
    :math:`|x| \sum_{i \le m} \binom{k}{i} (|\Sigma| - 1)^i` features, of 16 bytes each, and a value costs as many
    multiplications as two strings have features in common. So leave letters that are rare by mistake out of Σ.

    References
    ----------
    Leslie, Eskin, Cohen, Weston, Noble, *Mismatch string kernels for discriminative protein classification* (2004).

    Examples
    --------
    >>> Mismatch(length=2, mismatches=1, alphabet="ab")(["ab"], ["ab", "bb", "ba", "cc"])
    array([[3., 2., 2., 0.]])
    """

    domain = Strings()
    form_parameters = ("length", "mismatches", "alphabet")

    def __init__(self, length: int = 4, mismatches: int = 1, alphabet: str | None = None):
        self.length, self.mismatches, self.alphabet = length, mismatches, alphabet

    def validate(self) -> None:
        check_number(self, "length", self.length, at_least=1, integer=True)
        check_number(self, "mismatches", self.mismatches, at_least=0, at_most=self.length, integer=True)
        if self.alphabet is None:
            raise ValueError(
                f"{where(self)}: alphabet = None depends on the data; call kernel.resolve(X) first "
                "(estimators do so in fit), or give the letters."
            )
        if not isinstance(self.alphabet, str) or len(set(self.alphabet)) < len(self.alphabet):
            raise ValueError(f"{where(self)}: alphabet = {self.alphabet!r} must be a string of distinct letters.")
        if self.length * log2(len(self.alphabet) + 1) > 62:
            raise ValueError(
                f"{where(self)}: length = {self.length} is too large for {len(self.alphabet)} letters; "
                f"it must be <= {int(62 / log2(len(self.alphabet) + 1))}."
            )

    def resolve(self, X: list[str]) -> Self:
        resolved = clone(self)
        if self.alphabet is None:
            resolved.alphabet = "".join(sorted(set().union(*X)))
        return resolved

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return PD

    def forms(self, members: list[str], store: Store) -> list[Counts]:
        length = int(self.length)
        text, starts = join([codes(x) for x in members])
        assert self.alphabet is not None
        known = codes(self.alphabet)
        order, size = np.argsort(known), len(known)
        place = np.searchsorted(known[order], text)
        letter = np.where(np.isin(text, known), np.append(order, 0)[place], size)  # one number for all that is not in Σ
        begin = np.concatenate([np.arange(a, max(a, b - length + 1)) for a, b in pairwise(starts)])
        words = letter[begin.astype(int)[:, None] + np.arange(length)] @ (size + 1) ** np.arange(length)[::-1]
        words, column = np.unique(words, return_inverse=True)
        rows = np.searchsorted(begin, starts)
        occurrences = csr_array((np.ones(len(column)), column, rows), shape=(len(members), len(words)))
        source, features = self._neighbours(words, size)
        features, column = np.unique(features, return_inverse=True)
        near = csr_array((np.ones(len(column)), (source, column)), shape=(len(words), len(features)))
        counts = (occurrences @ near).tocsr()
        counts.sort_indices()
        ends = counts.indptr
        return [Counts(features[counts.indices[a:b]], counts.data[a:b].copy()) for a, b in pairwise(ends)]

    def _neighbours(self, words: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
        """The pairs of a word (by its place) and a feature within reach, which grows letter by letter."""
        length = int(self.length)
        source, feature = np.arange(len(words)), np.zeros(len(words), dtype=np.int64)
        left = np.full(len(words), int(self.mismatches), dtype=np.int8)  # a table over all letters is made of it
        for power in (size + 1) ** np.arange(length)[::-1]:
            letter = (words // power % (size + 1))[source]
            remaining = left[:, None] - (letter[:, None] != np.arange(size))
            parent, choice = np.nonzero(remaining >= 0)
            source, left = source[parent], remaining[parent, choice]
            feature = feature[parent] * size + choice
        return source, feature

    @classmethod
    def examples(cls) -> list[Mismatch]:
        return [cls(3, 1, "abcd"), cls(2, 2, "ab"), cls(2, 0, "abd")]
