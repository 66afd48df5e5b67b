"""Files written completely or not at all, and untrusted files read in bounded memory."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, TextIO
from uuid import uuid4

try:
    import fcntl
except ImportError:  # Windows: leftovers of a killed process stay
    fcntl = None  # type: ignore[assignment]

PIECE = 1 << 20  # characters or bytes to read at once
ROOM, PACKED = 1 << 30, 100  # bytes that any file may unpack to; beyond that, the largest multiple of its size
LETTER, PACKED_TEXT = 32, 30  # bytes in memory per character, as words and numbers; largest compression ratio of text


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose content replaces `path` when it is complete; until then, or after an error, the old file stays.

    A link keeps pointing to its file, and the new file has the permissions of the old one. Leftovers of killed
    processes that were writing to the same path are removed.
    """
    path = _target(path)
    _clean(path)
    raw, temporary = _begin(path)
    try:
        with raw:
            if path.exists():
                shutil.copymode(path, temporary)
            yield raw
            raw.flush()
            os.fsync(raw.fileno())
            if fcntl:  # while it is locked, so that no process takes it for a leftover
                os.replace(temporary, path)
        if not fcntl:
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def require_writable(path: str | os.PathLike[str]) -> None:
    """Raise OSError if `replacing` could not write."""
    raw, temporary = _begin(_target(path))
    raw.close()
    temporary.unlink(missing_ok=True)


def _target(path: str | os.PathLike[str]) -> Path:
    path = Path(os.fsdecode(os.path.realpath(path)))
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: its folder does not exist; create it first.")
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is a folder or a device, which a file cannot replace; choose another name.")
    return path


def _prefix(path: Path) -> str:
    """The prefix of temporary file names for `path`, whose own name may have the maximum length."""
    return f".mercer-{sha256(os.fsencode(path.name)).hexdigest()[:16]}-"


def _begin(path: Path) -> tuple[BinaryIO, Path]:
    """A new file next to `path`, locked while it is open."""
    while True:
        temporary = path.with_name(f"{_prefix(path)}{uuid4().hex}.tmp")
        raw = open(temporary, "xb")  # noqa: SIM115
        if fcntl:
            with contextlib.suppress(OSError):  # a file system without locks, where nothing is cleaned either
                fcntl.flock(raw, fcntl.LOCK_EX)
        if temporary.exists():  # it was not removed as a leftover before it was locked
            return raw, temporary
        raw.close()


def _clean(path: Path) -> None:
    """Remove temporary files for `path` that no process uses any more."""
    if not fcntl:
        return
    name = re.compile(re.escape(_prefix(path)) + r"[0-9a-f]{32}\.tmp")
    with os.scandir(path.parent) as entries:
        found = [entry.path for entry in entries if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)]
    for leftover in found:
        with contextlib.suppress(OSError):  # another process uses it, or was faster
            raw = os.open(leftover, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(raw, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(leftover)
            finally:
                os.close(raw)


def require_file(path: str | os.PathLike[str]) -> None:
    """Raise for a path that exists but is not a file: a pipe would block its reader, a device may never end."""
    if os.path.lexists(path) and not os.path.isfile(path):
        raise ValueError(f"{path} is a folder, a pipe, a device or a broken link; pass a file.")


class RoomError(ValueError):
    """A file that unpacks to far more than its size."""


def require_room(path: str | os.PathLike[str], held: float, remedy: str, text: bool = False) -> None:
    """Raise if a file unpacks to `held` bytes, or characters of text, and that is far more than its size."""
    size = os.path.getsize(path)
    if held > (max(ROOM // LETTER, PACKED_TEXT * size) if text else max(ROOM, PACKED * size)):
        raise RoomError(
            f"{path} has {size / 1e6:.3g} MB but would unpack to {held / 1e9:.3g} GB or more; if you trust it, "
            f"{remedy}."
        )


class _Bounded(io.RawIOBase):
    """The text of a compressed file; raises if it unpacks to too much."""

    def __init__(self, path: str | os.PathLike[str], stream: Any):
        self.path, self.stream, self.held = path, stream, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self.stream.read1(len(buffer))
        self.held += len(piece)
        require_room(self.path, self.held, "unpack it first", text=True)
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self.stream.close()
        super().close()


def unpacked(path: str | os.PathLike[str]) -> Any:
    """The bytes of a file, decompressed if its name ends in .gz or .bz2."""
    require_file(path)
    if os.path.isfile(path) and os.path.getsize(path) == 0:  # a system file, which may block its reader
        return io.BytesIO()
    unpack: Any = {".gz": gzip.open, ".bz2": bz2.open}.get(Path(path).suffix)
    return open(path, "rb") if unpack is None else io.BufferedReader(_Bounded(path, unpack(path, "rb")), PIECE)


def whole_lines(stream: TextIO) -> Iterator[str | None]:
    """The lines of a stream; None instead of the first line with zero bytes, after which reading stops.

    A file of zero bytes is a single line, which may be larger than the memory.
    """
    parts: list[str] = []
    while piece := stream.readline(PIECE):
        if "\0" in piece:
            yield None
            return
        parts.append(piece)
        if len(piece) < PIECE or piece[-1] == "\n":
            yield "".join(parts)
            parts = []
    if parts:
        yield "".join(parts)
