r"""The machines of `many` on a device: all pairs of classes of several training parts, over a range of C.

All parts share one kernel matrix in single precision, as in LIBSVM; f, β and the criterion are in double precision. A
program follows a chain of increasing C with warm starts; the chains are as long as their number fills the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import torch

from ..._array import host
from ..._threads import slices
from . import _triton_path
from .many import PairPath
from .rounds import STEPS

__all__ = ["DevicePairPath", "solve_pairs"]

PROGRAMS = 256  # that fill a device
BLOCK = 1 << 28  # entries of the matrix that are multiplied together
QUOTA = 1 << 14  # steps of a program between checks of a request to stop


class DevicePairPath(PairPath):
    """`PairPath` with coefficients on the device, as are the decision values."""

    def decisions(self, K: Any, rows: np.ndarray) -> Any:
        """Values at some samples, of shape (m, rows, pairs); positive for a pair's first class."""
        coefficients: Any = self.coefficients
        strengths, others, _ = coefficients.shape
        place = {pair: k for k, pair in enumerate(combinations(range(others + 1), 2))}
        values = coefficients.new_empty((len(place), strengths, len(rows)))
        values[:] = torch.as_tensor(self.offsets.T[:, :, None], device=values.device)
        at = torch.as_tensor(rows, device=values.device)
        for c in range(others + 1):  # class by class: in a pair, all others have zero coefficients
            part = slice(self.edges[c], self.edges[c + 1])
            members = torch.as_tensor(self.order[part], device=values.device)
            own = coefficients[:, :, part].transpose(0, 1).reshape(strengths * others, -1).T
            for some in slices(len(rows), max(1, BLOCK // len(members))):
                products = (K[at[some][:, None], members].to(own.dtype) @ own).T.reshape(others, strengths, -1)
                for o, product in zip((o for o in range(others + 1) if o != c), products, strict=True):
                    values[place[min(c, o), max(c, o)]][:, some] += product
        return values.permute(1, 2, 0)


def solve_pairs(
    K: torch.Tensor,
    e: int,
    parts: Sequence[list[np.ndarray]],
    weights: Sequence[np.ndarray],
    strengths: np.ndarray,
    tol: float,
    stop: np.ndarray,
    most: int = STEPS,
) -> list[DevicePairPath]:
    """For each training part, the machines of all pairs of its classes for each C; as `many.solve_pairs`.

    Parameters
    ----------
    K : tensor of shape (N, N)
        Kernel values of all samples, best sorted by class, in units of 2ᵉ.
    parts, weights : lists of the members of each class, and of the weight of each sample, for each part
    """
    unit = float(np.ldexp(1.0, -e))
    pairs = [(s, a, b) for s, members in enumerate(parts) for a, b in combinations(range(len(members)), 2)]
    length = max(1, len(pairs) * len(strengths) // PROGRAMS)
    chains = [strengths[i : i + length] for i in range(0, len(strengths), length)]
    sizes = [[len(parts[s][c]) for c in (a, b)] for s, a, b in pairs]
    width = max(map(sum, sizes))
    index, weight = np.zeros((len(pairs), width), np.int32), np.ones((len(pairs), width))
    for k, (s, a, b) in enumerate(pairs):
        both = np.concatenate([parts[s][a], parts[s][b]])
        index[k, : len(both)], weight[k, : len(both)] = both, weights[s][both]

    def each(values: Any) -> torch.Tensor:
        """One row for each chain of each pair."""
        return torch.as_tensor(values, device=K.device).repeat_interleave(len(chains), dim=0)

    rows = each(index)
    half, size = (each(np.array(v, dtype=np.int32)) for v in ([a for a, _ in sizes], [a + b for a, b in sizes]))
    diagonal = unit * K.diagonal().to(torch.float64)[rows.long()]
    length += 1  # a zero ends each chain
    own = torch.zeros((len(chains), length), dtype=torch.float64)
    for c, chain in enumerate(chains):
        own[c, : len(chain)] = torch.as_tensor(np.ldexp(chain, e))
    along = own.to(K.device).repeat(len(pairs), 1)
    programs = len(along)
    variables = rows, diagonal, each(weight), half, size
    beta = torch.zeros((programs, length, width), dtype=torch.float64, device=K.device)
    y = torch.where(torch.arange(width, device=K.device) < half[:, None], 1.0, -1.0).to(torch.float64)
    able, place = torch.zeros_like(rows, dtype=torch.int8), torch.zeros(programs, dtype=torch.int32, device=K.device)
    offsets, gaps = torch.zeros((2, programs, length), dtype=torch.float64, device=K.device)
    steps = torch.full((programs, length), -1, dtype=torch.int32, device=K.device)
    ends = (along > 0).sum(dim=1)
    while not stop[0] and bool((place < ends).any()):
        _triton_path.along(K, unit, variables, along, (beta, y, able, place), (offsets, gaps, steps), tol, most, QUOTA)
    settings = np.flatnonzero(host(own > 0).ravel())  # places of the values of C in the chains of a pair
    found = [host(v).reshape(len(pairs), -1)[:, settings].T for v in (offsets, gaps, steps)]
    beta = (unit * beta).reshape(len(pairs), -1, width)
    out = []
    for s, members in enumerate(parts):
        mine = [k for k, pair in enumerate(pairs) if pair[0] == s]
        edges = np.cumsum([0] + [len(m) for m in members])
        coefficients: Any = beta.new_zeros((len(strengths), len(members) - 1, int(edges[-1])))
        for k in mine:
            _, a, b = pairs[k]
            first = len(members[a])
            values = beta[k, settings]
            coefficients[:, b - 1, edges[a] : edges[a + 1]] = values[:, :first]
            coefficients[:, a, edges[b] : edges[b + 1]] = values[:, first : first + len(members[b])]
        out.append(DevicePairPath(np.concatenate(members), edges, coefficients, *(v[:, mine] for v in found)))
    return out
