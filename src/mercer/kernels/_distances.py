"""Squared distances between two collections of vectors, and functions of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from .._array import eps, is_numpy, is_sparse, is_torch, namespace, product_transposed, row_products, set_diagonal
from .._threads import one_blas_thread, run, slices
from ..types import Array, Checked, Namespace

STRIP, LEAST = 1 << 15, 64  # entries of a strip that fits in cache with its temporaries, and its minimum of rows
ALONE = 1 << 18  # multiplications up to which BLAS itself uses one thread
SHARED = 3 << 19  # entries from which threads share the strips, more than in a tile
FEW = 4  # up to this many columns, coordinate differences are as fast as a matrix product, and exact


def squared_distances(X: Checked, Y: Checked = None) -> Any:
    """‖xᵢ − yⱼ‖², also accurate for close pairs.

    The expansion ‖x‖² + ‖y‖² − 2xᵀy cancels when x ≈ y. Data are centred first, and entries that still lose more than
    half of their digits are recomputed from the differences. Sparse data stay sparse (and uncentred).
    """
    A, B = X, X if Y is None else Y
    xp = namespace(A, B)
    quick = is_numpy(xp) or is_torch(xp)
    if not is_sparse(A) and not is_sparse(B):
        if not quick or A.shape[1] <= FEW:
            return _from_differences(A, B, xp)
        centre = xp.mean(B, axis=0)
        A = A - centre
        B = A if Y is None else B - centre
        if is_numpy(xp):
            return in_strips(A, B, Y is None, lambda S: S, (X, X if Y is None else Y))
        if Y is not None:
            return _on_device((A, row_products(A, A), X), (B, row_products(B, B), Y), xp)
    a = row_products(A, A)
    b = a if Y is None else row_products(B, B)
    S, size = _from_products(A, B, a, b)
    _repair(S, size, X, X if Y is None else Y, xp, Y is None)
    return set_diagonal(S, 0.0) if Y is None else S


def in_strips(
    A: np.ndarray, B: np.ndarray, symmetric: bool, profile: Callable[[Any], Any], given: tuple[Any, Any] | None = None
) -> np.ndarray:
    """φ(‖aᵢ − bⱼ‖²) of centred points, in strips that fit in cache; symmetric matrices by their upper half.

    Close pairs are recomputed from the `given` points.
    """
    (X, Y), a = given or (A, B), np.einsum("ij,ij->i", A, A)  # without a temporary of the size of A
    b = a if symmetric else np.einsum("ij,ij->i", B, B)
    out = np.empty((len(A), len(B)), A.dtype)

    def fill(r: slice) -> None:
        left = A[r], a[r], X[r]
        if not symmetric:
            out[r] = profile(accurate(left, (B, b, Y), False))
            return
        out[r, r] = profile(set_diagonal(accurate(left, left, True), 0.0))
        if r.stop < len(A):
            c = slice(r.stop, len(A))
            strip = profile(accurate(left, (A[c], a[c], X[c]), False))
            out[r, c], out[c, r] = strip, strip.T

    strips = slices(len(A), max(LEAST, A.shape[1], STRIP // len(B)))  # products of few long rows are slow
    if out.size > SHARED:
        run(strips, fill)
        return out
    with one_blas_thread if out.size * A.shape[1] > ALONE else nullcontext():
        for r in strips:
            fill(r)
    return out


def accurate(left: tuple[Any, Any, Any], right: tuple[Any, Any, Any], symmetric: bool) -> Any:
    """‖aᵢ − bⱼ‖² from (centred points, squared norms, original points); if `symmetric`, infinite on the diagonal."""
    (A, a, X), (B, b, Y) = left, right
    S, size = _from_products(A, B, a, b)
    if symmetric:
        set_diagonal(S, np.inf)
    if not S.min() >= eps(A) ** 0.5 * (a.max() + b.max()):  # otherwise no pair is close: a check with fewer passes
        _repair(S, size, X, Y, namespace(A), symmetric)
    return S


def _on_device(left: tuple[Any, Any, Any], right: tuple[Any, Any, Any], xp: Namespace) -> Any:
    """‖aᵢ − bⱼ‖² by torch, in as few passes over memory as possible."""
    (A, a, X), (B, b, Y) = left, right
    S = xp.addmm(b, xp.concat([A, a[:, None]], axis=1), xp.concat([-2 * B, xp.ones_like(b)[:, None]], axis=1).mT)
    if not S.min() >= eps(A) ** 0.5 * (a.max() + b.max()):
        _repair(S, a[:, None] + b[None, :], X, Y, xp, False)
    return S


def _from_products(A: Array, B: Array, a: Array, b: Array) -> tuple[Any, Any]:
    """‖x‖² + ‖y‖² − 2xᵀy, which loses digits for close pairs, and ‖x‖² + ‖y‖²."""
    S = product_transposed(A, B)
    S *= -2
    size = a[:, None] + b[None, :]
    S += size  # in one step, so that a symmetric S stays symmetric to the last digit
    return S, size


def _from_differences(A: Array, B: Array, xp: Namespace) -> Any:
    S = (A[:, 0][:, None] - B[:, 0][None, :]) ** 2
    d = B.shape[1]
    for k in range(1, min(d, FEW)):
        S = S + (A[:, k][:, None] - B[:, k][None, :]) ** 2
    for k in range(FEW, d, 4 * FEW):  # fewer, larger steps; their temporary stays a small multiple of S
        part = slice(k, min(d, k + 4 * FEW))
        S = S + xp.sum((A[:, None, part] - B[None, :, part]) ** 2, axis=2)
    return S


def _repair(S: Array, size: Any, A: Array, B: Array, xp: Namespace, symmetric: bool) -> None:
    """Recompute in place entries of S that are small relative to `size` = ‖x‖² + ‖y‖², or whose `size` overflowed."""
    lost = ~(float(eps(A)) ** 0.5 * size <= S)  # true for NaN, the difference of two infinities
    if symmetric:
        lost = set_diagonal(lost, False)
    rows, columns = xp.nonzero(lost)
    for start in range(0, rows.shape[0], 1 << 14):
        i, j = rows[start : start + (1 << 14)], columns[start : start + (1 << 14)]
        D = A[i] - B[j]
        S[i, j] = row_products(D, D)
