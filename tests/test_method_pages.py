"""Every method has its page, and every page shows code that runs as it stands there and an example in the gallery."""

import doctest
import inspect
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import mercer
from mercer import inference, preimage, selection
from mercer.kernels import Kernel

DOCS = Path(__file__).resolve().parents[1] / "docs"
EXAMPLES = sorted((DOCS.parent / "examples").glob("plot_*.py"))


def module(name):
    spec = spec_from_file_location(name, DOCS / f"{name}.py")
    loaded = module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


method_pages, gallery = module("method_pages"), module("gallery")
PAGES = [page for group in method_pages.groups() for page in group["page"]]


def public(module, kind):
    return {name for name in module.__all__ if kind(getattr(module, name))}


def is_estimator(found):
    return inspect.isclass(found) and issubclass(found, BaseEstimator) and not issubclass(found, Kernel)


def test_every_method_has_one_page():
    ways_back = public(preimage, is_estimator) - {"PreImage", "Auto"}  # the base, and the choice among the others
    methods = [
        *public(mercer, is_estimator),
        *(f"inference.{name}" for name in public(inference, lambda f: is_estimator(f) or inspect.isfunction(f))),
        *(f"preimage.{name}" for name in ways_back),
        *(f"selection.{name}" for name in public(selection, is_estimator)),
    ]
    assert sorted(name for page in PAGES for name in page["members"]) == sorted(methods)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page["name"])
def test_page(page):
    content = method_pages.text(page)
    assert ".. math::" in content
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(doctest.DocTestParser().get_doctest(content, {}, page["name"], None, 0))
    assert runner.failures == 0 and runner.tries > 2
    for name in page["guide"]:
        assert (DOCS / "guide" / f"{name}.md").exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page["name"])
def test_gallery_shows_every_member(page):
    examples = [DOCS.parent / "examples" / f"plot_{name}.py" for name in page["gallery"]]
    code = "".join(path.read_text(encoding="utf-8") for path in examples)
    for name in page["members"]:
        assert re.search(rf"\b{name.rpartition('.')[2]}\(", code), name


def test_example_imports_what_it_lacks_and_no_more():
    assert method_pages.example("inference.mmd_test").startswith(
        ">>> import numpy as np\n>>> from mercer.inference import mmd_test\n>>> rng"
    )
    assert method_pages.example("MarginalTransfer").count("import KernelRidge") == 1


def test_every_example_has_one_theme():
    named = [name for theme in gallery.THEMES.values() for name in theme]
    assert sorted(named) == [path.stem.removeprefix("plot_") for path in EXAMPLES]


def test_cards_stand_under_their_themes():
    card = (
        '.. raw:: html\n\n    <div class="sphx-glr-thumbcontainer">\n\n:doc:`/auto_examples/plot_{}`\n\n'
        '.. raw:: html\n\n      <div class="sphx-glr-thumbnail-title">Title</div>\n    </div>\n\n'
    )
    cards = [card.format(path.stem.removeprefix("plot_")) for path in EXAMPLES]
    index = "Examples\n========\n\n.. raw:: html\n\n    <div>\n\n" + "".join(cards)
    page = gallery.grouped(index)
    places = [
        page.index(text) for text in ("\nAny data\n", "`/auto_examples/plot_table`", "\nUncertainty and evaluation\n")
    ]
    assert places == sorted(places)
    assert page.count("sphx-glr-thumbcontainer") == len(EXAMPLES)
    with pytest.raises(ValueError, match="name a theme for new"):
        gallery.grouped(index + card.format("new"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_reads_as_a_notebook(path):
    """Markdown sets formulas, and shows every other role of Sphinx as it is written."""
    assert not re.search(r":(?!math)\w+:`", path.read_text(encoding="utf-8"))
