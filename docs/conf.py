"""Sphinx configuration; build with `make docs`."""

import inspect
import os
import sys
from importlib import import_module
from importlib.metadata import version as installed_version
from pathlib import Path

from docutils.parsers.rst.states import Inliner
from sphinx.util.nodes import make_refnode

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
import benchmark_results  # noqa: E402
import deviations  # noqa: E402
import gallery  # noqa: E402
import method_pages  # noqa: E402

os.environ.setdefault("MPLBACKEND", "agg")

project = "Mercer"
copyright = "Mercer developers"
author = "Mercer developers"
release = version = installed_version("mercer")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # MathJax travels with the pages, which then need no network
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
nitpicky = False
suppress_warnings = ["ref.term"]  # docstrings inherited from scikit-learn refer to its own glossary
default_role = "py:obj"  # `Dense` in a docstring links to its page

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_context = {"page_of": method_pages.page_of()}  # from the reference of a method to its page
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
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
    "write_computation_times": False,
    "capture_repr": ("_repr_html_",),  # a report shows itself, as in a notebook
    "remove_config_comments": True,
    "thumbnail_size": (750, 450),
    "image_srcset": ["2x"],  # sharp on dense screens
}

html_theme = "pydata_sphinx_theme"
html_title = f"Mercer {release}"
html_theme_options = {
    "logo": {"text": "Mercer"},
    "show_nav_level": 1,
    "navigation_depth": 2,
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {"index": [], "design": []}
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["mercer.css"]


def skip_member(app, what, name, obj, skip, options):
    """Leave out what scikit-learn and Python add to a class: it is documented there."""
    if name.startswith("set_") and name.endswith("_request"):
        return True
    module = inspect.getmodule(inspect.unwrap(obj)) if callable(obj) else None
    if module is not None and module.__name__.split(".")[0] != "mercer":
        return True
    return True if told_by_base(app.env.docname, name) else None


def told_by_base(docname, name):
    """Whether a kernel's page may leave out a member, because the page of `Kernel` tells it or it is a building block.

    What remains are the members that none of its base classes has, and its abilities.
    """
    module, _, cls = docname.rpartition("/")[2].rpartition(".")
    if not module.startswith("mercer.kernels"):
        return False
    cls = getattr(import_module(module), cls)
    bases = [base for base in cls.__mro__[1:] if base.__module__.startswith("mercer.")]
    return name not in getattr(cls, "abilities", ()) and any(name in vars(base) for base in bases)


def write_methods(app, config):
    """Write the pages of the methods before Sphinx looks for pages."""
    method_pages.write(DOCS / "methods")


def group_examples(app):
    """Put the examples under headings, after sphinx-gallery has written their index."""
    index = DOCS / "auto_examples" / "index.rst"
    index.write_text(gallery.grouped(index.read_text(encoding="utf-8")), encoding="utf-8")


def close_code(app, docname, source):
    """Take the empty line off the end of a code block, which only doctest needs."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def put_results(app, docname, source):
    """Put what the benchmarks found in its place on their page."""
    if docname == "guide/performance":
        folder = DOCS.parent / "benchmarks" / "results"
        for path in (benchmark_results.__file__, folder, *folder.glob("*.json")):
            app.env.note_dependency(str(path))  # so that a new result makes the page anew
        source[0] = source[0].replace(benchmark_results.PLACE, benchmark_results.text(folder))


def put_deviations(app, docname, source):
    """Put the table of scikit-learn's tests that do not pass in its place on the page of conventions."""
    if docname == "guide/conventions":
        table = DOCS.parent / "tests" / "peers" / "deviations.toml"
        for path in (deviations.__file__, table):
            app.env.note_dependency(str(path))
        source[0] = source[0].replace(deviations.PLACE, deviations.text(table))


def find_anywhere(app, env, node, contnode):
    """Link a class by its name alone from the pages of other modules: `SVC` in `mercer.selection` is `mercer.SVC`."""
    target = node["reftarget"]
    if node.get("refdomain") != "py" or not target[:1].isupper():
        return None
    found = [match for match in env.domains["py"].find_obj(env, None, None, target, "class", 1) if not match[1].aliased]
    if len(found) != 1:  # unknown, or a name that two modules have
        return None
    name, entry = found[0]
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, contnode, name)


def plain_bar(inliner, match, lineno):
    """Read |x| in a docstring as an absolute value; reST would take it for a substitution, which we never use."""
    end = match.end("start")
    return match.string[:end], [], match.string[end:], []


def setup(app):
    Inliner.dispatch["|"] = plain_bar
    app.connect("config-inited", write_methods)
    app.connect("builder-inited", group_examples, priority=900)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("source-read", close_code)
    app.connect("source-read", put_results)
    app.connect("source-read", put_deviations)
    app.connect("missing-reference", find_anywhere)
