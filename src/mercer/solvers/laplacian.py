"""Label spreading over a graph: (I − αS)⁻¹Y for normalised affinities S."""

from __future__ import annotations

from typing import Any

from ..gram import Wrapped
from ..gram.normalized import NormalizedGram
from ..types import Array, Checked
from .linear import ConjugateGradient, LinearSolution, System


class _Spread(Wrapped):
    """−αS, for the linear system (−αS + I) f = y."""

    def __init__(self, operator: NormalizedGram, alpha: float):
        self.base, self.alpha = operator, alpha

    def __matmul__(self, V: Array) -> Any:
        return -self.alpha * (self.base @ V)


def spread(
    operator: NormalizedGram, Y: Checked, alpha: float, tol: float, max_iter: int | None = None
) -> LinearSolution:
    """f = (I − αS)⁻¹y for the columns of Y, by conjugate gradients, or by `max_iter` terms of its series.

    Only products with S are needed. `tol` is the residual relative to y; with `max_iter` there are that many steps
    f ← αSf + y from f = y instead, as in the definition.
    """
    system = _Spread(operator, alpha)
    if max_iter is None:
        # twice the bound for this condition number, since rounding costs orthogonality
        steps = int(60 * ((1 + alpha) / (1 - alpha)) ** 0.5) + 20
        # I − αS has eigenvalues in [1 − α, 1 + α] and needs no preconditioner
        return ConjugateGradient(tol=tol, max_iter=steps, rank=0).solve(System(system, Y, 1.0))
    F = Y
    for _ in range(max_iter):
        F = Y - system @ F
    return LinearSolution(F, n_iter=max_iter, method="iteration")
