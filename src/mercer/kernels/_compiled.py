"""Compiled passes over blocks of kernel values; imported on first use, with numba."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._jit import as_float, as_integer, njit

# 2^r on [−½, ½] by a polynomial with error 1e-7; the integer part goes straight into the exponent bits
ONE, LOG2E, MAGIC, LOW, ZERO = (np.float32(v) for v in (1.0, 1.4426950408889634, 12582912.0, -126.0, 0.0))
E1, E2, E3 = (np.float32(v) for v in (0.6931471825, 0.2402264774, 0.0555032901))
E4, E5, E6 = (np.float32(v) for v in (0.0096183736, 0.0013399848, 0.0001537070))
SHIFT = np.int32(23)
HALF = np.float32(0.5)


@njit
def _pass(P: Any, a: Any, b: Any, out: Any) -> None:
    for i in range(P.shape[0]):
        row, target, ai = P[i], out[i], HALF * LOG2E * a[i]
        for j in range(P.shape[1]):
            v = min(max(LOG2E * row[j] - ai - b[j], LOW), ZERO)
            t = v + MAGIC  # adding 1.5·2²³ rounds v to an integer, which sits in the low bits
            r = v - (t - MAGIC)
            e = ONE + r * (E1 + r * (E2 + r * (E3 + r * (E4 + r * (E5 + r * E6)))))
            target[j] = as_float(as_integer(e) + (as_integer(t) << SHIFT))  # type: ignore[call-arg]


def gaussian_from_products(P: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """exp(Pᵢⱼ − aᵢ/2 − bⱼ/2) in float32, in one pass."""
    out = np.empty_like(P)  # in place the loop would not vectorise
    _pass(P, a, HALF * LOG2E * b, out)
    return out
