"""Sources of a data set: the folder in MERCER_DATA, then the cache, then its publisher."""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import BadZipFile

import numpy as np
from sklearn.datasets import fetch_file, get_data_home
from sklearn.utils import Bunch

from .._errors import optional
from ..types import Array, FilePath

FOLDER = "MERCER_DATA"
UCI = "https://archive.ics.uci.edu"


@dataclass(frozen=True)
class Part:
    """One published file. Without `sha256`, the builder must verify the result."""

    url: str
    sha256: str | None = None


@dataclass(frozen=True)
class File:
    """One file that the loaders read."""

    path: str
    page: str  # where the data are published
    form: str = ""  # the content of the file if it differs from the published one
    parts: tuple[Part, ...] = ()  # downloads
    build: Callable[[Sequence[Path], Path], None] | None = None  # makes the file; None if the only part is the file


def locate(owner: str, file: File, data_home: FilePath | None = None, download_if_missing: bool = True) -> Path:
    """The path of a file, downloaded if missing."""
    folder = os.path.expanduser(os.environ.get(FOLDER, ""))
    if folder and Path(folder, file.path).is_file():
        return Path(folder, file.path)
    try:
        cache = Path(get_data_home(data_home)) / "mercer"
    except OSError as error:
        raise OSError(
            f"{owner}: no folder for downloads ({error}); pass data_home, or put {file.path} into {FOLDER}."
        ) from error
    place = cache / file.path
    if place.is_file():
        return place
    looked = f"{FOLDER} = {folder}" if folder else f"the folder in {FOLDER} (which is not set)"
    remedy = f"Put it into either{file.form and ' as '}{file.form}; the data are published at {file.page}."
    if not file.parts or not download_if_missing:
        why = "It has no download" if not file.parts else "download_if_missing = False"
        raise FileNotFoundError(f"{owner}: {file.path} is neither in {looked} nor in {cache}. {why}. {remedy}")
    try:
        _download(file, place)
    except (OSError, ValueError) as error:
        raise OSError(
            f"{owner}: {file.path} is neither in {looked} nor in {cache}, and its download failed ({error}). {remedy}"
        ) from error
    return place


def _download(file: File, place: Path) -> None:
    """Download and verify the parts, and move the finished file to `place` in one step."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=place.parent) as folder:
        parts = [
            fetch_file(part.url, folder=folder, local_filename=f"{i}-{Path(part.url).name}", sha256=part.sha256)
            for i, part in enumerate(file.parts)
        ]
        done = parts[0]
        if file.build is not None:
            done = Path(folder, place.name)
            file.build(parts, done)
        os.replace(done, place)


@contextmanager
def reading(owner: str, path: Path) -> Iterator[None]:
    """Replace decoder errors with one that names the damaged file and the remedy."""
    try:
        yield
    except PermissionError:  # a clear message, and the file may be intact
        raise
    except (OSError, EOFError, BadZipFile, zlib.error, KeyError, IndexError, ValueError) as error:
        raise ValueError(
            f"{owner}: {path} is damaged, or not the expected file ({error}). Delete or replace it."
        ) from error


@contextmanager
def located(owner: str, file: File, data_home: FilePath | None, download_if_missing: bool) -> Iterator[Path]:
    """`locate` and `reading` in one: the path of a file, to be read inside."""
    path = locate(owner, file, data_home, download_if_missing)
    with reading(owner, path):
        yield path


def arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays of an npz file."""
    with open(path, "rb") as file, np.load(file) as found:  # np.load does not close invalid files
        return dict(found)


def read_table(path: Path) -> dict[str, list[str]]:
    """The columns of a compressed CSV file with a header, as text."""
    with gzip.open(path, "rt", newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
        return dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))


def write_table(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """Write a file for `read_table`, the column names first."""
    with gzip.open(path, "wt", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def choose(subset: str, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """The training part, the test part, or both."""
    return {"train": train, "test": test}[subset] if subset != "all" else np.concatenate([train, test])


def encode(labels: Sequence[str], names: Sequence[str]) -> np.ndarray:
    """Labels as their positions in `names`."""
    place = {name: i for i, name in enumerate(names)}
    return np.array([place[label] for label in labels])


def answer(return_X_y: bool, data: Any, target: Array, *, as_frame: bool | None = None, **more: Any) -> Any:
    """The result of a loader: ``(data, target)``, or a Bunch with these and more; with `as_frame`, as pandas tables."""
    if as_frame:
        data, target, more["frame"] = _framed(data, target, more)
    elif as_frame is not None:  # loaders of tables: their Bunch has a frame, as in scikit-learn
        more["frame"] = None
    return (data, target) if return_X_y else Bunch(data=data, target=target, **more)


def _framed(data: np.ndarray, target: np.ndarray | None, more: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Data, targets, and both as pandas tables; text as categories."""
    pandas: Any = optional("pandas", "cli", "as_frame=True")
    X = pandas.DataFrame(data, columns=more["feature_names"])
    for column, words in more.get("categories", {}).items():
        if column in X:
            X[column] = pandas.Categorical.from_codes(X[column].astype(int), words)
    if target is None:
        return X, None, X
    several = target.ndim == 2
    y = pandas.DataFrame(target, columns=more["target_names"]) if several else pandas.Series(target, name="target")
    return X, y, pandas.concat([X, y], axis=1)
