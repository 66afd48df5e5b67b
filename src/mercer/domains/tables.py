"""Tables: named columns of numbers and labels, with missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from .._array import host, is_array, is_sparse
from .._errors import is_gap, where
from ..types import Checked
from ._base import Domain

DAY = np.timedelta64(1, "D") / np.timedelta64(1, "us")


def is_missing(values: np.ndarray) -> np.ndarray:
    """Mask of the missing values in a column of a checked table."""
    return np.isnan(values) if values.dtype.kind == "f" else np.array([v is None for v in values], dtype=bool)


class Frame:
    """A checked table: named columns of equal length, as arrays."""

    def __init__(self, columns: dict[Any, np.ndarray]):
        self.columns = columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: Any) -> np.ndarray:
        return self.columns[name]

    def __contains__(self, name: Any) -> bool:
        return name in self.columns

    def equals(self, other: Any) -> bool:
        """Whether both have the same columns with the same values; missing numbers are equal."""
        if not isinstance(other, Frame) or self.columns.keys() != other.columns.keys():
            return False
        pairs = [(self[name], other[name]) for name in self.columns]
        return all(np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f") for a, b in pairs)

    def __repr__(self) -> str:
        return f"Frame({len(self)} rows; {', '.join(map(str, self.columns))})"


class Tables(Domain):
    """Rows of a table: a pandas or polars DataFrame, a mapping from names to columns, or an array with columns 0, 1, ….

    `check` returns a `Frame` of columns: float64 for numbers and dates (days since 1970 in UTC), with NaN for missing
    values; objects for text, categories and Booleans, with None for missing values.
    """

    def check(self, X: Checked, owner: object, name: str = "X") -> Any:
        if isinstance(X, Frame):
            return X
        if is_sparse(X):
            raise TypeError(f"{where(owner)}: {name} is sparse; give a table (a DataFrame, or an array).")
        if is_array(X):
            A = X if isinstance(X, np.ma.MaskedArray) else host(X)
            if A.ndim != 2:
                raise ValueError(f"{where(owner)}: {name} has shape {A.shape}, expected (n_rows, n_columns).")
            columns: dict[Any, Any] = {j: A[:, j] for j in range(A.shape[1])}
        elif isinstance(X, Mapping):
            columns = dict(X)
        elif hasattr(X, "columns"):
            columns = {c: X[c] for c in X.columns}
            if len(columns) < len(X.columns):
                twice = next(c for c in columns if list(X.columns).count(c) > 1)
                raise ValueError(f"{where(owner)}: {name} has several columns named {twice!r}; rename them.")
        else:
            raise TypeError(
                f"{where(owner)}: {name} is a {type(X).__name__}; give a DataFrame, a dictionary or an array."
            )
        table = {c: _column(values) for c, values in columns.items()}
        sizes = {c: len(values) for c, values in table.items()}
        if not sizes or 0 in sizes.values():
            raise ValueError(f"{where(owner)}: {name} is empty; give at least one row and one column.")
        if len(set(sizes.values())) > 1:
            raise ValueError(f"{where(owner)}: the columns of {name} have lengths {sizes}; they must agree.")
        for c, values in table.items():
            if values.dtype.kind == "f" and np.isinf(values).any():
                raise ValueError(f"{where(owner)}: {name}[{c!r}] contains infinity; impute or drop those rows first.")
        return Frame(table)

    def take(self, X: Any, index: Any) -> Any:
        rows = index if isinstance(index, slice) else host(index)
        return Frame({c: values[rows] for c, values in X.columns.items()})

    def join(self, parts: Sequence[Any]) -> Any:
        return Frame({c: np.concatenate([part[c] for part in parts]) for c in parts[0].columns})

    def sample(self, rng: np.random.Generator, n: int) -> Any:
        age, size = rng.normal(size=(2, n))
        city = rng.choice(["Bern", "Oslo", "Rome"], n).astype(object)
        age[1:2], city[2:3] = np.nan, None
        return {"age": age, "size": size, "city": city, "member": np.arange(n) % 2 == 0}


def _column(values: Any) -> np.ndarray:
    """Numbers and times as float64, everything else as objects."""
    is_category = str(getattr(values, "dtype", "")) == "category"
    if isinstance(values, np.ma.MaskedArray):
        A = values.data.astype(object)
        A[np.ma.getmaskarray(values)] = None
    elif is_category:  # even if the labels are numbers
        A = np.asarray(values.astype(object))
    elif hasattr(values, "isna") and values.dtype.kind in "Mm":  # pandas: times with a zone would become objects
        A = values.to_numpy(f"{values.dtype.kind}8[us]")
    elif hasattr(values, "__array__"):
        A = host(values) if is_array(values) else np.asarray(values)
    else:  # np.asarray would turn a list of numbers and text into text
        A = np.fromiter(values, dtype=object, count=len(values))
    if A.dtype.kind in "iuf":
        return A.astype(np.float64)
    if A.dtype.kind in "Mm":
        return np.where(np.isnat(A), np.nan, A.astype(f"{A.dtype.kind}8[us]").astype(np.int64) / DAY)
    objects = A.astype(object)
    missing = np.array([is_gap(v) for v in objects], dtype=bool)
    objects[missing] = None
    numbers = None if is_category else _numbers(objects[~missing].tolist())
    if numbers is None:
        return objects
    out = np.full(len(objects), np.nan)
    out[~missing] = numbers
    return out


def _numbers(values: list[Any]) -> np.ndarray | None:
    """Objects as numbers, if all of them are numbers, dates or durations; else None."""
    if not values:
        return None
    if all(isinstance(v, (Real, Decimal)) and not isinstance(v, bool) for v in values):
        return np.array([float(v) for v in values])
    for types, code in (((date, np.datetime64), "M8[us]"), ((timedelta, np.timedelta64), "m8[us]")):
        if all(isinstance(v, types) for v in values):
            return np.array([_universal(v) for v in values], dtype=code).astype(np.int64) / DAY
    return None


def _universal(time: Any) -> Any:
    """A time in UTC without its zone, which NumPy would just drop."""
    has_zone = isinstance(time, datetime) and time.tzinfo is not None
    return time.astimezone(UTC).replace(tzinfo=None) if has_zone else time
