"""Columns of a table: their names, kinds and values."""

from __future__ import annotations

import re
import unicodedata
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

MISSING = ["?", "-", "na", "Na", "none"]  # in addition to pandas' own
ISO = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")
SPACES = dict.fromkeys(map(ord, "\t\n\r"))
TRUTH = ("true", "false")  # R, Python and Parquet write them in different cases
LONG = 40  # messages quote at most this many characters of a cell


class DataError(ValueError):
    """A file cannot be used; the message is one sentence with the remedy."""


def require_printable(path: Path, names: list[str]) -> None:
    """Reject names with control characters."""
    strange = [name for name in names if any(unicodedata.category(letter) == "Cc" for letter in name.translate(SPACES))]
    if strange:
        raise DataError(f"{path} has control characters in the name of {plural(strange)}; rename it.")


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return cell.isascii() and "_" not in cell  # Python accepts "1_000", but in a table it is not a number


def require(names: list[str], columns: dict[str, str] | None, path: Path) -> None:
    """Raise unless all columns exist."""
    lacking = [name for name in columns or {} if name not in names]
    if lacking:
        listed = ", ".join(map(repr, names[:20]))
        raise DataError(f"{path} does not have {plural(lacking)}; it has {listed}{', …' if len(names) > 20 else ''}.")


def unknown_column(path: Any, name: str, columns: Any) -> DataError:
    """The error for an unknown column, with the closest name."""
    folded = {str(column).casefold(): str(column) for column in columns}
    near = get_close_matches(name.casefold(), folded, n=1)
    if near:
        return DataError(f"{path} has no column {name!r}; did you mean {folded[near[0]]!r}?")
    listed = ", ".join(map(repr, list(columns)[:20]))
    return DataError(f"{path} has no column {name!r}; its columns are {listed}{', …' if len(columns) > 20 else ''}.")


def plural(names: list[str]) -> str:
    return f"the column{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}"


def kind_of(column: Any) -> str:
    """The kind of a column: "number", "date", "category" or "empty"."""
    if column.dtype.kind in "iuf":
        return "number" if column.notna().any() else "empty"
    if column.dtype.kind == "M":
        return "date"
    present = column.dropna()
    if not len(present):
        return "empty"
    if column.dtype.kind == "b":
        return "category"
    present = present.astype(str)
    if present.map(is_number).all():
        return "number"
    return "date" if present.map(lambda cell: ISO.fullmatch(cell) is not None).all() else "category"


def odd_cell(column: Any) -> tuple[str, float]:
    """The first cell that is not a number, and the fraction of non-missing cells that are numbers."""
    present = column.dropna().astype(str)
    numbers = present.map(is_number).to_numpy(dtype=bool)
    cell = present[~numbers].iloc[0]
    return cell if len(cell) <= LONG else f"{cell[:LONG]}…", float(numbers.mean())


def conform(frame: Any, columns: dict[str, str], path: Any) -> Any:
    """The columns, in order: numbers and dates (days since 1970) as float64, categories as text or None."""
    import pandas

    require(list(frame.columns), columns, path)
    made: dict[str, Any] = {}
    for name, kind in columns.items():
        column = frame[name]
        if kind == "category":
            missing = column.isna().to_numpy()
            values = column.astype(object).map(lambda v: str(v).lower() if str(v).lower() in TRUTH else str(v))
            made[name] = pandas.Series(np.where(missing, None, values.to_numpy(dtype=object)), dtype=object)
            continue
        try:
            if kind == "date" and column.dtype.kind not in "iuf":  # numbers are days already
                times = pandas.to_datetime(column, format=None if column.dtype.kind == "M" else "ISO8601", utc=True)
                since = times - pandas.Timestamp("1970-01-01", tz="UTC")
                made[name] = (since / pandas.Timedelta(days=1)).to_numpy(dtype=np.float64)
            else:
                made[name] = pandas.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
        except (ValueError, TypeError) as error:
            raise DataError(f"{path}: {_fault(column, kind)!r} in the column {name!r} is not a {kind}.") from error
        if np.isinf(made[name]).any():
            raise DataError(f"{path}: the column {name!r} contains infinity; leave unknown cells empty.")
    return pandas.DataFrame(made)


def _fault(column: Any, kind: str) -> str:
    """The first cell that is not of this kind."""
    import pandas

    present = column.dropna().astype(str)
    if kind == "number":
        return odd_cell(present)[0]
    return str(present[pandas.to_datetime(present, format="ISO8601", utc=True, errors="coerce").isna()].iloc[0])
