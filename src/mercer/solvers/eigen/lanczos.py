"""A few eigenvalues of a dense matrix of medium size by ARPACK, with a check that none was missed."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from ..._threads import blas_for
from ...gram import Operator
from ._base import EigenSolver, Spectrum, residual
from .krylov import BlockKrylov

STEPS = 6  # products with a random vector that would reveal a larger eigenvalue
BLOCKS = BlockKrylov(tol=1e-10, max_iter=200)  # the fallback
ALONE = 1500  # number of samples up to which one thread is fastest
EQUAL = 1e-6  # relative difference within which eigenvalues are interchangeable


class Lanczos(EigenSolver):
    """Implicitly restarted Lanczos iteration with one vector: the least work if the matrix fits into the cache.

    A single vector may miss multiple eigenvalues; if a second vector reveals this, `BlockKrylov` takes over.

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers.eigen import Eigenproblem
    >>> gram = Dense().build(Linear(), np.array([[3.0], [4.0], [0.0]]), np.random.default_rng(0))
    >>> Lanczos().solve(Eigenproblem(gram, 1)).values.round(6)
    array([25.])
    """

    name: ClassVar[str] = "lanczos"
    requires: ClassVar[frozenset[str]] = frozenset({"dense"})

    def _leading(self, gram: Operator, n_components: int, rng: np.random.Generator) -> Spectrum:
        product, kind = gram.on_vectors(), gram.dtype
        operator = LinearOperator(gram.shape, matvec=product, dtype=kind)
        operator.matvec = product  # without SciPy's checks, which cost as much as a small product
        first, second = rng.uniform(-1.0, 1.0, size=(2, gram.n)).astype(kind)
        with blas_for(gram.n, ALONE):
            try:
                values, vectors = eigsh(operator, n_components, which="LA", v0=first)
            except ArpackError:
                return BLOCKS._leading(gram, n_components, rng)
            values, vectors = values[::-1], vectors[:, ::-1]
            if _largest_beside(product, vectors, second) > values[-1] + EQUAL * abs(values[0]):
                return BLOCKS._leading(gram, n_components, rng)
            return Spectrum(values, vectors, residual(gram, values, vectors), method="lanczos")


def _largest_beside(product: Callable[..., np.ndarray], V: np.ndarray, w: np.ndarray) -> float:
    """A lower bound of the largest eigenvalue on the vectors orthogonal to V, by a few products starting from w."""
    k, images = V.shape[1], []
    basis = np.empty((len(V), k + STEPS), V.dtype, order="F")
    basis[:, :k] = V
    for j in range(k, k + STEPS):
        known = basis[:, :j]
        for _ in range(2):
            w = w - known @ (known.T @ w)
        basis[:, j] = w / (np.linalg.norm(w) or 1.0)
        w = product(basis[:, j])
        images.append(w)
    return float(np.linalg.eigvalsh(basis[:, k:].T @ np.stack(images, axis=1))[-1])
