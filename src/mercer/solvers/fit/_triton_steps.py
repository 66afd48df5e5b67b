"""The steps of `_steps` as Triton programs: one program for each problem, with its state in registers."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

BLOCK = 512  # values of f that one program updates


@triton.jit
def _at(values, r, i):
    """The value at i."""
    return tl.sum(tl.where(r == i, values, 0), 0)


@triton.jit
def _minimise(
    K,
    unit,
    places,
    index,
    f,
    beta,
    lower,
    upper,
    diagonal,
    ridge,
    group,
    target,
    counts,
    n,
    q,
    most,
    GROUPS: tl.constexpr,
    Q: tl.constexpr,
):
    b = tl.program_id(0)
    r = tl.arange(0, Q)
    inside = r < q
    place = b * q + r
    kind = K.dtype.element_ty
    rows = tl.load(places + place, mask=inside, other=0)
    columns = tl.load(index + place, mask=inside, other=0)
    slope = tl.load(f + place, mask=inside, other=0.0).to(kind)
    x = tl.load(beta + place, mask=inside, other=0.0)
    low = tl.load(lower + place, mask=inside, other=0.0)
    high = tl.load(upper + place, mask=inside, other=0.0)
    curves = tl.load(diagonal + place, mask=inside, other=1.0).to(kind)
    extra = tl.load(ridge + place, mask=inside, other=0.0).to(kind)
    mine = tl.load(group + place, mask=inside, other=0)
    limit = tl.load(target + b).to(kind)
    count, done = 0, 0
    while (count < most) & (done == 0):
        rising = tl.where(x < high, slope, -float("inf"))
        falling = tl.where(x > low, slope, float("inf"))
        if GROUPS == 0:
            violation = tl.maximum(tl.max(rising, 0), -tl.min(falling, 0))
            if violation <= limit:
                done = 1
            else:
                curve = tl.maximum(curves, 1e-12)
                move = tl.minimum(tl.maximum((slope / curve).to(tl.float64), low - x), high - x)
                gain = move.to(kind) * (slope - 0.5 * curve * move.to(kind))
                i = tl.argmax(tl.where(inside, gain, -1.0), 0)
                step = _at(move, r, i)
                end = tl.where(step == _at(high - x, r, i), _at(high, r, i), _at(x, r, i) + step)
                end = tl.where(step == _at(low - x, r, i), _at(low, r, i), end)
                x = tl.where(r == i, end, x)
                slope -= step.to(kind) * unit * tl.load(K + _at(rows, r, i) * n + columns, mask=inside, other=0.0)
                slope -= tl.where(r == i, step.to(kind) * extra, 0.0)
                count += 1
        else:
            chosen = mine == 0
            if GROUPS == 2:
                gap0 = tl.max(tl.where(mine == 0, rising, -float("inf")), 0) - tl.min(
                    tl.where(mine == 0, falling, float("inf")), 0
                )
                gap1 = tl.max(tl.where(mine == 1, rising, -float("inf")), 0) - tl.min(
                    tl.where(mine == 1, falling, float("inf")), 0
                )
                chosen = mine == tl.where(gap1 > gap0, 1, 0)
            rising = tl.where(chosen, rising, -float("inf"))
            largest = tl.max(rising, 0)
            least = tl.min(tl.where(chosen, falling, float("inf")), 0)
            if (largest - least > limit) == 0:  # also if there is nothing to compare
                done = 1
            else:
                i = tl.argmax(rising, 0)
                first = unit * tl.load(K + _at(rows, r, i) * n + columns, mask=inside, other=0.0)
                fall = largest - slope
                curve = tl.maximum(_at(curves, r, i) + curves - 2.0 * first, 1e-12)
                able = chosen & (x > low) & (fall > 0)
                j = tl.argmax(tl.where(able, fall * fall / curve, -1.0), 0)
                second = unit * tl.load(K + _at(rows, r, j) * n + columns, mask=inside, other=0.0)
                room_i, room_j = _at(high - x, r, i), _at(x - low, r, j)
                step = tl.minimum(_at(fall / curve, r, j).to(tl.float64), tl.minimum(room_i, room_j))
                x_i = tl.where(step == room_i, _at(high, r, i), _at(x, r, i) + step)
                x_j = tl.where(step == room_j, _at(low, r, j), _at(x, r, j) - step)
                x = tl.where(r == i, x_i, tl.where(r == j, x_j, x))
                slope -= step.to(kind) * (first - second)
                slope -= tl.where(r == i, step.to(kind) * extra, tl.where(r == j, -step.to(kind) * extra, 0.0))
                count += 1
    tl.store(beta + place, x, mask=inside)
    tl.store(counts + b, count)


@triton.jit
def _follow(K, unit, rows, change, index, f, n, q, width, SIZE: tl.constexpr):
    b = tl.program_id(0)
    column = tl.program_id(1) * SIZE + tl.arange(0, SIZE)
    inside = column < width
    place = b * width + column
    mine = tl.load(index + place, mask=inside, other=0)
    kind = K.dtype.element_ty
    total = tl.zeros((SIZE,), kind)
    for k in range(q):
        amount = tl.load(change + b * q + k)
        if amount != 0.0:
            total += amount.to(kind) * tl.load(K + tl.load(rows + b * q + k) * n + mine, mask=inside, other=0.0)
    before = tl.load(f + place, mask=inside, other=0.0)
    tl.store(f + place, before - unit * total.to(tl.float64), mask=inside)


def minimise(
    K: torch.Tensor,
    unit: float,
    rows: torch.Tensor,
    index: torch.Tensor,
    f: torch.Tensor,
    beta: torch.Tensor,
    lower: torch.Tensor,
    upper: torch.Tensor,
    diagonal: torch.Tensor,
    ridge: torch.Tensor,
    group: torch.Tensor,
    groups: int,
    target: torch.Tensor,
    most: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """β after steps on unit·K + R until each violation is at most its `target`, and the number of steps."""
    count, q = torch.zeros(len(f), dtype=torch.int64, device=f.device), f.shape[1]
    rows, index, f, beta, lower, upper, diagonal, ridge, group = (
        values.contiguous() for values in (rows, index, f, beta.clone(), lower, upper, diagonal, ridge, group)
    )
    size = max(16, triton.next_power_of_2(q))
    _minimise[(len(f),)](
        K, unit, rows, index, f, beta, lower, upper, diagonal, ridge, group, target, count, K.shape[1], q, most,
        GROUPS=groups, Q=size, num_warps=4 if size <= 512 else 8,
    )  # fmt: skip
    return beta, count


def follow(
    K: torch.Tensor, unit: float, rows: torch.Tensor, change: torch.Tensor, index: torch.Tensor, f: torch.Tensor
) -> None:
    """Subtract unit·K times the change of each problem from its f."""
    rows, change, index = rows.contiguous(), change.contiguous(), index.contiguous()
    grid = len(f), triton.cdiv(f.shape[1], BLOCK)
    _follow[grid](K, unit, rows, change, index, f, K.shape[1], rows.shape[1], f.shape[1], SIZE=BLOCK, num_warps=4)
