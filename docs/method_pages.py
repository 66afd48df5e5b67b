"""The pages of the methods: what `methods.toml` says of each, between the problem and the example of its docstring."""

import ast
import inspect
import re
import tomllib
from doctest import DocTestParser
from importlib import import_module
from pathlib import Path

FACTS = Path(__file__).with_name("methods.toml")
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def groups():
    """The groups of pages, as the file has them."""
    return tomllib.loads(FACTS.read_text(encoding="utf-8"))["group"]


def page_of():
    """The page of each member, by its full name."""
    return {f"mercer.{name}": page["name"] for group in groups() for page in group["page"] for name in page["members"]}


def place(name):
    """The module of a member and its name there: "inference.mmd_test" is `mmd_test` of `mercer.inference`."""
    module, _, last = f"mercer.{name}".rpartition(".")
    return module, last


def member(name):
    """The class or function of that name."""
    module, last = place(name)
    return getattr(import_module(module), last)


def sections(found):
    """The sections of a docstring by name; what stands before the first is "", without its first line."""
    first, *rest = SECTION.split(inspect.getdoc(found))
    return {
        "": first.partition("\n")[2].strip(),
        **dict(zip(rest[::2], (text.strip() for text in rest[1::2]), strict=True)),
    }


def heading(text, line="-"):
    return f"{text}\n{line * len(text)}"


def under_names(members, text):
    """What is said of each member, under its name where there are several."""
    for name in members:
        if len(members) > 1:
            yield heading(place(name)[1], "~")
        yield text(name)


def problem(name):
    """The equation of a method with the words around it, in which names are those of its module."""
    found = member(name)
    first = inspect.getdoc(found).partition("\n")[0]
    return f".. currentmodule:: {place(name)[0]}\n\n{first}\n\n{sections(found)['']}\n\n.. currentmodule:: mercer"


def example(name):
    """The example of a method, complete: what its module imports is imported."""
    text = sections(member(name))["Examples"]
    code = ast.parse("".join(part.source for part in DocTestParser().get_examples(text)))
    imported = (node for node in ast.walk(code) if isinstance(node, (ast.Import, ast.ImportFrom)))
    known = {alias.asname or alias.name for node in imported for alias in node.names}
    wanted = {node.id for node in ast.walk(code) if isinstance(node, ast.Name)} - known
    lines = [">>> import numpy as np"] if "np" in wanted else []
    for module in sorted({"mercer", place(name)[0]}):
        names = sorted(wanted.intersection(import_module(module).__all__))
        lines += [f">>> from {module} import {', '.join(names)}"] if names else []
    start = text.index(">>>")
    return text[:start] + "\n".join([*lines, text[start:]])


def links(page):
    """Where more is said: the reference, the guide, the gallery."""
    yield "All parameters and results: " + ", ".join(f":py:obj:`~mercer.{name}`" for name in page["members"])
    if page["guide"]:
        yield "In the guide: " + ", ".join(f":doc:`/guide/{name}`" for name in page["guide"])
    yield "In pictures: " + ", ".join(f":doc:`/auto_examples/plot_{name}`" for name in page["gallery"])


def text(page):
    """A page in reStructuredText."""
    parts = [
        heading(page["title"], "="),
        f"*{page['question']}*",
        heading("Problem"),
        *under_names(page["members"], problem),
        heading("Solver"),
        page["solver"].strip(),
        heading("Cost"),
        page["cost"].strip(),
        heading("Example"),
        *under_names(page["members"], example),
        heading("When not to use it"),
        page["unless"].strip(),
        heading("More"),
        "\n".join(f"- {line}" for line in links(page)),
    ]
    return ".. currentmodule:: mercer\n\n" + "\n\n".join(parts) + "\n"


def index():
    """The page of all methods, by the question that each answers."""
    parts = [
        heading("Methods", "="),
        "One page per method: the problem and its equation, the solver, the cost, an example, and when not to use it. "
        "If you do not know which method you need, start with :doc:`the chooser </guide/chooser>`.",
    ]
    for group in groups():
        rows = [f"   * - :doc:`{page['title']} <{page['name']}>`\n     - {page['question']}" for page in group["page"]]
        names = "\n".join(f"   {page['name']}" for page in group["page"])
        parts += [
            heading(group["title"]),
            ".. list-table::\n   :class: choices\n\n" + "\n".join(rows),
            f".. toctree::\n   :hidden:\n   :caption: {group['title']}\n\n{names}",
        ]
    return "\n\n".join(parts) + "\n"


def pages():
    """The text of every page, by its name."""
    return {"index": index(), **{page["name"]: text(page) for group in groups() for page in group["page"]}}


def write(folder):
    """Write the pages that changed, and remove those that are no longer."""
    folder.mkdir(exist_ok=True)
    wanted = {f"{name}.rst": content for name, content in pages().items()}
    for old in folder.glob("*.rst"):
        if old.name not in wanted:
            old.unlink()
    for name, content in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            path.write_text(content, encoding="utf-8")
