"""The one protocol of all solvers: a problem goes in, a solution comes out.

A solver says what it `requires` of the operator of the problem, and whether it `suits` the problem otherwise. What
"auto" takes is a table: the first row that holds. So a new solver is a class, and a row where it is the better choice.
The context of the computation is `mercer.context.current()`; an iterative solver asks it every round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from sklearn.base import BaseEstimator

from .._errors import fitting_memory, is_one_of, where
from ..gram import Operator
from .solution import Solution

__all__ = ["Choice", "Problem", "Solver", "choose"]


class Problem(Protocol):
    """What a solver is given: an operator, and whatever else the problem consists of."""

    @property
    def operator(self) -> Operator:
        """The operator, whose `provides` decides which solvers can be used."""


P = TypeVar("P", bound=Problem, contravariant=True)
S = TypeVar("S", bound=Solution)


class Solver(BaseEstimator, Generic[P, S]):
    """Base of all solvers.

    Attributes
    ----------
    name : str
        What users write.
    requires : frozenset of str
        What the operator must provide: "dense", "factor".
    """

    name: ClassVar[str]
    requires: ClassVar[frozenset[str]] = frozenset()

    def suits(self, problem: P) -> bool:
        """Whether it can solve the problem."""
        return self.requires <= problem.operator.provides

    def solve(self, problem: P, start: S | None = None) -> S:
        """The solution; from a near one where the method can start anywhere."""
        operator = problem.operator
        missing = self.requires - operator.provides
        if missing:
            raise TypeError(
                f"{where(self)} needs a Gram operator that provides {', '.join(sorted(missing))}; {where(operator)} "
                f'provides {", ".join(sorted(operator.provides)) or "products only"}. Try solver="auto".'
            )
        with fitting_memory(self, operator.n, operator.n, operator.dtype):
            return self._solve(problem, start)

    def _solve(self, problem: P, start: S | None) -> S:
        raise NotImplementedError


class Choice(NamedTuple):
    """A row of a table: a condition on the problem, and the solver to take where it holds."""

    when: Callable[[Any], bool]
    solver: type[Solver[Any, Any]]


def choose(
    given: Any, problem: Any, table: Sequence[Choice], base: type, more: Sequence[type[Solver[Any, Any]]] = ()
) -> Any:
    """A solver object, the name of one, or "auto" → the solver.

    Parameters
    ----------
    given : Solver or str
    problem : Problem
    table : sequence of Choice
    base : type
        Of the solvers that may be given as objects.
    more : sequence of types
        Solvers that "auto" never takes, but that have a name.

    Returns
    -------
    Solver, or None where no row of the table holds
    """
    if isinstance(given, base):
        return given
    if is_one_of(given, ("auto",)):
        return next((row.solver() for row in table if row.when(problem)), None)
    names = {solver.name: solver for solver in (*(row.solver for row in table), *more)}
    if isinstance(given, str) and given in names:
        return names[given]()
    raise ValueError(
        f"solver = {given!r} is unknown; give a {base.__name__} or one of 'auto', {', '.join(map(repr, names))}."
    )
