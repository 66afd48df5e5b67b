"""The largest eigenvalues of a Gram operator: dense, through the factor, or by products alone."""

from __future__ import annotations

from typing import Any

from ...gram import Operator
from ._base import EigenSolver, Spectrum
from .direct import DenseEigen, FactorEigen
from .krylov import BlockKrylov

__all__ = ["BlockKrylov", "DenseEigen", "EigenSolver", "FactorEigen", "Spectrum", "eigen_solver"]

NAMES: dict[str, type[EigenSolver]] = {"dense": DenseEigen, "factor": FactorEigen, "krylov": BlockKrylov}


def eigen_solver(solver: Any, gram: Operator, n_components: int) -> EigenSolver:
    """A solver object, its name, or "auto" → the solver.

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
        return DenseEigen() if gram.n <= 500 or 10 * n_components > gram.n else BlockKrylov()
    if isinstance(solver, str) and solver in NAMES:
        return NAMES[solver]()
    raise ValueError(
        f"solver = {solver!r} is unknown; give an EigenSolver or one of 'auto', {', '.join(map(repr, NAMES))}."
    )
