"""LocalAlignment against the sum over all alignments."""

import numpy as np
import pytest

from mercer.kernels import INDEFINITE, PD, UNKNOWN, parse
from mercer.kernels.strings import LocalAlignment
from mercer.kernels.strings.alignment import _blosum62

SCORES = ("abc", ((2.0, 0.5, -1.0), (0.5, 2.0, 0.0), (-1.0, 0.0, 3.0)))


def test_definition_with_scores_of_equality(define) -> None:
    X = [x for x in define.ODD if len(x) < 5] + define.random_strings(0, 8, 5, "ab")
    kernel = LocalAlignment(0.7, (1.5, -0.5), opening=1.2, extension=0.3)
    expected = define.matrix(
        lambda x, y: define.alignments(x, y, lambda a, b: 1.5 if a == b else -0.5, 1.2, 0.3, 0.7), X
    )
    assert np.allclose(kernel(X), expected, rtol=1e-12, atol=0)
    assert np.allclose(kernel(X[:4], X), expected[:4], rtol=1e-12, atol=0)
    soft = LocalAlignment(0.7, (1.5, -0.5), opening=1.2, extension=0.3, log=True)
    assert np.allclose(soft(X), np.log(expected) / 0.7, rtol=0, atol=1e-12)


def test_definition_with_a_matrix_and_letters_that_it_lacks(define) -> None:
    X = ["", "z", "abc", "cba", "azb", "zaz", *define.random_strings(1, 6, 5, "abcz")]
    letters, S = SCORES

    def score(a, b):
        return S[letters.index(a)][letters.index(b)] if a in letters and b in letters else -np.inf

    kernel = LocalAlignment(0.4, SCORES, opening=2.0, extension=1.0)
    assert np.allclose(
        kernel(X), define.matrix(lambda x, y: define.alignments(x, y, score, 2.0, 1.0, 0.4), X), rtol=1e-12, atol=0
    )


def test_counts_of_alignments() -> None:
    """With free gaps and scores of 0 it counts pairs of equally many places: a binomial coefficient."""
    kernel = LocalAlignment(1.0, (0.0, 0.0), opening=0.0, extension=0.0)
    assert np.allclose(kernel(["a" * 9], ["b" * 6]), 5005, rtol=1e-12)  # C(15, 6)


def test_long_strings_are_rescaled() -> None:
    """Without gaps k(aⁿ, aⁿ) = 1 + Σ (n − m + 1)² wᵐ, by the places of a run of m letters in both."""
    n = 1500
    m = np.arange(1, n + 1)
    terms = 2 * np.log(n - m + 1) + m
    expected = np.logaddexp.reduce(np.append(terms, 0.0))
    kernel = LocalAlignment(1.0, (1.0, -1.0), opening=1e4, extension=1e4, log=True)
    assert np.isclose(kernel(["a" * n])[0, 0], expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"beta = 1 overflows, with values up to exp\("):
        LocalAlignment()(["a" * n])


def test_the_logarithm_tends_to_the_best_score() -> None:
    kernel = LocalAlignment(200.0, (2.0, -1.0), opening=2.0, extension=1.0, log=True)
    assert np.allclose(kernel(["xxabcdyy"], ["zabcd", "abzcd", "q", ""]), [[8.0, 6.0, 0.0, 0.0]], atol=0.02)


@pytest.mark.parametrize("beta", [0.05, 0.3, 1.0, 3.0])
def test_the_logarithm_is_indefinite(define, beta) -> None:
    X = [*define.random_strings(2, 60, 6, "ab"), "a", "b", "ab", "ba"]
    kernel = LocalAlignment(beta, log=True)
    K = kernel(list(dict.fromkeys(X)))
    assert kernel.definiteness == INDEFINITE
    assert np.linalg.eigvalsh(K)[0] < -1e-6 * np.abs(K).max()


def test_definiteness_follows_the_scores() -> None:
    assert LocalAlignment().definiteness == LocalAlignment(0.3, SCORES).definiteness == PD
    assert LocalAlignment(0.5, "blosum62").definiteness == PD
    assert LocalAlignment(substitution=(0.0, 1.0)).definiteness == INDEFINITE
    assert np.linalg.eigvalsh(LocalAlignment(substitution=(0.0, 1.0))(["a", "b"]))[0] < -1
    assert LocalAlignment(1.0, ("ab", ((0.0, 1.0), (1.0, 0.0)))).definiteness == UNKNOWN


def test_blosum62(define) -> None:
    letters, S = _blosum62()
    assert np.array_equal(S, S.T) and len(set(letters)) == 20
    score = {(a, b): S[i, j] for i, a in enumerate(letters) for j, b in enumerate(letters)}
    published = {"WW": 11, "CC": 9, "IV": 3, "FY": 3, "DE": 2, "KR": 2, "WG": -2, "PF": -4, "AS": 1, "HY": 2, "LM": 2}
    assert all(score[tuple(pair)] == value for pair, value in published.items())
    kernel = LocalAlignment(0.5, "blosum62", opening=11.0, extension=1.0)
    X = ["WCA", "WA", "XW"]
    expected = define.matrix(
        lambda x, y: define.alignments(x, y, lambda a, b: score.get((a, b), -np.inf), 11.0, 1.0, 0.5), X
    )
    assert np.allclose(kernel(X), expected, rtol=1e-12, atol=0)


def test_text() -> None:
    kernel = LocalAlignment(0.4, SCORES, log=True)
    assert parse(str(kernel)) == kernel
    assert parse('local_alignment(substitution="blosum62")') == LocalAlignment(substitution="blosum62")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"beta": 0.0}, "beta = 0.0 must be > 0"),
        ({"opening": -1.0}, "opening = -1.0 must be >= 0"),
        ({"beta": 500.0}, "beta = 500 times the largest score is 500; lower it"),
        ({"log": 1}, "log = 1 is unknown"),
        ({"substitution": "pam"}, "substitution = 'pam' is unknown"),
        ({"substitution": 3}, "substitution = 3 must be two scores"),
        ({"substitution": ("ab", ((1, 2), (3, 4)))}, "symmetric matrix"),
        ({"substitution": ("ab", ((1,),))}, "2 letters and a matrix of shape"),
        ({"substitution": (1.0, np.inf)}, "substitution = inf must be a finite number"),
    ],
)
def test_parameters_out_of_range(parameters, message) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        LocalAlignment(**parameters)(["a"])
