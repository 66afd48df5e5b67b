"""Tables and matrices from files: whole, or in blocks of rows to bound the memory."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
import warnings
import zlib
from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from .. import _files
from .._errors import optional
from .._files import RoomError, require_room, unpacked, whole_lines

__all__ = [
    "BLOCK",
    "Data",
    "RENUMBER",
    "DataError",
    "Layout",
    "conform",
    "existing",
    "kind_of",
    "odd_cell",
    "read",
    "read_blocks",
    "require_dense",
    "split_target",
    "stem",
    "unknown_column",
]

csv.field_size_limit(2**31 - 1)  # characters per cell; the default of 131,072 refuses long texts
BLOCK = 20_000  # rows per batch
SEPARATORS = (",", ";", "\t", "|")
NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
MISSING = ["?", "-", "na", "Na", "none"]  # in addition to pandas' own
WORDS = {".csv": "text", ".tsv": "text", ".parquet": "parquet", ".npy": "npy", ".npz": "npz"}
WORDS |= {".libsvm": "libsvm", ".svm": "libsvm", ".scale": "libsvm", ".t": "libsvm"}
POINT, COMMA = re.compile(r"[+-]?\d+\.\d+([eE][+-]?\d+)?"), re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
LINE = re.compile(r"\s*[^\s:,;]+(\s+\d+:\S+)+\s*")  # LIBSVM's format
OPENED = {s: rf'(?:^|{re.escape(s)}) *"' for s in SEPARATORS}  # the start of a quoted cell
ISO = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")

SPACES = dict.fromkeys(map(ord, "\t\n\r"))
TRUTH = ("true", "false")  # written in any case, by R, Python and Parquet
FEW = 8  # dense rows that scaling and fitting keep of a sparse matrix
RENUMBER = "use smaller indices: number only the features that occur"
TICKS = {"ms": 1e3, "us": 1e6, "ns": 1e9}  # durations: ticks per second
LONG = 40  # characters of a cell that a message quotes

BROKEN = (EOFError, OSError, zlib.error)  # raised for a damaged archive
ZIP, GZIP, OLD_EXCEL = b"PK\x03\x04", b"\x1f\x8b", b"\xd0\xcf\x11\xe0"  # first bytes of these formats
FOREIGN = {".xlsx": "Excel", ".xls": "Excel", ".ods": "LibreOffice", ".json": "JSON", ".sav": "SPSS", ".dta": "Stata"}
FOREIGN |= {".rds": "R", ".rda": "R", ".mat": "MATLAB", ".h5": "HDF5", ".pkl": "Python", ".feather": "Arrow"}


class DataError(ValueError):
    """A file cannot be used; the message is one sentence with the remedy."""


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


@dataclass(frozen=True)
class Data:
    """A file's content: a DataFrame of numbers and text, or a matrix; `y` if the format stores targets."""

    X: Any
    y: np.ndarray | None
    note: str

    @property
    def is_table(self) -> bool:
        """Whether columns have names and kinds."""
        return hasattr(self.X, "columns")


def stem(path: Any) -> str:
    """The file name without its format suffixes."""
    path = Path(path)
    return Path(path.stem).stem if path.suffix in (".gz", ".bz2") else path.stem


def format_of(path: Path, encoding: str | None = None) -> str:
    """The format by the suffix, or else by the first line."""
    suffixes = [s for s in path.suffixes if s not in (".gz", ".bz2")]
    found = WORDS.get(suffixes[-1].lower()) if suffixes else None
    if found:
        return found
    first = next((line for line in _lines(path, _encoding(path, encoding)) if line.strip()), "")
    return "libsvm" if LINE.fullmatch(first) else "text"


