"""Subsequence against kernlab and against enumeration of all index tuples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.kernels.strings import Spectrum, Subsequence


@pytest.mark.parametrize(("name", "sample", "kernel"), [("3_lam0.6", "A", (3, 0.6)), ("4_lam0.8", "C", (4, 0.8))])
def test_kernlab(oracle, name, sample, kernel) -> None:
    raw, normalised = (oracle(f"string_sequence{name}_{kind}_{sample}") for kind in ("raw", "norm"))
    S = raw["inputs"]["S"]
    assert np.allclose(Subsequence(*kernel)(S), raw["outputs"]["K"], rtol=1e-10, atol=0)
    assert np.allclose(Subsequence(*kernel).normalized()(S), normalised["outputs"]["K"], rtol=0, atol=1e-10)


@pytest.mark.parametrize(("length", "decay"), [(1, 0.5), (2, 0.5), (3, 0.9), (4, 1.2), (5, 1.0)])
def test_definition(define, length, decay) -> None:
    X = [*define.ODD, *define.random_strings(0, 40, 9, "abc")]  # more than are compared at once, of many lengths
    expected = define.matrix(lambda x, y: define.gap_weighted(x, y, length, decay), X[:8], X)
    assert np.allclose(Subsequence(length, decay)(X[:8], X), expected, rtol=1e-12, atol=0)
    assert np.allclose(Subsequence(length, decay)(X)[:8], expected, rtol=1e-12, atol=0)


@given(st.lists(st.text(max_size=7), min_size=1, max_size=3), st.integers(1, 4))
def test_any_unicode(define, X, length) -> None:
    expected = define.matrix(lambda x, y: define.gap_weighted(x, y, length, 0.7), X)
    assert np.allclose(Subsequence(length, 0.7)(X), expected, rtol=1e-12, atol=0)


def test_without_gaps_it_is_the_spectrum_kernel(define) -> None:
    X = define.random_strings(5, 12, 15, "ab")
    assert np.allclose(Subsequence(3, 1e-8)(X) / 1e-48, Spectrum(3)(X), atol=1e-6)


def test_long_strings() -> None:
    """Of a string of n equal letters, the closed form for pairs; and what overflows is refused."""
    n, decay = 3000, 0.5
    gaps = np.arange(1, n)
    pairs = np.sum((n - gaps) * decay ** (gaps + 1.0))
    assert np.isclose(Subsequence(2, decay)(["a" * n])[0, 0], pairs**2, rtol=1e-12)
    with pytest.raises(ValueError, match="length = 200 and decay = 1 overflow on strings of 3000"):
        Subsequence(200, 1.0)(["a" * n])


@pytest.mark.parametrize("kernel", [Subsequence(0), Subsequence(2, -0.5), Subsequence(2, np.nan)])
def test_parameters_out_of_range(kernel) -> None:
    with pytest.raises(ValueError, match=r"Subsequence: (length|decay) = "):
        kernel(["ab"])


def test_subsequences_longer_than_all_strings_of_one_side() -> None:
    """There are none, and no time is spent on a length that no string has."""
    kernel = Subsequence(length=10**9)
    assert not kernel(["abc", "abcd"]).any()
    assert not Subsequence(length=4)(["abc", "ab"], ["abcde"]).any()
