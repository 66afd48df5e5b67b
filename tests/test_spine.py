"""How tightly the parts of the package are tied to each other, counted in the source: counts that must not grow."""

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "mercer"
TREES = {path.relative_to(SOURCE): ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}
CLASSES = {node.name for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
# A class is asked for where users may give an object or its name, once for each idea; elsewhere attributes tell.
TYPE_TESTS = 60
PRIVATE_IMPORTS = 10
LATE_IMPORTS = 15
UNTYPED = 0.1  # of the public parameters


def package(path):
    return path.parts[0] if len(path.parts) > 1 else ""


def shown(path, node):
    return f"{path}:{node.lineno} {ast.unparse(node)}"


def imports(path, tree):
    """Each import of our own modules, as a node, the package that it reaches, and the names on the way."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = path.parts[:-1]
            base = folder[: len(folder) - node.level + 1] + tuple(node.module.split(".") if node.module else ())
            names = (*base, *(alias.name for alias in node.names))
            yield node, names[0] if (SOURCE / names[0]).is_dir() else "", names[1:]


def test_types_are_rarely_asked_for():
    found = [
        shown(path, node)
        for path, tree in TREES.items()
        if package(path) not in ("domains", "io")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        if {getattr(n, "id", getattr(n, "attr", None)) for n in ast.walk(node.args[1])} & CLASSES
    ]
    assert len(found) <= TYPE_TESTS, "\n".join(found)


def test_packages_import_public_names_of_each_other():
    found = [
        shown(path, node)
        for path, tree in TREES.items()
        for node, reached, names in imports(path, tree)
        if reached and reached != package(path) and any(name.startswith("_") for name in names)
    ]
    assert len(found) <= PRIVATE_IMPORTS, "\n".join(found)


def test_imports_stand_at_the_top():
    found = [
        shown(path, node)
        for path, tree in TREES.items()
        if package(path) != "cli"
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node, _, _ in imports(path, function)
    ]
    assert len(found) <= LATE_IMPORTS, "\n".join(found)


def test_parameters_have_types():
    found = [
        (f"{path}:{function.lineno} {function.name}({argument.arg})", getattr(argument.annotation, "id", ""))
        for path, tree in TREES.items()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        if not function.name.startswith("_") or function.name == "__init__"
        for argument in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        if argument.arg not in ("self", "cls")
    ]
    found += [  # fields of a dataclass with a default are parameters of its constructor
        (f"{path}:{field.lineno} {cls.name}({field.target.id})", getattr(field.annotation, "id", ""))
        for path, tree in TREES.items()
        for cls in ast.walk(tree)
        if isinstance(cls, ast.ClassDef) and any("dataclass" in ast.unparse(d) for d in cls.decorator_list)
        for field in cls.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.value is not None
    ]
    untyped = [place for place, annotation in found if annotation == "Any"]
    assert len(untyped) <= UNTYPED * len(found), "\n".join(untyped)


def test_the_four_axes_and_their_results_have_types():
    named = re.compile(r"(kernels?|gram|loss|solver|function|result)(_[xyz])?")
    untyped = []
    for path, tree in TREES.items():
        functions = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef)]
        nested = {id(inner) for f in functions for inner in ast.walk(f) if inner is not f}
        for f in functions:
            public = (not f.name.startswith("_") or f.name == "__init__") and id(f) not in nested
            for argument in [*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs] if public else []:
                if named.fullmatch(argument.arg) and getattr(argument.annotation, "id", "") == "Any":
                    untyped.append(f"{path}:{f.lineno} {f.name}({argument.arg})")
        for cls in ast.walk(tree):
            if isinstance(cls, ast.ClassDef) and any("dataclass" in ast.unparse(d) for d in cls.decorator_list):
                for field in cls.body:
                    if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                        if named.fullmatch(field.target.id) and getattr(field.annotation, "id", "") == "Any":
                            untyped.append(f"{path}:{field.lineno} {cls.name}({field.target.id})")
    assert not untyped


def test_the_counts_see_what_they_count():
    path = Path("gram/example.py")
    tree = ast.parse(
        "from ..kernels._base import Kernel\ndef f():\n    from . import dense\n    from .._array import host"
    )
    assert [(reached, names) for _, reached, names in imports(path, tree)] == [
        ("kernels", ("_base", "Kernel")),
        ("gram", ("dense",)),
        ("", ("host",)),
    ]
    assert "Kernel" in CLASSES and package(path) == "gram" and package(Path("space.py")) == ""
