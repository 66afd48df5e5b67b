"""The largest eigenvalues of a Gram operator: dense, through the factor, or by products only."""

from __future__ import annotations

from typing import Any

from numpy import ndarray

from ..._errors import check_choice
from ..protocol import Choice, choose
from ._base import Eigenproblem, EigenSolver, Spectrum, canonical, degenerate
from .direct import DenseEigen, FactorEigen
from .krylov import BlockKrylov
from .lanczos import Lanczos

__all__ = [
    "BlockKrylov",
    "DenseEigen",
    "EigenSolver",
    "Eigenproblem",
    "FactorEigen",
    "Lanczos",
    "Spectrum",
    "canonical",
    "check_eigen_solver",
    "degenerate",
    "eigen_solver",
]

SMALL, MIDDLE = 200, 3000  # range of sample sizes where products of a dense matrix with single vectors are fastest
SHARE = 10  # minimum number of samples per component for ARPACK


def _is_middle(problem: Eigenproblem) -> bool:
    """Whether the matrix fits in the cache and few components are wanted, so that products beat LAPACK."""
    operator, k = problem.operator, problem.n_components
    held = "dense" in operator.provides and isinstance(operator.like, ndarray)
    return held and SMALL < operator.n <= MIDDLE and SHARE * k <= operator.n


TABLE = (
    Choice(lambda problem: "factor" in problem.operator.provides, FactorEigen),
    Choice(_is_middle, Lanczos),
    Choice(lambda problem: problem.operator.n <= 500 or 10 * problem.n_components > problem.operator.n, DenseEigen),
    Choice(lambda problem: True, BlockKrylov),
)


def check_eigen_solver(owner: object, solver: str | EigenSolver | None, names: tuple[Any, ...]) -> None:
    """Reject an `eigen_solver` that is neither a solver nor one of these names."""
    if not isinstance(solver, EigenSolver):
        check_choice(owner, "eigen_solver", solver, names)


def eigen_solver(solver: str | EigenSolver, problem: Eigenproblem, **krylov: Any) -> EigenSolver:
    """Resolve a solver object, a name, or "auto" to a solver; `krylov` are settings for a `BlockKrylov` chosen here.

    ====================================================  =============
    "auto": the first that holds                          choice
    ====================================================  =============
    the Gram provides "factor"                            `FactorEigen`
    a dense matrix, 200 < n ≤ 3000, few components        `Lanczos`
    n ≤ 500, or more than n/10 components are wanted      `DenseEigen`
    otherwise                                             `BlockKrylov`
    ====================================================  =============
    """
    found: EigenSolver = choose(solver, problem, TABLE, EigenSolver)
    return found.set_params(**krylov) if found is not solver and found.by_products else found
