"""The result of a solver: the solution, why the solver stopped, and how accurate the solution is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ..context import Status

__all__ = ["Certificate", "Solution", "Status", "upgraded"]

Kind = Literal["duality gap", "violation", "residual", "gradient norm", "relative change"]


@dataclass(frozen=True)
class Certificate:
    """A bound or measure of the error of a solution, computed from the solution itself.

    Attributes
    ----------
    kind : str
        "duality gap" bounds the excess of the objective. "violation" is the largest violation of an optimality
        condition, "residual" the norm of the residual of an equation, relative to its right-hand side, "gradient norm"
        the norm of the gradient, and "relative change" the relative change in the last step.
    value : float
        Zero for the exact solution.
    """

    kind: Kind
    value: float

    def __str__(self) -> str:
        return f"a {self.kind} of {self.value:.2g}"


def upgraded(state: dict[str, Any]) -> dict[str, Any]:
    """Convert the attributes of a solution from an older file, with `converged` and a message instead of a status."""
    if "converged" not in state:
        return state
    rest = {name: value for name, value in state.items() if name not in ("converged", "message")}
    message = str(state.get("message", ""))
    reasons = {"max_iter": Status.MAX_ITER, "the time": Status.TIME_BUDGET, "inter": Status.INTERRUPTED}
    reasons |= {"a callback": Status.STOPPED, "the precision": Status.PRECISION}
    early = next((status for words, status in reasons.items() if message.startswith(words)), Status.NO_DESCENT)
    return {**rest, "status": Status.CONVERGED if state["converged"] else early}


@dataclass(frozen=True, kw_only=True)
class Solution:
    """Base of all solutions.

    Attributes
    ----------
    status : Status
        Why the solver stopped.
    n_iter : int
        Number of iterations; 0 for direct methods.
    method : str
        Name of the solver.
    """

    measure: ClassVar[tuple[Kind, str] | None] = None  # the kind of the certificate, and the attribute with its value
    status: Status = Status.CONVERGED
    n_iter: int = 0
    method: str = ""

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(upgraded(state))

    @property
    def converged(self) -> bool:
        """Whether the solver reached its tolerance."""
        return self.status is Status.CONVERGED

    @property
    def message(self) -> str:
        """Why the solver stopped early; empty if it converged."""
        return "" if self.converged else str(self.status)

    @property
    def certificate(self) -> Certificate | None:
        """How accurate the solution is; None if this is not measured."""
        return None if self.measure is None else Certificate(self.measure[0], getattr(self, self.measure[1]))
