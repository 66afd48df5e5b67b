"""Training data from a file: columns, rows and task."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._folds import drawn
from mercer.domains import take

from ._columns import DataError, conform, kind_of, odd_cell, unknown_column
from ._data import RENUMBER, Data, require_dense, split_target

CLASSES = 20  # at most this many distinct integers count as classes
REPEATS = 5  # minimum number of rows per class, unless there are two classes
DISTINCT = 0.5  # text with more distinct values than this fraction of the rows identifies rows, not groups
FEW = 20  # with fewer rows, that rule does not apply
LEAST = 4  # rows for a regression: two folds of two rows
DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}( .*)?")  # dates not in ISO 8601 notation
UNIT = re.compile(r"[€$£¥] ?[\d., ']*\d|[\d., ']*\d ?[%€$£¥]|\d{1,3}([., ']\d{3})+([.,]\d+)?|\d+,\d+")
IDENTIFIER = re.compile(r"(.*[\W_])?(id|Id|ID)|.*[a-z]I[dD]")  # names such as user_id and userId
COUNTS = "counts the rows"
WHOLE = 2.0**53  # up to here, float64 represents every integer


@dataclass(frozen=True)
class Sample:
    """Rows ready for an estimator, and the decisions that led to them."""

    X: Any
    y: Any
    task: str
    target: str
    columns: dict[str, str] | None
    n_features: int | None
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.X.shape[0]

    @property
    def is_matrix(self) -> bool:
        """Whether all columns are numbers without missing values."""
        return self.columns is None or not hasattr(self.X, "columns")

    @property
    def is_sparse(self) -> bool:
        """Whether the matrix is sparse."""
        return hasattr(self.X, "nnz")

    def some(self, rows: int) -> tuple[Any, Any]:
        """At most `rows` random rows, stratified by class, with at least two per class for the folds."""
        if self.n <= rows:
            return self.X, self.y
        labels = self.y if self.task == "classification" else None
        part = drawn(self.n, rows, np.random.default_rng(0).permutation(self.n), labels)
        return take(self.X, part), self.y[part]


def prepare(
    data: Data,
    path: Any,
    target: str | None,
    task: str | None = None,
    drop: tuple[str, ...] = (),
    categories: tuple[str, ...] = (),
    supervised: bool = True,
) -> Sample:
    """Choose columns and task; drop rows without a target."""
    if not data.is_table:
        require_dense(data.X, path, RENUMBER, whole=False)
        return _of_matrix(data, path, target, task, supervised)
    frame = data.X
    for name in (*drop, *categories, *(() if target is None else (target,))):
        if name not in frame.columns:
            raise unknown_column(path, name, frame.columns)
    if target in drop:
        raise DataError(f"--drop {target} is the target, which is never used as an input.")
    if supervised and target is None:
        raise DataError(f"--target is missing; the columns of {path} are {', '.join(map(repr, frame.columns[:20]))}.")
    notes: list[str] = []
    y, found = None, ""
    if supervised and target is not None:
        frame = frame[_present(frame[target], target, path, notes)].reset_index(drop=True)
        if target in categories:
            task = task or "classification"
        y, found = _target(frame[target], target, task, path)
    columns, left_out = _columns(frame.drop(columns=[target] if target else []), drop, categories, notes)
    if not columns:
        why = "; ".join(f"{c} {w}" for c, w in left_out.items()) or f"{target!r} is the only one"
        raise DataError(f"{path} has no column to learn from: {why}.")
    dates = [name for name, kind in columns.items() if kind == "date"]
    if supervised and dates:
        notes.append(f"{dates[0]!r} contains dates; random folds test between the training dates, not after them")
    X = conform(frame, columns, path)
    if all(kind != "category" for kind in columns.values()) and not X.isna().to_numpy().any():
        X = X.to_numpy(dtype=np.float64)
    return Sample(X, y, found, target or "", columns, None, left_out, notes)


def _present(column: Any, target: str, path: Any, notes: list[str]) -> np.ndarray:
    """Which rows have a target."""
    present = column.notna().to_numpy()
    if not present.any():
        raise DataError(f"the target {target!r} has no value in any row of {path}.")
    if not present.all():
        gaps = int((~present).sum())
        notes.append(
            "1 row without a target was dropped" if gaps == 1 else f"{gaps} rows without a target were dropped"
        )
    return present


def _of_matrix(data: Data, path: Any, target: str | None, task: str | None, supervised: bool) -> Sample:
    X, y = split_target(data, target, path) if supervised else (data.X, None)
    X = X if hasattr(X, "nnz") else np.asarray(X, dtype=np.float64)
    values = X.data if hasattr(X, "nnz") else X
    if not np.isfinite(values).all():
        raise DataError(f"{path} has non-finite values; write it as CSV, where cells may be empty.")
    found = ""
    notes: list[str] = []
    if supervised:
        import pandas

        column = pandas.Series(y)
        present = _present(column, "y", path, notes)
        X = X if present.all() else X[present]
        y, found = _target(column[present].reset_index(drop=True), target or "y", task, path)
    return Sample(X, y, found, target or "y", None, X.shape[1], notes=notes)


def _target(column: Any, target: str, task: str | None, path: Any) -> tuple[np.ndarray, str]:
    """The targets and the task."""
    kind = kind_of(column)
    values = conform(column.to_frame(target), {target: kind}, path)[target].to_numpy()
    whole = kind == "number" and bool(np.all(values == np.round(values)))
    codes = column.astype(str).to_numpy(dtype=object) if whole and np.abs(values).max() > WHOLE else values
    distinct = len(set(codes.tolist()))
    if task is None:
        few = whole and (distinct == 2 or (distinct <= CLASSES and len(values) >= REPEATS * distinct))
        task = "classification" if kind == "category" or few else "regression"
    if task == "classification":
        text = kind == "date" or (kind == "category" and column.dtype.kind != "b")
        values = column.astype(str).to_numpy(dtype=object) if text else codes
    if task == "regression" and kind == "category":
        raise DataError(f"the target {target!r} of {path} is text, such as {values[0]}; regression needs numbers.")
    if distinct < 2:
        raise DataError(f"the target {target!r} of {path} is {column.iloc[0]} in every row; there is nothing to learn.")
    if task == "regression" and len(values) < LEAST:
        raise DataError(f"{path} has {len(values)} rows with a target; regression needs {LEAST} for its folds.")
    if kind == "category" and len(values) >= FEW and distinct > DISTINCT * len(values):
        raise DataError(
            f"the target {target!r} of {path} is text that differs from row to row, such as {odd_cell(column)[0]!r}; "
            "write numbers without units, percent signs or thousands separators."
        )
    if task == "classification" and kind == "number" and not whole and distinct > CLASSES:
        raise DataError(f"the target {target!r} of {path} is {distinct} numbers such as {column.iloc[0]}, not classes.")
    if task == "classification":
        if whole and values.dtype != object:
            values = values.astype(np.int64)
        labels, counts = np.unique(values.astype(str), return_counts=True)
        if counts.min() < 2:
            raise DataError(
                f"the class {labels[counts.argmin()]} of {target!r} has one row, but folds need two; remove it, or use "
                "--task regression if these are numbers."
            )
        values = values if whole and values.dtype != object else values.astype(str)  # classifiers refuse fractions
    return values, task


def _columns(
    frame: Any, drop: tuple[str, ...], categories: tuple[str, ...], notes: list[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The kind of each used column, and why the others are dropped; notes on columns that look misread."""
    columns, left_out = {}, {}
    for name in frame.columns:
        column = frame[name]
        kind = "category" if name in categories else kind_of(column)
        distinct = column.nunique()
        if name in drop:
            left_out[name] = "by --drop"
        elif kind == "empty":
            left_out[name] = "has no values"
        elif distinct == 1 and column.notna().all():
            left_out[name] = "is constant"
        elif name not in categories and len(frame) >= FEW and kind == "category" and distinct > DISTINCT * len(frame):
            cell = odd_cell(column)[0]
            left_out[name] = f"is text that differs from row to row, such as {cell!r}{_remedy(cell)}"
        elif name not in categories and counts_rows(column) and _is_number_of_row(name, column):
            left_out[name] = COUNTS
        else:
            columns[name] = kind
            if kind == "category" and name not in categories:
                cell, share = odd_cell(column)
                if share > 0.5:
                    notes.append(f"{name} is a category because of {cell!r}; leave such cells empty if it is numeric")
                elif _remedy(cell):
                    notes.append(f"{name} is a category of texts such as {cell!r}{_remedy(cell)}")
            elif kind == "number" and counts_rows(column):
                notes.append(f"{name} increases by one from row to row; use --drop if it numbers the rows")
            elif kind == "number" and distinct == len(frame) >= FEW and IDENTIFIER.fullmatch(str(name)):
                notes.append(f"{name} differs in every row; use --drop if it is an identifier")
    if not columns:  # without other columns, keep a trend over the rows
        for name in [name for name, why in left_out.items() if why == COUNTS]:
            columns[name] = "number"
            del left_out[name]
            notes.append(f"{name} counts the rows, but is kept because there is no other column")
    return columns, left_out


def _is_number_of_row(name: Any, column: Any) -> bool:
    """Whether numbers that increase by one identify rows; others, such as years, are measurements."""
    return float(column.iloc[0]) in (0.0, 1.0) or IDENTIFIER.fullmatch(str(name)) is not None


def _remedy(cell: str) -> str:
    """Advice for a date or a number in unsupported notation."""
    if DATE.fullmatch(cell):
        return "; write dates as 2026-01-31"
    return "; write numbers without units, percent signs or thousands separators" if UNIT.fullmatch(cell) else ""


def counts_rows(column: Any) -> bool:
    """Whether its numbers increase by one from row to row; with few rows, this can be a coincidence."""
    if len(column) < FEW or column.isna().any() or kind_of(column) != "number":
        return False
    return bool(np.all(np.diff(column.astype(float).to_numpy()) == 1))
