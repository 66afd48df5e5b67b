"""Spectrum, BoundedRange, ExactLength and FullString against kernlab and against enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.kernels import parse
from mercer.kernels._structured import clear_cache
from mercer.kernels.strings import BoundedRange, ExactLength, FullString, Spectrum
from mercer.kernels.strings import substrings as module

KERNLAB = {
    "spectrum3": Spectrum(3, end="\n"),
    "boundrange4": BoundedRange(4, end="\n"),
    "string3_lam0.6": 0.6**2 * ExactLength(3, 0.6),
    "fullstring3_lam0.6": FullString(3, 0.6),
}


@pytest.mark.parametrize("name", KERNLAB)
def test_kernlab(oracle, name) -> None:
    raw, normalised = (oracle(f"string_{name}_{kind}_A") for kind in ("raw", "norm"))
    S = raw["inputs"]["S"]
    assert np.allclose(KERNLAB[name](S), raw["outputs"]["K"], rtol=1e-10, atol=0)
    assert np.allclose(KERNLAB[name].normalized()(S), normalised["outputs"]["K"], rtol=0, atol=1e-10)


DEFINITIONS = [
    (Spectrum(1), lambda n: n == 1),
    (Spectrum(3), lambda n: n == 3),
    (Spectrum(70), lambda n: n == 70),
    (Spectrum(10**9), lambda n: False),
    (BoundedRange(1), lambda n: n == 1),
    (BoundedRange(3), lambda n: n <= 3),
    (BoundedRange(70), lambda n: n <= 70),
    (ExactLength(2, 0.7), lambda n: (n == 2) * 0.7**4),
    (FullString(3, 0.7), lambda n: (n <= 3) * 0.7 ** (2 * n)),
    (FullString(4, 1.3), lambda n: (n <= 4) * 1.3 ** (2 * n)),
]


@pytest.mark.parametrize(("kernel", "weight"), DEFINITIONS, ids=lambda v: str(v) if hasattr(v, "domain") else "")
def test_definition(define, kernel, weight) -> None:
    X = [*define.ODD, *define.random_strings(0, 12, 9, "abc"), "ab" * 40, "b" + "ab" * 40]
    expected = define.matrix(lambda x, y: define.weighted_substrings(x, y, weight), X)
    assert np.allclose(kernel(X), expected, rtol=1e-12, atol=0)
    assert np.allclose(kernel(X[:5], X[3:]), expected[:5, 3:], rtol=1e-12, atol=0)


@pytest.mark.parametrize("bits", [62, 12, 6, 0])
def test_numbers_of_substrings_are_exact_however_many_letters(define, monkeypatch, bits) -> None:
    """With fewer bits a letter, more and more substrings are numbered one by one, in whatever order letters come."""
    monkeypatch.setattr(module, "BITS", bits)
    clear_cache()
    kernel, parts = BoundedRange(3), [["ba", "abc"], ["żółw", "dcab"], define.random_strings(1, 9, 8, "abcdefgh")]
    for X in parts:
        kernel(X)
    X = [x for part in parts for x in part]
    assert np.array_equal(kernel(X), define.matrix(lambda x, y: define.weighted_substrings(x, y, lambda n: n <= 3), X))
    clear_cache()


@given(st.lists(st.text(max_size=8), min_size=1, max_size=5), st.integers(1, 4), st.sampled_from(["", "\n"]))
def test_any_unicode(define, X, length, end) -> None:
    expected = define.matrix(lambda x, y: define.weighted_substrings(x + end, y + end, lambda n: n == length), X)
    assert np.array_equal(Spectrum(length, end)(X), expected)


def test_relations(define) -> None:
    X = [*define.ODD, *define.random_strings(2, 10, 10, "abc")]
    assert np.array_equal(BoundedRange(3)(X), Spectrum(1)(X) + Spectrum(2)(X) + Spectrum(3)(X))
    assert np.allclose(FullString(3, 1.0)(X), BoundedRange(3)(X), rtol=1e-14)
    assert np.array_equal(Spectrum(3, "!")(X), Spectrum(3)([x + "!" for x in X]))
    assert np.allclose(Spectrum(2).normalized().diag(X), [float(len(x) >= 2) for x in X])


def test_forms_are_computed_once_over_the_folds(define, monkeypatch) -> None:
    seen = []
    forms = Spectrum.forms
    monkeypatch.setattr(Spectrum, "forms", lambda self, X, store: (seen.extend(X), forms(self, X, store))[1])
    clear_cache()
    X = define.random_strings(3, 40, 12, "ACGT")
    kernel = Spectrum(2)
    for fold in range(4):
        test = np.arange(40) % 4 == fold
        train, new = ([x for x, t in zip(X, test, strict=True) if t == side] for side in (False, True))
        kernel.normalized()(train)
        Spectrum(2)(new, train)
    assert sorted(seen) == sorted(set(X))
    clear_cache()


def test_text() -> None:
    for text in ("spectrum", "spectrum(length=4)", "bounded_range(length=4)", "exact_length(length=2, decay=0.7)"):
        assert str(parse(text)) == text
    assert parse('spectrum(length=2, end="\\n")') == Spectrum(2, "\n")


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Spectrum(0), "length = 0 must be >= 1"),
        (Spectrum(2.5), "length = 2.5 must be an integer"),
        (Spectrum(2, end=3), "end = 3 must be a string"),
        (FullString(2, decay=0.0), "decay = 0.0 must be > 0"),
        (FullString(3, decay=1e60), r"decay = 1e\+60 overflows on substrings of 3 letters"),
    ],
)
def test_parameters_out_of_range(kernel, message) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        kernel(["a"])


@pytest.mark.parametrize("X", ["abc", ["a", 3], ["a", None], []])
def test_not_strings(X) -> None:
    with pytest.raises((ValueError, TypeError), match="Spectrum: X"):
        Spectrum(2)(X)
