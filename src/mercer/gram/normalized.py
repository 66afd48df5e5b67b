"""Affinity matrices for graph cuts: normalised by the roots of their row sums, and sparse matrices of graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .._array import eps, host, like, namespace, set_diagonal
from .._errors import where
from ..domains import take
from ..types import Array, Index
from ._base import Operator, Wrapped


class GraphGram(Operator):
    """A sparse symmetric affinity matrix as an operator."""

    provides = frozenset({"sparse"})

    def __init__(self, matrix: csr_array):
        self.matrix = matrix

    @property
    def n(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def like(self) -> Any:
        return np.zeros((1, 1), dtype=self.matrix.dtype)

    def __matmul__(self, V: Array) -> Any:
        return self.matrix @ V

    def diagonal(self) -> Any:
        return self.matrix.diagonal()

    def block(self, rows: Index, columns: Index) -> Any:
        return self.matrix[rows][:, columns].toarray()

    def dense(self) -> Any:
        return self.matrix.toarray()

    def entries(self) -> Any:
        return self.matrix.data if self.matrix.nnz else None


class NormalizedGram(Wrapped):
    r"""D^{-1/2} (K − diag K) D^{-1/2}, with D the row sums of K − diag K; dense, factored, sparse or lazy, like K.

    Self-affinities do not count: they change no cut. Rows of `isolated` points, without affinity to any other point,
    are 0.
    """

    def __init__(self, base: Operator, owner: object = "NormalizedGram"):
        self.base, self.trace_error, self.choice = base, base.trace_error, base.choice
        self.provides = base.provides & {"dense"}
        self.self_affinity = base.diagonal()
        xp = namespace(self.self_affinity)
        total = base @ xp.ones_like(self.self_affinity)
        self.degrees = total - self.self_affinity
        rounding = 8 * eps(total)
        self._refuse_negative(owner, rounding * float(xp.max(xp.abs(total))))
        connected = self.degrees > rounding * xp.abs(total)
        self.isolated = ~host(connected)
        ones = xp.ones_like(total)
        self.roots = xp.where(connected, xp.sqrt(xp.where(connected, self.degrees, ones)), ones)
        self.scale = xp.where(connected, 1 / self.roots, 0 * ones)

    def _refuse_negative(self, owner: object, noise: float) -> None:
        """Reject negative affinities: negative entries if the matrix is stored, otherwise negative row sums."""
        values = self.base.entries()
        values = self.degrees if values is None else values
        least = float(namespace(values).min(values))
        if least < -noise and self.trace_error == 0:
            raise ValueError(
                f"{where(owner)}: affinities must be >= 0, but an affinity or a row sum is {least:.3g}. Use a kernel "
                "with values >= 0, such as rbf, or clip the matrix."
            )

    def __matmul__(self, V: Array) -> Any:
        scale, own = self.scale, self.self_affinity * self.scale**2
        if V.ndim == 2:
            scale, own = scale[:, None], own[:, None]
        return scale * (self.base @ (scale * V)) - own * V

    def diagonal(self) -> Any:
        return 0 * self.self_affinity

    def block(self, rows: Index, columns: Index) -> Any:
        B = take(self.scale, rows)[:, None] * self.base.block(rows, columns) * take(self.scale, columns)[None, :]
        every = np.arange(self.n)
        other = every[rows][:, None] != every[columns][None, :]
        return B * like(other, B)

    def dense(self) -> Any:
        return set_diagonal(self.scale[:, None] * self.base.dense() * self.scale[None, :], 0.0)

    def __repr__(self) -> str:
        return f"<{where(self)} of {self.base!r}>"
