"""The one form of message."""

import warnings

import numpy as np
import pytest

from mercer._errors import check_choice, check_number


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
