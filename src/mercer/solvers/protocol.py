"""The common protocol of all solvers: a problem goes in, a solution comes out.

A solver `suits` a problem or rejects it; by default it suits if the operator provides what the solver `requires`.
"auto" takes the first row of a table whose condition holds. So a new solver is a class, and a row where it is the
better choice. The context of the computation is `mercer.context.current()`; iterative solvers check it every round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from sklearn.base import BaseEstimator

from .._errors import check_choice, check_number, defaults, fitting_memory, is_one_of, unwritten, where
from .._threads import blas_for
from ..gram import Operator
from .solution import Solution

__all__ = ["Choice", "Problem", "Solver", "choose"]


class Problem(Protocol):
    """The input of a solver: an operator, and the rest of the problem."""

    @property
    def operator(self) -> Operator:
        """The operator, whose `provides` decides which solvers can be used."""


BOUNDS: dict[str, dict[str, Any]] = {  # valid ranges of solver parameters
    "tol": {"above": 0},
    "max_iter": {"at_least": 1, "integer": True},
    "oversample": {"at_least": 0, "integer": True},
    "rank": {"at_least": 0, "integer": True},
    "width": {"at_least": 2, "integer": True},
}
P = TypeVar("P", bound=Problem, contravariant=True)
S = TypeVar("S", bound=Solution)


class Solver(BaseEstimator, Generic[P, S]):
    """Base of all solvers.

    Attributes
    ----------
    name : str
        Name in parameters such as ``solver="cg"``.
    requires : frozenset of str
        What the operator must provide: "dense", "factor".
    """

    name: ClassVar[str]
    requires: ClassVar[frozenset[str]] = frozenset()

    def validate(self) -> None:
        """Raise for a parameter out of range; None is valid if it is the default."""
        for name, default in defaults(type(self)).items():
            value = getattr(self, name)
            if isinstance(default, bool):
                check_choice(self, name, value, (True, False))
            elif name in BOUNDS:
                besides = (None,) if default is None else ()
                check_number(self, name, value, **BOUNDS[name], besides=besides)

    def suits(self, problem: P) -> bool:
        """Whether the solver can solve the problem."""
        return self.requires <= problem.operator.provides

    def refusal(self, problem: P) -> Exception:
        """The error for an unsuitable problem."""
        provided = problem.operator.provides
        return TypeError(
            f"{where(self)} needs a Gram operator that provides {', '.join(sorted(self.requires - provided))}; "
            f"{where(problem.operator)} provides {', '.join(sorted(provided)) or 'products only'}. "
            'Try solver="auto".'
        )

    def solve(self, problem: P, start: S | None = None) -> S:
        """The solution. Methods that allow a warm start begin at `start`, if given."""
        self.validate()
        if not self.suits(problem):
            raise self.refusal(problem)
        operator = problem.operator
        with fitting_memory(self, operator.n, operator.n, operator.dtype), blas_for(operator.n):
            return self._solve(problem, start)

    def _solve(self, problem: P, start: S | None) -> S:
        raise unwritten(self, "_solve")


class Choice(NamedTuple):
    """A row of a table: a condition on the problem, and the solver to use if it holds."""

    when: Callable[[Any], bool]
    solver: type[Solver[Any, Any]]


def choose(
    given: Any, problem: Any, table: Sequence[Choice], base: type, more: Sequence[type[Solver[Any, Any]]] = ()
) -> Any:
    """Resolve a solver object, a name, or "auto" to a solver.

    Parameters
    ----------
    given : Solver or str
    problem : Problem
    table : sequence of Choice
    base : type
        Base class of valid solver objects.
    more : sequence of types
        Further solvers that have a name but are never chosen by "auto".

    Returns
    -------
    Solver, or None if no row of the table holds
    """
    if isinstance(given, base):
        return given
    if is_one_of(given, ("auto",)):
        row = next(filter(lambda row: row.when(problem), table), None)
        return None if row is None else row.solver()
    names = {solver.name: solver for solver in (*(row.solver for row in table), *more)}
    if isinstance(given, str) and given in names:
        return names[given]()
    raise ValueError(
        f"solver = {given!r} is unknown; pass a {base.__name__} or one of 'auto', {', '.join(map(repr, names))}."
    )
