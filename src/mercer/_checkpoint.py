"""A file from which interrupted work can resume."""

from __future__ import annotations

import json
import os
import threading
import time
import zipfile
from hashlib import sha256
from pathlib import Path
from pickle import PicklingError
from typing import Any

import joblib
import numpy as np

from ._errors import warn
from ._files import replacing, require_writable
from .types import FilePath

SECONDS = 5.0  # minimum time between two writes


class Checkpoint:
    """Named states, each a dictionary of arrays, in one file that is replaced as a whole.

    `about` holds everything the states depend on, keyed by the names used in messages. The file stores hashes of it; a
    file with different hashes, or whose content does not match its digest, is rejected. The caller checks whether a
    state fits its problem, and raises `error` if not.

    A failed write warns once; the work continues, and so do further attempts.
    """

    def __init__(self, path: FilePath, who: str, about: dict[str, Any]):
        self.path, self.who = Path(path), who
        self.marks = json.dumps({name: _mark(who, path, name, value) for name, value in about.items()})
        if not os.path.isdir(self.path.parent):
            raise ValueError(f"{who}: checkpoint = {str(path)!r} is in a folder that does not exist; create it first.")
        self.states: dict[str, dict[str, np.ndarray]] = {}
        self.lock, self.written, self.warned = threading.Lock(), time.monotonic(), False
        try:
            require_writable(path)
        except (OSError, ValueError) as error:  # also a pipe or a device, which may never end
            raise ValueError(
                f"{who}: checkpoint = {str(path)!r} cannot be written ({error}); choose another file."
            ) from error
        if self.path.exists():
            self._read()

    def _read(self) -> None:
        try:
            with self.path.open("rb") as stream:
                content = _parts(stream)
            digest = str(content.pop("digest"))
            if digest != _digest(content):
                raise ValueError("it was changed or damaged after it was written")
            found = dict(json.loads(str(content.pop("marks"))))
            for key, value in content.items():
                name, part = key.rsplit("/", 1)
                self.states.setdefault(name, {})[part] = value
        except Exception as error:  # a broken archive can fail in any way
            raise ValueError(
                f"{self.who}: checkpoint = {str(self.path)!r} is not a checkpoint: {error}. Delete it, or choose "
                "another file."
            ) from error
        mine = json.loads(self.marks)
        different = [name for name in mine | found if mine.get(name) != found.get(name)]
        if different:
            raise self.error(f"was written by a different run: {', '.join(different)} differ")

    def error(self, fault: str) -> ValueError:
        """The error for a file from which this work cannot resume."""
        return ValueError(f"{self.who}: checkpoint = {str(self.path)!r} {fault}. Delete it, or choose another file.")

    def get(self, name: str) -> dict[str, np.ndarray] | None:
        """The last state with this name."""
        return self.states.get(name)

    @property
    def due(self) -> bool:
        """Whether a write is due."""
        return time.monotonic() >= self.written + SECONDS

    def put(self, name: str, state: dict[str, Any], done: bool = False) -> None:
        """Store a state, and write all states if a write is due; a final state is always kept for the next write."""
        due = self.due
        if due or done:
            with self.lock:
                self.states[name] = {part: np.array(value) for part, value in state.items()}
        if due:
            self.write()

    def write(self) -> None:
        """Replace the file by one with all states, or warn if this fails."""
        with self.lock:
            parts = {f"{n}/{p}": v for n, s in self.states.items() for p, v in s.items()}
            parts["marks"] = np.array(self.marks)
            try:
                with replacing(self.path) as file:
                    np.savez(file, digest=_digest(parts), **parts)  # type: ignore[arg-type]
            except (OSError, MemoryError) as error:
                if not self.warned:
                    warn(
                        f"{self.who}: checkpoint = {str(self.path)!r} could not be written ({error}); the work "
                        "continues, but cannot be resumed from here.",
                    )
                self.warned = True
            self.written = time.monotonic()


def _parts(stream: Any) -> dict[str, np.ndarray]:
    """The arrays of a file written by NumPy's `savez`; reading takes no more memory than its size."""
    if not zipfile.is_zipfile(stream):
        raise ValueError("it is not an archive of arrays")
    stream.seek(0)
    members = zipfile.ZipFile(stream).infolist()
    if any(m.compress_type for m in members) or sum(m.file_size for m in members) > os.fstat(stream.fileno()).st_size:
        raise ValueError("its parts are compressed, or larger than the file")
    stream.seek(0)
    with np.load(stream, allow_pickle=False) as file:
        return dict(file)


def _digest(parts: dict[str, np.ndarray]) -> str:
    digest = sha256()
    for name in sorted(parts):
        A = np.ascontiguousarray(parts[name])
        digest.update(json.dumps([name, A.dtype.str, A.shape]).encode())
        digest.update(A.tobytes())
    return digest.hexdigest()


def _mark(who: str, path: FilePath, name: str, value: Any) -> str:
    try:
        return str(joblib.hash(value))
    except (PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"{who}: checkpoint = {str(path)!r} must recognise {name}, which cannot be pickled; define functions at "
            "module level."
        ) from error
