"""The Gram matrix without storing it: products tile by tile."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _threads
from .._array import on_host
from .._errors import check_number
from ..kernels import Kernel
from ..types import Array, Checked
from ._base import Gram, Representation


class LazyGram(Gram):
    """K recomputed for each product, in bounded memory, on threads."""

    def __init__(self, kernel: Kernel, X: Checked, memory: int | None, n_jobs: int | None):
        super().__init__(kernel, X)
        self.memory, self.n_jobs = memory, n_jobs

    def __matmul__(self, V: Array) -> Any:
        # about six arrays of the size of a tile are alive at once: in each host thread, or on the device
        host = on_host(self.X)
        memory = self.memory or (128 * 2**20 if host else 2 * 2**30)
        entries = memory // (6 * 8 * (_threads.n_threads(self.n_jobs) if host else 1))
        return self.evaluator.product(V, self.n_jobs, entries)


class Lazy(Representation):
    """Recompute the matrix for each product: exact, O(n) memory beyond the data.

    Parameters
    ----------
    memory : int, optional
        Total bytes for all tiles in progress. None: 128 MiB on the host, and 2 GiB on another device, where larger
        blocks are much faster.
    n_jobs : int, optional
        Threads; None uses all cores.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> X = np.array([[1.0], [2.0]])
    >>> Lazy().build(Linear(), X, np.random.default_rng(0)) @ np.ones(2)
    array([3., 6.])
    """

    draws = False

    def __init__(self, memory: int | None = None, n_jobs: int | None = None):
        self.memory, self.n_jobs = memory, n_jobs

    def _build(self, kernel: Kernel, X: Checked, rng: np.random.Generator) -> LazyGram:
        check_number(self, "memory", self.memory, at_least=2**16, besides=(None,))
        _threads.check_jobs(self, self.n_jobs)
        return LazyGram(kernel, X, self.memory, self.n_jobs)
