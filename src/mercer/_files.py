"""Files that are written completely or not at all, and untrusted files, which are read in bounded memory."""

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
except ImportError:  # Windows: what a killed process left behind stays there
    fcntl = None  # type: ignore[assignment]

PIECE = 1 << 20  # letters, or bytes, that are read at once
ROOM, PACKED = 1 << 30, 100  # bytes that any file may unpack to, and beyond these how many times its size
LETTER, PACKED_TEXT = 32, 30  # bytes that a letter may take in memory, as words and numbers; how often text is packed


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose content replaces `path` when it is complete; until then, or after an error, the old file stays.

    A link keeps pointing to its file, and the new file has the permissions of the old one. Leftovers of killed
    processes that wrote to the same path are removed.
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
            if fcntl:  # while it is locked, and no one takes it for a leftover
                os.replace(temporary, path)
        if not fcntl:
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def require_writable(path: str | os.PathLike[str]) -> None:
    """Raise OSError where `replacing` could not write."""
    raw, temporary = _begin(_target(path))
    raw.close()
    temporary.unlink(missing_ok=True)


def _target(path: str | os.PathLike[str]) -> Path:
    path = Path(os.fsdecode(os.path.realpath(path)))
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: its folder does not exist; make it first.")
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is a folder or a device, which no file can replace; choose another name.")
    return path


def _prefix(path: Path) -> str:
    """How the names of temporary files for `path` begin; its own name may be as long as names can be."""
    return f".mercer-{sha256(os.fsencode(path.name)).hexdigest()[:16]}-"


def _begin(path: Path) -> tuple[BinaryIO, Path]:
    """A new file beside `path`, locked as long as it is open."""
    while True:
        temporary = path.with_name(f"{_prefix(path)}{uuid4().hex}.tmp")
        raw = open(temporary, "xb")  # noqa: SIM115
        if fcntl:
            with contextlib.suppress(OSError):  # a file system without locks, where no one cleans either
                fcntl.flock(raw, fcntl.LOCK_EX)
        if temporary.exists():  # not taken for a leftover before it was locked
            return raw, temporary
        raw.close()


def _clean(path: Path) -> None:
    """Remove temporary files for `path` that no process holds any more."""
    if not fcntl:
        return
    name = re.compile(re.escape(_prefix(path)) + r"[0-9a-f]{32}\.tmp")
    with os.scandir(path.parent) as entries:
        found = [entry.path for entry in entries if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)]
    for leftover in found:
        with contextlib.suppress(OSError):  # another process holds it, or was faster
            raw = os.open(leftover, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(raw, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(leftover)
            finally:
                os.close(raw)


def require_file(path: str | os.PathLike[str]) -> None:
    """Raise for a path that exists and is not a file: a pipe would make its reader wait, a device never ends."""
    if os.path.lexists(path) and not os.path.isfile(path):
        raise ValueError(f"{path}: is a folder, a pipe, a device or a broken link; give a file.")


class RoomError(ValueError):
    """A file that unpacks to much more than it is."""


def require_room(path: str | os.PathLike[str], held: float, remedy: str, text: bool = False) -> None:
    """Raise for a file that unpacks to so many bytes, or letters of text, if that is much more than it is."""
    size = os.path.getsize(path)
    if held > (max(ROOM // LETTER, PACKED_TEXT * size) if text else max(ROOM, PACKED * size)):
        raise RoomError(
            f"{path} has {size / 1e6:.3g} MB but would unpack to {held / 1e9:.3g} GB or more; if you trust it, "
            f"{remedy}."
        )


class _Bounded(io.RawIOBase):
    """The text that a compressed file holds, as far as there is room for it."""

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
    if os.path.isfile(path) and os.path.getsize(path) == 0:  # one of the system, which may make its reader wait
        return io.BytesIO()
    unpack: Any = {".gz": gzip.open, ".bz2": bz2.open}.get(Path(path).suffix)
    return open(path, "rb") if unpack is None else io.BufferedReader(_Bounded(path, unpack(path, "rb")), PIECE)


def whole_lines(stream: TextIO) -> Iterator[str | None]:
    """The lines of a stream; None instead of the first with zero bytes, after which nothing more is read.

    A file of nothing else is one line, which may be larger than the memory.
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
