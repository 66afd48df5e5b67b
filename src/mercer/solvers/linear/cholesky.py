"""Direct solvers on the dense matrix: Cholesky, and LDLᵀ for indefinite kernels."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from ..._array import eps, host, is_numpy, namespace, set_diagonal, solve_triangular
from ..._errors import IndefiniteError, JitterWarning, RoundingWarning, warn
from ...gram import Operator
from ...types import Array
from ._base import LinearSolution, LinearSolver, relative_residual

LARGE = 1 << 14  # rows above which the factor is faster by blocks on a CUDA device


class Cholesky(LinearSolver):
    """LLᵀ = K + diag(shift): O(n³/3), exact up to rounding.

    If the matrix is not numerically positive definite, the rounding level times the smallest sufficient power of ten is
    added to the diagonal, and reported in the solution and by a `JitterWarning`. A matrix that needs more than this is
    indefinite and raises an error.

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers.linear import System
    >>> gram = Dense().build(Linear(), np.array([[1.0], [2.0]]), np.random.default_rng(0))
    >>> Cholesky().solve(System(gram, np.array([3.0, 5.0]), 1.0)).coefficients.round(6)
    array([0.833333, 0.666667])
    """

    name: ClassVar[str] = "cholesky"

    def _plain(self, gram: Operator, b: Array, shift: float) -> LinearSolution:
        K = gram.dense()
        L, jitter = factorize(K, shift)
        if is_numpy(namespace(L, b)):
            a = linalg.cho_solve((L.T, False), b, check_finite=False)  # L itself would be copied into LAPACK's order
        else:
            a = _solved(L, b)
            if _by_blocks(K):  # whose products have the digits of single precision, but round to one side
                a = a + _solved(L, b - gram @ a - shift * a)
        return LinearSolution(a, residual=relative_residual(gram, a, b, shift), jitter=jitter, method="cholesky")


def factorize(K: Array, shift: float) -> tuple[Any, float]:
    """The lower Cholesky factor of K + diag(shift), and the jitter."""
    xp = namespace(K)
    diagonal = xp.linalg.diagonal(K) + shift
    n = K.shape[0]
    if n == 0:
        return K, 0.0  # a factor without columns, of a zero kernel
    rounding = float(xp.finfo(K.dtype).eps) * float(xp.max(xp.abs(diagonal)))
    for jitter in (0.0, *(rounding * 10.0**e for e in range(int(np.log10(n)) + 5))):
        try:
            L = lower_factor(K, diagonal + jitter if jitter else diagonal)
        except (np.linalg.LinAlgError, RuntimeError):
            continue
        if jitter:
            warn(
                f"The matrix K + shift is not positive definite in {K.dtype}; {jitter:.2g} was added to its diagonal. "
                "Usual causes are duplicate or very close samples and a long lengthscale; try a larger alpha or a "
                "shorter lengthscale.",
                JitterWarning,
            )
        return L, jitter
    raise IndefiniteError(
        f"The matrix K + shift is not positive definite (it would need more than {jitter:.1g} on its diagonal): the "
        "kernel is indefinite on these data. Try a larger alpha, or kernel.check(X) to see its smallest eigenvalue."
    )


def lower_factor(K: Array, diagonal: Array) -> Any:
    """The lower factor of K with its diagonal replaced, or LinAlgError (torch: RuntimeError)."""
    xp = namespace(K)
    if is_numpy(xp):
        A = np.array(K.T, order="F")  # its upper triangle is the lower one of K, without reordering
        np.fill_diagonal(A, diagonal)
        L = linalg.cholesky(A, lower=False, overwrite_a=True, check_finite=False).T
        if not np.all(np.isfinite(np.diagonal(L))):
            raise np.linalg.LinAlgError
        return L
    A = set_diagonal(xp.asarray(K, copy=True), diagonal)
    if not _by_blocks(A):
        return xp.linalg.cholesky(A)
    from ._blocked import lower_factor_in_place

    return lower_factor_in_place(A)


def _by_blocks(K: Any) -> bool:
    """Whether a matrix is on a CUDA device, and so large that its factor is faster by blocks."""
    single = K.dtype == namespace(K).float32
    return bool(getattr(K, "is_cuda", False)) and single and not K.requires_grad and len(K) > LARGE


def _solved(L: Any, b: Any) -> Any:
    """(LLᵀ)⁻¹b."""
    return solve_triangular(L, solve_triangular(L, b), transpose=True)


class Symmetric(LinearSolver):
    """LDLᵀ of a possibly indefinite K + diag(shift), for kernels that are not positive definite.

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers.linear import System
    >>> gram = Dense().build(-1.0 * Linear(), np.array([[1.0], [2.0]]), np.random.default_rng(0))
    >>> Symmetric().solve(System(gram, np.array([0.0, -3.0]), 1.0)).coefficients.round(6)
    array([1.5, 0. ])
    """

    name: ClassVar[str] = "symmetric"

    def _plain(self, gram: Operator, b: Array, shift: float) -> LinearSolution:
        K = gram.dense()
        xp = namespace(K)
        A = set_diagonal(xp.asarray(K, copy=True), xp.linalg.diagonal(K) + shift)
        try:
            if is_numpy(xp):
                solve, condition = linalg.get_lapack_funcs(("sysv", "sycon"), (A, b))
                factor, pivots, a, zero = solve(A, b)
                a, singular = a.reshape(b.shape), zero > 0
                reciprocal = condition(factor, pivots, np.linalg.norm(A, 1))[0]
                if not singular and reciprocal < eps(A):
                    warn(
                        f"The matrix K + shift is singular up to rounding (the reciprocal of its condition number is "
                        f"{reciprocal:.1g}), and the coefficients may be inaccurate; try a larger alpha.",
                        RoundingWarning,
                    )
            else:
                a, singular = xp.linalg.solve(A, b), False
            singular = singular or not bool(np.all(np.isfinite(host(a))))
        except (np.linalg.LinAlgError, RuntimeError):
            singular = True
        if singular:
            raise ValueError("The matrix K + shift is singular; try a larger alpha.")
        return LinearSolution(a, residual=relative_residual(gram, a, b, shift), method="ldl")
