"""A file from which interrupted work goes on."""

from __future__ import annotations

import os
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np

SECONDS = 5.0  # between two writes, at least


class Checkpoint:
    """Named states, each a dictionary of arrays, in one file that is replaced as a whole.

    The file holds a fingerprint of what is computed from what; a file with another one is refused.
    """

    def __init__(self, path: Any, who: str, computed_from: Any):
        self.path, self.fingerprint = Path(path), str(joblib.hash(computed_from))
        self.states: dict[str, dict[str, np.ndarray]] = {}
        self.lock, self.written = threading.Lock(), time.monotonic()
        if not self.path.exists():
            return
        try:
            with np.load(self.path, allow_pickle=False) as file:
                content = dict(file)
            found = str(content.pop("fingerprint"))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{who}: checkpoint = {str(path)!r} is not a checkpoint: {error}") from error
        if found != self.fingerprint:
            raise ValueError(
                f"{who}: checkpoint = {str(path)!r} belongs to other data or parameters; delete it, or name another."
            )
        for key, value in content.items():
            name, part = key.rsplit("/", 1)
            self.states.setdefault(name, {})[part] = value

    def get(self, name: str) -> dict[str, np.ndarray] | None:
        """The last state of that name."""
        return self.states.get(name)

    def put(self, name: str, state: dict[str, Any], now: bool = False) -> None:
        """Keep a state, and write all of them if it is time, or at once."""
        if not now and time.monotonic() < self.written + SECONDS:
            return
        with self.lock:
            self.states[name] = {part: np.array(value) for part, value in state.items()}
            parts: dict[str, Any] = {f"{n}/{p}": v for n, s in self.states.items() for p, v in s.items()}
            draft = self.path.with_name(self.path.name + ".part")
            with draft.open("wb") as file:
                np.savez(file, fingerprint=self.fingerprint, **parts)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.path)
            self.written = time.monotonic()
