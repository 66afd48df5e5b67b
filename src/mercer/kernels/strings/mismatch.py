"""The mismatch kernel, by counts over the neighbourhood of each substring or over pairs of substrings.

If each word has few neighbours, or there are few words in total, strings become vectors of counts. Otherwise the kernel
is a sum over pairs of substrings: their number of common neighbours depends only on the number of positions where they
agree, differ, or have a letter outside the alphabet.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise, product
from math import comb, log2
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone

from ..._errors import UnresolvedError, check_number, where
from ...domains import Strings
from ...types import Checked
from .._base import register
from .._definiteness import PD
from .._structured import Counts, Store, Structured, inner, numbered
from ._compiled import near_words
from ._letters import codes, join, number

WORDS = 10_000  # strings become vectors of counts for up to this many words over the alphabet,
NEAR = 128  # or up to this many neighbours of a word


@register
class Mismatch(Structured):
    r"""Mismatch kernel: common substrings of one length, allowing some mismatches.

    .. math:: k(x, y) = \sum_{s \in \Sigma^k} n_s^m(x)\, n_s^m(y)

    where :math:`n_s^m(x)` is the number of substrings of x with k letters that differ from s in at most m positions.

    Parameters
    ----------
    length : int >= 1
        k, the length of the substrings. Raising it makes fewer strings similar.
    mismatches : int, 0 <= mismatches <= length
        m. Raising it makes more strings similar; 0 is the Spectrum kernel.
    alphabet : str, or None
        Σ, the letters of the features s, such as ``"ACGT"``. Strings may contain other letters, which differ from all
        in Σ. None uses the letters of the training sample.

    Notes
    -----
    Positive definite as an inner product of counts. A word has :math:`V = \sum_{i \le m} \binom{k}{i} (|\Sigma| - 1)^i`
    neighbours. If V or :math:`|\Sigma|^k` is small, a string x has at most V|x| features, and a value costs one
    multiplication per common feature. Otherwise a value costs O(|x||y|), for any parameters, and no memory.

    References
    ----------
    Leslie, Eskin, Cohen, Weston, Noble, *Mismatch string kernels for discriminative protein classification* (2004).

    Examples
    --------
    >>> Mismatch(length=2, mismatches=1, alphabet="ab")(["ab"], ["ab", "bb", "ba", "cc"])
    array([[3., 2., 2., 0.]])
    """

    proven = PD
    trials = [(3, 1, "abcd"), (2, 2, "ab"), (2, 0, "abd"), (6, 3, "abcde")]
    domain = Strings()
    form_parameters = ("length", "mismatches", "alphabet")

    def __init__(self, length: int = 4, mismatches: int = 1, alphabet: str | None = None):
        self.length, self.mismatches, self.alphabet = length, mismatches, alphabet

    def validate(self) -> None:
        check_number(self, "length", self.length, at_least=1, integer=True)
        check_number(self, "mismatches", self.mismatches, at_least=0, at_most=self.length, integer=True)
        if self.alphabet is None:
            raise UnresolvedError(self, "alphabet", self.alphabet)
        if not isinstance(self.alphabet, str) or len(set(self.alphabet)) < len(self.alphabet):
            raise ValueError(f"{where(self)}: alphabet = {self.alphabet!r} must be a string of distinct letters.")
        if self.length * log2(len(self.alphabet) + 1) > 62:
            raise ValueError(
                f"{where(self)}: length = {self.length} is too large for {len(self.alphabet)} letters; "
                f"it must be <= {int(62 / log2(len(self.alphabet) + 1))}."
            )

    def resolve(self, X: Checked) -> Self:
        resolved = clone(self)
        if self.alphabet is None:
            resolved.alphabet = "".join(sorted(set().union(*self.domain.check(X, self))))
        return resolved

    @property
    def _explicit(self) -> bool:
        """Whether strings are represented as vectors of counts."""
        size, k = len(self.alphabet or ""), int(self.length)
        near = sum(comb(k, i) * max(size - 1, 0) ** i for i in range(int(self.mismatches) + 1))
        return size**k <= WORDS or near <= NEAR

    @property
    def tile(self) -> int:  # type: ignore[override]
        return 1024 if self._explicit else 128

    def forms(self, members: list[str], store: Store) -> Sequence[Any]:
        return self._counts(members) if self._explicit else [codes(x) for x in members]

    def compare(self, A: list[Any], B: list[Any] | None) -> np.ndarray:
        if self._explicit:
            return inner(A, A if B is None else B)
        x = join(A)
        x, y, letters = number(x, x if B is None else join(B))
        k, out = int(self.length), np.empty((len(A), len(y.starts) - 1))
        inside = np.isin(letters, codes(self.alphabet or ""))
        agree, differ, here, there = (k + 1) ** np.arange(4)
        one, other = inside[:, None], inside[None, :]
        classes = np.where(one & other, differ, here * (one & ~other) + there * (~one & other))
        np.fill_diagonal(classes, agree * inside)
        weight = _common(k, int(self.mismatches), len(self.alphabet or ""))
        near_words(*x, *y, classes.astype(np.int32), k, weight, out)
        return out

    def squares(self, A: list[Any]) -> np.ndarray:
        return np.array([values @ values for _, values in A]) if self._explicit else super().squares(A)

    def _counts(self, members: list[str]) -> list[Counts]:
        length = int(self.length)
        text, starts = join([codes(x) for x in members])
        assert self.alphabet is not None
        known = codes(self.alphabet)
        order, size = np.argsort(known), len(known)
        place = np.searchsorted(known[order], text)
        letter = np.where(np.isin(text, known), np.append(order, 0)[place], size)  # one number for letters not in Σ
        begin = np.concatenate([np.arange(a, max(a, b - length + 1)) for a, b in pairwise(starts)])
        words = np.zeros(len(begin), dtype=np.int64)
        for i in range(length):
            words = words * (size + 1) + letter[begin + i]
        words, column = numbered(words)
        rows = np.searchsorted(begin, starts)
        occurrences = csr_array((np.ones(len(column)), column, rows), shape=(len(members), len(words)))
        source, features = self._neighbours(words, size)
        features, column = numbered(features)
        near = csr_array((np.ones(len(column)), (source, column)), shape=(len(words), len(features)))
        counts = (occurrences @ near).tocsr()
        counts.sort_indices()
        ends = counts.indptr
        return [Counts(features[counts.indices[a:b]], counts.data[a:b].copy()) for a, b in pairwise(ends)]

    def _neighbours(self, words: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
        """The pairs of a word (by its position) and a feature within m mismatches, built letter by letter."""
        length = int(self.length)
        source, feature = np.arange(len(words)), np.zeros(len(words), dtype=np.int64)
        left = np.full(len(words), int(self.mismatches))
        for power in (size + 1) ** np.arange(length)[::-1]:
            letter = (words // power % (size + 1))[source]
            bound, free = np.flatnonzero((left == 0) & (letter < size)), np.flatnonzero(left)
            parent = np.concatenate([bound, np.repeat(free, size)])
            choice = np.concatenate([letter[bound], np.tile(np.arange(size), len(free))])
            left = left[parent] - (choice != letter[parent])
            source, feature = source[parent], feature[parent] * size + choice
        return source, feature


@lru_cache(maxsize=8)
def _common(length: int, mismatches: int, size: int) -> np.ndarray:
    """The number of common neighbours of two words, by the number of positions of each kind."""
    # A position where the words agree, differ, or have letters outside the alphabet gives a polynomial in p and q: the
    # coefficient of pⁱqʲ counts the letters with i and j mismatches. The polynomial of the words is the product.
    m, k = mismatches, length
    one, p, q, pq = np.zeros((4, m + 1, m + 1))
    one[0, 0] = 1
    p[1:2, :1], q[:1, 1:2], pq[1:2, 1:2] = 1, 1, 1
    kinds = one + (size - 1) * pq, p + q + (size - 2) * pq, q + (size - 1) * pq, p + (size - 1) * pq, size * pq

    def times(f: np.ndarray, g: np.ndarray) -> np.ndarray:
        out = np.zeros_like(f)
        for i, j in zip(*np.nonzero(f), strict=True):
            out[i:, j:] += f[i, j] * g[: m + 1 - i, : m + 1 - j]
        return out

    def powers(f: np.ndarray, most: int) -> list[np.ndarray]:
        found = [one]
        for _ in range(most):
            found.append(times(f, found[-1]))
        return found

    agree, differ, here, there, neither = (powers(f, k) for f in kinds)
    weight = np.zeros((k + 1,) * 4)
    for a, b, c in product(range(m + 1), repeat=3):
        rest = k - a - b - c
        if rest >= 0 and max(a, b) + c <= m:  # each letter outside the alphabet is a mismatch
            outside = times(times(here[a], there[b]), neither[c])
            for d in range(min(rest, 2 * m) + 1):
                weight[b, a, d, rest - d] = times(times(agree[rest - d], differ[d]), outside).sum()
    return weight.ravel()
