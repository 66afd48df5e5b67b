"""Levenshtein against the recursion that defines the edit distance."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mercer.kernels import INDEFINITE
from mercer.kernels.strings import Levenshtein


def test_definition(define) -> None:
    X = [*define.ODD, *define.random_strings(0, 20, 10, "ab"), "kitten", "sitting"]
    expected = -define.matrix(define.edits, X)
    assert np.array_equal(Levenshtein()(X), expected)
    assert np.array_equal(Levenshtein()(X[:6], X), expected[:6])


def by_table(x, y):
    """The same by the full table, for strings that recursion does not reach."""
    D = np.add.outer(np.arange(len(x) + 1), np.arange(len(y) + 1))
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            D[i + 1, j + 1] = min(D[i, j + 1] + 1, D[i + 1, j] + 1, D[i, j] + (a != b))
    return D[-1, -1]


def test_more_letters_than_bits_in_a_word(define) -> None:
    rng = np.random.default_rng(1)
    X = ["".join(rng.choice(list("ab"), n)) for n in (0, 1, 63, 64, 65, 127, 128, 129, 200)]
    assert np.array_equal(Levenshtein()(X), -define.matrix(by_table, X))


@given(st.lists(st.text(max_size=9), min_size=1, max_size=4))
def test_any_unicode(define, X) -> None:
    assert np.array_equal(Levenshtein()(X), -define.matrix(define.edits, X))


def test_indefinite_even_where_coefficients_sum_to_zero() -> None:
    X = ["ab", "ba", "aa", "b", "bab"]
    K, c = Levenshtein()(X), np.array([3, 3, -2, -2, -2])
    assert c.sum() == 0 and c @ K @ c == -12
    assert np.linalg.eigvalsh((0.2 * Levenshtein()).exp()(X))[0] < -1e-3
    assert Levenshtein().definiteness == INDEFINITE
