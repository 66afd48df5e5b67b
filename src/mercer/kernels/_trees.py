"""Compiled comparison of trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._jit import njit


@njit
def fragments(numbers: Any, starts: Any, children: Any, others: Any, begins: Any, kids: Any, decay: float) -> float:
    """Σ C(a, b) over the nodes of two trees; children stand before their parents."""
    C = np.zeros((len(numbers), len(others)))
    total = 0.0
    for a in range(len(numbers)):
        for b in range(len(others)):
            if numbers[a] == others[b]:
                value = decay
                for j in range(starts[a + 1] - starts[a]):
                    value *= 1.0 + C[children[starts[a] + j], kids[begins[b] + j]]
                C[a, b] = value
                total += value
    return total
