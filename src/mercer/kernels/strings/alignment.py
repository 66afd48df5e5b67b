"""The local-alignment kernel and its logarithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._errors import NOT_NEGATIVE, POSITIVE, SWITCH, check_choice, check_number, where
from .._base import register
from .._definiteness import INDEFINITE, PD, UNKNOWN, Definiteness
from ._compiled import local_alignments
from ._letters import Joined, Spelled, codes, number

BLOSUM62 = (
    "ARNDCQEGHILKMFPSTWYV",
    """
     4
    -1  5
    -2  0  6
    -2 -2  1  6
     0 -3 -3 -3  9
    -1  1  0  0 -3  5
    -1  0  0  2 -4  2  5
     0 -2  0 -1 -3 -2 -2  6
    -2  0  1 -1 -3  0  0 -2  8
    -1 -3 -3 -3 -1 -3 -3 -4 -3  4
    -1 -2 -3 -4 -1 -2 -3 -4 -3  2  4
    -1  2  0 -1 -3  1  1 -2 -1 -3 -2  5
    -1 -1 -2 -3 -1  0 -2 -3 -2  1  2 -1  5
    -2 -3 -3 -3 -2 -3 -3 -3 -1  0  0 -3  0  6
    -1 -2 -2 -1 -3 -1 -1 -2 -2 -3 -3 -1 -2 -4  7
     1 -1  1  0 -1  0  0  0 -1 -2 -2  0 -1 -2 -1  4
     0 -1  0 -1 -1 -1 -1 -2 -2 -1 -1 -1 -1 -2 -1  1  5
    -3 -3 -4 -4 -2 -2 -3 -2 -2 -3 -2 -3 -1  1 -4 -3 -2 11
    -2 -2 -2 -3 -2 -1 -2 -3  2 -1 -1 -2 -1  3 -3 -2 -2  2  7
     0 -3 -3 -3 -1 -2 -2 -3 -3  3  1 -2  1 -1 -2 -2  0 -3 -1  4
    """,
)
LARGEST = 700.0  # logarithm of the largest value allowed
STEEPEST = 400.0  # logarithm of the largest weight of a pair of letters


def _blosum62() -> tuple[str, np.ndarray]:
    letters, text = BLOSUM62
    lower = np.zeros((len(letters), len(letters)))
    lower[np.tril_indices(len(letters))] = np.array(text.split(), dtype=float)
    return letters, lower + np.tril(lower, -1).T


@register
class LocalAlignment(Spelled):
    r"""Local-alignment kernel: all alignments of a part of one string with a part of the other.

    .. math:: k(x, y) = \sum_{\pi} \exp(\beta\, s(\pi)), \qquad
              s(\pi) = \sum_{(i, j) \in \pi} S(x_i, y_j) - \sum_{\text{gaps } g} \bigl(o + e\,(|g| - 1)\bigr)

    over the sets π of pairs (i, j) that increase in both, including the empty set. Letters of x or y between two
    consecutive pairs are a gap; those before the first and after the last pair cost nothing.

    Parameters
    ----------
    beta : float > 0
        β. Raising it gives the best alignments more weight.
    substitution : (float, float), "blosum62" or (str, matrix)
        S: the scores of equal and of different letters; the BLOSUM62 matrix of the 20 amino acids; or letters with
        the symmetric matrix of their scores. Letters that are not in the matrix are never aligned.
    opening, extension : float >= 0
        o and e, the costs of the first and of each further letter of a gap. Raising them makes gaps rarer.
    log : bool
        Whether to use :math:`\frac1\beta \log k(x, y)` instead: close to the score of the best alignment, a soft form
        of the Smith–Waterman score. It is not positive definite.

    Notes
    -----
    Positive definite if the matrix exp(βS(a, b)) of the letters is, which is checked: k is a sum of convolutions of
    that kernel with gap kernels, which factorise. With two scores, equal letters must not have the smaller one.

    The logarithm is indefinite. If different letters are never aligned, "ab" is the sum of "a" and "b" in its space,
    as :math:`\log k(ab, ab) = 2\log(1 + w)`, :math:`\log k(a, ab) = \log k(a, a) = \log(1 + w)` and
    :math:`\log k(a, b) = 0` for :math:`w = e^{\beta S(a, a)}`; but then :math:`\log k(ab, ba) = \log(1 + 2w)` would
    have to be :math:`2 \log(1 + w)`.

    The diagonal of k grows exponentially with the length of strings, so matrices are nearly diagonal even after
    ``.normalized()``; hence the logarithm is often used. Values above 10³⁰⁴ raise an error. A value costs O(|x||y|)
    time and O(|y|) memory, and is as accurate as a sum of positive terms: tables are rescaled as they grow. For
    proteins, ``LocalAlignment(0.5, "blosum62", opening=11, extension=1)`` is usual.

    References
    ----------
    Saigo, Vert, Ueda, Akutsu, *Protein homology detection using string alignment kernels* (2004). Vert, Saigo, Akutsu,
    *Local alignment kernels for biological sequences* (2004). Henikoff, Henikoff, *Amino acid substitution matrices
    from protein blocks* (1992).

    Examples
    --------
    >>> LocalAlignment(beta=1.0, substitution=(0.0, 0.0), opening=0.0, extension=0.0)(["ab"], ["cd", ""])
    array([[6., 1.]])
    """

    rules = {"beta": POSITIVE, "opening": NOT_NEGATIVE, "extension": NOT_NEGATIVE, "log": SWITCH}

    def __init__(
        self,
        beta: float = 1.0,
        substitution: Any = (1.0, -1.0),
        opening: float = 2.0,
        extension: float = 1.0,
        log: bool = False,
    ):
        self.beta, self.substitution, self.opening, self.extension = beta, substitution, opening, extension
        self.log = log

    def validate(self) -> None:
        super().validate()
        if isinstance(self.substitution, str):
            check_choice(self, "substitution", self.substitution, ("blosum62",))
        elif not isinstance(self.substitution, (list, tuple)) or len(self.substitution) != 2:
            raise TypeError(
                f"{where(self)}: substitution = {self.substitution!r} must be two scores, 'blosum62', or letters and "
                "a matrix."
            )
        elif isinstance(self.substitution[0], str):
            letters, scores = self.substitution
            matrix = np.asarray(scores, dtype=float)
            right = matrix.shape == (len(letters), len(letters)) and len(set(letters)) == len(letters) > 0
            if not right or not np.array_equal(matrix, matrix.T) or not np.all(np.isfinite(matrix)):
                raise ValueError(
                    f"{where(self)}: substitution must have distinct letters and a symmetric matrix of finite scores "
                    f"with one row per letter; it has {len(letters)} letters and a matrix of shape {matrix.shape}."
                )
        else:
            for score in self.substitution:
                check_number(self, "substitution", score)

    def _table(self) -> tuple[str, np.ndarray]:
        """Letters and their scores."""
        if isinstance(self.substitution, str):
            return _blosum62()
        letters, scores = self.substitution
        return letters, np.asarray(scores, dtype=float)

    @property
    def _by_equality(self) -> bool:
        return not isinstance(self.substitution, str) and not isinstance(self.substitution[0], str)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        if self.log:
            return INDEFINITE
        if self._by_equality:
            equal, different = self.substitution
            return PD if equal >= different else INDEFINITE
        eigenvalues = np.linalg.eigvalsh(np.exp(float(self.beta) * self._table()[1]))
        return PD if eigenvalues[0] >= -1e-12 * eigenvalues[-1] else UNKNOWN

    def _weights(self, alphabet: np.ndarray) -> np.ndarray:
        """exp(βS) between the letters with these code points."""
        beta = float(self.beta)
        if self._by_equality:
            equal, different = (np.exp(beta * float(score)) for score in self.substitution)
            return np.where(np.eye(len(alphabet), dtype=bool), equal, different)
        letters, scores = self._table()
        known = {int(c): i for i, c in enumerate(codes(letters))}
        place = np.array([known.get(int(c), len(letters)) for c in alphabet], dtype=int)
        weights = np.zeros((len(letters) + 1, len(letters) + 1))
        weights[:-1, :-1] = np.exp(beta * scores)
        return weights[np.ix_(place, place)]

    def fill(self, A: Joined, B: Joined, out: np.ndarray) -> None:
        A, B, alphabet = number(A, B)
        beta = float(self.beta)
        gaps = np.exp(-beta * float(self.opening)), np.exp(-beta * float(self.extension))
        weights = self._weights(alphabet)
        if weights.size and weights.max() > np.exp(STEEPEST):
            raise ValueError(
                f"{where(self)}: beta = {beta:g} times the largest score is {np.log(weights.max()):.0f}; "
                f"lower it, to at most {STEEPEST:g}."
            )
        local_alignments(*A, *B, weights, *gaps, out)
        if self.log:
            out /= beta
            return
        if out.size and out.max() > LARGEST:
            raise ValueError(
                f"{where(self)}: beta = {beta:g} overflows, with values up to exp({out.max():.0f}); lower it, or use "
                "log=True, which is not positive definite."
            )
        np.exp(out, out=out)

    @classmethod
    def examples(cls) -> list[LocalAlignment]:
        scores = ("abc", ((2.0, 0.5, -1.0), (0.5, 2.0, 0.0), (-1.0, 0.0, 3.0)))
        return [cls(), cls(0.3, scores, opening=1.0, extension=0.2), cls(log=True)]
