"""The kernels on strings by their definitions: enumeration of substrings, index tuples, features, alignments, edits."""

from collections import Counter
from functools import cache
from itertools import combinations, pairwise, product
from types import SimpleNamespace

import numpy as np
import pytest

ODD = ["", "a", "b", "aa", "ab", "ba", "abab", "babba", "caab", "żółw", "żab", "𝛼𝛽𝛼", "a\nb", "zz z"]


def matrix(k, X, Y=None):
    """The matrix of a function of two strings."""
    return np.array([[float(k(x, y)) for y in (X if Y is None else Y)] for x in X])


def substrings(x, longest=None):
    """How often each non-empty substring occurs."""
    longest = len(x) if longest is None else longest
    return Counter(x[i:j] for i in range(len(x)) for j in range(i + 1, min(len(x), i + longest) + 1))


def weighted_substrings(x, y, weight):
    """Σ_s w(|s|) n_s(x) n_s(y)."""
    one, other = substrings(x), substrings(y)
    return sum(weight(len(s)) * count * other[s] for s, count in one.items())


def gap_weighted(x, y, length, decay):
    """Σ_s φ_s(x) φ_s(y), with φ_s the sum of decay^stretch over all index tuples that spell s."""

    def features(text):
        found = Counter()
        for index in combinations(range(len(text)), length):
            found["".join(text[i] for i in index)] += decay ** (index[-1] - index[0] + 1)
        return found

    one, other = features(x), features(y)
    return sum(value * other[s] for s, value in one.items())


def mismatch(x, y, length, mismatches, alphabet):
    """The sum over all words of the alphabet."""

    def near(text, s):
        windows = (text[i : i + length] for i in range(len(text) - length + 1))
        return sum(sum(a != b for a, b in zip(w, s, strict=True)) <= mismatches for w in windows)

    return sum(near(x, s) * near(y, s) for s in product(alphabet, repeat=length))


def alignments(x, y, score, opening, extension, beta):
    """The sum over all increasing sequences of pairs, each gap priced by its length."""

    def gap(size):
        return opening + extension * (size - 1) if size else 0.0

    total = 0.0
    for n in range(min(len(x), len(y)) + 1):
        for left in combinations(range(len(x)), n):
            for right in combinations(range(len(y)), n):
                s = sum(score(x[i], y[j]) for i, j in zip(left, right, strict=True))
                for index in (left, right):
                    s -= sum(gap(b - a - 1) for a, b in pairwise(index))
                total += np.exp(beta * s)
    return total


@cache
def edits(x, y):
    """The edit distance, by recursion."""
    if not x or not y:
        return len(x) + len(y)
    return min(edits(x[1:], y) + 1, edits(x, y[1:]) + 1, edits(x[1:], y[1:]) + (x[0] != y[0]))


def random_strings(seed, n, longest, alphabet):
    """n random strings of 0 … `longest` letters."""
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(alphabet), rng.integers(0, longest + 1))) for _ in range(n)]


@pytest.fixture(scope="session")
def define():
    """All these, for the tests of this folder."""
    return SimpleNamespace(
        ODD=ODD,
        matrix=matrix,
        weighted_substrings=weighted_substrings,
        gap_weighted=gap_weighted,
        mismatch=mismatch,
        alignments=alignments,
        edits=edits,
        random_strings=random_strings,
    )
