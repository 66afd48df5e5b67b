"""Conversion of collections to other array libraries, and comparison of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import host, is_array
from ..types import Array, Data, Namespace


def move(X: Data, xp: Namespace, dtype: str | None = None) -> Any:
    """A collection in another array namespace (tuples and arrays; other sequences are returned as they are)."""
    if isinstance(X, tuple):
        return tuple(move(x, xp, dtype) for x in X)
    if not is_array(X):
        return X
    A = host(X)
    if dtype is not None and A.dtype.kind == "f":
        A = A.astype(dtype)
    return xp.asarray(A)


def close(a: Array, b: Array, tol: float, what: str, owner: object) -> None:
    a, b = host(a).astype(float), host(b).astype(float)
    assert a.shape == b.shape, f"{owner!r}: {what}: shapes {a.shape} and {b.shape} differ"
    scale = max(1.0, float(np.abs(b).max(initial=0.0)))
    error = float(np.abs(a - b).max(initial=0.0))
    assert error <= tol * scale, f"{owner!r}: {what}: differs by {error:g} (scale {scale:g})"
