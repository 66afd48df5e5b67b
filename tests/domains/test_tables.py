"""Columns of any kind become numbers or labels, and what marks a gap becomes one mark."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pytest

from mercer.domains import Tables

NAN = float("nan")
DAYS = (date(2020, 1, 2) - date(1970, 1, 1)).days


def column(values):
    return Tables().check({"c": values}, "test")["c"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, None, 2.5], [1.0, NAN, 2.5]),
        ([Decimal("1.5"), np.int8(2), NAN], [1.5, 2.0, NAN]),
        (np.ma.array([1.0, 2.0], mask=[False, True]), [1.0, NAN]),
        ([date(2020, 1, 2), None], [DAYS, NAN]),
        ([datetime(2020, 1, 2, 12), np.datetime64("2020-01-02")], [DAYS + 0.5, DAYS]),
        (
            [datetime(2020, 1, 2, tzinfo=UTC), datetime(2020, 1, 2, tzinfo=timezone(timedelta(hours=6)))],
            [DAYS, DAYS - 0.25],
        ),
        ([timedelta(days=1, hours=6), None], [1.25, NAN]),
        (np.array(["1970-01-03", "NaT"], dtype="M8[D]"), [2.0, NAN]),
        (np.array(["3000-01-01", "1500-01-01"], dtype="M8[D]"), [376200.0, -171664.0]),
    ],
)
def test_numbers_and_times(values, expected):
    found = column(values)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a", 1, NAN], ["a", 1, None]),
        ([1, "1", "a"], [1, "1", "a"]),
        ([True, None, False], [True, None, False]),
        ([None, NAN], [None, None]),
        (np.array(["a", "b"]), ["a", "b"]),
    ],
)
def test_labels(values, expected):
    found = column(values)
    assert found.dtype == object and found.tolist() == expected


def test_pandas():
    pd = pytest.importorskip("pandas")
    zone = pd.Series(pd.to_datetime(["2020-01-02", None]).tz_localize("Asia/Tokyo"))
    np.testing.assert_array_equal(column(zone), [DAYS - 9 / 24, NAN])
    np.testing.assert_array_equal(column([pd.NA, 3]), [NAN, 3.0])
    assert column([pd.NaT, "a", pd.NA]).tolist() == [None, "a", None]
    assert column(pd.Series([2, 1, None], dtype="category")).tolist() == [2, 1, None]
    assert column(pd.Series([True, None], dtype="boolean")).tolist() == [True, None]
    np.testing.assert_array_equal(column(pd.Series([1, None], dtype="Int64")), [1.0, NAN])
    twice = pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="test: X has several columns named 'a'; rename them"):
        Tables().check(twice, "test")


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1, 2]], "X is a list; give a DataFrame, a dictionary or an array"),
        (np.zeros(3), r"X has shape \(3,\)"),
        ({"a": []}, "X is empty"),
        ({}, "X is empty"),
        ({"a": [1, 2], "b": [1]}, "the columns of X have lengths"),
        ({"a": [1.0, np.inf]}, r"X\['a'\] contains infinity"),
    ],
)
def test_refused(X, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Tables().check(X, "test")
