"""Tables in text files."""

from __future__ import annotations

import csv
import io
import re
import zlib
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from .._files import unpacked, whole_lines
from ._columns import MISSING, DataError, conform, is_number, plural, require, require_printable

csv.field_size_limit(2**31 - 1)  # characters per cell; the default of 131,072 is too small for long texts
BLOCK = 20_000  # rows per batch
SEPARATORS = (",", ";", "\t", "|")
NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
POINT, COMMA = re.compile(r"[+-]?\d+\.\d+([eE][+-]?\d+)?"), re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
OPENED = {s: rf'(?:^|{re.escape(s)}) *"' for s in SEPARATORS}  # the start of a quoted cell
BROKEN = (EOFError, OSError, zlib.error)  # raised for a damaged archive


@dataclass(frozen=True)
class Layout:
    """The format of a text table."""

    names: list[str]
    header: bool
    separator: str
    decimal: str
    encoding: str

    def __str__(self) -> str:
        parts = [f"separated by {NAMES[self.separator]}", self.encoding.removesuffix("-sig")]
        if self.decimal == ",":
            parts.append("decimal commas")
        if not self.header:
            parts.append("no header: columns are named 1, 2, …")
        return ", ".join(parts)


def encoding_of(path: Path, given: str | None) -> str:
    if given:
        try:
            io.TextIOWrapper(io.BytesIO(), encoding=given)
        except LookupError:
            raise DataError(f"there is no encoding {given!r}; try utf-8, latin-1 or cp1252.") from None
        return given
    with unpacked(path) as stream:
        mark = stream.read(2)
    return "utf-16" if mark in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def lines_of(path: Path, encoding: str) -> Iterator[str]:
    """Lines; a one-sentence error for text in another encoding."""
    with io.TextIOWrapper(unpacked(path), encoding=encoding, newline="") as stream:
        number = 0
        try:
            for number, line in enumerate(whole_lines(stream), 1):
                if line is None:
                    raise DataError(
                        f"{path}, line {number}: contains zero bytes; it is not text, or needs --encoding utf-16-le."
                    )
                yield line
        except BROKEN as error:
            raise DataError(f"{path} is not a complete compressed file: it ends at line {number}.") from error
        except UnicodeError as error:
            byte = f"byte 0x{error.object[error.start]:02x}" if isinstance(error, UnicodeDecodeError) else "no mark"
            raise DataError(
                f"{path} is not {encoding.removesuffix('-sig')} ({byte}{f' after line {number}' if number else ''}); "
                "name its encoding, for example --encoding latin-1."
            ) from error


def sniff(path: Path, encoding: str | None = None, columns: Container[str] | None = None) -> Layout:
    """Separator, decimal mark and names, from the first lines; `columns` are the names expected in a header."""
    encoding = encoding_of(path, encoding)
    lines = [line for line in islice(lines_of(path, encoding), 200) if line.strip()]
    if not lines:
        raise DataError(f"{path} is empty.")
    rows = {s: list(csv.reader(lines, delimiter=s, skipinitialspace=True)) for s in SEPARATORS}

    def agreement(separator: str) -> tuple[float, int, float]:
        width = len(rows[separator][0])
        share = Counter(map(len, rows[separator]))[width] / len(rows[separator])
        return (share if width > 1 else 0.0), width, share

    separator = max(SEPARATORS, key=agreement)  # the first one in a tie
    names, *cells = [[cell.strip() for cell in row] for row in rows[separator]]
    if len(names) == 1 and _has_spaces(lines):
        raise DataError(f"{path} has only spaces between its columns; use commas, semicolons, tabs or bars.")
    header = _is_header(names, cells, columns)
    decimal = _decimal(path, separator, [cell for row in cells for cell in row])
    names = names if header else [str(j + 1) for j in range(len(names))]
    names = [name or f"column {j + 1}" for j, name in enumerate(names)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"{path} has {plural(twice)} more than once; rename all but one.")
    require_printable(path, names)
    return Layout(names, header, separator, decimal, encoding)


def _has_spaces(lines: list[str]) -> bool:
    """Whether all lines have the same number of words, with a number in the last line."""
    words = [line.split() for line in lines]
    return len({len(row) for row in words}) == 1 and len(words[0]) > 1 and any(map(is_number, words[-1]))


def _is_header(first: list[str], cells: list[list[str]], columns: Container[str] | None) -> bool:
    """Whether the first line names columns: not if every cell is a number, missing, or occurs again below."""
    if all(map(is_number, first)):
        return False
    if columns is not None:
        return any(name in columns for name in first)
    below = [{row[j] for row in cells if len(row) > j} for j in range(len(first))]
    return not all(is_number(cell) or cell in MISSING or cell in below[j] for j, cell in enumerate(first))


