"""Solvers of the one linear primitive (K + diag(shift)) a = b, with a free part."""

from __future__ import annotations

from typing import Any

from ..._errors import is_one_of
from ...gram import Operator
from ._base import Conditioned, LinearSolution, LinearSolver, free_factor, solve, typical, units
from .cholesky import Cholesky, Symmetric
from .conjugate_gradient import ConjugateGradient
from .pseudo_inverse import Inverse, PseudoInverse
from .woodbury import Woodbury

__all__ = [
    "Cholesky",
    "Conditioned",
    "ConjugateGradient",
    "Inverse",
    "LinearSolution",
    "LinearSolver",
    "PseudoInverse",
    "Symmetric",
    "Woodbury",
    "free_factor",
    "linear_solver",
    "solve",
    "typical",
    "units",
]

NAMES: dict[str, type[LinearSolver]] = {
    "cholesky": Cholesky,
    "symmetric": Symmetric,
    "woodbury": Woodbury,
    "cg": ConjugateGradient,
    "pseudo_inverse": PseudoInverse,
}


def linear_solver(solver: Any, gram: Operator, definite: bool = True) -> LinearSolver:
    """A solver object, its name, or "auto" → the solver.

    ====================================  ====================
    "auto", the first that holds          choice
    ====================================  ====================
    the kernel is not positive definite   `Symmetric`
    the Gram provides "factor"            `Woodbury`
    the Gram provides "dense"             `Cholesky`
    otherwise                             `ConjugateGradient`
    ====================================  ====================
    """
    if isinstance(solver, LinearSolver):
        return solver
    if is_one_of(solver, ("auto",)):
        if not definite:
            return Symmetric()
        if "factor" in gram.provides:
            return Woodbury()
        return Cholesky() if "dense" in gram.provides else ConjugateGradient()
    if isinstance(solver, str) and solver in NAMES:
        return NAMES[solver]()
    raise ValueError(
        f"solver = {solver!r} is unknown; give a LinearSolver or one of 'auto', {', '.join(map(repr, NAMES))}."
    )
