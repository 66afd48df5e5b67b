"""Fixtures for the whole suite: array namespaces, reference values, real data."""

import importlib
import importlib.util
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

ORACLES = Path(__file__).parent / "oracles"
REQUIRE = os.environ.get("MERCER_REQUIRE") == "1"

# The same examples on every run, so that a red suite is red for everyone; `--hypothesis-profile=explore` looks further.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=30)
settings.register_profile(
    "explore", deadline=None, max_examples=500, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items):
    """Refuse names that differ from one process to the next: parallel workers could not agree on what to run."""
    unstable = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if unstable:
        raise pytest.UsageError(f"the name of {unstable[0]} holds an address in memory; give ids to its parameters.")


def missing(what):
    """Skip for want of `what`; fail instead where the environment promises to have everything."""
    if REQUIRE:
        pytest.fail(f"{what}, and MERCER_REQUIRE=1 is set", pytrace=False)
    pytest.skip(what)


@pytest.fixture(params=["numpy", "array_api_strict", "torch"])
def xp(request):
    """Array namespace, as `array_api_compat.array_namespace` gives it for that library's arrays."""
    if importlib.util.find_spec(request.param) is None:
        missing(f"{request.param} is not installed")
    strict = request.param == "array_api_strict"
    return importlib.import_module(request.param if strict else f"array_api_compat.{request.param}")


@pytest.fixture(scope="session")
def data_dir():
    """Folder of the real data sets, from the environment variable MERCER_DATA."""
    folder = os.environ.get("MERCER_DATA")
    if not folder:
        missing("MERCER_DATA is not set")
    if not Path(folder).is_dir():
        missing(f"MERCER_DATA = {folder} is not a folder")
    return Path(folder)


def _numeric(value):
    """Turn lists of numbers, at any depth of a parsed JSON value, into arrays; leave everything else as it is."""
    if isinstance(value, dict):
        return {key: _numeric(item) for key, item in value.items()}
    if isinstance(value, list):
        array = np.asarray(value)
        return array if array.dtype.kind in "if" else value
    return value


@pytest.fixture(scope="session")
def oracle():
    """`oracle(name)` reads tests/oracles/<name>.json: a dict whose lists of numbers are arrays."""

    def read(name):
        return _numeric(json.loads((ORACLES / f"{name}.json").read_text(encoding="utf-8")))

    return read


@pytest.fixture(autouse=True)
def _no_context_is_left():
    """A computation ends with its context: one that stays the current one would end those of later tests."""
    yield
    module = sys.modules.get("mercer.context")
    left = module and module._current.get()
    if left is not None:
        module._current.set(None)
    assert left is None, f"the context of {left.estimator!r} is still the current one"
