"""Steps of many small box-constrained problems at once, on a torch device.

The values of each problem are those in some `rows` of one matrix K and the columns `index`; steps are those of `_smo`:
of two variables in the group with the largest violation, or of one where there is no equality.
"""

from __future__ import annotations

import torch

TINY, INF = 1e-12, float("inf")
LOOK = 32  # steps between looks whether any problem is still running


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
    f, beta, every = f.clone(), beta.clone(), torch.arange(len(f), device=f.device)
    count, running = torch.zeros(len(f), dtype=torch.int64, device=f.device), torch.ones_like(every, dtype=torch.bool)
    for k in range(most):
        up, low = torch.where(beta < upper, f, -INF), torch.where(beta > lower, f, INF)
        if groups == 0:
            running = torch.maximum(up.amax(1), -low.amin(1)) > target
            curve = diagonal.clamp(min=TINY)
            move = torch.minimum(torch.maximum(f / curve, lower - beta), upper - beta)
            i = (move * (f - 0.5 * curve * move)).argmax(1)
            step = torch.where(running, move[every, i], 0.0)
            f -= step[:, None] * (unit * K[rows[every, i][:, None], index])
            f[every, i] -= ridge[every, i] * step
            moved = torch.maximum(beta[every, i] + step, lower[every, i])
            beta[every, i] = torch.minimum(moved, upper[every, i])
        else:
            mine = group == 0
            if groups > 1:
                worst = [
                    (torch.where(group == g, up, -INF).amax(1) - torch.where(group == g, low, INF).amin(1))
                    for g in range(groups)
                ]
                mine = group == torch.stack(worst).argmax(0)[:, None]
            up = torch.where(mine, up, -INF)
            largest, i = up.max(1)
            running = largest - torch.where(mine, low, INF).amin(1) > target
            row = unit * K[rows[every, i][:, None], index]
            fall = (largest[:, None] - f).clamp(min=0.0)
            curve = (diagonal[every, i][:, None] + diagonal - 2.0 * row).clamp(min=TINY)
            j = torch.where(mine & (beta > lower), fall * fall / curve, -1.0).argmax(1)
            room = torch.minimum(upper[every, i] - beta[every, i], beta[every, j] - lower[every, j])
            step = torch.where(running, torch.minimum(fall[every, j] / curve[every, j], room), 0.0)
            f -= step[:, None] * (row - unit * K[rows[every, j][:, None], index])
            f[every, i] -= ridge[every, i] * step
            f[every, j] += ridge[every, j] * step
            for v, sign, bound in ((i, 1.0, upper), (j, -1.0, lower)):
                end = running & (step == sign * (bound[every, v] - beta[every, v]))  # exactly, in spite of rounding
                beta[every, v] = torch.where(end, bound[every, v], beta[every, v] + sign * step)
        count += running
        if k % LOOK == 0 and not running.any():
            break
    return beta, count


def follow(
    K: torch.Tensor, unit: float, rows: torch.Tensor, change: torch.Tensor, index: torch.Tensor, f: torch.Tensor
) -> None:
    """Subtract unit·K times the change of each problem from its f."""
    for b in range(len(f)):
        moved = torch.nonzero(change[b]).ravel()
        if len(moved):
            part = K[rows[b, moved]][:, index[b]].to(f.dtype)
            f[b] -= unit * (change[b, moved] @ part)
