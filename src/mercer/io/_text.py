"""Text files, compressed or not: numbered lines, and atomic writes."""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import Any, TextIO

from .._files import PIECE, replacing, unpacked, whole_lines
from ..types import FilePath


def require_text(path: FilePath) -> bool:
    """Raise for a file with zero bytes, before a parser reads it into memory; return whether it contains "_"."""
    found = False
    with _whole(path) as stream:
        while piece := stream.read(PIECE):
            if b"\0" in piece:
                raise ValueError(f"{path}: contains zero bytes; it is not text.")
            found |= b"_" in piece
    return found


@contextmanager
def _whole(path: FilePath) -> Iterator[Any]:
    """The bytes of a file; incomplete compressed files raise."""
    with unpacked(path) as stream:
        try:
            yield stream
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path}: is not a complete compressed file ({error}).") from error


def brief(message: Any, most: int = 200) -> str:
    """A message in one short line without control characters, since messages quote the content of files."""
    line = " ".join(str(message).split())[:most]
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in line)[:most]


class Lines:
    """The lines of a file, with line numbers for errors."""

    def __init__(self, path: Path, handle: TextIO, before: int = 0):
        self.path, self.handle, self.number = path, handle, before

    def __iter__(self) -> Iterator[str]:
        for self.number, line in enumerate(whole_lines(self.handle), self.number + 1):  # noqa: B020
            if line is None:
                raise self.error("contains zero bytes; it is not text.")
            yield line

    def error(self, message: str) -> ValueError:
        """An error ``data.txt, line 3: …``, for the caller to raise."""
        return ValueError(f"{self.path}, line {max(self.number, 1)}: {brief(message, 500)}")

    def parse(self, word: str, kind: type, what: str) -> Any:
        """`word` as an int or a finite float."""
        try:
            value = kind(word) if word.isascii() and "_" not in word else None  # others are numbers only to Python
        except ValueError:
            value = None
        if value is None or (kind is float and not isfinite(value)):
            name = "an integer" if kind is int else "a finite number"
            raise self.error(f"{what} = {word!r} must be {name}.")
        return value


@contextmanager
def reading(path: FilePath) -> Iterator[Lines]:
    """The lines of a text file; ``.gz`` and ``.bz2`` are decompressed."""
    with _whole(path) as stream:
        yield Lines(Path(path), io.TextIOWrapper(stream, encoding="utf-8", errors="replace"))


@contextmanager
def writing(path: FilePath) -> Iterator[TextIO]:
    """A text file that replaces an old one once it is complete; after an error, the old one stays.

    ``.gz`` and ``.bz2`` are compressed without a timestamp: the same text gives the same file.
    """
    suffix = Path(path).suffix
    with replacing(path) as raw:
        packed: Any = raw
        if suffix == ".gz":
            packed = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)
        elif suffix == ".bz2":
            packed = bz2.BZ2File(raw, "wb")
        text = io.TextIOWrapper(packed, encoding="utf-8", newline="\n")
        yield text
        text.detach()
        if packed is not raw:
            packed.close()


def number(value: Any) -> str:
    """The shortest text that reads back as exactly this number."""
    return repr(float(value)).removesuffix(".0")
