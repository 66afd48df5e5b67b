"""Compiled passes over blocks of kernel values; imported on first use, with numba."""

from __future__ import annotations

from functools import cached_property
from math import factorial, log
from typing import Any

import numpy as np

from .._intrinsics import PANEL, ROWS, as_float, as_integer, as_pointer, carray, dot_panel
from .._jit import njit
from ..types import Array, Checked, Evaluable, Index
from ._points import Points

# 2^r on [−½, ½] by a polynomial with error 1e-7; the integer part goes straight into the exponent bits
ONE, LOG2E, MAGIC, LOW, ZERO = (np.float32(v) for v in (1.0, 1.4426950408889634, 12582912.0, -126.0, 0.0))
E1, E2, E3 = (np.float32(v) for v in (0.6931471825, 0.2402264774, 0.0555032901))
E4, E5, E6 = (np.float32(v) for v in (0.0096183736, 0.0013399848, 0.0001537070))
SHIFT = np.int32(23)
HALF = np.float32(0.5)
TALL = 192  # rows whose products with a panel stay in cache
R0, R1, R2, R3, R4 = ROWS
dot0, dot1, dot2, dot3, dot4 = (dot_panel(rows) for rows in ROWS)


@njit
def exp2(v: Array) -> Any:
    """2^v for −126 ≤ v ≤ 0 in float32."""
    t = v + MAGIC  # adding 1.5·2²³ rounds v to an integer, which sits in the low bits
    r = v - (t - MAGIC)
    e = ONE + r * (E1 + r * (E2 + r * (E3 + r * (E4 + r * (E5 + r * E6)))))
    return as_float(np.int32(as_integer(e) + (as_integer(t) << SHIFT)))  # type: ignore[call-arg]


# the same in float64, by the series Σ (r log 2)ⁿ/n!; the first term left out is 2e-16
LOG2E_64, MAGIC_64, LOW_64, SHIFT_64 = 1.4426950408889634, 6755399441055744.0, -1022.0, np.int64(52)
T1, T2, T3, T4, T5, T6, T7, T8, T9, T10, T11, T12 = (log(2.0) ** n / factorial(n) for n in range(1, 13))


@njit
def _pass_64(P: Array, a: Array, b: Array, out: Array) -> None:
    for i in range(P.shape[0]):
        row, target, ai = P[i], out[i], 0.5 * a[i]
        for j in range(P.shape[1]):
            power = LOG2E_64 * (row[j] - ai - b[j])
            v = min(max(power, LOW_64), 0.0)
            t = v + MAGIC_64
            r = v - (t - MAGIC_64)
            high = T7 + r * (T8 + r * (T9 + r * (T10 + r * (T11 + r * T12))))
            e = 1.0 + r * (T1 + r * (T2 + r * (T3 + r * (T4 + r * (T5 + r * (T6 + r * high))))))
            value: Any = as_float(as_integer(e) + (as_integer(t) << SHIFT_64))  # type: ignore[call-arg]
            target[j] = value if power >= LOW_64 else 0.0


@njit
def _pass(P: Array, a: Array, b: Array, out: Array) -> None:
    for i in range(P.shape[0]):
        row, target, ai = P[i], out[i], HALF * LOG2E * a[i]
        for j in range(P.shape[1]):
            target[j] = exp2(min(max(LOG2E * row[j] - ai - b[j], LOW), ZERO))


