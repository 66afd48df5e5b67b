"""Solvers of the linear system (K + diag(shift)) a = b, with an optional free part."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any

from ..._array import doubles, like
from ..protocol import Choice, choose
from ._base import MOVED, Conditioned, LinearSolution, LinearSolver, System, free_factor, typical, units
from .cholesky import Cholesky, Symmetric
from .conjugate_gradient import ConjugateGradient
from .pseudo_inverse import Inverse, PseudoInverse
from .woodbury import Woodbury

__all__ = [
    "MOVED",
    "Cholesky",
    "Conditioned",
    "ConjugateGradient",
    "Inverse",
    "LinearSolution",
    "LinearSolver",
    "PseudoInverse",
    "Symmetric",
    "System",
    "Woodbury",
    "free_factor",
    "linear_solver",
    "solve",
    "typical",
    "units",
]

TABLE = (
    Choice(lambda system: not system.definite, Symmetric),
    Choice(lambda system: "factor" in system.operator.provides, Woodbury),
    Choice(lambda system: "dense" in system.operator.provides, Cholesky),
    Choice(lambda system: True, ConjugateGradient),
)


def linear_solver(solver: str | LinearSolver, system: System) -> LinearSolver:
    """Resolve a solver object, a name, or "auto" to a solver.

    ====================================  ====================
    "auto": the first that holds          choice
    ====================================  ====================
    the kernel is not positive definite   `Symmetric`
    the Gram provides "factor"            `Woodbury`
    the Gram provides "dense"             `Cholesky`
    otherwise                             `ConjugateGradient`
    ====================================  ====================
    """
    found: LinearSolver = choose(solver, system, TABLE, LinearSolver, (PseudoInverse,))
    return found


def solve(system: System, solver: str | LinearSolver = "auto") -> LinearSolution:
    """Solve a system with a solver object, a name, or the automatic choice; on the device of the matrix."""
    if "remote" not in system.operator.provides:
        return linear_solver(solver, system).solve(system)
    native = system.operator.native

    def moved(values: Any) -> Any:
        return values if values is None or isinstance(values, Real) else like(values, native.like)

    parts = {name: moved(getattr(system, name)) for name in ("b", "shift", "H", "weight")}
    there = replace(system, operator=native, **parts)
    found = linear_solver(solver, there).solve(there)
    free = None if found.free is None else doubles(found.free)
    return replace(found, coefficients=doubles(found.coefficients), free=free)
