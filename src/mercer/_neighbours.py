"""Nearest neighbours in the metric of a kernel, d²(x, y) = k(x, x) + k(y, y) − 2k(x, y), and their graphs.

Kernel values are computed in blocks of rows, so the matrix of all pairs is never stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from . import _threads
from ._array import asymmetry, host, is_sparse, on_host
from ._errors import check_number, where
from .types import Array, Checked, Evaluable

BLOCK = 1 << 22  # kernel values per block


def check_rule(owner: object, name: str, rule: Any) -> None:
    """Raise unless `rule` is a number of nearest neighbours or "connected"."""
    if not isinstance(rule, str):
        check_number(owner, name, rule, at_least=1, integer=True)
    elif rule != "connected":
        raise ValueError(f"{where(owner)}: {name} = {rule!r} is unknown; pass a number of neighbours or 'connected'.")


def check_weights(owner: object, name: str, W: Array) -> Any:
    """The edge weights of a graph as a CSR array or a NumPy array of doubles, symmetric and >= 0."""
    W = csr_array(W, dtype=np.float64) if is_sparse(W) else host(W).astype(np.float64)
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise ValueError(
            f"{where(owner)}: {name} has shape {W.shape}; it must be square, with one weight for each pair of samples."
        )
    values = W.data if is_sparse(W) else W
    if not np.all(np.isfinite(values)):
        raise ValueError(f"{where(owner)}: {name} contains NaN or infinity; weights must be finite and >= 0.")
    if values.min(initial=0) < 0:
        raise ValueError(
            f"{where(owner)}: {name} holds {values.min():g}; weights must be >= 0, so clip them, for example."
        )
    if asymmetry(W) == "large":
        raise ValueError(f"{where(owner)}: {name} is not symmetric; use (W + W.T) / 2 to average both directions.")
    return W


def links(kernel: Evaluable, X: Checked, rule: Any, length: float | None = None) -> csr_array:
    """Kernel values on the edges of a neighbourhood graph, as a symmetric matrix that also stores zeros.

    The rule is a number of neighbours, which links two samples if either is among the nearest of the other, or
    "connected": the shortest edges, up to the first length that makes the graph connected; `length` is this d², if
    known.
    """
    n = kernel.domain.size(X)
    if rule == "connected":
        first, second, values = within(kernel, X, connecting_length(kernel, X) if length is None else length)
        once = first < second
        first, second, values = first[once], second[once], values[once]
    else:
        index, near = nearest(kernel, X, int(rule))
        here = np.repeat(np.arange(n), index.shape[1])
        low, high = np.minimum(here, index.ravel()), np.maximum(here, index.ravel())
        pairs, place = np.unique(low * n + high, return_index=True)
        first, second, values = pairs // n, pairs % n, near.ravel()[place]
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    return csr_array((np.concatenate([values, values]), ends), shape=(n, n))


def nearest(kernel: Evaluable, X: Checked, count: int, new: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Nearest neighbours within X, or in X of each sample of `new`: their indices, and the kernel values.

    Both have shape (n, count), in no particular order, or fewer columns if there are fewer others. Ties up to rounding
    are broken by index, so that sparse and dense data give the same result.
    """
    row_block, own = _values(kernel, X, new), host(kernel.evaluate_diag(X))
    n, m = kernel.domain.size(X if new is None else new), len(own)
    count = min(count, m - (new is None))
    size = float(np.abs(own).max())
    own = own - own.min()  # next to a constant diagonal, small kernel values would lose digits
    precision, tiny = 64 * float(np.finfo(own.dtype).eps), np.finfo(own.dtype).tiny
    index, values = np.empty((n, count), dtype=np.int64), np.empty((n, count))

    def work(rows: slice) -> None:
        K = row_block(rows)
        gap = own - 2 * K  # d² up to a constant in each row
        if new is None:
            gap[np.arange(len(K)), np.arange(rows.start, rows.stop)] = np.inf
        index[rows] = np.argpartition(gap, count - 1, axis=1)[:, :count]
        last = np.take_along_axis(gap, index[rows], axis=1).max(axis=1, keepdims=True)
        # with a constant diagonal, values have a small relative error, up to that of an exponential
        beside = np.abs(last) * (1 + np.abs(np.log(np.maximum(np.abs(last), tiny)))) if not own.any() else size
        tied = (gap <= last + precision * beside).sum(axis=1) > count
        if tied.any():
            some, edge = gap[tied], (last - precision * beside)[tied]
            rank = (some >= edge).astype(np.int8) + (some > 2 * last[tied] - edge)
            index[rows][tied] = np.argsort(rank, axis=1, kind="stable")[:, :count]
        values[rows] = np.take_along_axis(K, index[rows], axis=1)

    if count:
        _in_blocks(n, m, work)
    return index, values


def connecting_length(kernel: Evaluable, X: Checked) -> float:
    """d² of the longest edge of a minimum spanning tree, by Prim's algorithm on one row of the matrix at a time."""
    row_block, own = _values(kernel, X), host(kernel.evaluate_diag(X))
    gap, outside = np.full(len(own), np.inf), np.ones(len(own), dtype=bool)
    longest, i = 0.0, 0
    for _ in range(len(own) - 1):
        outside[i] = False
        gap = np.where(outside, np.minimum(gap, own[i] + own - 2 * row_block(slice(i, i + 1))[0]), np.inf)
        i = int(gap.argmin())
        longest = max(longest, float(gap[i]))
    return longest


def within(kernel: Evaluable, X: Checked, length: float, new: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All pairs within X, or of `new` with X, with d² <= `length`: the indices of both, and the kernel values."""
    row_block, own = _values(kernel, X, new), host(kernel.evaluate_diag(X))
    mine = own if new is None else host(kernel.evaluate_diag(new))
    length = length + 16 * np.finfo(own.dtype).eps * float(np.abs(own).max())  # blocks and rows may round differently
    found: dict[int, tuple[np.ndarray, ...]] = {}

    def work(rows: slice) -> None:
        K = row_block(rows)
        i, j = np.nonzero(mine[rows, None] + own - 2 * K <= length)
        found[rows.start] = i + rows.start, j, K[i, j]

    _in_blocks(len(mine), len(own), work)
    first, second, values = (np.concatenate(parts) for parts in zip(*(found[s] for s in sorted(found)), strict=True))
    return first, second, values


def _values(kernel: Evaluable, X: Checked, new: Any = None) -> Callable[[slice], np.ndarray]:
    """A function from a slice to these rows of the kernel matrix of X, or of `new` against X."""
    centres, A = kernel.domain.centres(X), X if new is None else new
    if not on_host(X):
        return lambda rows: host(kernel.evaluate(kernel.domain.take(A, rows), centres))
    right = kernel.points(centres)
    left = right if A is centres else kernel.points(A, right)
    return lambda rows: left.take(np.arange(rows.start, rows.stop)).matrix(right)


def _in_blocks(n: int, m: int, work: Callable[[slice], None]) -> None:
    _threads.run(_threads.slices(n, max(1, BLOCK // m)), work)
