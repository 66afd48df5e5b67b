"""Preconditioned conjugate gradients on many right-hand sides at once: products with K only.

The preconditioner is αI + ZZᵀ with Z a pivoted incomplete Cholesky factor of K (Gardner, Pleiss, Bindel, Weinberger,
Wilson, *GPyTorch*, 2018, section 4); each column has its own step lengths and stops on its own residual.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.exceptions import ConvergenceWarning

from ..._array import namespace
from ..._errors import check_number, warn
from ...context import Status, StoppedError, current
from ...gram import Operator
from ...types import Array
from ._base import LinearSolution, LinearSolver, relative_residual
from .woodbury import LowRankInverse


class ConjugateGradient(LinearSolver):
    """Iterate on products K @ V: for matrices that are not held.

    Parameters
    ----------
    tol : float > 0
        Stop when ‖residual‖ ≤ tol·‖b‖ for every right-hand side.
    max_iter : int
        Products at most; reaching it warns and returns the best iterate.
    rank : int >= 0
        Columns of the preconditioner (at most a quarter of n); 0 for none. More of them take more memory (n × rank) and
        fewer iterations. Kernels that are only conditionally definite have no preconditioner.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import Lazy
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers.linear import System
    >>> gram = Lazy().build(Linear(), np.array([[1.0], [2.0]]), np.random.default_rng(0))
    >>> ConjugateGradient().solve(System(gram, np.array([3.0, 5.0]), 1.0)).coefficients.round(6)
    array([0.833333, 0.666667])
    """

    name: ClassVar[str] = "cg"

    def __init__(self, tol: float = 1e-10, max_iter: int = 1000, rank: int = 100):
        self.tol, self.max_iter, self.rank = tol, max_iter, rank

    def _plain(self, gram: Operator, b: Array, shift: float) -> LinearSolution:
        check_number(self, "tol", self.tol, above=0)
        check_number(self, "max_iter", self.max_iter, at_least=1, integer=True)
        check_number(self, "rank", self.rank, at_least=0, integer=True)
        xp = namespace(b)
        B = b[:, None] if b.ndim == 1 else b
        tol = max(self.tol, 4 * float(xp.finfo(B.dtype).eps))
        precondition = self._preconditioner(gram, shift)
        tiny = float(xp.finfo(B.dtype).smallest_normal)

        A = xp.zeros_like(B)
        R = xp.asarray(B, copy=True)
        norm = xp.sqrt(xp.sum(B * B, axis=0))
        Z = precondition(R)
        D = Z
        rz = xp.sum(R * Z, axis=0)
        iteration, active, status, context = 0, norm > 0, Status.MAX_ITER, current()
        while iteration < self.max_iter and bool(xp.any(active)):
            try:
                context.check()
                KD = gram @ D + shift * D
            except StoppedError as stopped:
                status = stopped.status
                break
            curvature = xp.sum(D * KD, axis=0)
            if not bool(xp.any(active & (curvature > tiny))):
                status = Status.PRECISION
                break
            step = xp.where(
                active & (curvature > tiny),
                rz / xp.where(curvature > tiny, curvature, xp.ones_like(rz)),
                xp.zeros_like(rz),
            )
            A = A + step * D
            R = R - step * KD
            Z = precondition(R)
            new = xp.sum(R * Z, axis=0)
            D = Z + xp.where(rz > tiny, new / xp.where(rz > tiny, rz, xp.ones_like(rz)), xp.zeros_like(rz)) * D
            rz = new
            active = xp.sqrt(xp.sum(R * R, axis=0)) > tol * norm
            iteration += 1
        status = status if bool(xp.any(active)) else Status.CONVERGED
        a = A[:, 0] if b.ndim == 1 else A
        residual = relative_residual(gram, a, b, shift)
        if status is not Status.CONVERGED:
            advice = (
                "The matrix is ill-conditioned or indefinite: try a larger alpha, a higher rank of the preconditioner, "
                "or a low-rank gram."
            )
            warn(
                f"ConjugateGradient stopped after {iteration} products at a relative residual of {residual:.1e} "
                f"(tol = {self.tol:g}): {status}. {status.remedy(advice)}",
                ConvergenceWarning,
            )
        return LinearSolution(a, residual=residual, status=status, n_iter=iteration, method="conjugate_gradient")

    def _preconditioner(self, gram: Operator, shift: float) -> Any:
        rank = min(self.rank, gram.n // 4)
        if rank == 0 or shift <= 0:
            return _identity
        Z = gram.sketch(rank)
        return _identity if Z is None else LowRankInverse(Z, shift)


def _identity(V: Array) -> Any:
    return V
