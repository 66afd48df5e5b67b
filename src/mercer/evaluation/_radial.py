"""Rows of radial kernels from one matrix product: s = ‖a‖² + ‖b‖² − 2aᵀb of centred, scaled points."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .._array import decided, dense_enough, eps, is_sparse, namespace, product_transposed, row_products
from .._errors import where
from .._threads import slices
from .._units import largest
from ..domains import take
from ..types import Array, Checked, EvaluableRadial, Index
from ._points import Points

STRIP = 1 << 17  # entries of rows that are scaled together


class RadialPoints(Points):
    """Centred, scaled points A and their squared norms: a block costs one matrix product and one pass over it.

    Less accurate for close pairs than `Radial.evaluate`, which is used instead for points so many lengthscales apart
    that k would be wrong.
    """

    kernel: EvaluableRadial

    def __init__(self, kernel: EvaluableRadial, A: Array, lengths: Any, centre: Array):
        self.kernel, self.A, self.lengths, self.centre = kernel, A, lengths, centre

    def __len__(self) -> int:
        return int(self.A.shape[0])

    def take(self, index: Index) -> RadialPoints:
        return RadialPoints(self.kernel, take(self.A, index), take(self.lengths, index), self.centre)

    def matrix(self, other: Any) -> Any:
        P, a, b = product_transposed(self.A, other.A), self.lengths, other.lengths
        if self.kernel.gaussian and isinstance(P, np.ndarray):
            return _compiled().gaussian_from_products(P, a, b)
        P *= -2
        P += a[:, None]
        P += b[None, :]
        xp = namespace(P)
        return self.kernel.profile(xp.clip(P, min=0.0), xp)


@cache
def _compiled() -> Any:
    """The compiled passes, imported on first use: a relative import takes longer than a small matrix."""
    from . import _panels

    return _panels


def radial_points(kernel: EvaluableRadial, X: Checked, beside: Any = None) -> Points:
    """The points of a radial kernel, centred like those `beside` them, and packed if compiled rows apply."""
    if type(beside) is Points:
        return Points(kernel, X)
    packed = kernel.gaussian and (isinstance(X, np.ndarray) or is_sparse(X)) and X.dtype == np.float32
    X = X.toarray() if packed and is_sparse(X) and dense_enough(X) else X
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if is_sparse(X) or beside is not None:
            centre = 0.0 if is_sparse(X) else beside.centre
        else:
            centre = X.mean(axis=0) if type(X) is np.ndarray else namespace(X).mean(X, axis=0)
        found = _scaled(kernel, X, centre)
    if found is None:
        if beside is None:
            return Points(kernel, X)
        raise ValueError(
            f"{where(kernel)}: X holds points so far from the others that their squared distance overflows {X.dtype}; "
            "scale the data, or raise the lengthscale."
        )
    A, lengths = found
    if beside is None and not decided(eps(A) ** 0.5 * largest(lengths) <= 1.0):
        return Points(kernel, X)
    if packed and isinstance(X, np.ndarray):
        points: Points = _compiled().GaussianPoints.of(kernel, A, centre, beside)
        return points
    return RadialPoints(kernel, A, lengths, centre)


def _scaled(kernel: EvaluableRadial, X: Checked, centre: Any) -> tuple[Any, Any] | None:
    """Λ⁻¹(x − c) for each row, in new memory, and its squared length; None if squares overflow.

    Many rows are computed in parts that stay in cache.
    """
    parts = slices(len(X), max(STRIP // X.shape[1], 1)) if type(X) is np.ndarray else []
    if len(parts) < 2:
        A = kernel.scaled(X if is_sparse(X) else X - centre)
        return (A, row_products(A, A)) if kernel.have_squares(A) else None
    A, lengths = np.empty_like(X), np.empty(len(X), X.dtype)
    for r in parts:
        if (found := _scaled(kernel, X[r], centre)) is None:
            return None
        A[r], lengths[r] = found
    return A, lengths
