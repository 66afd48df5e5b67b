"""The negative edit distance, by bit-parallel dynamic programming."""

from __future__ import annotations

import numpy as np

from .._base import register
from .._definiteness import INDEFINITE
from ._compiled import edit_distances
from ._letters import Joined, Spelled, number


@register
class Levenshtein(Spelled):
    r"""Negative edit distance.

    .. math:: k(x, y) = -d(x, y)

    where d is the smallest number of insertions, deletions and substitutions of single letters that turn x into y.

    Notes
    -----
    Indefinite: the trace is 0. Unlike the negatives of some distances, it is not conditionally positive definite, so
    :math:`\exp(-d / \ell)` is not positive definite either, at least for large ℓ: "ab" and "ba" have distance 2 from
    each other and 1 from each of "aa", "b" and "bab", which have distance 2 among themselves; with the coefficients 3
    and −2 on these, whose sum is 0, the quadratic form of −d is −12. ``(0.5 * Levenshtein()).exp()`` is
    :math:`\exp(-d/2)`.

    A value costs O(⌈|x|/64⌉ |y|) time: two words hold 64 differences of neighbouring entries of the table.

    References
    ----------
    Levenshtein, *Binary codes capable of correcting deletions, insertions, and reversals* (1966). Myers, *A fast
    bit-vector algorithm for approximate string matching based on dynamic programming* (1999). Hyyrö, *A bit-vector
    algorithm for computing Levenshtein and Damerau edit distances* (2003).

    Examples
    --------
    >>> Levenshtein()(["kitten"], ["sitting", "kitten"])
    array([[-3.,  0.]])
    """

    proven = INDEFINITE

    def fill(self, A: Joined, B: Joined, out: np.ndarray) -> None:
        A, B, alphabet = number(A, B)
        edit_distances(*A, *B, len(alphabet), out)
        np.subtract(0.0, out, out=out)

    def squares(self, A: list[np.ndarray]) -> np.ndarray:
        return np.zeros(len(A))