def read(path: Any, encoding: str | None = None) -> Data:
    """All rows of a file."""
    path = existing(path)
    form = format_of(path, encoding)
    if form in ("text", "parquet"):
        import pandas

        layout = sniff(path, encoding) if form == "text" else None
        frames = list(_text_blocks(path, layout) if layout else _parquet_blocks(path))
        if not frames:
            raise DataError(f"{path} has no rows below its header.")
        frame = pandas.concat(frames, ignore_index=True)
        if layout and layout.decimal == ",":
            frame = frame.apply(_with_points)
        return Data(frame, None, f"text, {layout}" if layout else "Parquet")
    if form == "libsvm":
        from mercer.io import libsvm

        X, y = libsvm.load_data(path)
        if X.shape[0] == 0:
            raise DataError(f"{path} is empty.")
        sparse = X.nnz < 0.5 * X.shape[0] * X.shape[1]
        return Data(X if sparse else X.toarray(), y, f"LIBSVM, {'sparse' if sparse else 'dense'}")
    A, targets = _numpy(path)
    return Data(A, targets, f"NumPy, {A.shape[0]} × {A.shape[1]}")


def read_blocks(
    path: Any,
    rows: int = BLOCK,
    columns: dict[str, str] | None = None,
    n_features: int | None = None,
    encoding: str | None = None,
) -> Iterator[Any]:
    """The samples of a file in blocks: tables for a model with `columns`, else matrices with `n_features` columns."""
    path = existing(path)
    form = format_of(path, encoding)
    if (columns is not None) != (form in ("text", "parquet")):
        wants, has = ("a table with named columns", "a matrix") if columns is not None else ("a matrix", "a table")
        raise DataError(f"the model was fitted to {wants}, but {path} is {has}.")
    if form == "text":
        yield from _text_blocks(path, sniff(path, encoding, columns), rows, columns)
    elif form == "parquet":
        yield from _parquet_blocks(path, rows, columns)
    else:
        yield from _matrix_blocks(path, form, rows, n_features)


# ---- text


def existing(path: Any) -> Path:
    """The path, if it is a data file."""
    path = Path(path)
    if str(path) == "-" or path.is_fifo():
        raise DataError(f"{path} is a pipe, but data are read more than once; write them to a file first.")
    if not path.exists():
        raise DataError(f"{path} does not exist.")
    if path.is_dir():
        raise DataError(f"{path} is a folder, not a file.")
    with unpacked(path) as stream:
        try:
            start = stream.read(4)
        except BROKEN as error:
            raise DataError(f"{path} is not a complete compressed file ({error}).") from error
    if not start:
        raise DataError(f"{path} is empty.")
    _refuse_foreign(path, start)
    return path


def _refuse_foreign(path: Path, start: bytes) -> None:
    """Raise for files of other programs, by their suffix or their first bytes."""
    suffix = path.suffix.lower()
    if suffix == ".mercer":
        raise DataError(f"{path} is a model, not data; `mercer info {path}` describes it.")
    if start.startswith(GZIP):
        raise DataError(f"{path} is compressed; rename it to end in .gz.")
    of = FOREIGN.get(suffix) or ("Excel" if start == OLD_EXCEL else None)
    if of:
        raise DataError(f"{path} is a file of {of}; export it as CSV first.")
    if start == ZIP and suffix != ".npz":
        raise DataError(f"{path} is a zip archive, like recent Excel files; export it as CSV first.")


def _encoding(path: Path, given: str | None) -> str:
    if given:
        try:
            io.TextIOWrapper(io.BytesIO(), encoding=given)
        except LookupError:
            raise DataError(f"there is no encoding {given!r}; try utf-8, latin-1 or cp1252.") from None
        return given
    with unpacked(path) as stream:
        mark = stream.read(2)
    return "utf-16" if mark in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def _lines(path: Path, encoding: str) -> Iterator[str]:
    """Lines; an error in one sentence for text in another encoding."""
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
    """Separator, decimal mark and names, from the first lines; `columns` are the names that a header would contain."""
    encoding = _encoding(path, encoding)
    lines = [line for line in islice(_lines(path, encoding), 200) if line.strip()]
    if not lines:
        raise DataError(f"{path} is empty.")
    rows = {s: list(csv.reader(lines, delimiter=s, skipinitialspace=True)) for s in SEPARATORS}

    def agreement(separator: str) -> tuple[float, int, float]:
        width = len(rows[separator][0])
        share = Counter(map(len, rows[separator]))[width] / len(rows[separator])
        return (share if width > 1 else 0.0), width, share

    separator = max(SEPARATORS, key=agreement)  # the first of equals
    names, *cells = [[cell.strip() for cell in row] for row in rows[separator]]
    if len(names) == 1 and _has_spaces(lines):
        raise DataError(f"{path} has only spaces between its columns; use commas, semicolons, tabs or bars.")
    header = _is_header(names, cells, columns)
    decimal = _decimal(path, separator, [cell for row in cells for cell in row])
    names = names if header else [str(j + 1) for j in range(len(names))]
    names = [name or f"column {j + 1}" for j, name in enumerate(names)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"{path} has {_plural(twice)} more than once; rename all but one.")
    _require_printable(path, names)
    return Layout(names, header, separator, decimal, encoding)


