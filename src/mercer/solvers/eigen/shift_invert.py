"""The leading eigenvectors of a normalised graph through a sparse factorisation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, dia_array, eye_array
from scipy.sparse.linalg import splu

from ...gram import Wrapped
from ...gram.normalized import NormalizedGram
from ...types import Array
from ._base import Eigenproblem, Spectrum, residual
from .krylov import BlockKrylov


class ResolventGram(Wrapped):
    """((1 + δ)I − N)⁻¹ for the normalised matrix N of a sparse graph, by LU decomposition.

    It has the same eigenvectors as N, with eigenvalues 1/(1 + δ − λ), which are far apart near λ = 1. Neighbourhood
    graphs have so many λ near 1 that hundreds of products with N would be needed.
    """

    SHIFT = 1e-5

    def __init__(self, operator: NormalizedGram, matrix: csr_array):
        S = dia_array((operator.scale[None, :], [0]), shape=operator.shape)
        off = matrix - dia_array((operator.self_affinity[None, :], [0]), shape=operator.shape)
        self.lu, self.base = splu(((1 + self.SHIFT) * eye_array(operator.n) - S @ off @ S).tocsc()), operator

    def __matmul__(self, V: Array) -> Any:
        return self.lu.solve(V)

    def leading(self, count: int, tol: float, rng: np.random.Generator) -> Spectrum:
        """The largest eigenvalues of N."""
        inverse = BlockKrylov(tol=tol * self.SHIFT, oversample=1, max_iter=200).solve(Eigenproblem(self, count, rng))
        values = 1 + self.SHIFT - 1 / inverse.values
        error = residual(self.base, values, inverse.vectors)
        return replace(inverse, values=values, residual=error, method="shift-invert")
