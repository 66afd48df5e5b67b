r"""Preconditioned conjugate gradients for many right-hand sides at once, by products with K only.

The preconditioner is αI + ZZᵀ with Z a randomly pivoted Cholesky factor of K (Gardner, Pleiss, Bindel, Weinberger,
Wilson, *GPyTorch*, 2018, section 4); each column has its own step lengths and stops on its own residual.

The residual r = b − (K + αI)a bounds the error of the function f = Σ aᵢ k(·, xᵢ) at every point. With the exact
coefficients a* = a + (K + αI)⁻¹r,

.. math:: |f - f^*|(x) \le \sqrt{k(x, x)}\, \lVert f - f^* \rVert
          = \sqrt{k(x, x)}\, \lVert K^{1/2} (K + \alpha I)^{-1} r \rVert
          \le \sqrt{k(x, x)}\, \frac{\lVert r \rVert}{2 \sqrt{\alpha}},

because √λ/(λ + α) ≤ 1/2√α for every eigenvalue λ ≥ 0 of K. This bound is the stopping criterion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ... import _memory
from ..._array import namespace
from ...context import Status, StoppedError, current, warn_early
from ...gram import Operator
from ...types import Array
from ._base import LinearSolution, LinearSolver, relative_residual
from .woodbury import LowRankInverse

ACCURACY = 1e-6  # of the function, for stopping by the error bound
RESIDUAL = 1e-10  # relative to b, if there is no error bound
ENTRIES = 1 << 26  # maximum size of the preconditioner on the host: 512 MiB
SHARE = 32  # of the memory of a device for the preconditioner


class ConjugateGradient(LinearSolver):
    """Conjugate gradients with products K @ V, for matrices that do not fit in memory.

    Parameters
    ----------
    tol : float > 0, optional
        Stop when ‖residual‖ ≤ tol·‖b‖ for every right-hand side. By default, stop when the bound on the error of the
        function, at any x with k(x, x) no larger than at the samples, is at most 10⁻⁶ of the root mean square of its
        values at the samples. Actual errors are some ten to a thousand times smaller. Without a shift there is no
        bound, and the default is tol = 10⁻¹⁰.
    max_iter : int
        Maximum number of products; reaching it warns and returns the best iterate.
    rank : int >= 0, optional
        Columns of the preconditioner (at most a quarter of n); 0 for none. More columns need more memory (n × rank) and
        fewer iterations. The default costs a small part of the products that it saves: the smaller the shift, the
        higher the rank, and none if a dozen products are enough. Kernels that are only conditionally definite have no
        preconditioner.

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

    def __init__(self, tol: float | None = None, max_iter: int = 1000, rank: int | None = None):
        self.tol, self.max_iter, self.rank = tol, max_iter, rank

    def _plain(self, gram: Operator, b: Array, shift: float) -> LinearSolution:
        context, B = current(), b[:, None] if b.ndim == 1 else b

        def product(D: Any) -> Any:
            context.check()
            return gram @ D + shift * D

        A, iteration, status = conjugate_gradients(
            product, B, self._preconditioner(gram, shift), self._stop(gram, B, shift), self.max_iter
        )
        a = A[:, 0] if b.ndim == 1 else A
        residual = relative_residual(gram, a, b, shift)
        if status is not Status.CONVERGED:
            advice = (
                "The matrix is ill-conditioned or indefinite: try a larger alpha, a higher rank of the preconditioner, "
                "or a low-rank gram."
            )
            reached = f"{iteration} products with a relative residual of {residual:.1e} (tol = {self.tol})"
            warn_early(None, f"ConjugateGradient stopped after {reached}", status, advice)
        return LinearSolution(a, residual=residual, status=status, n_iter=iteration, method="conjugate_gradient")

    def _stop(self, gram: Operator, B: Any, shift: float) -> Callable[[Any, Any, Any], Any]:
        """A test for unsolved columns from coefficients and residuals, by the residual or by the error bound."""
        xp = namespace(B)
        rounding = 4 * float(xp.finfo(B.dtype).eps)
        largest = gram.magnitude() if self.tol is None and shift > 0 else 0.0
        if not largest:
            limit = max(self.tol or RESIDUAL, rounding) * _norms(B)
            return lambda A, R, rz: _norms(R) > limit
        least, part = rounding * _norms(B), 2 * ACCURACY * (shift / (largest * gram.n)) ** 0.5
        # the values at the samples are b − r − αa
        return lambda A, R, rz: (_norms(R) > part * _norms(B - R - shift * A)) & (_norms(R) > least)

    def _preconditioner(self, gram: Operator, shift: float) -> Callable[[Any], Any]:
        if shift <= 0:
            return lambda V: V
        rank = min(_affordable_rank(gram, shift) if self.rank is None else self.rank, gram.n // 4)
        Z = gram.sketch(rank) if rank else None
        return (lambda V: V) if Z is None else LowRankInverse(Z, shift)


def _affordable_rank(gram: Operator, shift: float) -> int:
    """The rank that costs 1/40 of the products needed without a preconditioner; 0 if these are at most a dozen."""
    # Conjugate gradients take about ½ log(2/ε) √(1 + λ/α) products. The largest eigenvalue λ lies between max k(x, x)
    # and the trace, and is estimated by their geometric mean. m columns cost O(nm²), about m²/8n kernel matrix
    # products.
    products = 8 * (1 + gram.magnitude() * gram.n**0.5 / shift) ** 0.5
    entries = max(ENTRIES, _memory.of_device(gram.like) // (8 * SHARE))
    return 0 if products <= 12 else int(min((gram.n * products / 5) ** 0.5, entries / gram.n))


def conjugate_gradients(
    product: Callable[[Any], Any],
    B: Any,
    precondition: Callable[[Any], Any],
    unsolved: Callable[[Any, Any, Any], Any],
    max_iter: int,
) -> tuple[Any, int, Status]:
    """The solution X of MX = B for a positive definite M, the number of iterations, and why they ended.

    `product` is V ↦ MV, which may raise `StoppedError`, and `precondition` is V ↦ P⁻¹V. `unsolved` takes X, the
    residuals R and the column sums of R∘P⁻¹R, and returns which columns are not solved yet. Hestenes, Stiefel, *Methods
    of conjugate gradients for solving linear systems* (1952).
    """
    xp = namespace(B)
    tiny = float(xp.finfo(B.dtype).smallest_normal)
    X, R = xp.zeros_like(B), B
    D = Z = precondition(R)
    rz = xp.sum(R * Z, axis=0)
    for iteration in range(max_iter + 1):
        active = unsolved(X, R, rz)
        if not bool(xp.any(active)):
            return X, iteration, Status.CONVERGED
        if iteration == max_iter:
            break
        try:
            MD = product(D)
        except StoppedError as stopped:
            return X, iteration, stopped.status
        curvature = xp.sum(D * MD, axis=0)
        able = active & (curvature > tiny)
        if not bool(xp.any(able)):
            return X, iteration, Status.PRECISION
        step = xp.where(able, rz / xp.where(able, curvature, 1.0), 0.0)
        X, R = X + step * D, R - step * MD
        Z = precondition(R)
        new = xp.sum(R * Z, axis=0)
        D = Z + xp.where(rz > tiny, new / xp.where(rz > tiny, rz, 1.0), 0.0) * D
        rz = new
    return X, max_iter, Status.MAX_ITER


def truncated(product: Callable[[Any], Any], b: Any, diagonal: Any, accuracy: float, max_iter: int) -> Any:
    """x with ‖Mx − b‖ ≤ accuracy·‖b‖ in the norm of the inverse diagonal, stopping where M is not positive definite.

    For the steps of Newton's method; b may have any shape.
    """
    flat = b.reshape(-1, 1)
    scale = (diagonal + 0 * b).reshape(-1, 1)
    end = accuracy**2 * float((flat / scale * flat).sum())
    x, _, _ = conjugate_gradients(
        lambda V: product(V.reshape(b.shape)).reshape(-1, 1),
        flat,
        lambda V: V / scale,
        lambda X, R, rz: rz > end,
        max_iter,
    )
    return x.reshape(b.shape)


def _norms(V: Any) -> Any:
    xp = namespace(V)
    return xp.sqrt(xp.sum(V * V, axis=0))