def _require_printable(path: Path, names: list[str]) -> None:
    """Raise for names with characters that control a terminal."""
    strange = [name for name in names if any(unicodedata.category(letter) == "Cc" for letter in name.translate(SPACES))]
    if strange:
        raise DataError(f"{path} has control characters in the name of {_plural(strange)}; rename it.")


def _has_spaces(lines: list[str]) -> bool:
    """Whether all lines have the same number of words, with a number in the last line."""
    words = [line.split() for line in lines]
    return len({len(row) for row in words}) == 1 and len(words[0]) > 1 and any(map(_is_number, words[-1]))


def _is_header(first: list[str], cells: list[list[str]], columns: Container[str] | None) -> bool:
    """Whether the first line names columns: not if each cell is a number or occurs again below."""
    if all(map(_is_number, first)):
        return False
    if columns is not None:
        return any(name in columns for name in first)
    below = [{row[j] for row in cells if len(row) > j} for j in range(len(first))]
    return not all(_is_number(cell) or cell in MISSING or cell in below[j] for j, cell in enumerate(first))


def _decimal(path: Path, separator: str, cells: list[str]) -> str:
    point = next(filter(POINT.fullmatch, cells), None)
    comma = next(filter(COMMA.fullmatch, cells), None) if separator != "," else None
    if point and comma:
        raise DataError(
            f"{path} has numbers with decimal points and with decimal commas, such as {point} and {comma}; use "
            "only one of them."
        )
    return "," if comma else "."


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return cell.isascii() and "_" not in cell  # Python accepts "1_000", but tables do not mean it


def _text_blocks(path: Path, layout: Layout, rows: int = BLOCK, columns: dict[str, str] | None = None) -> Iterator[Any]:
    """DataFrames of text, or of the kinds in `columns`."""
    require(layout.names, columns, path)
    lines = enumerate(_lines(path, layout.encoding), 1)
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
    """Whether a quoted cell is open at the end of a line; a mark inside a cell, as for inches, opens none."""
    if '"' not in line:
        return inside
    start = OPENED[separator]
    rest = re.sub(rf'{start}(?:[^"]|"")*+"', "x", f'"{line}' if inside else line)
    return re.search(start, rest) is not None


def require(names: list[str], columns: dict[str, str] | None, path: Path) -> None:
    """Raise unless all columns exist."""
    lacking = [name for name in columns or {} if name not in names]
    if lacking:
        listed = ", ".join(map(repr, names[:20]))
        raise DataError(f"{path} does not have {_plural(lacking)}; it has {listed}{', …' if len(names) > 20 else ''}.")


def unknown_column(path: Any, name: str, columns: Any) -> DataError:
    """The error for an unknown column, with the closest name."""
    folded = {str(column).casefold(): str(column) for column in columns}
    near = get_close_matches(name.casefold(), folded, n=1)
    if near:
        return DataError(f"{path} has no column {name!r}; did you mean {folded[near[0]]!r}?")
    listed = ", ".join(map(repr, list(columns)[:20]))
    return DataError(f"{path} has no column {name!r}; its columns are {listed}{', …' if len(columns) > 20 else ''}.")


def _plural(names: list[str]) -> str:
    return f"the column{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}"


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
            bad = cells[~cells.map(_is_number)]
            if len(bad):
                where = f"near line {block[min(bad.index[0], len(block) - 1)][0]}"
                raise DataError(
                    f"{path}, {where}: {bad.iloc[0]!r} in the column {name!r}, which was numeric in training."
                ) from error
        raise DataError(f"{path}: {str(error).splitlines()[0]}") from error
    frame = frame.apply(lambda column: column if column.dtype == np.float64 else column.str.strip())
    return frame if columns is None else conform(frame, columns, path)


