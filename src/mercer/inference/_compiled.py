"""Products of a matrix with many permutations of another."""

from __future__ import annotations

from typing import Any

from .._jit import njit_reordered
from ..types import Array


@njit_reordered
def paired(A: Array, B: Array, permutations: Any, out: Array) -> None:
    """out[b] = Σᵢⱼ Aᵢⱼ B_π(i)π(j) for symmetric A, B and the rows π of `permutations`."""
    out[:] = 0.0
    for i in range(len(A)):  # a row of A stays in the cache for all permutations
        for b in range(len(permutations)):
            p = permutations[b]
            row = B[p[i]]
            total = 0.0
            for j in range(i):
                total += A[i, j] * row[p[j]]
            out[b] += 2 * total + A[i, i] * row[p[i]]
