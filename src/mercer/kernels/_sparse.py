"""Compiled products of sparse vectors."""

from __future__ import annotations

from typing import Any

from .._jit import njit


@njit
def scatter(
    rows: Any, columns: Any, values: Any, starts: Any, members: Any, weights: Any, out: Any, minimum: bool
) -> None:
    """out[i, j] += Σ_f a_if b_jf (or the minimum of both), with A by rows and B by columns."""
    for i in range(len(rows) - 1):
        row = out[i]
        for p in range(rows[i], rows[i + 1]):
            f, a = columns[p], values[p]
            for q in range(starts[f], starts[f + 1]):
                row[members[q]] += min(a, weights[q]) if minimum else a * weights[q]
