"""The result of every solver: the answer, why the solver ended, and how good the answer is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ..context import Status

__all__ = ["Certificate", "Solution", "Status", "upgraded"]

Kind = Literal["duality gap", "violation", "residual", "gradient norm", "relative change"]


@dataclass(frozen=True)
class Certificate:
    """How far an answer may be from the exact one, computed from the answer itself.

    Attributes
    ----------
    kind : str
        "duality gap" bounds the excess of the objective. "violation" is the largest violation of an optimality
        condition, "residual" the norm of what is left of an equation, relative to its right-hand side, "gradient norm"
        that of the slope, and "relative change" that of the last step.
    value : float
        Zero for the exact answer.
    """

    kind: Kind
    value: float

    def __str__(self) -> str:
        return f"a {self.kind} of {self.value:.2g}"


def upgraded(state: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a solution from a file of before there was a status: `converged`, and a message."""
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
        Why the solver ended.
    n_iter : int
        Iterations; 0 for direct methods.
    method : str
        The name of the solver.
    """

    measure: ClassVar[tuple[Kind, str] | None] = None  # the kind of the certificate, and the attribute that it is
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
        """Why the solver ended early; empty if it converged."""
        return "" if self.converged else str(self.status)

    @property
    def certificate(self) -> Certificate | None:
        """How good the answer is; None where nothing tells."""
        return None if self.measure is None else Certificate(self.measure[0], getattr(self, self.measure[1]))
