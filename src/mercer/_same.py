"""Equality of parameters."""

from __future__ import annotations

from functools import partial

import numpy as np

from ._array import host, is_array, is_sparse
from .types import Array


def same(a: Array, b: Array) -> bool:
    """Whether two values are equal: numbers, arrays, containers of them, and functions with their arguments."""
    a, b = (v.item() if isinstance(v, np.generic) else v for v in (a, b))
    if isinstance(a, partial) and isinstance(b, partial):
        a, b = ([f.func, f.args, *sorted(f.keywords.items())] for f in (a, b))
    if isinstance(a, (list, tuple)) and type(a) is type(b):
        return len(a) == len(b) and all(same(p, q) for p, q in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if is_sparse(a) or is_sparse(b):
        return is_sparse(a) and is_sparse(b) and a.shape == b.shape and (a != b).nnz == 0
    if is_array(a) or is_array(b):
        return is_array(a) and is_array(b) and np.array_equal(host(a), host(b))
    return a is b or bool(a == b)
