"""K V on a CUDA device without K: tiles of K exist only in registers, in a program made from the kernel's formula.

`_trace` says which kernels have a formula, `_triton` how a program computes it. This module prepares the points and V.

In single precision an entry of K V is wrong by about 10⁻⁶ of its absolute sum Σ |kᵢⱼ vⱼ|, as by any product in single
precision; values of k below 10⁻¹¹ of the largest, and entries of V below 10⁻¹¹ of the largest in their column, lose
digits. Where k of short vectors is that much smaller than k of long ones, a slower product keeps them.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from math import ceil, frexp, inf, prod
from typing import Any

import numpy as np

from .._array import device_of, is_array, is_torch, namespace
from .._errors import warn
from .._threads import slices
from ..types import Array, Checked, Evaluable
from . import _triton
from ._base import Evaluator, backend
from ._trace import Geometry, sampled, trace

SMALL = 1 << 26  # entries below which blocks are faster
FAR = 128.0  # lengthscales from the centre up to which products give distances with five digits
FEW, MANY = 4, 64  # columns up to which differences are fast, and faster than blocks
BYTES = 1 << 30  # of prepared points and weights at once, whose entries have 32-bit indices
PROGRAMS = 1024  # that keep a device busy
LARGE = 2.0**14  # largest value in half precision, with room to spare
RANGE = 2.0**14  # largest ratio of values for long and for short vectors that halves can hold
HUGE = 2.0**120  # largest constant in single precision, likewise


@backend
class FusedEvaluator(Evaluator):
    """Products of kernels with a formula, on a CUDA device, by compiled programs; all else as in `Evaluator`."""

    @classmethod
    def suits(cls, kernel: Evaluable, X: Checked) -> bool:
        return is_array(X) and not kernel.whole and is_torch(namespace(X)) and _triton.available(device_of(X))

    def product(self, V: Array, n_jobs: int | None = None, entries: int | None = None) -> Any:
        """K V: fused if the kernel has a formula for these collections, else in blocks of at most `entries` values."""
        out = None
        if prod(self.shape) > SMALL:
            try:
                out = self._fused(V)
            except _triton.failures() as error:  # blocks need neither a compiler nor the memory for prepared points
                _tell(type(error).__name__, str(error).partition("\n")[0])
        return super().product(V, n_jobs, entries) if out is None else out

    def _fused(self, V: Any) -> Any:
        """K V without blocks, or None if there is no program for it."""
        import torch

        X: Any = self.X
        recorded = torch.is_grad_enabled() and any(Z.requires_grad for Z in (X, self.Y, V))
        fits = X.ndim == 2 and X.dtype == V.dtype and X.dtype in (torch.float32, torch.float64) and V.numel() > 0
        if recorded or not fits:
            return None
        double = X.dtype == torch.float64
        traced = trace(self.kernel, X[:1], np.float64 if double else np.float32)
        if traced is None:
            return None
        points = [Points(g, X, None if self.symmetric else self.Y) for g in traced[1]]
        if len(points) > 3 or not all(p.moderate for p in points):
            return None
        columns = sum(p.columns for p in points)
        bound, least, rough = self._values(points)
        pieces = not double and all(p.reach <= FAR for p in points) and not (rough and columns <= FEW)
        if not 0 < bound < inf or (columns > MANY and not pieces):
            return None
        halves = not double and bound <= RANGE * least
        shrink = LARGE / 2.0 ** frexp(bound)[1] if halves else 1.0
        with torch.no_grad(), torch.cuda.device(V.device) if V.is_cuda else nullcontext():
            out = self._run(points, V.reshape(V.shape[0], -1), shrink, pieces, halves, rough)
        finite = out is not None and bool(torch.isfinite(out).all())
        return out.reshape(X.shape[0], *V.shape[1:]) if finite else None

    def _run(self, points: list[Points], V: Any, shrink: float, pieces: bool, halves: bool, rough: bool) -> Any:
        import torch

        n, m = self.shape
        double, r, kinds = V.dtype == torch.float64, V.shape[1], [(p.geometry.distances, p.columns) for p in points]
        widths = [p.width if pieces else p.columns for p in points]
        tile = _triton.narrowed(_triton.DOUBLE if double else _triton.DIFFERENCES, r)
        if pieces:
            tile = _triton.tiling(widths, r, _memory(V), halves)
        units = [p.square if pieces else 1.0 for p in points]
        value, _ = trace(self.kernel, self.X[:1], np.float64 if double else np.float32, units)  # type: ignore[misc]
        weights = "double" if double else "halves" if halves else "single"
        run, constants = _triton.program(value * shrink, kinds, tile, pieces, weights, rough)
        if max(map(abs, constants), default=0.0) > HUGE:
            return None
        C = torch.tensor([1 / shrink, *constants], dtype=V.dtype).to(V.device)
        padded = ceil(r / tile.weights) * tile.weights
        sizes = _sizes(V) if halves else 1.0
        out = torch.empty((n, r), dtype=V.dtype, device=V.device)
        bytes_each = max(sum(widths) * (2 if pieces else V.element_size()), 4 * padded)
        step = max(_triton.PAD, BYTES // bytes_each // _triton.PAD * _triton.PAD)
        for rows in slices(n, step):
            A = _prepared(points, True, rows, pieces)
            many = _padded(rows.stop - rows.start)
            total: Any = 0
            for columns in slices(m, step):
                B = _prepared(points, False, columns, pieces)
                W = _weights(V[columns] / sizes, padded, halves)
                wide = B.shape[0] if pieces else B.shape[1]
                splits = min(ceil(PROGRAMS * tile.rows / many), wide // _triton.PAD)
                span = ceil(wide / splits / _triton.PAD) * _triton.PAD
                splits = ceil(wide / span)
                sums = torch.empty((splits, many, padded), dtype=V.dtype, device=V.device)
                run[many // tile.rows, splits, padded // tile.weights](
                    A, B, W, C, sums, many, wide, padded, span, BM=tile.rows, BN=tile.columns, BR=tile.weights,
                    num_warps=tile.warps, num_stages=tile.stages,
                )  # fmt: skip
                total = total + sums.sum(dim=0)[: rows.stop - rows.start, :r]
            out[rows] = total
        return out * sizes

    def _values(self, points: list[Points]) -> tuple[float, float, bool]:
        """The largest |k|, the largest for the shortest x, and whether k tells rounding errors near distance 0.

        All are estimated from a sample of values.
        """
        steps = {1: 512, 2: 96, 3: 24}[len(points)]

        def largest(grids: list[np.ndarray]) -> float:
            mesh = [grid.ravel() for grid in np.meshgrid(*grids)]
            return float(np.abs(sampled(self.kernel, self.X[:1], mesh)).max())

        bound, least = (largest([p.sample(steps, shortest) for p in points]) for shortest in (False, True))
        near = np.array([[0.0, _triton.origin(p.columns) * p.square if p.geometry.distances else 0.0] for p in points])
        ends = sampled(self.kernel, self.X[:1], list(near))
        return bound, least, bool(abs(ends[1] - ends[0]) > 2.0**-22 * bound)


class Points:
    """The images of two collections under one geometry, and their largest length."""

    def __init__(self, geometry: Geometry, X: Any, Y: Any):
        self.geometry = geometry
        A = geometry.image(X)
        B = A if Y is None else geometry.image(Y)
        if geometry.distances:
            centre = B.mean(dim=0)
            A, B = A - centre, None if Y is None else B - centre
            if geometry.scale is not None:
                A, B = geometry.scale(A), None if B is None else geometry.scale(B)
            B = A if B is None else B
        self.sides = (A, B)
        squares = [(Z * Z).sum(dim=1) for Z in ((A,) if B is A else (A, B))]
        self.lengths = [float(s.max() ** 0.5) for s in squares]
        self.shortest = float(squares[0].where(squares[0] > 0, squares[0].max()).min() ** 0.5)

    @property
    def moderate(self) -> bool:
        """Whether squares neither overflow nor underflow."""
        return all(length == 0 or 2.0**-50 < length < 2.0**50 for length in self.lengths)

    @property
    def reach(self) -> float:
        """The largest distance from the centre, in units of the smallest lengthscale."""
        return max(self.lengths) * self.geometry.factor**0.5 if self.geometry.distances else 0.0

    @property
    def columns(self) -> int:
        return int(self.sides[0].shape[1])

    @property
    def width(self) -> int:
        """The half-precision columns of one point."""
        return sum(_triton.parts(self.columns))

    @property
    def units(self) -> list[float]:
        """Powers of two in whose units lengths are at most 2¹¹."""
        if self.geometry.distances:
            return [_power(max(self.lengths))] * 2
        return [_power(length) for length in (self.lengths[0], self.lengths[-1])]

    @property
    def square(self) -> float:
        """The unit of the products."""
        return prod(self.units)

    def sample(self, steps: int, shortest: bool = False) -> np.ndarray:
        """Possible values of the distances or inner products, of the shortest x only if asked, more of them near 0."""
        x, y = self.shortest if shortest else self.lengths[0], self.lengths[-1]
        most = ((x + y) ** 2 if self.geometry.distances else x * y) or 1.0
        values = np.append(0.0, most * np.logspace(-12, 0, steps))
        return values if self.geometry.distances else np.append(-values, values)

    def pieces(self, left: bool, part: slice, out: Any) -> None:
        """Write half-precision columns: inner products with those of the other side are distances or products."""
        import torch

        d, Z = self.columns, self.sides[not left][part] / self.units[not left]
        start, distances = _triton.parts(d)[0], self.geometry.distances
        H = torch.round(Z) if distances else Z.to(torch.float16)
        L = (Z - H).to(torch.float16)
        factor = -2 if distances and not left else 1
        out[:, :d] = factor * H
        for k, P in enumerate((H, L, L) if left else (L, H, L)):
            out[:, start + k * d : start + (k + 1) * d] = factor * P
        if not distances:
            return
        whole = (H.double() ** 2).sum(dim=1)
        rest = ((2 * H.double() + L.double()) * L.double()).sum(dim=1) / 64
        digits = [torch.floor(whole / 2048), whole % 2048]
        for _ in range(3):
            digits.append(rest.to(torch.float16))
            rest = rest - digits[-1].double()
        for k, (unit, digit) in enumerate(zip((2048.0, 1.0, 64.0, 64.0, 64.0), digits, strict=True)):
            at = d + 2 * k if k < 2 else start + 3 * d + 2 * (k - 2)
            out[:, at + left], out[:, at + (not left)] = unit, digit


def _prepared(points: list[Points], left: bool, part: slice, pieces: bool) -> Any:
    """The points of a part of one side: as half-precision columns, or transposed."""
    import torch

    Z, rows = points[0].sides[not left], _padded(part.stop - part.start)
    if not pieces:
        out = Z.new_zeros((sum(p.columns for p in points), rows))
        out[:, : part.stop - part.start] = torch.cat([p.sides[not left][part] for p in points], dim=1).T
        return out
    out = torch.zeros((rows, sum(p.width for p in points)), dtype=torch.float16, device=Z.device)
    start = 0
    for p in points:
        p.pieces(left, part, out[: part.stop - part.start, start : start + p.width])
        start += p.width
    return out


def _sizes(V: Any) -> Any:
    """Powers of two by which the columns of V are divided, to fill the range of half precision."""
    largest = V.abs().amax(dim=0).clamp(min=2.0**-100)
    return (largest.log2().ceil() - 15).exp2()


def _weights(V: Any, columns: int, halves: bool) -> Any:
    """V, padded with zeros; as the sum of two halves if asked."""
    import torch

    m, r = V.shape
    out = torch.zeros((1 + halves, _padded(m), columns), dtype=torch.float16 if halves else V.dtype, device=V.device)
    out[0, :m, :r] = V
    if halves:
        out[1, :m, :r] = V - out[0, :m, :r]
    return out


def _memory(V: Any) -> int:
    """The bytes of fast memory that one program may use on the device of V."""
    import torch

    properties = torch.cuda.get_device_properties(V.device) if V.is_cuda else None
    return getattr(properties, "shared_memory_per_block_optin", 99 << 10)


@cache
def _tell(kind: str, reason: str) -> None:
    """Warn, once for each reason, that products are slower."""
    warn(f"Products on the device are computed in blocks, more slowly, as their program failed: {kind}: {reason}")


def _padded(rows: int) -> int:
    return ceil(rows / _triton.PAD) * _triton.PAD


def _power(length: float) -> float:
    return 2.0 ** (frexp(length)[1] - _triton.PIECE) if length else 1.0
