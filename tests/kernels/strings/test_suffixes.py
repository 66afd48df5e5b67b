"""ConstantWeight and ExponentialDecay against kernlab and against enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.kernels.strings import BoundedRange, ConstantWeight, ExponentialDecay, FullString

KERNLAB = {"constant": ConstantWeight(end="\n"), "exponential1.5": ExponentialDecay(1.5**-0.5, end="\n")}


@pytest.mark.parametrize("name", KERNLAB)
def test_kernlab(oracle, name) -> None:
    raw, normalised = (oracle(f"string_{name}_{kind}_A") for kind in ("raw", "norm"))
    S = raw["inputs"]["S"]
    assert np.allclose(KERNLAB[name](S), raw["outputs"]["K"], rtol=1e-10, atol=0)
    assert np.allclose(KERNLAB[name].normalized()(S), normalised["outputs"]["K"], rtol=0, atol=1e-10)


@pytest.mark.parametrize("decay", [1.0, 0.6, 1.1])
def test_definition(define, decay) -> None:
    kernel = ConstantWeight() if decay == 1 else ExponentialDecay(decay)
    X = [
        *define.ODD,
        *define.random_strings(0, 15, 14, "ab"),
        *define.random_strings(1, 15, 14, "abcdef"),
        "a" * 30,
        "ab" * 15,
    ]
    expected = define.matrix(lambda x, y: define.weighted_substrings(x, y, lambda n: decay ** (2 * n)), X)
    assert np.allclose(kernel(X), expected, rtol=1e-12, atol=0)
    assert np.allclose(kernel(X[:7], X[2:]), expected[:7, 2:], rtol=1e-12, atol=0)
    assert np.allclose(kernel.diag(X), np.diagonal(expected), rtol=1e-12, atol=0)


@given(st.lists(st.text(max_size=9), min_size=1, max_size=4), st.sampled_from(["", "\n"]))
def test_any_unicode(define, X, end) -> None:
    expected = define.matrix(lambda x, y: define.weighted_substrings(x + end, y + end, lambda n: 1.0), X)
    assert np.array_equal(ConstantWeight(end)(X), expected)


def test_agrees_with_the_counts_of_bounded_lengths(define) -> None:
    X = define.random_strings(4, 12, 40, "ab")
    assert np.array_equal(ConstantWeight()(X), BoundedRange(40)(X))
    assert np.allclose(ExponentialDecay(0.7)(X), FullString(40, 0.7)(X), rtol=1e-12)


def test_strict_with_an_end_and_not_without() -> None:
    X = ["", "a", "b", "ab", "ba", "aab", "bab", "abab", "baba"]
    assert ConstantWeight("$").definiteness.strict and not ConstantWeight().definiteness.strict
    assert np.linalg.eigvalsh(ConstantWeight("$")(X))[0] > 1e-3
    assert np.linalg.matrix_rank(ConstantWeight()(X)) == len(X) - 1


def test_long_common_substrings_that_would_overflow_are_refused() -> None:
    x = "a" * 2000
    with pytest.raises(ValueError, match=r"decay = 1.5 overflows on common substrings of up to 2000"):
        ExponentialDecay(1.5)([x])
    n = np.arange(1, 2001)
    expected = np.sum(0.5 ** (2.0 * n) * (2001 - n) ** 2)
    assert np.isclose(ExponentialDecay(0.5)([x])[0, 0], expected, rtol=1e-12)
    assert ConstantWeight()([x])[0, 0] == np.sum((2001 - n) ** 2)
