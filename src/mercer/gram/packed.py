"""The upper half of the Gram matrix in tiles, stored while memory allows and otherwise recomputed."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

from .. import _threads
from .._array import on_host
from .._errors import check_number, where
from ..evaluation import Evaluator, bind
from ..kernels import Kernel
from ..types import Array, Checked, Index
from ._base import Gram, Representation

TILE = 512  # rows and columns of a stored tile; those on the diagonal are stored whole


class PackedGram(Gram):
    """K by its tiles on and above the diagonal, used twice in every product; `held` counts the bytes stored."""

    def __init__(self, kernel: Kernel, X: Checked, memory: int, n_jobs: int | None):
        super().__init__(kernel, X)
        self.memory, self.n_jobs, self.held = memory, n_jobs, 0
        self._slices = _threads.slices(self.n, TILE)
        self._kept: dict[tuple[int, int], np.ndarray] = {}
        self._lock = Lock()

    def __matmul__(self, V: Array) -> Any:
        threads = min(_threads.n_threads(self.n_jobs), len(self._slices))
        partial = [np.zeros_like(V) for _ in range(threads)]
        pairs = [(i, j) for j in range(len(self._slices)) for i in range(j + 1)]

        def work(t: int) -> None:
            # only the columns of one tile are prepared at a time: all of them would be a second copy of X
            take, X = self.kernel.domain.take, self.X
            out, column = partial[t], lru_cache(1)(lambda j: bind(self.kernel, X, take(X, self._slices[j])))
            for i, j in pairs[t::threads]:
                r, c = self._slices[i], self._slices[j]
                tile = self._kept.get((i, j))
                tile = self._computed(i, j, column(j)) if tile is None else tile
                out[r] += tile @ V[c]
                if i != j:
                    out[c] += tile.T @ V[r]

        _threads.run(range(threads), work, self.n_jobs)
        return sum(partial[1:], start=partial[0])

    def block(self, rows: Index, columns: Index) -> Any:
        take, size = self.kernel.domain.take, self.kernel.domain.size
        X, Y = take(self.X, rows), take(self.X, columns)
        strips = _threads.slices(size(X), TILE)  # at once, temporaries would be as large as X
        out = np.empty((size(X), size(Y)), self.like.dtype)

        def work(strip: slice) -> None:
            out[strip] = bind(self.kernel, take(X, strip), Y).dense(1)

        _threads.run(strips, work, self.n_jobs)
        return out

    def _computed(self, i: int, j: int, column: Evaluator) -> np.ndarray:
        r = self._slices[i]
        # the diagonal has equal points, for which products of prepared points lose digits
        same = bind(self.kernel, self.kernel.domain.take(self.X, r)).dense(1) if i == j else None
        tile: np.ndarray = column.tile(r) if same is None else same
        with self._lock:
            if self.held + tile.nbytes <= self.memory:
                self.held += tile.nbytes
                self._kept[i, j] = tile
        return tile

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("_lock", "evaluator")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = Lock()


class Packed(Representation):
    """Store the upper tiles of the matrix within a memory budget, and recompute the others for each product.

    Exact. For methods that need only products (leading eigenvectors), it takes half the memory of `Dense` and reads
    half as much per product; beyond its budget it approaches `Lazy` gradually. Only for collections on the host.

    Parameters
    ----------
    memory : int >= 0
        Bytes of tiles to store; n²/2 numbers hold the whole matrix. More memory means less recomputation.
    n_jobs : int, optional
        Threads; None uses all cores.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> X = np.array([[1.0], [2.0]])
    >>> Packed().build(Linear(), X, np.random.default_rng(0)) @ np.ones(2)
    array([3., 6.])
    """

    draws = False

    def __init__(self, memory: int = 3 * 2**28, n_jobs: int | None = None):
        self.memory, self.n_jobs = memory, n_jobs

    def _build(self, kernel: Kernel, X: Checked, rng: np.random.Generator) -> PackedGram:
        check_number(self, "memory", self.memory, at_least=0)
        _threads.check_jobs(self, self.n_jobs)
        if not suits(kernel, X):
            raise TypeError(
                f"{where(self)} computes tiles on the host, from the samples; use Dense or Lazy for other devices and "
                "for precomputed matrices."
            )
        return PackedGram(kernel, X, self.memory, self.n_jobs)


def suits(kernel: Kernel, X: Checked) -> bool:
    """Whether the samples are on the host, and are what the kernel compares."""
    return on_host(X) and kernel.domain.centres(X) is X
