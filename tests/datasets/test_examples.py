"""The examples of the loaders, which doctest skips because they need the data."""

import doctest

import pytest

from mercer import datasets

LOADERS = [name for name in datasets.__all__ if name.startswith("load_")]


@pytest.mark.parametrize("name", LOADERS)
def test_examples_of_loaders(data_dir, name):
    load = getattr(datasets, name)
    (test,) = doctest.DocTestFinder(recurse=False).find(load, name, globs={name: load})
    assert test.examples
    for example in test.examples:
        example.options.pop(doctest.SKIP, None)
    said = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=said.append)
    assert not said, "".join(said)
