"""Compiled passes over blocks of kernel values; imported on first use, with numba."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import factorial, log
from typing import Any

import numpy as np

from .._intrinsics import LINE, PANEL, ROWS, as_float, as_integer, as_pointer, carray, dot_panel, prepare
from .._jit import njit, njit_reordered
from ..types import Array, Checked, Evaluable, Index
from ._points import Points

# 2^r on [−½, ½] by a polynomial with error 1e-7; the integer part goes straight into the exponent bits
ONE, LOG2E, MAGIC, LOW, ZERO = (np.float32(v) for v in (1.0, 1.4426950408889634, 12582912.0, -126.0, 0.0))
E1, E2, E3 = (np.float32(v) for v in (0.6931471825, 0.2402264774, 0.0555032901))
E4, E5, E6 = (np.float32(v) for v in (0.0096183736, 0.0013399848, 0.0001537070))
SHIFT = np.int32(23)
HALF = np.float32(0.5)
TALL = 192  # rows whose products with a panel stay in cache
ROOT = np.sqrt(LOG2E)
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
def _rows(A: Array, a: Array, panels: Any, b: Array, lines: Any, width: int, first: int, last: int) -> None:
    """2^(AᵢᵀBⱼ − aᵢ − bⱼ) for the panels of B from `first` to `last`, from cached products.

    Row i, of `width` numbers, begins at the address lines[i].
    """
    tile, depth = np.empty((TALL, PANEL), np.float32), A.shape[1]
    for top in range(0, A.shape[0], TALL):
        height = min(TALL, A.shape[0] - top)
        for p in range(first, last):
            panel, r = panels[p].ctypes.data, 0
            following, second = panels[min(p + 1, last - 1)].ctypes.data, 4 * (PANEL - LINE) * depth
            while r < height:
                rows = 0  # the smallest number that is enough, with some rows once more; or else the largest
                for size in ROWS:
                    if size <= height and (rows == 0 or size >= height - r):
                        rows = size
                r = min(r, height - rows)
                source, target = A[top + r].ctypes.data, tile[r].ctypes.data
                soon = following if r == 0 else following + second  # the halves of the next panel, to be fetched now
                later = following + second if rows == height else soon
                if rows == R0:
                    dot0(source, panel, depth, target, soon, later)
                elif rows == R1:
                    dot1(source, panel, depth, target, soon, later)
                elif rows == R2:
                    dot2(source, panel, depth, target, soon, later)
                elif rows == R3:
                    dot3(source, panel, depth, target, soon, later)
                else:
                    dot4(source, panel, depth, target, soon, later)
                r += rows
            bias = b[PANEL * p : PANEL * (p + 1)]
            count = min(PANEL, width - PANEL * p)
            for i in range(height):
                ai, row = a[top + i], tile[i]
                line = carray(as_pointer(lines[top + i] + 4 * PANEL * p), PANEL)  # type: ignore[call-arg]
                if count == PANEL:
                    for j in range(0, PANEL, LINE):  # of the next panel, while its products are computed
                        prepare(lines[top + i] + 4 * (PANEL * (p + 1) + j))
                    for j in range(PANEL):
                        line[j] = exp2(min(max(row[j] - ai - bias[j], LOW), ZERO))
                else:
                    for j in range(count):
                        line[j] = exp2(min(max(row[j] - ai - bias[j], LOW), ZERO))


@njit
def varying(A: Array) -> Any:
    """Whether each column has more than one value."""
    found, first = np.zeros(A.shape[1], np.bool_), A[0]
    for i in range(1, len(A)):
        row = A[i]
        for k in range(len(row)):
            found[k] |= row[k] != first[k]
    return found


@njit_reordered
def compress(A: Array, common: Array, columns: Any, half: Array) -> None:
    """A is scaled, so that k is a power of 2, and keeps only some columns; half = ‖A − common‖²/2 before that.

    Rows move up in memory.
    """
    flat, width = A.reshape(A.size), len(columns)
    for i in range(len(A)):
        row, total = A[i], ZERO
        for k in range(len(row)):
            row[k] *= ROOT
            total += (row[k] - common[k]) * (row[k] - common[k])
        half[i] = HALF * total
        if width < len(row):
            for j in range(width):
                flat[i * width + j] = row[columns[j]]


class GaussianPoints(Points):
    """Points A with k(x, y) = 2^(xᵀy − ‖x‖²/2 − ‖y‖²/2) in float32, packed on first use as columns.

    `kept` are the columns in which the points on the right differ, and their common values in all others (else 0).
    There, a point on the left is equally far from each of them, and `half` includes that.
    """

    separate = True

    def __init__(self, kernel: Evaluable, A: np.ndarray, half: np.ndarray, centre: Array, kept: Any):
        self.kernel, self.A, self.half, self.centre, self.kept = kernel, A, half, centre, kept
        # with fewer columns, calls take a larger share of the time
        self.batch = min(max((1 << 17) // A.shape[1], 64), 512)

    @classmethod
    def of(cls, kernel: Evaluable, A: np.ndarray, centre: Array, beside: Any = None) -> GaussianPoints:
        """From points with k(x, y) = exp(−‖x − y‖²/2), to compare with the points `beside` them or with each other.

        A is overwritten.
        """
        if beside is None:
            differ = varying(A)
            differ[0] |= not differ.any()
            kept = np.flatnonzero(differ), np.where(differ, ZERO, ROOT * A[0])
        else:
            kept = beside.kept
        half = np.empty(len(A), np.float32)
        compress(A, kept[1], kept[0], half)
        return cls(kernel, A.reshape(-1)[: len(A) * len(kept[0])].reshape(len(A), -1), half, centre, kept)

    def __len__(self) -> int:
        return len(self.A)

    def take(self, index: Index) -> GaussianPoints:
        return GaussianPoints(
            self.kernel, np.ascontiguousarray(self.A[index]), self.half[index], self.centre, self.kept
        )

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
        other.receive([(self, out, places)], start, stop)

    def receive(self, parts: Sequence[Any], start: int, stop: int) -> None:
        packed, half = self.panels
        for points, out, _ in parts:  # compiled code writes to the memory as it is
            if out.dtype != np.float32 or not out[:1].flags.c_contiguous:
                raise TypeError(f"Gaussian: rows in single precision need a float32 array, not {out.dtype}.")
            if points.A.shape[1] != packed.shape[1]:
                raise ValueError(
                    f"Gaussian: points of {points.A.shape[1]} and of {packed.shape[1]} features cannot be compared."
                )
        A, a = (_joined([getattr(points, name) for points, *_ in parts]) for name in ("A", "half"))
        lines = _joined([out.ctypes.data + out.strides[0] * places for _, out, places in parts])
        _rows(A, a, packed, half, lines, len(self), start // PANEL, -(-stop // PANEL))


def _joined(arrays: list[np.ndarray]) -> np.ndarray:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
