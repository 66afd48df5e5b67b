"""What holds for all solvers."""

import re
from inspect import signature

import numpy as np
import pytest

import mercer
from mercer.gram import Dense, Representation
from mercer.kernels import Gaussian
from mercer.losses import Huber
from mercer.solvers.eigen import Eigenproblem, EigenSolver
from mercer.solvers.fit import FitProblem
from mercer.solvers.fit.table import FitSolver, Newton
from mercer.solvers.linear import LinearSolver, System

rng = np.random.default_rng(0)
X, y = rng.normal(size=(9, 2)), rng.normal(size=9)
GRAM = Dense().build(Gaussian(), X, rng)
PROBLEMS = {
    LinearSolver: System(GRAM, y, 1.0),
    EigenSolver: Eigenproblem(GRAM, 2),
    FitSolver: FitProblem(GRAM, Huber(), y, 1.0, np.ones(9)),
}


def below(cls):
    return [cls, *(each for part in cls.__subclasses__() for each in below(part))]


VALUES = ["a", np.nan, np.inf, -1, 0, 2.5, 10**400, True, None, [1], np.ones(2), 1j, b"1"]


def is_good(name, default, value):
    if isinstance(default, bool) or value is None:
        return value is default
    if type(value) is float:
        return name == "tol" and value == 2.5
    return type(value) is int and value == 0 and name in ("rank", "oversample")


CASES = [
    (cls, name, value)
    for base in PROBLEMS
    for cls in below(base)
    if cls.__module__.startswith("mercer.")
    for name, given in signature(cls).parameters.items()
    for value in VALUES
    if not is_good(name, given.default, value)
]


@pytest.mark.parametrize(("cls", "name", "value"), CASES, ids=lambda v: getattr(v, "__name__", str(v))[:20])
def test_parameters_out_of_range_are_refused(cls, name, value):
    """Every parameter of every solver."""
    problem = next(problem for base, problem in PROBLEMS.items() if issubclass(cls, base))
    text = re.escape(repr(value)[:80])
    with pytest.raises(ValueError, match=rf"^{cls.__name__}: {name} = {text} (must be|is unknown)"):
        cls(**{name: value}).solve(problem)


def test_an_estimator_names_its_solver():
    with pytest.raises(ValueError, match=r"^KernelMachine, Newton: tol = 'a' must be a finite number > 0\."):
        mercer.KernelMachine("huber", solver=Newton(tol="a")).fit(X, y)


@pytest.mark.parametrize(
    ("base", "name", "fit"),
    [
        (LinearSolver, "_plain", lambda new: mercer.KernelRidge(solver=new)),
        (FitSolver, "_solve", lambda new: mercer.KernelMachine(solver=new)),
        (Representation, "_build", lambda new: mercer.KernelRidge(gram=new)),
    ],
)
def test_a_new_part_without_its_method(base, name, fit):
    New = type("New", (base,), {"name": "new"})
    with pytest.raises(NotImplementedError, match=f"New has no method {name}, .* implement it"):
        fit(New()).fit(np.arange(5.0)[:, None], np.arange(5.0))
