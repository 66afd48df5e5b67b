"""What the package imports is what pyproject.toml declares, and messages name an extra that holds the library."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TREES = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "src" / "mercer").rglob("*.py"))]
NODES = [node for tree in TREES for node in ast.walk(tree)]
DISTRIBUTION = {"sklearn": "scikit-learn", "pywt": "PyWavelets", "array_api_compat": "array-api-compat"}


def names(requirements):
    return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}


def imported():
    """Distributions of the top-level modules that any file imports, outside the standard library."""
    for node in NODES:
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            modules = [node.module]
        for module in modules:
            top = module.split(".")[0]
            if top not in sys.stdlib_module_names and top != "mercer":
                yield DISTRIBUTION.get(top, top)


def test_what_is_imported_is_declared():
    extras = names(need for group in PROJECT["optional-dependencies"].values() for need in group)
    assert set(imported()) <= names(PROJECT["dependencies"]) | extras
    always = {"numpy", "scipy", "scikit-learn", "array-api-compat", "numba", "llvmlite", "joblib", "threadpoolctl"}
    assert always == names(PROJECT["dependencies"])


CALLS = [
    tuple(argument.value for argument in node.args[:2])
    for node in NODES
    if isinstance(node, ast.Call)
    and getattr(node.func, "id", None) == "optional"
    and all(isinstance(argument, ast.Constant) for argument in node.args[:2])
]


@pytest.mark.parametrize(("module", "extra"), sorted(set(CALLS)))
def test_an_extra_that_is_named_holds_its_library(module, extra):
    assert DISTRIBUTION.get(module, module) in names(PROJECT["optional-dependencies"][extra])