def _with_points(column: Any) -> Any:
    """Replace decimal commas by points, in columns that then contain only numbers."""
    present = column.dropna()
    numbers = present.str.fullmatch(r"[+-]?\d+(,\d+)?([eE][+-]?\d+)?").all()
    return column.str.replace(",", ".") if len(present) and numbers else column


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
    if present.map(_is_number).all():
        return "number"
    return "date" if present.map(lambda cell: ISO.fullmatch(cell) is not None).all() else "category"


def odd_cell(column: Any) -> tuple[str, float]:
    """The first cell that is not a number, and the fraction of non-missing cells that are numbers."""
    present = column.dropna().astype(str)
    numbers = present.map(_is_number).to_numpy(dtype=bool)
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
    """The first cell of another kind."""
    import pandas

    present = column.dropna().astype(str)
    if kind == "number":
        return odd_cell(present)[0]
    return str(present[pandas.to_datetime(present, format="ISO8601", utc=True, errors="coerce").isna()].iloc[0])


# ---- Parquet and matrices


def _parquet(path: Path) -> tuple[Any, list[str]]:
    """A Parquet file as polars' lazy table, and the names of its columns."""
    polars = optional("polars", "cli", "Reading Parquet")
    try:
        lazy = polars.scan_parquet(path, glob=False)
        names = lazy.collect_schema().names()
    except Exception as error:  # polars has its own exceptions
        raise DataError(f"{path} is not a Parquet file ({str(error).splitlines()[0]}).") from error
    _require_printable(path, names)
    return lazy, names


def _parquet_blocks(path: Path, rows: int = BLOCK, columns: dict[str, str] | None = None) -> Iterator[Any]:
    """DataFrames; without `columns`, all blocks must fit into memory together."""
    lazy, names = _parquet(path)
    import pandas
    import polars

    require(names, columns, path)
    lazy = lazy.select(names := list(columns or names))
    held = 8 * len(names) * lazy.select(polars.len()).collect().item() if columns is None else 0
    require_room(path, held, "export it as CSV first")
    start = 0
    while (block := lazy.slice(start, rows).collect()).height:
        start += rows
        text = sum(_length(block[c]) for c in names)
        require_room(path, held + text, "export it as CSV first")
        held += text if columns is None else 0
        frame = pandas.DataFrame({c: _readable(path, block[c]) for c in names})
        yield frame if columns is None else conform(frame, columns, path)


def _length(series: Any) -> int:
    """The bytes that a column needs besides 8 per row; a repeated text counts every time."""
    if series.dtype.is_numeric():
        return 0
    if str(series.dtype).startswith(("String", "Categorical", "Enum")):
        return int(series.cast(str).str.len_bytes().sum() or 0)
    return int(series.estimated_size())


def _readable(path: Path, series: Any) -> Any:
    """A column for pandas; an error that names the column if NumPy has no such type."""
    try:
        return _plain(series)
    except Exception as error:  # polars has its own exceptions
        raise DataError(
            f"{path}: the column {series.name!r} of the type {series.dtype} cannot be read; write 64-bit numbers or "
            "text instead."
        ) from error


def _plain(series: Any) -> Any:
    """A polars column as pandas would read it."""
    if series.dtype.is_integer() and series.null_count():  # as float64 a code 7 would become "7.0"
        return np.array(series.to_list(), dtype=object)
    if str(series.dtype).startswith("Duration"):
        return series.to_physical().to_numpy() / (86_400 * TICKS[series.dtype.time_unit])  # days, like dates
    if str(series.dtype) == "Binary":
        return np.array([None if v is None else v.decode(errors="backslashreplace") for v in series], dtype=object)
    if series.dtype.is_numeric() or series.dtype.is_temporal():
        return series.to_numpy()
    if series.dtype.is_nested():
        return np.array([None if value is None else str(value) for value in series.to_list()], dtype=object)
    return np.array(series.cast(str).to_list() if str(series.dtype) != "Boolean" else series.to_list(), dtype=object)


