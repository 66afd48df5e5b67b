"""Strings as arrays of letters, and the base class of kernels that compare them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..._errors import where
from ...domains import Strings
from .._structured import Store, Structured


def codes(text: str) -> np.ndarray:
    """The code points of a string."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.int32)


class Joined(NamedTuple):
    """Concatenated strings, and the start of each."""

    letters: np.ndarray
    starts: np.ndarray


def join(parts: Sequence[np.ndarray]) -> Joined:
    """Concatenate arrays of letters."""
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    return Joined(np.concatenate(parts), starts)


def number(A: Joined, B: Joined) -> tuple[Joined, Joined, np.ndarray]:
    """The same strings with their letters numbered from 0, and the code point of each number."""
    alphabet, place = np.unique(np.concatenate([A.letters, B.letters]), return_inverse=True)
    n = len(A.letters)
    return A._replace(letters=place[:n]), B._replace(letters=place[n:]), alphabet


def check_end(owner: object, end: object) -> None:
    """Raise unless `end` is a string."""
    if not isinstance(end, str):
        raise TypeError(f"{where(owner)}: end = {end!r} must be a string; '' appends nothing.")


class Spelled(Structured):
    """Base class of kernels computed letter by letter: `fill` writes the values between two lists of strings."""

    domain = Strings()

    def form(self, x: str, store: Store) -> np.ndarray:
        return codes(x)

    def fill(self, A: Joined, B: Joined, out: np.ndarray) -> None:
        """Write the matrix of values."""
        raise NotImplementedError

    def compare(self, A: list[np.ndarray], B: list[np.ndarray] | None) -> np.ndarray:
        x = join(A)
        y = x if B is None else join(B)
        out = np.empty((len(A), len(y.starts) - 1))
        self.fill(x, y, out)
        return out