def gaussian_from_products(P: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """exp(Pᵢⱼ − aᵢ/2 − bⱼ/2), in one pass."""
    out = np.empty_like(P)  # in place the loop would not vectorise
    if P.dtype == np.float32:
        _pass(P, a, HALF * LOG2E * b, out)
    else:
        _pass_64(P, a, 0.5 * b, out)
    return out


@njit
def pack(X: Checked, panels: Any) -> None:
    """panels[p, k, j] = X[PANEL p + j, k], and 0 beyond the last row: columns of a panel lie side by side."""
    for p in range(panels.shape[0]):
        for j in range(PANEL):
            i = PANEL * p + j
            for k in range(X.shape[1]):
                panels[p, k, j] = X[i, k] if i < X.shape[0] else ZERO


@njit
def _rows(A: Array, a: Array, panels: Any, b: Array, out: Array, places: Any, first: int, last: int) -> None:
    """out[places[i], j] = 2^(AᵢᵀBⱼ − aᵢ − bⱼ) for the panels of B from `first` to `last`, from cached products."""
    tile, depth = np.empty((TALL, PANEL), np.float32), A.shape[1]
    for top in range(0, A.shape[0], TALL):
        height = min(TALL, A.shape[0] - top)
        for p in range(first, last):
            panel, r = panels[p].ctypes.data, 0
            while r < height:
                source, target = A[top + r].ctypes.data, tile[r].ctypes.data
                if height - r >= R0:
                    dot0(source, panel, depth, target)
                    r += R0
                elif height - r >= R1:
                    dot1(source, panel, depth, target)
                    r += R1
                elif height - r >= R2:
                    dot2(source, panel, depth, target)
                    r += R2
                elif height - r >= R3:
                    dot3(source, panel, depth, target)
                    r += R3
                else:
                    dot4(source, panel, depth, target)
                    r += R4
            left = PANEL * p
            half = b[left : left + PANEL]
            if left + PANEL <= out.shape[1]:
                for i in range(height):
                    ai, row = a[top + i], tile[i]
                    line = carray(as_pointer(out[places[top + i], left:].ctypes.data), PANEL)  # type: ignore[call-arg]
                    for j in range(PANEL):
                        line[j] = exp2(min(max(row[j] - ai - half[j], LOW), ZERO))
            else:
                for i in range(height):
                    for j in range(out.shape[1] - left):
                        out[places[top + i], left + j] = exp2(min(max(tile[i, j] - a[top + i] - half[j], LOW), ZERO))


class GaussianPoints(Points):
    """Points A with k(x, y) = 2^(xᵀy − ‖x‖²/2 − ‖y‖²/2) in float32, packed on first use as columns."""

    separate = True

    def __init__(self, kernel: Evaluable, A: np.ndarray, half: np.ndarray, centre: Array):
        self.kernel, self.A, self.half, self.centre = kernel, A, half, centre
        self.batch = min(
            max((1 << 17) // A.shape[1], 64), 512
        )  # with fewer columns, calls take a larger share of the time

    @classmethod
    def of(cls, kernel: Evaluable, scaled: np.ndarray, centre: Array) -> GaussianPoints:
        """From points with k(x, y) = exp(−‖x − y‖²/2)."""
        A = np.ascontiguousarray(scaled * np.sqrt(LOG2E))
        return cls(kernel, A, HALF * np.einsum("ij,ij->i", A, A), centre)

    def __len__(self) -> int:
        return len(self.A)

    def take(self, index: Index) -> GaussianPoints:
        return GaussianPoints(self.kernel, np.ascontiguousarray(self.A[index]), self.half[index], self.centre)

    @cached_property
    def panels(self) -> tuple[np.ndarray, np.ndarray]:
        """The points as columns, and half their squared lengths, padded to whole panels."""
        count = -(-len(self) // PANEL)
        packed, half = np.empty((count, self.A.shape[1], PANEL), np.float32), np.zeros(count * PANEL, np.float32)
        pack(self.A, packed)
        half[: len(self)] = self.half
        return packed, half

    def matrix(self, other: Any) -> np.ndarray:
        out = np.empty((len(self), len(other)), np.float32)
        self.fill(out, np.arange(len(self)), other, 0, len(other))
        return out

    def fill(self, out: np.ndarray, places: np.ndarray, other: Any, start: int, stop: int) -> None:
        if out.dtype != np.float32:  # compiled code writes to the memory as it is
            raise TypeError(f"Gaussian: rows in single precision need a float32 array, not {out.dtype}.")
        packed, half = other.panels
        if self.A.shape[1] != packed.shape[1]:
            raise ValueError(
                f"Gaussian: points of {self.A.shape[1]} and of {packed.shape[1]} features cannot be compared."
            )
        _rows(self.A, self.half, packed, half, out, places, start // PANEL, -(-stop // PANEL))
