"""The Moore–Penrose solution of a symmetric system that may be singular: the limit shift → 0."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..._array import eye, host, like, namespace, solve_triangular
from ...gram import Operator
from ...types import Array
from ._base import LinearSolution, LinearSolver, relative_residual
from .cholesky import lower_factor


class Inverse:
    """V ↦ M⁺V for a symmetric positive semidefinite M, factorised once.

    Cholesky if the smallest pivot is well above rounding; otherwise an eigendecomposition, in which eigenvalues below
    n·ε·λ₁ count as zero.

    Attributes
    ----------
    rank : int
        The numerical rank.
    """

    def __init__(self, M: Array):
        xp = namespace(M)
        n = M.shape[0]
        diagonal = xp.linalg.diagonal(M)
        rounding = n * float(xp.finfo(M.dtype).eps)
        self.rank = n
        self.L: Any = None
        try:
            L = lower_factor(M, diagonal)
            pivots = host(xp.linalg.diagonal(L)) ** 2
            if pivots.min() > 10 * rounding * pivots.max():
                self.L = L
                return
        except (np.linalg.LinAlgError, RuntimeError):
            pass
        values, vectors = np.linalg.eigh(host(M).astype(np.float64))
        keep = np.abs(values) > rounding * np.abs(values).max()
        self.rank = int(keep.sum())
        self.V = like(vectors[:, keep], M)
        self.values = like(values[keep], M)

    def __call__(self, B: Array) -> Any:
        if self.L is not None:
            return solve_triangular(self.L, solve_triangular(self.L, B), transpose=True)
        W = namespace(self.V).matrix_transpose(self.V) @ B
        return self.V @ (W / (self.values if W.ndim == 1 else self.values[:, None]))


class PseudoInverse(LinearSolver):
    """(K + shift)⁺b, the minimum-norm least-squares solution.

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers.linear import System
    >>> gram = Dense().build(Linear(), np.array([[1.0], [2.0]]), np.random.default_rng(0))
    >>> PseudoInverse().solve(System(gram, np.array([1.0, 2.0]))).coefficients.round(6)
    array([0.2, 0.4])
    """

    name: ClassVar[str] = "pseudo_inverse"

    def _plain(self, gram: Operator, b: Array, shift: float) -> LinearSolution:
        K = gram.dense()
        a = Inverse(K + shift * eye(gram.n, K) if shift else K)(b)
        return LinearSolution(a, residual=relative_residual(gram, a, b, shift), method="pseudo-inverse")
