"""The one form of message."""

import warnings

import numpy as np
import pytest

from mercer._errors import check_choice, check_number, shown
from mercer.kernels import Gaussian
from mercer.kernels.algebra import Sum


@pytest.mark.parametrize("value", [2, np.int64(2), np.int32(1)])
def test_a_choice_may_be_a_numpy_number(value):
    check_choice("Laplace", "norm", value, (2, 1))


@pytest.mark.parametrize("value", [True, 2.0, "2", None, 3, [2], np.array([1, 2])], ids=str)
def test_a_choice_keeps_its_type(value):
    with pytest.raises(ValueError, match=r"Laplace: norm = .* is unknown; choose one of 2, 1\."):
        check_choice("Laplace", "norm", value, (2, 1))


@pytest.mark.parametrize("value", [True, np.True_, "1", None, 1j, [1.0], np.array([1.0]), np.nan, np.inf], ids=str)
def test_no_number(value):
    with pytest.raises((TypeError, ValueError), match=r"Matern: nu = .* must be a finite number > 0\."):
        check_number("Matern", "nu", value, above=0)


@pytest.mark.parametrize("value", [np.float32(1), np.float16(1), np.longdouble(1), np.int8(1), np.uint64(1)], ids=repr)
def test_numbers_of_any_precision_are_taken_without_a_word(value):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_number("owner", "name", value, above=0)
    with pytest.raises(ValueError, match="owner: name"):
        check_number("owner", "name", value, above=1)


def test_a_value_of_any_size_is_shown_in_brief():
    """A list that holds the one before twice, and a kernel likewise, have 2⁶⁰ parts."""
    nested, kernel = [1], Gaussian(2.0)
    for _ in range(60):
        nested, kernel = [nested, nested], Sum([kernel, kernel])
    for value in (nested, kernel, {"a": nested}, "a" * 10**6, list(range(10**6)), 10**5000):
        assert len(shown(value)) <= 80
    assert shown([1, "a", Gaussian(2.0)]) == "[1, 'a', Gaussian(lengthscale=2.0)]"
    with pytest.raises(ValueError, match=r"Laplace: norm = \[\[\["):
        check_choice("Laplace", "norm", nested, (2, 1))
