"""A file from which interrupted work goes on."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from pickle import PicklingError
from typing import Any

import joblib
import numpy as np

from ._files import replacing

SECONDS = 5.0  # between two writes, at least


class Checkpoint:
    """Named states, each a dictionary of arrays, in one file that is replaced as a whole.

    `about` is what the states depend on, by the name under which a message mentions it; the file holds marks of all of
    it, and one with other marks is refused.
    """

    def __init__(self, path: Any, who: str, about: dict[str, Any]):
        self.path = Path(path)
        self.marks = json.dumps({name: _mark(who, path, name, value) for name, value in about.items()})
        if not self.path.parent.is_dir():
            raise ValueError(f"{who}: checkpoint = {str(path)!r} lies in a folder that does not exist; make it first.")
        self.states: dict[str, dict[str, np.ndarray]] = {}
        self.lock, self.written = threading.Lock(), time.monotonic()
        if not self.path.exists():
            return
        try:
            with self.path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                content = dict(file)
            found, count = json.loads(str(content.pop("marks"))), int(content.pop("count"))
            if count != len(content):
                raise ValueError("parts of it are missing")
        except Exception as error:  # a broken archive can fail in any way
            raise ValueError(f"{who}: checkpoint = {str(path)!r} is not a checkpoint: {error}") from error
        mine = json.loads(self.marks)
        different = [name for name in mine | found if mine.get(name) != found.get(name)]
        if different:
            raise ValueError(
                f"{who}: checkpoint = {str(path)!r} is of other work: {', '.join(different)} differ. Delete it, or "
                "name another file."
            )
        for key, value in content.items():
            name, part = key.rsplit("/", 1)
            self.states.setdefault(name, {})[part] = value

    def get(self, name: str) -> dict[str, np.ndarray] | None:
        """The last state of that name."""
        return self.states.get(name)

    @property
    def due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() >= self.written + SECONDS

    def put(self, name: str, state: dict[str, Any], done: bool = False) -> None:
        """Take a state, and write all of them, if it is time; a last one is kept for the next write in any case."""
        due = self.due
        if due or done:
            with self.lock:
                self.states[name] = {part: np.array(value) for part, value in state.items()}
        if due:
            self.write()

    def write(self) -> None:
        """Replace the file by one with all states."""
        with self.lock:
            parts: dict[str, Any] = {f"{n}/{p}": v for n, s in self.states.items() for p, v in s.items()}
            with replacing(self.path) as file:
                np.savez(file, marks=self.marks, count=len(parts), **parts)
            self.written = time.monotonic()


def _mark(who: str, path: Any, name: str, value: Any) -> str:
    try:
        return str(joblib.hash(value))
    except (PicklingError, AttributeError, TypeError) as error:
        raise ValueError(
            f"{who}: checkpoint = {str(path)!r} must know {name} again, but they cannot be pickled; define functions "
            "at the top of a module."
        ) from error
