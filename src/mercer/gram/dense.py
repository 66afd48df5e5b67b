"""The full Gram matrix in memory."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..evaluation import Evaluator, HeldEvaluator, bind
from ..kernels import Kernel
from ..types import Array, Checked
from ._base import Gram, Representation


class DenseGram(Gram):
    """K in memory: 8n² bytes in float64."""

    provides = frozenset({"dense"})

    def __init__(self, kernel: Kernel, X: Checked, K: Array = None):
        super().__init__(kernel, X)
        self.K = bind(kernel, X).dense() if K is None else K

    @cached_property
    def evaluator(self) -> Evaluator:
        return HeldEvaluator(self.K)


class Dense(Representation):
    """Store the whole matrix: exact, O(n²) memory, fastest for n up to about ten thousand.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> X = np.array([[1.0], [2.0]])
    >>> Dense().build(Linear(), X, np.random.default_rng(0)) @ np.ones(2)
    array([3., 6.])
    """

    draws = False

    def _build(self, kernel: Kernel, X: Checked, rng: np.random.Generator) -> DenseGram:
        return DenseGram(kernel, X)
