"""Eigenvalues of the dense matrix, and of ZZᵀ through the singular values of Z."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..._array import eigh_part, is_numpy, namespace
from ...gram import Operator
from ._base import EigenSolver, Spectrum, residual, residual_of


class DenseEigen(EigenSolver):
    """LAPACK on the whole matrix: O(n³).

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers.eigen import Eigenproblem
    >>> gram = Dense().build(Linear(), np.array([[3.0], [4.0]]), np.random.default_rng(0))
    >>> DenseEigen().solve(Eigenproblem(gram, 1)).values.round(6)
    array([25.])
    """

    name: ClassVar[str] = "dense"

    def _leading(self, gram: Operator, n_components: int, rng: np.random.Generator) -> Spectrum:
        K = gram.dense()
        n, xp = gram.n, namespace(K)
        if is_numpy(xp):
            values, vectors = eigh_part(K, n - n_components, n - 1)
        else:
            values, vectors = xp.linalg.eigh(K)
            values, vectors = values[n - n_components :], vectors[:, n - n_components :]
        values, vectors = xp.flip(values), xp.flip(vectors, axis=1)
        return Spectrum(values, vectors, residual_of(K @ vectors, values, vectors), method="dense")


class FactorEigen(EigenSolver):
    """The singular value decomposition of the factor Z: O(nr²).

    Examples
    --------
    >>> from mercer.gram import LowRank
    >>> from mercer.kernels import Linear
    >>> from mercer.solvers.eigen import Eigenproblem
    >>> gram = LowRank().build(Linear(), np.array([[3.0], [4.0]]), np.random.default_rng(0))
    >>> FactorEigen().solve(Eigenproblem(gram, 1)).values.round(6)
    array([25.])
    """

    name: ClassVar[str] = "factor"
    requires: ClassVar[frozenset[str]] = frozenset({"factor"})

    def _leading(self, gram: Operator, n_components: int, rng: np.random.Generator) -> Spectrum:
        Z = gram.factor()
        xp = namespace(Z)
        if n_components > Z.shape[1]:
            raise ValueError(
                f"n_components = {n_components} exceeds the rank {Z.shape[1]} of the Gram factor; raise its rank."
            )
        U, s, _ = xp.linalg.svd(Z, full_matrices=False)
        values, vectors = s[:n_components] ** 2, U[:, :n_components]
        return Spectrum(values, vectors, residual(gram, values, vectors), method="factor")
