"""The Gram matrix held whole."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .. import _tiles
from .._array import namespace
from ..domains import take
from ..kernels import Kernel
from ..kernels._base import Prepared
from ._base import Gram, Representation


class Held(Prepared):
    """Some rows, or columns, of a matrix that is held."""

    separate = True

    def __init__(self, K: Any, index: np.ndarray):
        self.K, self.index = K, index

    def __len__(self) -> int:
        return len(self.index)

    def take(self, index: Any) -> Held:
        return Held(self.K, self.index[index])

    def matrix(self, other: Held) -> Any:  # type: ignore[override]
        return self.K[np.ix_(self.index, other.index)]


class DenseGram(Gram):
    """K in memory: 8n² bytes in float64."""

    provides: ClassVar[frozenset[str]] = frozenset({"dense"})

    def __init__(self, kernel: Kernel, X: Any):
        super().__init__(kernel, X)
        self.K = _tiles.matrix(kernel, X)

    def __matmul__(self, V: Any) -> Any:
        return self.K @ V

    def diagonal(self) -> Any:
        return namespace(self.K).linalg.diagonal(self.K)

    def block(self, rows: Any, columns: Any) -> Any:
        xp = namespace(self.K)
        return xp.matrix_transpose(take(xp.matrix_transpose(take(self.K, rows)), columns))

    def dense(self) -> Any:
        return self.K

    def points(self) -> tuple[Prepared, Prepared]:
        sample = Held(self.K, np.arange(self.n))
        return sample, sample


class Dense(Representation):
    """Hold the whole matrix: exact, O(n²) memory, the fastest for n up to some ten thousand.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> X = np.array([[1.0], [2.0]])
    >>> Dense().build(Linear(), X, np.random.default_rng(0)) @ np.ones(2)
    array([3., 6.])
    """

    def _build(self, kernel: Kernel, X: Any, rng: np.random.Generator) -> DenseGram:
        return DenseGram(kernel, X)
