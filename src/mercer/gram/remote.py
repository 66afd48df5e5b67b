"""A Gram matrix on a device, for solvers with their vectors on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import doubles, host, like, namespace, on_host
from ..evaluation import Evaluator
from ..kernels import Kernel
from ..types import Array, Checked, Index
from ._base import Cross, Gram


class RemoteGram(Gram):
    """The matrix of another Gram on a device, with NumPy arrays of doubles in products, diagonals and blocks.

    Only products with vectors move between host and device: O(n) numbers for O(n²) work.
    """

    def __init__(self, base: Gram):
        self.base = base
        self.kernel, self.X, self.centres = base.kernel, base.X, base.centres
        self.provides = base.provides | {"remote"}
        self.trace_error, self.choice, self.own_features = base.trace_error, base.choice, base.own_features

    @property
    def native(self) -> Gram:
        return self.base

    def beside(self, gram: Gram) -> Gram:
        return RemoteGram(gram)

    @property
    def evaluator(self) -> Evaluator:
        return self.base.evaluator

    @property
    def like(self) -> Any:
        return host(self.base.like)

    def __matmul__(self, V: Array) -> np.ndarray:
        return doubles(self.base @ like(V, self.base.like))

    def diagonal(self) -> np.ndarray:
        return doubles(self.base.diagonal())

    def block(self, rows: Index, columns: Index) -> np.ndarray:
        return doubles(self.base.block(rows, columns))

    def dense(self) -> np.ndarray:
        return doubles(self.base.dense())

    def factor(self) -> np.ndarray:
        return doubles(self.base.factor())

    def magnitude(self) -> float:
        return self.base.magnitude()

    def cross(self, X_new: Checked) -> Cross:
        return self.base.cross(X_new)

    def expansion(self, coefficients: Array) -> tuple[Kernel, Any, Any]:
        """The function, with coefficients on the device."""
        return self.base.expansion(like(coefficients, self.base.like))

    def missing_constant(self, coefficients: Array) -> np.ndarray:
        return doubles(self.base.missing_constant(like(coefficients, self.base.like)))


class Thin:
    """A matrix with few columns on the host or on a device, with NumPy arrays of doubles in products."""

    def __init__(self, A: Any):
        self.A = A

    @property
    def T(self) -> Thin:
        return Thin(namespace(self.A).matrix_transpose(self.A))

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.A.shape[0]), int(self.A.shape[1])

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        if isinstance(self.A, np.ndarray):
            return self.A @ V.astype(self.A.dtype, copy=False)
        return doubles(self.A @ like(V, self.A))

    def beside(self, H: np.ndarray) -> Thin:
        """(A, H)."""
        return Thin(namespace(self.A).concat([self.A, like(H, self.A)], axis=1))

    def squares(self, weight: np.ndarray) -> np.ndarray:
        """Aᵀ diag(weight) A."""
        return doubles(namespace(self.A).matrix_transpose(self.A) @ (like(weight, self.A)[:, None] * self.A))

    def sizes(self) -> np.ndarray:
        """The sum of the magnitudes in each column."""
        xp = namespace(self.A)
        return doubles(xp.sum(xp.abs(self.A), axis=0))


def reachable(gram: Gram) -> Gram:
    """A Gram matrix that takes and returns NumPy arrays: the same, if it is on the host."""
    return gram if on_host(gram.X) else RemoteGram(gram)
