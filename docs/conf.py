"""Sphinx configuration; build with `make docs`."""

import inspect
import os
from importlib.metadata import version as installed_version

from docutils.parsers.rst.states import Inliner

os.environ.setdefault("MPLBACKEND", "agg")

project = "Mercer"
copyright = "Mercer developers"
author = "Mercer developers"
release = version = installed_version("mercer")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
nitpicky = False

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "doc_module": ("mercer",),
    "reference_url": {"mercer": None},
    "abort_on_example_error": True,
    "show_memory": False,
    "download_all_examples": False,
    "show_signature": False,
}

html_theme = "furo"
html_title = f"Mercer {release}"


def skip_member(app, what, name, obj, skip, options):
    """Leave out what scikit-learn and Python add to a class: it is documented there."""
    if name.startswith("set_") and name.endswith("_request"):
        return True
    module = inspect.getmodule(inspect.unwrap(obj)) if callable(obj) else None
    if module is not None and module.__name__.split(".")[0] != "mercer":
        return True
    return None


def plain_bar(inliner, match, lineno):
    """Read |x| in a docstring as an absolute value; reST would take it for a substitution, which we never use."""
    end = match.end("start")
    return match.string[:end], [], match.string[end:], []


def setup(app):
    Inliner.dispatch["|"] = plain_bar
    app.connect("autodoc-skip-member", skip_member)
