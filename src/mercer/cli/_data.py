"""Tables and matrices from files, read whole or in blocks of rows to limit memory."""

from __future__ import annotations

import re
import warnings
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from .. import _files
from .._errors import optional
from .._files import RoomError, require_room, unpacked
from ._columns import DataError, conform, require, require_printable
from ._text import BLOCK, BROKEN, encoding_of, lines_of, sniff, text_blocks, with_points

WORDS = {".csv": "text", ".tsv": "text", ".parquet": "parquet", ".npy": "npy", ".npz": "npz"}
WORDS |= {".libsvm": "libsvm", ".svm": "libsvm", ".scale": "libsvm", ".t": "libsvm"}
LINE = re.compile(r"\s*[^\s:,;]+(\s+\d+:\S+)+\s*")  # LIBSVM's format
FEW = 8  # scaling and fitting a sparse matrix keep this many dense rows
RENUMBER = "use smaller indices: number only the features that occur"
TICKS = {"ms": 1e3, "us": 1e6, "ns": 1e9}  # durations: ticks per second
ZIP, GZIP, OLD_EXCEL = b"PK\x03\x04", b"\x1f\x8b", b"\xd0\xcf\x11\xe0"  # first bytes of these formats
FOREIGN = {".xlsx": "Excel", ".xls": "Excel", ".ods": "LibreOffice", ".json": "JSON", ".sav": "SPSS", ".dta": "Stata"}
FOREIGN |= {".rds": "R", ".rda": "R", ".mat": "MATLAB", ".h5": "HDF5", ".pkl": "Python", ".feather": "Arrow"}


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
    """The format, by the suffix or, failing that, by the first line."""
    suffixes = [s for s in path.suffixes if s not in (".gz", ".bz2")]
    found = WORDS.get(suffixes[-1].lower()) if suffixes else None
    if found:
        return found
    first = next((line for line in lines_of(path, encoding_of(path, encoding)) if line.strip()), "")
    return "libsvm" if LINE.fullmatch(first) else "text"


def read(path: Any, encoding: str | None = None) -> Data:
    """All rows of a file."""
    path = existing(path)
    form = format_of(path, encoding)
    if form in ("text", "parquet"):
        import pandas

        layout = sniff(path, encoding) if form == "text" else None
        frames = list(text_blocks(path, layout) if layout else _parquet_blocks(path))
        if not frames:
            raise DataError(f"{path} has no rows below its header.")
        frame = pandas.concat(frames, ignore_index=True)
        if layout and layout.decimal == ",":
            frame = frame.apply(with_points)
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
        yield from text_blocks(path, sniff(path, encoding, columns), rows, columns)
    elif form == "parquet":
        yield from _parquet_blocks(path, rows, columns)
    else:
        yield from _matrix_blocks(path, form, rows, n_features)


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
    """Reject files of other programs, by their suffix or first bytes."""
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


def _parquet(path: Path) -> tuple[Any, list[str]]:
    """A Parquet file as polars' lazy table, and the names of its columns."""
    polars = optional("polars", "cli", "Reading Parquet")
    with _speaking(path):
        lazy = polars.scan_parquet(path, glob=False)
        names = lazy.collect_schema().names()
    require_printable(path, names)
    return lazy, names


@contextmanager
def _speaking(path: Path) -> Iterator[None]:
    """Errors of polars, which has its own exceptions and panics, become one sentence that names the file."""
    import polars

    try:
        yield
    except (Exception, polars.exceptions.PanicException) as error:
        reason = next(iter(str(error).splitlines()), "")
        raise DataError(f"{path} is not a Parquet file, or is damaged ({reason}).") from error


def _parquet_blocks(path: Path, rows: int = BLOCK, columns: dict[str, str] | None = None) -> Iterator[Any]:
    """DataFrames; without `columns`, all blocks must fit into memory together."""
    lazy, names = _parquet(path)
    import pandas
    import polars

    require(names, columns, path)
    lazy = lazy.select(names := list(columns or names))
    with _speaking(path):
        held = 8 * len(names) * lazy.select(polars.len()).collect().item() if columns is None else 0
    require_room(path, held, "export it as CSV first")
    start = 0
    while (block := _rows(path, lazy.slice(start, rows))).height:
        start += rows
        text = sum(_length(block[c]) for c in names)
        require_room(path, held + text, "export it as CSV first")
        held += text if columns is None else 0
        frame = pandas.DataFrame({c: _readable(path, block[c]) for c in names})
        yield frame if columns is None else conform(frame, columns, path)


def _rows(path: Path, lazy: Any) -> Any:
    with _speaking(path):
        return lazy.collect()


def _length(series: Any) -> int:
    """The bytes that a column needs in addition to 8 per row; repeated text counts every time."""
    if series.dtype.is_numeric():
        return 0
    if str(series.dtype).startswith(("String", "Categorical", "Enum")):
        return int(series.cast(str).str.len_bytes().sum() or 0)
    return int(series.estimated_size())


def _readable(path: Path, series: Any) -> Any:
    """A column for pandas; an error naming the column if NumPy has no such type."""
    try:
        return _plain(series)
    except Exception as error:  # polars has its own exceptions
        raise DataError(
            f"{path}: the column {series.name!r} of type {series.dtype} cannot be read; write 64-bit numbers or "
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
        if not stream.read(6).startswith((npy.MAGIC_PREFIX, b"PK")):  # NumPy would report it as a pickle
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
    if y is not None and y.dtype.kind not in "biufUSM":
        raise DataError(f"{path}: y has type {y.dtype}; numbers, text or dates are expected.")
    if y is not None and y.dtype.kind == "S":
        y = np.strings.decode(y, "utf-8", "backslashreplace")
    return X, y


def require_dense(X: Any, path: Any, remedy: str, whole: bool = True) -> None:
    """Raise if a sparse matrix would be far too large as a dense one; unless `whole`, if a few dense rows would be."""
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
        lines = enumerate(lines_of(path, "utf-8-sig"), 1)
        while block := list(islice(lines, rows)):
            X = _libsvm_rows(path, block)
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


def _libsvm_rows(path: Path, block: list[tuple[int, str]]) -> Any:
    """The samples of numbered lines in LIBSVM's format, checked like a whole file."""
    from mercer.io.libsvm.data import read_lines

    try:
        return read_lines(path, "".join(line for _, line in block), block[0][0])
    except ValueError as error:
        raise DataError(
            f"{str(error).rstrip('.')}; a line is a label (0 if unknown) followed by pairs index:value."
        ) from error


def sniff_names(path: Any, encoding: str | None, columns: Container[str]) -> list[str]:
    """The column names of a table, some of which should be in `columns`; empty for a matrix."""
    path = existing(path)
    form = format_of(path, encoding)
    if form == "text":
        return sniff(path, encoding, columns).names
    return _parquet(path)[1] if form == "parquet" else []
