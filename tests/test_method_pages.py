"""Every method has its page, and every page shows code that runs as it stands there."""

import doctest
import inspect
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import mercer

DOCS = Path(__file__).resolve().parents[1] / "docs"
SPEC = spec_from_file_location("method_pages", DOCS / "method_pages.py")
method_pages = module_from_spec(SPEC)
SPEC.loader.exec_module(method_pages)
PAGES = [page for group in method_pages.groups() for page in group["page"]]


def test_every_estimator_has_one_page():
    public = (getattr(mercer, name) for name in mercer.__all__)
    estimators = [cls.__name__ for cls in public if inspect.isclass(cls) and issubclass(cls, BaseEstimator)]
    assert sorted(name for page in PAGES for name in page["members"]) == sorted(estimators)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page["name"])
def test_page(page):
    content = method_pages.text(page)
    assert ".. math::" in content
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(doctest.DocTestParser().get_doctest(content, {}, page["name"], None, 0))
    assert runner.failures == 0 and runner.tries > 2
    for name in page["guide"]:
        assert (DOCS / "guide" / f"{name}.md").exists()
    for name in page["gallery"]:
        assert (DOCS.parent / "examples" / f"plot_{name}.py").exists()
