"""The reference lists every public class and function, so that a new one cannot be forgotten."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

API = Path(__file__).resolve().parents[1] / "docs" / "api"
MODULES = [f"mercer{name}" for name in ["", ".closed_forms", ".gram", ".kernels", ".measures", ".testing"]]


def listed():
    """Full names in the autosummary tables of docs/api/*.rst."""
    names = set()
    for page in API.glob("*.rst"):
        module = None
        for line in page.read_text(encoding="utf-8").splitlines():
            if found := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = found[1]
            elif module and (found := re.fullmatch(r"   ([A-Za-z_]\w*)", line)):
                names.add(f"{module}.{found[1]}")
    return names


@pytest.mark.parametrize("name", MODULES)
def test_reference_lists_public_names_of(name):
    module = importlib.import_module(name)
    public = {
        n for n in module.__all__ if inspect.isclass(getattr(module, n)) or inspect.isfunction(getattr(module, n))
    }
    assert {f"{name}.{n}" for n in public} - listed() == set()
