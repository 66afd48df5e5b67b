"""The low-rank solver: (αI + ZZᵀ)⁻¹ = (I − Z(αI + ZᵀZ)⁻¹Zᵀ)/α (Woodbury), O(nr²)."""

from __future__ import annotations

from typing import Any, ClassVar

from ..._array import namespace, solve_triangular
from ...gram import Operator
from ...types import Array
from ._base import LinearSolution, LinearSolver, relative_residual
from .cholesky import factorize


class Woodbury(LinearSolver):
    """Solve through the factor K̂ = ZZᵀ, with one step of iterative refinement; needs shift > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import LowRank
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers.linear import System
    >>> gram = LowRank().build(Linear(), np.array([[1.0], [2.0]]), np.random.default_rng(0))
    >>> Woodbury().solve(System(gram, np.array([3.0, 5.0]), 1.0)).coefficients.round(6)
    array([0.833333, 0.666667])
    """

    name: ClassVar[str] = "woodbury"
    requires: ClassVar[frozenset[str]] = frozenset({"factor"})

    def _plain(self, gram: Operator, b: Array, shift: float) -> LinearSolution:
        inverse = LowRankInverse(gram.factor(), shift)
        a = inverse(b)
        a = a + inverse(b - (gram @ a + shift * a))
        residual = relative_residual(gram, a, b, shift)
        return LinearSolution(a, residual=residual, jitter=inverse.jitter, method="woodbury")


class LowRankInverse:
    """V ↦ (αI + ZZᵀ)⁻¹V, factorised once."""

    def __init__(self, Z: Array, shift: float):
        xp = namespace(Z)
        if shift <= 0:
            raise ValueError(
                f"A low-rank matrix plus shift = {shift:g} is singular; use alpha > 0, or gram='dense' for exact "
                "interpolation."
            )
        self.Z, self.shift = Z, shift
        self.L, self.jitter = factorize(xp.matrix_transpose(Z) @ Z, shift)

    def __call__(self, V: Array) -> Any:
        xp = namespace(V)
        inner = solve_triangular(self.L, xp.matrix_transpose(self.Z) @ V)
        return (V - self.Z @ solve_triangular(self.L, inner, transpose=True)) / self.shift
