"""The reference lists every public class and function, so that a new one cannot be forgotten."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

API = Path(__file__).resolve().parents[1] / "docs" / "api"
PUBLIC = """
    basis closed_forms datasets domains evaluation experiments gram inference io io.libsvm kernels kernels.algebra
    kernels.graphs kernels.sequences kernels.sets kernels.strings kernels.text kernels.trees losses measures
    methods.base plot preimage reports selection context solvers.eigen solvers.fit solvers.fit.many
    solvers.fit.primal solvers.fit.table solvers.linear solvers.protocol solvers.quadratic solvers.solution testing
    compilation
"""
MODULES = ["mercer", *(f"mercer.{name}" for name in PUBLIC.split())]


def listed():
    """What the autosummary tables of docs/api/*.rst name; one place is enough for what has two names."""
    found = []
    for page in API.glob("*.rst"):
        module = None
        for line in page.read_text(encoding="utf-8").splitlines():
            if match := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = import_module(match[1])
            elif module and (match := re.fullmatch(r"   ([A-Za-z_]\w*)", line)):
                found.append(getattr(module, match[1]))
    return found


@pytest.mark.parametrize("name", MODULES)
def test_reference_lists_public_names_of(name):
    module = import_module(name)
    public = [getattr(module, n) for n in module.__all__]
    public = [thing for thing in public if inspect.isclass(thing) or inspect.isfunction(thing)]
    known = listed()
    assert [thing for thing in public if thing not in known] == []
