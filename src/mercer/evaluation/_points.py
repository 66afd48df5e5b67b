"""Members of a collection in the form that gives a kernel's values fastest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._array import is_array
from ..types import Checked, Evaluable, Index

TILE = 512  # columns of one block, which fits in cache with a few hundred rows


class Points:
    """A collection prepared for many evaluations of one kernel between parts of collections.

    A kernel that computes something once per member (a scaled vector and its norm, features, values against a sample)
    returns a subclass from `Kernel.points`.

    Attributes
    ----------
    batch : int
        Computing more rows than this at once does not make them cheaper.
    separate : bool
        Whether a row is bitwise independent of the rows computed with it, unlike in a BLAS product.
    """

    batch: int = 512
    separate: bool = False

    def __init__(self, kernel: Evaluable, X: Checked):
        self.kernel, self.X, self.separate = kernel, X, not is_array(X)

    def __len__(self) -> int:
        return int(self.kernel.domain.size(self.X))

    def take(self, index: Index) -> Points:
        """The members at `index`."""
        return Points(self.kernel, self.kernel.domain.take(self.X, index))

    def matrix(self, other: Any) -> Any:
        """k(xᵢ, yⱼ) between the members of both."""
        return self.kernel.evaluate(self.X, other.X)

    def fill(self, out: np.ndarray, places: np.ndarray, other: Any, start: int, stop: int) -> None:
        """out[places[i], j] = k(xᵢ, yⱼ) for the members j from `start` (a multiple of `TILE`) to `stop`, in tiles."""
        for left in range(start, stop, TILE):
            columns = slice(left, min(stop, left + TILE))
            out[places, columns] = self.matrix(other.take(columns))

    def receive(self, parts: Sequence[Any], start: int, stop: int) -> None:
        """`fill` for several (points, out, places) over these members."""
        for points, out, places in parts:
            points.fill(out, places, self, start, stop)
