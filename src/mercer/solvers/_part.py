"""The part of a Gram operator for a subset of the samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import namespace
from ..domains import take
from ..gram import Operator
from ..types import Array, Index


class Part(Operator):
    """The Gram operator of a subset of the samples, using the stored data of its base."""

    def __init__(self, base: Operator, index: np.ndarray):
        self.base, self.index, self.provides = base, index, base.provides

    @property
    def n(self) -> int:
        return len(self.index)

    def __matmul__(self, V: Array) -> Any:
        return self.values(self.index, V)

    def values(self, rows: np.ndarray, V: Array) -> Any:
        """k(x, ·)V at other samples of the base."""
        if "factor" in self.provides:
            Z = self.base.factor()
            return take(Z, rows) @ (namespace(V).matrix_transpose(take(Z, self.index)) @ V)
        return self.base.block(rows, self.index) @ V

    def diagonal(self) -> Any:
        return take(self.base.diagonal(), self.index)

    def block(self, rows: Index, columns: Index) -> Any:
        return self.base.block(self.index[rows], self.index[columns])

    def factor(self) -> Any:
        return take(self.base.factor(), self.index)
