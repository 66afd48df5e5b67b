"""Randomised block Krylov iteration with Rayleigh–Ritz and thick restarts: products with K only.

Musco, Musco, *Randomized block Krylov methods for stronger and faster approximate singular value decomposition* (2015),
algorithm 2; the whole basis is kept orthonormal, and restarted from the leading Ritz vectors when it grows too wide.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._array import like, namespace
from ..._errors import check_number
from ...gram import Gram
from ._base import EigenSolver, Spectrum


class BlockKrylov(EigenSolver):
    """Largest eigenvalues by block products.

    Parameters
    ----------
    tol : float > 0
        Stop when ‖Kv − λv‖ ≤ tol·λ₁ for every wanted pair.
    oversample : int >= 0
        Vectors beyond those wanted; more take fewer products of a wider block.
    max_iter : int
        Block products at most; reaching it warns.
    width : int
        Blocks in the basis before a restart: memory is 2·n·(n_components + oversample)·width numbers.

    Examples
    --------
    >>> from mercer.gram import Lazy
    >>> from mercer.kernels import Linear
    >>> gram = Lazy().build(Linear(), np.array([[3.0], [4.0]]), np.random.default_rng(0))
    >>> BlockKrylov().solve(gram, 1).values.round(6)
    array([25.])
    """

    def __init__(self, tol: float = 1e-8, oversample: int = 8, max_iter: int = 100, width: int = 8):
        self.tol, self.oversample, self.max_iter, self.width = tol, oversample, max_iter, width

    def _solve(self, gram: Gram, n_components: int, rng: np.random.Generator) -> Spectrum:
        check_number(self, "tol", self.tol, above=0)
        check_number(self, "oversample", self.oversample, at_least=0, integer=True)
        check_number(self, "max_iter", self.max_iter, at_least=1, integer=True)
        check_number(self, "width", self.width, at_least=2, integer=True)
        n, k = gram.n, n_components
        block = min(n, k + self.oversample)
        sample = gram.like
        xp = namespace(sample)
        tol = max(self.tol, 20 * float(xp.finfo(sample.dtype).eps))
        Q = xp.linalg.qr(like(rng.normal(size=(n, block)), sample))[0]
        basis, image = Q, gram @ Q
        iteration, error = 1, float("inf")
        while True:
            T = xp.matrix_transpose(basis) @ image
            values, Y = xp.linalg.eigh((T + xp.matrix_transpose(T)) / 2)
            values, Y = xp.flip(values), xp.flip(Y, axis=1)
            R = image @ Y[:, :k] - (basis @ Y[:, :k]) * values[None, :k]
            error = float(xp.max(xp.sqrt(xp.sum(R * R, axis=0)))) / (float(xp.max(xp.abs(values))) or 1.0)
            exhausted = basis.shape[1] >= n
            if error <= tol or exhausted or iteration >= self.max_iter:
                break
            if basis.shape[1] + block > min(n, self.width * block):
                keep = min(block, basis.shape[1])
                basis, image = basis @ Y[:, :keep], image @ Y[:, :keep]
                Q = _orthogonal(R if keep < n else image, basis, xp)
            else:
                Q = _orthogonal(image[:, -block:], basis, xp)
            if Q.shape[1] == 0:
                break
            basis, image = xp.concat([basis, Q], axis=1), xp.concat([image, gram @ Q], axis=1)
            iteration += 1
        converged = error <= max(tol, 1e3 * float(xp.finfo(sample.dtype).eps))
        if not converged:
            warnings.warn(
                f"BlockKrylov stopped after {iteration} block products at a residual of {error:.1e} "
                f"(tol = {self.tol:g}). The eigenvalues are close together: raise oversample or max_iter, or ask for "
                "fewer components.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return Spectrum(values[:k], basis @ Y[:, :k], error, iteration, converged, "krylov")


def _orthogonal(V: Any, basis: Any, xp: Any) -> Any:
    """An orthonormal basis of V off the span of `basis`, in two passes; directions lost to rounding are dropped."""
    size = xp.sqrt(xp.sum(V * V, axis=0))
    V = V / xp.where(size > 0, size, xp.ones_like(size))
    for _ in range(2):
        V = V - basis @ (xp.matrix_transpose(basis) @ V)
        U, s, _ = xp.linalg.svd(V, full_matrices=False)
        rank = int(xp.sum(xp.astype(s > 1e2 * float(xp.finfo(V.dtype).eps), xp.int64)))
        V = U[:, : min(rank, V.shape[0] - basis.shape[1])]
    return V
