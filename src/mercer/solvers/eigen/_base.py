"""Eigenproblems and their solutions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ..._array import host, like, namespace
from ..._errors import check_number
from ..._units import lengths
from ...gram import Operator
from ...types import Array
from ..protocol import Solver
from ..solution import Solution

EQUAL = 1e3  # units of rounding within which eigenvalues count as equal


@dataclass(frozen=True)
class Spectrum(Solution):
    """Eigenvalues in descending order, orthonormal eigenvectors as columns, and the largest ‖Kv − λv‖ / λ₁."""

    measure = ("residual", "residual")
    values: Any
    vectors: Any
    residual: float = 0.0


@dataclass(frozen=True)
class Eigenproblem:
    """The problem of the `n_components` largest eigenvalues of an operator; `rng` is for randomised solvers."""

    operator: Operator
    n_components: int
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def __post_init__(self) -> None:
        check_number(self, "n_components", self.n_components, at_least=1, at_most=self.operator.n, integer=True)


class EigenSolver(Solver[Eigenproblem, Spectrum]):
    """Solves an `Eigenproblem`.

    Attributes
    ----------
    by_products : bool
        Whether the solver needs only products with the operator.
    """

    by_products: ClassVar[bool] = False

    def _solve(self, problem: Eigenproblem, start: Spectrum | None = None) -> Spectrum:
        return self._leading(problem.operator, problem.n_components, problem.rng)

    def _leading(self, gram: Operator, n_components: int, rng: np.random.Generator) -> Spectrum:
        raise NotImplementedError


def canonical(spectrum: Spectrum, count: int) -> Spectrum:
    """The first `count` pairs, with vectors that do not depend on rounding even if eigenvalues are equal.

    Equal eigenvalues determine only their space, and rounding would choose its basis. The basis used here is the
    orthonormalised projection of fixed random vectors onto that space, which also fixes signs. Values beyond `count`
    that are equal to the last belong to its space.
    """
    values, V = host(spectrum.values), host(spectrum.vectors)
    R = np.random.default_rng(0).normal(size=(len(V), count)).astype(V.dtype)
    edges = [0, *(np.flatnonzero(values[:-1] - values[1:] > _rounding(values)) + 1).tolist(), len(values)]
    parts = []
    for first, last in pairwise(edges):
        if first < count:
            space = V[:, first:last]
            Q, upper = np.linalg.qr(space.T @ R[:, first : min(last, count)])
            parts.append(space @ (Q * np.where(np.diagonal(upper) < 0, -1.0, 1.0).astype(V.dtype)))
    vectors = like(np.concatenate(parts, axis=1), spectrum.vectors)
    return replace(spectrum, values=spectrum.values[:count], vectors=vectors)


def degenerate(spectrum: Spectrum, count: int) -> bool:
    """Whether the last eigenvalue equals the one at position `count`, so that there may be further equal ones."""
    values = host(spectrum.values)
    return bool(values[count - 1] - values[-1] <= _rounding(values))


def _rounding(values: np.ndarray) -> float:
    return EQUAL * float(np.finfo(values.dtype).eps) * float(np.abs(values).max())


def residual(gram: Operator, values: Array, vectors: Any) -> float:
    """max_j ‖K v_j − λ_j v_j‖ / λ₁."""
    return residual_of(gram @ vectors, values, vectors)


def residual_of(images: Any, values: Array, vectors: Any) -> float:
    """max_j ‖K v_j − λ_j v_j‖ / λ₁ from the products K v_j."""
    xp = namespace(vectors)
    R = images - vectors * values[None, :]
    return float(xp.max(lengths(R))) / (float(xp.max(xp.abs(values))) or 1.0)
