"""Members of a collection in the form from which a kernel's values follow fastest."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import is_array
from ..types import Checked, Evaluable, Index

TILE = 512  # columns of one block: with a few hundred rows it stays in the cache


class Points:
    """A collection held for many evaluations of one kernel; parts of it are taken, and compared with other parts.

    A kernel whose values follow from something that is computed once for each member (a scaled vector and its length,
    features, values over a sample) returns a subclass from `Kernel.points`.

    Attributes
    ----------
    batch : int
        Computing more rows than this at once makes them no cheaper.
    separate : bool
        Whether the digits of a row do not depend on the rows computed with it. Those of a BLAS product do.
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
        """k(xᵢ, yⱼ) for the members of both."""
        return self.kernel.evaluate(self.X, other.X)

    def fill(self, out: np.ndarray, places: np.ndarray, other: Any, start: int, stop: int) -> None:
        """out[places[i], j] = k(xᵢ, yⱼ) for the members j from `start` (a multiple of `TILE`) to `stop`, in tiles."""
        for left in range(start, stop, TILE):
            columns = slice(left, min(stop, left + TILE))
            out[places, columns] = self.matrix(other.take(columns))