def _decimal(path: Path, separator: str, cells: list[str]) -> str:
    point = next(filter(POINT.fullmatch, cells), None)
    comma = next(filter(COMMA.fullmatch, cells), None) if separator != "," else None
    if point and comma:
        raise DataError(
            f"{path} has numbers with decimal points and with decimal commas, such as {point} and {comma}; use "
            "only one of them."
        )
    return "," if comma else "."


def text_blocks(path: Path, layout: Layout, rows: int = BLOCK, columns: dict[str, str] | None = None) -> Iterator[Any]:
    """DataFrames of text, or of the kinds in `columns`."""
    require(layout.names, columns, path)
    lines = enumerate(lines_of(path, layout.encoding), 1)
    if layout.header:
        next(_rows_of(path, layout, lines, 1))
    for block in _rows_of(path, layout, lines, rows):
        _require_width(path, layout, block)
        yield _parse(path, layout, block, columns)


def _rows_of(
    path: Path, layout: Layout, lines: Iterator[tuple[int, str]], most: int
) -> Iterator[list[tuple[int, str]]]:
    """Blocks of numbered lines without blank ones; a block never ends inside a quoted cell."""
    block: list[tuple[int, str]] = []
    opened = None
    for number, line in lines:
        if _goes_on(line, opened is not None, layout.separator):
            opened = opened or number
        else:
            opened = None
        if opened or line.strip() or layout.separator in line:  # tabs alone are a row of missing values
            block.append((number, line))
        if len(block) >= most and not opened:
            yield block
            block = []
    if opened:
        raise DataError(f"{path}, line {opened}: a quoted cell is not closed; close or remove the quotation mark.")
    if block:
        yield block


def _goes_on(line: str, inside: bool, separator: str) -> bool:
    """Whether a quoted cell is open at the end of a line; a mark inside a cell (as for inches) does not open one."""
    if '"' not in line:
        return inside
    start = OPENED[separator]
    rest = re.sub(rf'{start}(?:[^"]|"")*+"', "x", f'"{line}' if inside else line)
    return re.search(start, rest) is not None


def _require_width(path: Path, layout: Layout, block: list[tuple[int, str]]) -> None:
    """Raise if a row has more or fewer cells than there are columns; pandas would silently fill short rows."""
    width = len(layout.names)
    if not any('"' in line for _, line in block):
        bad = next(((n, line.count(layout.separator) + 1) for n, line in block
                    if line.count(layout.separator) + 1 != width), None)  # fmt: skip
    else:
        reader = csv.reader((line for _, line in block), delimiter=layout.separator, skipinitialspace=True)
        last, bad = 0, None
        for row in reader:
            if len(row) != width:
                bad = (block[last][0], len(row))
                break
            last = reader.line_num
    if bad:
        raise DataError(
            f"{path}, line {bad[0]}: {bad[1]} cells, but there are {width} columns; correct the row or quote its text."
        )


def _parse(path: Path, layout: Layout, block: list[tuple[int, str]], columns: dict[str, str] | None) -> Any:
    import pandas

    numbers = [name for name, kind in (columns or {}).items() if kind == "number"]
    options: dict[str, Any] = {
        "header": None, "names": layout.names, "sep": layout.separator, "decimal": layout.decimal,
        "skipinitialspace": True, "na_values": MISSING, "index_col": False, "low_memory": False,
    }  # fmt: skip
    text = "".join(line for _, line in block)
    types: dict[str, Any] = dict.fromkeys(layout.names, str) | dict.fromkeys(numbers, np.float64)
    if columns is not None:
        options["usecols"] = list(columns)
    try:
        frame = pandas.read_csv(io.StringIO(text), dtype=types, **options)
    except ValueError as error:
        frame = pandas.read_csv(io.StringIO(text), dtype=str, **options)
        for name in numbers:
            cells = frame[name].dropna().str.replace(layout.decimal, ".")
            bad = cells[~cells.map(is_number)]
            if len(bad):
                where = f"near line {block[min(bad.index[0], len(block) - 1)][0]}"
                raise DataError(
                    f"{path}, {where}: {bad.iloc[0]!r} in the column {name!r}, which was numeric in training."
                ) from error
        raise DataError(f"{path}: {str(error).splitlines()[0]}") from error
    frame = frame.apply(lambda column: column if column.dtype == np.float64 else column.str.strip())
    return frame if columns is None else conform(frame, columns, path)


def with_points(column: Any) -> Any:
    """Replace decimal commas with points in columns that contain only numbers."""
    present = column.dropna()
    numbers = present.str.fullmatch(r"[+-]?\d+(,\d+)?([eE][+-]?\d+)?").all()
    return column.str.replace(",", ".") if len(present) and numbers else column
