"""Support vector machines for a range of C as Triton programs: each follows one chain of C, with warm starts.

The problem and the stretch from one C to the next are those of `_many`. The state of a program is in memory; in each
step it passes over its variables twice, to update f and find the first variable, and to find the second.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ._many import FAR

BLOCK, WARPS = 4096, 16


@triton.jit(do_not_specialize=["n", "width", "chain", "most", "quota"])  # one program for all sizes
def _along(
    K,
    unit,
    index,
    diagonal,
    weight,
    halves,
    sizes,
    strengths,
    beta,
    f,
    able,
    place,
    offsets,
    gaps,
    steps,
    n,
    width,
    chain,
    tol,
    most,
    quota,
    FAR: tl.constexpr,
    BLOCK: tl.constexpr,
):
    p = tl.program_id(0)
    half, size = tl.load(halves + p), tl.load(sizes + p)
    r = tl.arange(0, BLOCK)
    index, diagonal, weight = index + p * width, diagonal + p * width, weight + p * width
    f, able = f + p * width, able + p * width
    k = tl.load(place + p)
    left = quota + 0
    C = tl.load(strengths + p * chain + k)
    while (C > 0) & (left > 0):
        own = beta + (p.to(tl.int64) * chain + k) * width
        taken = tl.load(steps + p * chain + k)
        if taken < 0:  # a new C: stay if the gap is small also in the wider box, else stretch
            factor, back = 1.0 + 0.0 * C, tl.where(k > 0, width, 0)
            if k > 0:
                ratio = C / tl.load(strengths + p * chain + k - 1)
                linear, squared = 0.0 * C, 0.0 * C
                top, bottom = -float("inf") + 0.0 * C, float("inf") + 0.0 * C
                for c in range(0, size, BLOCK):
                    v = c + r
                    inside = v < size
                    x = tl.load(own - width + v, mask=inside, other=0.0)
                    g = tl.load(f + v, mask=inside, other=0.0)
                    bound = C * tl.load(weight + v, mask=inside, other=1.0)
                    y = tl.where(v < half, 1.0, -1.0)
                    linear += tl.sum(y * x, 0)
                    squared += tl.sum(tl.where(inside, x * (y - g), 0.0), 0)
                    rises = inside & tl.where(y > 0, x < bound, x < 0)
                    falls = inside & tl.where(y > 0, x > 0, x > -bound)
                    top = tl.maximum(top, tl.max(tl.where(rises, g, -float("inf")), 0))
                    bottom = tl.minimum(bottom, tl.min(tl.where(falls, g, float("inf")), 0))
                best = tl.where(squared > 0, linear / squared, 1.0)
                best = tl.where(best > 1.0 + FAR * (ratio - 1.0), ratio, best)
                factor = tl.where(top - bottom > tol, best, 1.0)
            for c in range(0, size, BLOCK):
                v = c + r
                inside = v < size
                y = tl.where(v < half, 1.0, -1.0)
                bound = C * tl.load(weight + v, mask=inside, other=1.0)
                x = factor * tl.load(own - back + v, mask=inside, other=0.0)  # zero at the first C
                # a variable may miss its new bound by rounding, and would count as free
                x = tl.where(y * x > (1.0 - 1e-14) * bound, y * bound, x)
                rises = tl.where(y > 0, x < bound, x < 0)
                falls = tl.where(y > 0, x > 0, x > -bound)
                tl.store(own + v, x, mask=inside)
                tl.store(able + v, (rises.to(tl.int32) + 2 * falls.to(tl.int32)).to(tl.int8), mask=inside)
                tl.store(f + v, y - factor * (y - tl.load(f + v, mask=inside, other=0.0)), mask=inside)
            taken = 0
            tl.debug_barrier()
        i, j, row_i, row_j = 0, 0, tl.load(index), tl.load(index)
        able_i, able_j = tl.load(able), tl.load(able)
        step = 0.0 * C
        going = 1
        while going == 1:
            top = tl.full((BLOCK,), -float("inf"), tl.float64)
            bottom = tl.full((BLOCK,), float("inf"), tl.float64)
            at = tl.zeros((BLOCK,), tl.int32)
            for c in range(0, size, BLOCK):
                v = c + r
                inside = v < size
                rows = tl.load(index + v, mask=inside, other=0)
                first = tl.load(K + row_i.to(tl.int64) * n + rows, mask=inside, other=0.0).to(tl.float64)
                second = tl.load(K + row_j.to(tl.int64) * n + rows, mask=inside, other=0.0).to(tl.float64)
                g = tl.load(f + v, mask=inside, other=0.0) - step * (unit * (first - second))
                can = tl.load(able + v, mask=inside, other=0)
                can = tl.where(v == i, able_i, tl.where(v == j, able_j, can))
                tl.store(f + v, g, mask=inside)
                tl.store(able + v, can, mask=inside & ((v == i) | (v == j)))
                rise = tl.where((can & 1) != 0, g, -float("inf"))
                at = tl.where(rise > top, v, at)
                top = tl.maximum(top, rise)
                bottom = tl.minimum(bottom, tl.where((can & 2) != 0, g, float("inf")))
            largest, least = tl.max(top, 0), tl.min(bottom, 0)
            tl.debug_barrier()
            if (largest - least > tol) & (taken < most) & (left > 0):
                i = tl.min(tl.where(top == largest, at, size), 0)
                row_i = tl.load(index + i)
                own_i = tl.load(diagonal + i)
                best = tl.full((BLOCK,), -1.0, tl.float64)
                at = tl.zeros((BLOCK,), tl.int32)
                for c in range(0, size, BLOCK):
                    v = c + r
                    inside = v < size
                    rows = tl.load(index + v, mask=inside, other=0)
                    first = tl.load(K + row_i.to(tl.int64) * n + rows, mask=inside, other=0.0).to(tl.float64)
                    g = tl.load(f + v, mask=inside, other=0.0)
                    can = tl.load(able + v, mask=inside, other=0)
                    curve = own_i + tl.load(diagonal + v, mask=inside, other=1.0) - 2.0 * (unit * first)
                    fall = largest - g
                    gain = fall * fall / tl.maximum(curve, 1e-12)
                    gain = tl.where(((can & 2) != 0) & (fall > 0), gain, -1.0)
                    at = tl.where(gain > best, v, at)
                    best = tl.maximum(best, gain)
                j = tl.min(tl.where(best == tl.max(best, 0), at, size), 0)
                row_j = tl.load(index + j)
                between = tl.load(K + row_i.to(tl.int64) * n + row_j).to(tl.float64)
                curve = tl.maximum(own_i + tl.load(diagonal + j) - 2.0 * (unit * between), 1e-12)
                x_i, x_j = tl.load(own + i), tl.load(own + j)
                bound_i, bound_j = C * tl.load(weight + i), C * tl.load(weight + j)
                high = tl.where(i < half, bound_i, 0.0)
                low = tl.where(j < half, 0.0, -bound_j)
                step = tl.minimum((largest - tl.load(f + j)) / curve, tl.minimum(high - x_i, x_j - low))
                x_i = tl.where(step == high - x_i, high, x_i + step)
                x_j = tl.where(step == x_j - low, low, x_j - step)
                falls = x_i > tl.where(i < half, 0.0, -bound_i)
                able_i = ((x_i < high).to(tl.int32) + 2 * falls.to(tl.int32)).to(tl.int8)
                rises = x_j < tl.where(j < half, bound_j, 0.0)
                able_j = (rises.to(tl.int32) + 2 * (x_j > low).to(tl.int32)).to(tl.int8)
                tl.debug_barrier()  # all have read β
                tl.store(own + i, x_i)
                tl.store(own + j, x_j)
                tl.debug_barrier()
                taken += 1
                left -= 1
            else:
                going = 0
                tl.store(steps + p * chain + k, taken)
                if (largest - least <= tol) | (taken >= most) | (largest == -float("inf")):
                    total, free = 0.0 * C, 0.0 * C
                    for c in range(0, size, BLOCK):
                        v = c + r
                        can = tl.load(able + v, mask=v < size, other=0)
                        g = tl.load(f + v, mask=v < size, other=0.0)
                        total += tl.sum(tl.where(can == 3, g, 0.0), 0)
                        free += tl.sum((can == 3).to(tl.float64), 0)
                    middle = 0.5 * (largest + least)
                    tl.store(offsets + p * chain + k, tl.where(free > 0, total / tl.maximum(free, 1.0), middle))
                    tl.store(gaps + p * chain + k, largest - least)
                    k += 1
                    C = tl.load(strengths + p * chain + k)
                else:
                    left = 0
    tl.store(place + p, k)


def along(
    K: torch.Tensor,
    unit: float,
    variables: tuple[torch.Tensor, ...],
    strengths: torch.Tensor,
    state: tuple[torch.Tensor, ...],
    report: tuple[torch.Tensor, ...],
    tol: float,
    most: int,
    quota: int,
) -> None:
    """Continue each chain of problems on unit·K for at most `quota` steps.

    `variables` are the rows of K, diagonals, weights of C, numbers of the first class and of all; `strengths` the C of
    each chain, zero after its last; `state` contains β for each C, f, what can move, and the place in the chain;
    `report` the offsets, gaps and steps, which are −1 before a problem begins.
    """
    programs, width = variables[0].shape
    _along[(programs,)](
        K, unit, *variables, strengths, *state, *report, len(K), width, strengths.shape[1], tol, most, quota,
        FAR=FAR, BLOCK=min(BLOCK, triton.next_power_of_2(width)), num_warps=WARPS,
    )  # fmt: skip