def _numpy(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    with path.open("rb") as stream:
        if not stream.read(6).startswith((npy.MAGIC_PREFIX, b"PK")):  # NumPy would treat it as a pickle, and say so
            raise DataError(f"{path} is not a NumPy file; its first bytes are wrong.")
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
        parts = {"X": found}
        if hasattr(found, "files"):
            held = sum(part.file_size for part in found.zip.infolist())
            require_room(path, held, "save its arrays with numpy.savez, which does not compress")
            parts = {name: found[name] for name in found.files}
    except RoomError:
        raise
    except Exception as error:  # a damaged file can fail in any way
        raise DataError(f"{path} is not a NumPy file without pickled objects ({error}).") from error
    if "X" not in parts:
        raise DataError(f"{path} has the arrays {', '.join(parts)}; it must have X, and y for the targets.")
    X, y = parts["X"], parts.get("y")
    if X.ndim != 2 or X.dtype.kind not in "iufb":
        raise DataError(f"{path}: X has shape {X.shape} and type {X.dtype}; a matrix of numbers is expected.")
    if 0 in X.shape:
        raise DataError(f"{path}: X has shape {X.shape}; it is empty.")
    if y is not None and y.shape != X.shape[:1]:
        raise DataError(f"{path}: y has shape {y.shape}, but X has {X.shape[0]} rows.")
    return X, y


def require_dense(X: Any, path: Any, remedy: str, whole: bool = True) -> None:
    """Raise if a sparse matrix is far too large in dense form; unless `whole`, if a few dense rows of it are."""
    if not hasattr(X, "nnz"):
        return
    n, d = X.shape
    room = 8 * (n if whole else FEW) * d
    if room > max(_files.ROOM, _files.PACKED * X.data.nbytes):
        cells = f"the {n} × {d} cells, most of them zeros," if whole else f"a few numbers for each of {d} columns"
        raise DataError(f"{path}: {cells} take {room / 2**30:.3g} GiB; {remedy}.")


def split_target(data: Data, target: str | None, path: Any) -> tuple[Any, np.ndarray]:
    """The features and targets of a matrix: the file's own targets, else the column `target`, or the last."""
    if data.y is not None:
        if target not in (None, "y"):
            raise DataError(f"{path} contains its own targets; omit --target {target}.")
        return data.X, data.y
    try:
        column = int(target) if target is not None else -1
        return np.delete(data.X, column, axis=1), data.X[:, column]
    except (ValueError, IndexError):
        raise DataError(f"--target {target} must be a column of {path}: 0 to {data.X.shape[1] - 1}, or −1.") from None


def _matrix_blocks(path: Path, form: str, rows: int, n_features: int | None) -> Iterator[Any]:
    if form == "libsvm":
        from sklearn.datasets import load_svmlight_file

        lines = enumerate(_lines(path, "utf-8-sig"), 1)
        while block := list(islice(lines, rows)):
            text = "".join(line for _, line in block).encode()
            try:
                X = load_svmlight_file(io.BytesIO(text), zero_based=False)[0]
            except (ValueError, OverflowError) as error:
                raise DataError(
                    f"{path}, lines {block[0][0]}–{block[-1][0]}: {error}; a line is a label (0 if unknown) "
                    "followed by pairs index:value."
                ) from error
            if n_features is not None:  # zeros are not stored, and test files often have larger indices
                if X.shape[1] > n_features:
                    warnings.warn(
                        f"{path}: the model uses indices up to {n_features}; larger ones are ignored", stacklevel=2
                    )
                X.resize(X.shape[0], n_features)
            if X.shape[0]:  # not only blank lines and comments
                yield X
        return
    X = _numpy(path)[0]
    if n_features is not None and X.shape[1] != n_features:
        raise DataError(f"{path} has shape {X.shape}, but the model expects {n_features} columns.")
    for start in range(0, len(X), rows):
        yield np.asarray(X[start : start + rows], dtype=np.float64)


def sniff_names(path: Any, encoding: str | None, columns: Container[str]) -> list[str]:
    """The column names of a table, some of which should be in `columns`; none for a matrix."""
    path = existing(path)
    form = format_of(path, encoding)
    if form == "text":
        return sniff(path, encoding, columns).names
    return _parquet(path)[1] if form == "parquet" else []
