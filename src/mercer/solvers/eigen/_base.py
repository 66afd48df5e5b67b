"""What an eigensolver takes and returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ..._array import namespace
from ..._errors import check_number, fitting_memory
from ...gram import Gram


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues in descending order, orthonormal eigenvectors in columns, and the largest ‖Kv − λv‖ / λ₁."""

    values: Any
    vectors: Any
    residual: float = 0.0
    n_iter: int = 0
    converged: bool = True
    method: str = ""


class EigenSolver(BaseEstimator):
    """Finds the `n_components` largest eigenvalues of a Gram operator."""

    def solve(self, gram: Gram, n_components: int, rng: np.random.Generator | None = None) -> Spectrum:
        """The leading part of the spectrum."""
        check_number(self, "n_components", n_components, at_least=1, at_most=gram.n, integer=True)
        with fitting_memory(self, gram.n, gram.n, gram.dtype):
            return self._solve(gram, n_components, np.random.default_rng(0) if rng is None else rng)

    def _solve(self, gram: Gram, n_components: int, rng: np.random.Generator) -> Spectrum:
        raise NotImplementedError


def residual(gram: Gram, values: Any, vectors: Any) -> float:
    """max_j ‖K v_j − λ_j v_j‖ / λ₁."""
    xp = namespace(vectors)
    R = gram @ vectors - vectors * values[None, :]
    largest = float(xp.max(xp.abs(values)))
    return float(xp.max(xp.sqrt(xp.sum(R * R, axis=0)))) / (largest or 1.0)
