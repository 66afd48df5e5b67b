"""Randomised block Krylov iteration with Rayleigh–Ritz and thick restarts: products with K only.

Musco, Musco, *Randomized block Krylov methods for stronger and faster approximate singular value decomposition* (2015).
The basis is kept orthonormal, and restarted from the leading Ritz vectors when it grows too wide.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, ClassVar

import numpy as np

from ... import _threads
from ..._array import eigh_small, eye, like, namespace
from ..._units import lengths
from ...context import Status, StoppedError, current, warn_early
from ...domains import take
from ...gram import Operator
from ...types import Array, Namespace
from ._base import EigenSolver, Spectrum

SUBSET = 300  # number of samples whose eigenvectors start the iteration
LEAST = 4  # minimum number of additional random vectors, and of products before a solution is accepted


class BlockKrylov(EigenSolver):
    """Largest eigenvalues by block products.

    Parameters
    ----------
    tol : float > 0
        Stop when ‖Kv − λv‖ ≤ tol·λ₁ for every wanted pair.
    oversample : int >= 0
        Vectors beyond those wanted; more of them need fewer products with a wider block.
    max_iter : int
        Maximum number of block products; reaching it warns.
    width : int
        Number of blocks in the basis before a restart: memory is 2·n·(n_components + oversample)·width numbers.

    Examples
    --------
    >>> from mercer.gram import Lazy
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers.eigen import Eigenproblem
    >>> gram = Lazy().build(Linear(), np.array([[3.0], [4.0]]), np.random.default_rng(0))
    >>> BlockKrylov().solve(Eigenproblem(gram, 1)).values.round(6)
    array([25.])
    """

    name: ClassVar[str] = "krylov"
    by_products: ClassVar[bool] = True

    def __init__(self, tol: float = 1e-8, oversample: int = 16, max_iter: int = 100, width: int = 8):
        self.tol, self.oversample, self.max_iter, self.width = tol, oversample, max_iter, width

    def _leading(self, gram: Operator, n_components: int, rng: np.random.Generator) -> Spectrum:
        # operators without a dense matrix use their own threads, and BLAS threads would only wait
        with nullcontext() if "dense" in gram.provides else _threads.one_blas_thread:
            return self._iterate(gram, n_components, rng)

    def _iterate(self, gram: Operator, n_components: int, rng: np.random.Generator) -> Spectrum:
        n, k = gram.n, n_components
        block = min(n, k + self.oversample)
        sample = gram.like
        xp = namespace(sample)
        unit = float(xp.finfo(sample.dtype).eps)
        tol, rounding = max(self.tol, 20 * unit), 1e3 * unit
        basis = xp.linalg.qr(_start(gram, block, self.oversample // 2, rng))[0]
        image = gram @ basis
        T = xp.matrix_transpose(basis) @ image
        iteration, context, status = 1, current(), None
        least, last = np.inf, 1  # residual, and its iteration
        while True:
            values, Y = eigh_small((T + xp.matrix_transpose(T)) / 2)
            values, Y = xp.flip(values), xp.flip(Y, axis=1)
            R = image @ Y[:, :k] - (basis @ Y[:, :k]) * values[None, :k]
            error = float(xp.max(lengths(R))) / (float(xp.max(xp.abs(values))) or 1.0)
            if error < least:
                least, last = error, iteration
            stuck = error <= rounding and iteration - last >= LEAST
            # the starting eigenvectors may converge before the random part reveals larger eigenvalues
            if (error <= tol and iteration >= LEAST) or stuck or basis.shape[1] >= n or iteration >= self.max_iter:
                break
            if status := context({"residual": error, "round": iteration}):
                break
            following = image[:, -block:]
            if basis.shape[1] + block > min(n, self.width * block):
                keep = min(block, basis.shape[1])
                basis, image = basis @ Y[:, :keep], image @ Y[:, :keep]
                values, Y = values[:keep], eye(keep, image)
                T = Y * values[None, :]
                following = R if keep < n else image
            Q = _orthogonal(following, basis, xp)
            if Q.shape[1] == 0:  # the products add only rounding; residuals are small, but the vectors are not mixed
                Q = _orthogonal(R, basis, xp)
            if Q.shape[1] == 0:
                break
            try:
                AQ = gram @ Q
            except StoppedError as stopped:
                status = stopped.status
                break
            side, corner = xp.matrix_transpose(basis) @ AQ, xp.matrix_transpose(Q) @ AQ
            T = xp.concat(
                [xp.concat([T, side], axis=1), xp.concat([xp.matrix_transpose(side), corner], axis=1)], axis=0
            )
            basis, image = xp.concat([basis, Q], axis=1), xp.concat([image, AQ], axis=1)
            iteration += 1
        if error <= max(tol, rounding):
            status = Status.CONVERGED
        else:
            status = status or Status.MAX_ITER
            advice = "The eigenvalues are close together: raise oversample or max_iter, or use fewer components."
            reached = f"{iteration} block products with a residual of {error:.1e} (tol = {self.tol:g})"
            warn_early(None, f"BlockKrylov stopped after {reached}", status, advice)
        return Spectrum(values[:k], basis @ Y[:, :k], error, status=status, n_iter=iteration, method="krylov")


def _start(gram: Operator, block: int, free: int, rng: np.random.Generator) -> Any:
    """The starting block: eigenvectors of a subset of the samples, extended to all, and random vectors."""
    # the subset saves products; `free` random vectors find what it misses, such as distant samples
    sample, m = gram.like, max(SUBSET, 4 * block)
    xp = namespace(sample)
    if free < LEAST or gram.n < 4 * m:
        return like(rng.normal(size=(gram.n, block)), sample)
    index = rng.choice(gram.n, m, replace=False)
    columns = gram.block(slice(None), index)
    K = take(columns, index)
    _, U = xp.linalg.eigh((K + xp.matrix_transpose(K)) / 2)
    known = columns @ U[:, free - block :]
    size = lengths(known)
    known = known / xp.where(size > 0, size, xp.ones_like(size))
    return xp.concat([known, like(rng.normal(size=(gram.n, free)) / gram.n**0.5, sample)], axis=1)


def _orthogonal(V: Array, basis: Any, xp: Namespace) -> Any:
    """An orthonormal basis of V off the span of `basis`; directions lost to rounding are dropped."""
    # Each pass projects V off the basis and multiplies it by the inverse root of the small matrix VᵀV, which makes it
    # orthonormal up to the square of its condition number; after one pass the directions are nearly orthonormal.
    size = lengths(V)
    V = V / xp.where(size > 0, size, xp.ones_like(size))
    unit = float(xp.finfo(V.dtype).eps)
    for floor in (1e2 * unit, 1e2 * unit, 0.5):
        V = V - basis @ (xp.matrix_transpose(basis) @ V)
        squares, U = eigh_small(xp.matrix_transpose(V) @ V)
        first = max(int(xp.sum(xp.astype(squares <= floor, xp.int64))), V.shape[1] + basis.shape[1] - V.shape[0])
        V = V @ (U[:, first:] / xp.sqrt(squares[first:])[None, :])
        if V.shape[1] == 0:
            break
    return V
