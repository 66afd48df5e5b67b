"""Data flows one way through the package. This test reads every import and holds it to that."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "mercer"

# Each row may import from the rows above it and from itself.
LAYERS = [
    ["_*", "arrays", "context", "types"],
    ["domains", "basis", "measures"],
    ["evaluation"],
    ["kernels"],
    ["gram"],
    ["solvers"],
    ["space"],
    ["expansion", "closed_forms"],
    ["preimage"],
    ["methods"],
    ["selection", "inference"],
    ["io", "datasets", "experiments", "plot", "reports", "cli", "studio", "compilation"],
]
RANK = {name: rank for rank, row in enumerate(LAYERS) for name in row}
OUTERMOST = len(LAYERS) - 1
# Beside the chain: a loss knows only the lowest row, and is known from the solvers on.
LOSSES_FROM = RANK["solvers"]
# `mercer` itself gathers the public names and `mercer.testing` checks everything; only the outside may import either.
ABOVE_ALL = {"", "testing"}
# These are users of the package: public names only, besides the `_*` modules.
OUTSIDE = {"datasets", "experiments", "plot", "reports", "cli", "studio"}


def module_name(path, root):
    """`<root>/a/b.py` → "a.b"; a package and its program are named by its folder, those of the root by ""."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] in ("__init__", "__main__") else parts)


def imported(tree, path, root):
    """Dotted paths inside mercer ("" for the package itself) that a file imports, in any way and anywhere in it."""
    package = ["mercer", *path.relative_to(root).parts[:-1]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            targets = [_with_submodule(base, alias.name, root) for alias in node.names]
        elif _is_dynamic_import(node):
            target = node.args[0].value
            if target.startswith("."):
                level = len(target) - len(target.lstrip("."))
                target = ".".join([*package[: len(package) - level + 1], target.lstrip(".")])
            targets = [target]
        else:
            continue
        for target in targets:
            if target == "mercer" or target.startswith("mercer."):
                yield node.lineno, target.removeprefix("mercer").removeprefix(".")


def _with_submodule(base, name, root):
    """`from base import name` reaches base.name where that is a module, and base otherwise."""
    if base != "mercer" and not base.startswith("mercer."):
        return base
    place = root.joinpath(*base.split(".")[1:], name)
    return f"{base}.{name}" if place.is_dir() or place.with_suffix(".py").is_file() else base


def _is_dynamic_import(node):
    if not (isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
    return name in {"import_module", "__import__"} and isinstance(node.args[0].value, str)


def top(module):
    name = module.split(".")[0]
    return "_*" if name.startswith("_") else name


def objection(importer, target):
    """Why `importer` may not import `target`, both dotted paths inside mercer; None where it may."""
    mine, theirs = top(importer), top(target)
    if mine in ABOVE_ALL or mine == theirs:
        return None
    if mine in OUTSIDE and theirs != "_*" and any(part.startswith("_") for part in target.split(".")):
        return "the outside uses public names only"
    if mine == "losses":
        return None if RANK.get(theirs) == 0 else "a loss imports only the lowest row"
    if theirs in ABOVE_ALL:
        return None if RANK[mine] == OUTERMOST else "only the outside imports the package's public face"
    if theirs == "losses":
        return None if RANK[mine] >= LOSSES_FROM else "losses are known from the solvers on"
    if theirs not in RANK:
        return f"no layer has `{theirs}`"
    return None if RANK[theirs] <= RANK[mine] else f"`{theirs}` lies to the right of `{mine}`"


def violations(root):
    for path in sorted(root.rglob("*.py")):
        importer = module_name(path, root)
        if top(importer) not in RANK and top(importer) not in {*ABOVE_ALL, "losses"}:
            yield f"{path.relative_to(root)}: no layer has `{top(importer)}`; give it one in {Path(__file__).name}"
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for line, target in imported(tree, path, root):
            reason = objection(importer, target)
            if reason:
                yield f"{path.relative_to(root)}:{line} imports {'.'.join(['mercer', target]).rstrip('.')}: {reason}"


def test_layers_hold():
    found = list(violations(SOURCE))
    assert not found, "\n".join(found)


def test_numba_is_imported_in_three_places():
    places = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Import) and any(a.name.split(".")[0] == "numba" for a in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "numba" and not node.level)
    }
    assert places == {"_jit.py", "_intrinsics.py", "_cache.py"}


ALLOWED = {
    "_array.py": "import numpy\nfrom ._errors import fail",
    "kernels/gaussian.py": "from ._radial import Radial\nfrom .._array import xp\nfrom mercer.domains import Vectors",
    "solvers/direct.py": "from ..losses import Squared\nfrom ..gram.dense import Dense",
    "methods/ridge.py": "from mercer import kernels, space\nfrom ..solvers import direct",
    "plot/grid.py": "from mercer import KernelRidge\nfrom .._errors import need\nimport mercer.kernels",
    "space.py": "from .solvers.direct import Direct",
    "cli.py": "import mercer",
    "testing.py": "from .kernels._base import Kernel\nfrom .gram.dense import Dense",
    "__init__.py": "from .methods.ridge import KernelRidge",
}
FORBIDDEN = {
    "absolute": ("kernels/gaussian.py", "import mercer.gram"),
    "absolute from": ("kernels/gaussian.py", "from mercer.gram.dense import Dense"),
    "submodule of the package": ("kernels/gaussian.py", "from mercer import gram"),
    "relative": ("gram/dense.py", "from ..solvers import direct"),
    "relative without a module": ("gram/dense.py", "from .. import solvers"),
    "inside a function": ("space.py", "def f():\n    from .methods.ridge import KernelRidge"),
    "for types only": ("domains.py", "if TYPE_CHECKING:\n    from .kernels import Kernel"),
    "by name": ("domains.py", "importlib.import_module('mercer.kernels')"),
    "by relative name": ("kernels/gaussian.py", "import_module('..gram', __package__)"),
    "private above": ("_array.py", "from .domains import Vectors"),
    "loss knows a kernel": ("losses/hinge.py", "from ..kernels import Gaussian"),
    "loss knows a domain": ("losses/hinge.py", "from ..domains import Vectors"),
    "kernel knows a loss": ("kernels/gaussian.py", "from ..losses import hinge"),
    "public face from inside": ("methods/ridge.py", "from mercer import KernelRidge"),
    "testing from inside": ("kernels/gaussian.py", "from ..testing import check_kernel"),
    "outside looks into a private file": ("plot/grid.py", "from ..kernels._base import Kernel"),
    "no such layer": ("methods/ridge.py", "from ..helpers import f"),
    "a file without a layer": ("helpers.py", ""),
}


def _package(root, files):
    for place in [*ALLOWED, *files]:
        path = root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files.get(place, ""), encoding="utf-8")
    return root


def test_reader_accepts_what_is_allowed(tmp_path):
    assert list(violations(_package(tmp_path, ALLOWED))) == []


@pytest.mark.parametrize(("place", "text"), FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_reader_finds_what_is_forbidden(tmp_path, place, text):
    assert len(list(violations(_package(tmp_path, {place: text})))) == 1
