"""Mismatch against the sum over all words of the alphabet."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from mercer import SVC
from mercer.kernels import clear_cache, parse
from mercer.kernels.strings import Mismatch, Spectrum
from mercer.kernels.strings import mismatch as module


@pytest.mark.parametrize("alphabet", ["ab", "bac", "acgt", "a", ""])
@pytest.mark.parametrize(("length", "mismatches"), [(1, 0), (1, 1), (2, 1), (3, 1), (3, 2), (4, 2)])
def test_definition(define, monkeypatch, length, mismatches, alphabet) -> None:
    X = [*define.ODD, *define.random_strings(0, 12, 8, "abcd")]  # with letters outside the alphabet
    expected = define.matrix(lambda x, y: define.mismatch(x, y, length, mismatches, alphabet), X)
    kernel = Mismatch(length, mismatches, alphabet)
    for words in (module.WORDS, -1):  # by counts, and by pairs of substrings
        monkeypatch.setattr(module, "WORDS", words)
        monkeypatch.setattr(module, "NEAR", words)
        clear_cache()
        assert np.array_equal(kernel(X), expected)
        assert np.array_equal(kernel(X[:4], X[2:]), expected[:4, 2:])
        assert np.array_equal(kernel.diag(X), np.diagonal(expected))
    clear_cache()


@pytest.mark.parametrize("parameters", [(7, 3, "ACGT"), (8, 2, "ACGTN"), (6, 6, "ACGTN"), (5, 4, "ACGTNXYZ")])
def test_large_neighbourhoods(define, parameters) -> None:
    """Windows one by one: every pair adds the number of words near to both, found by the letters' costs."""
    length, mismatches, alphabet = parameters
    X = define.random_strings(4, 6, 12, "ACGTN-")
    assert not Mismatch(*parameters)._explicit

    def common(a, b):
        ways = {(0, 0): 1}
        for c, d in zip(a, b, strict=True):
            step = Counter()
            for (i, j), count in ways.items():
                for letter in alphabet:
                    step[i + (letter != c), j + (letter != d)] += count
            ways = step
        return sum(count for (i, j), count in ways.items() if max(i, j) <= mismatches)

    def value(x, y):
        windows = ([z[i : i + length] for i in range(len(z) - length + 1)] for z in (x, y))
        return sum(common(a, b) for a, b in product(*windows))

    assert np.array_equal(Mismatch(*parameters)(X), define.matrix(value, X))


def test_without_mismatches_it_is_the_spectrum_kernel(define) -> None:
    X = define.random_strings(1, 15, 20, "ACGT")
    assert np.array_equal(Mismatch(3, 0, "ACGT")(X), Spectrum(3)(X))


def test_the_alphabet_comes_from_the_sample() -> None:
    kernel = Mismatch(2, 1)
    with pytest.raises(ValueError, match=r"alphabet = None depends on the data; call kernel.resolve"):
        kernel(["ab"])
    assert kernel.resolve(["ba", "", "cab"]).alphabet == "abc"
    model = SVC(kernel="mismatch(length=2)").fit(["aab", "aaa", "bbb", "bba"], [0, 0, 1, 1])
    assert model.predict(["aaz", "bbz", "", "zzz"]).tolist()[:2] == [0, 1]
    assert parse("mismatch(length=2, mismatches=0)") == Mismatch(2, 0)
    with pytest.raises(TypeError, match=r"Mismatch: X\[1\] is None"):
        kernel.resolve(["ba", None])


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Mismatch(2, 3, "ab"), "mismatches = 3 must be >= 0 and <= 2"),
        (Mismatch(2, 1, "aa"), "must be a string of distinct letters"),
        (Mismatch(30, 1, "ACGT"), "length = 30 is too large for 4 letters; it must be <= 26"),
    ],
)
def test_parameters_out_of_range(kernel, message) -> None:
    with pytest.raises(ValueError, match=message):
        kernel(["a"])


def test_longest_words_are_numbered_exactly() -> None:
    x = "ACGTTGCAACGTTGCAACGTTGCAAC"
    kernel = Mismatch(26, 1, "ACGT")
    assert np.array_equal(kernel([x], [x, "G" + x[1:], "GG" + x[2:], "GGC" + x[3:]]), [[79, 4, 2, 0]])
