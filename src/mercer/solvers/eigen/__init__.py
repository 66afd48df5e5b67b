"""The largest eigenvalues of a Gram operator: dense, through the factor, or by products alone."""

from __future__ import annotations

from typing import Any

from ..._errors import check_choice
from ...gram import Operator
from ._base import EigenSolver, Spectrum, canonical, degenerate
from .direct import DenseEigen, FactorEigen
from .krylov import BlockKrylov

__all__ = [
    "BlockKrylov",
    "DenseEigen",
    "EigenSolver",
    "FactorEigen",
    "Spectrum",
    "canonical",
    "check_eigen_solver",
    "degenerate",
    "eigen_solver",
]

NAMES: dict[str, type[EigenSolver]] = {"dense": DenseEigen, "factor": FactorEigen, "krylov": BlockKrylov}


def check_eigen_solver(owner: object, solver: Any, names: tuple[Any, ...]) -> None:
    """Refuse a parameter `eigen_solver` that is neither a solver nor one of these names."""
    if not isinstance(solver, EigenSolver):
        check_choice(owner, "eigen_solver", solver, names)


def eigen_solver(solver: Any, gram: Operator, n_components: int, **krylov: Any) -> EigenSolver:
    """A solver object, its name, or "auto" → the solver; `krylov` are settings of a `BlockKrylov` that is chosen here.

    ====================================================  =============
    "auto", the first that holds                          choice
    ====================================================  =============
    the Gram provides "factor"                            `FactorEigen`
    n ≤ 500, or more than n/10 components are wanted      `DenseEigen`
    otherwise                                             `BlockKrylov`
    ====================================================  =============
    """
    if isinstance(solver, EigenSolver):
        return solver
    if solver == "auto":
        if "factor" in gram.provides:
            return FactorEigen()
        solver = "dense" if gram.n <= 500 or 10 * n_components > gram.n else "krylov"
    if isinstance(solver, str) and solver in NAMES:
        return NAMES[solver](**krylov if solver == "krylov" else {})
    raise ValueError(
        f"solver = {solver!r} is unknown; give an EigenSolver or one of 'auto', {', '.join(map(repr, NAMES))}."
    )
