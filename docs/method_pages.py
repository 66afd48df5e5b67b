"""The pages of the methods: what `methods.toml` says of each, between the problem and the example of its docstring."""

import inspect
import re
import tomllib
from pathlib import Path

import mercer

FACTS = Path(__file__).with_name("methods.toml")
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)


def groups():
    """The groups of pages, as the file has them."""
    return tomllib.loads(FACTS.read_text(encoding="utf-8"))["group"]


def sections(cls):
    """The sections of a docstring by name; what stands before the first is "", without its first line."""
    first, *rest = SECTION.split(inspect.getdoc(cls))
    return {
        "": first.partition("\n")[2].strip(),
        **dict(zip(rest[::2], (text.strip() for text in rest[1::2]), strict=True)),
    }


def heading(text, line="-"):
    return f"{text}\n{line * len(text)}"


def problem(name):
    """The equation of a method with the words around it."""
    cls = getattr(mercer, name)
    first = inspect.getdoc(cls).partition("\n")[0]
    return f"`{name}`: {first[0].lower() + first[1:] if first[1].islower() else first}\n\n{sections(cls)['']}"


def example(name):
    """The example of a method, complete: what its module imports is imported."""
    text = sections(getattr(mercer, name))["Examples"]
    lines = [] if "import numpy" in text else [">>> import numpy as np"]
    names = sorted({word for word in re.findall(r"\b[A-Za-z_]+\b", text) if word in mercer.__all__})
    lines += [f">>> from mercer import {', '.join(names)}"]
    start = text.index(">>>")
    return text[:start] + "\n".join(lines) + "\n" + text[start:]


def links(page):
    """Where more is said: the reference, the guide, the gallery."""
    yield "Parameters and attributes: " + ", ".join(f":class:`~mercer.{name}`" for name in page["members"])
    if page["guide"]:
        yield "In the guide: " + ", ".join(f":doc:`/guide/{name}`" for name in page["guide"])
    if page["gallery"]:
        yield "In pictures: " + ", ".join(f":doc:`/auto_examples/plot_{name}`" for name in page["gallery"])


def text(page):
    """A page in reStructuredText."""
    parts = [
        heading(page["title"], "="),
        f"*{page['question']}*",
        heading("Problem"),
        *map(problem, page["members"]),
        heading("Solver"),
        page["solver"].strip(),
        heading("Cost"),
        page["cost"].strip(),
        heading("Example"),
        *map(example, page["members"]),
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
        "One page a method: the problem and its equation, the solver, the cost, an example, and when not to use it. "
        "If you know what you have and not what you need, start with :doc:`the chooser </guide/chooser>`.",
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
