"""A pytest plugin that runs scikit-learn's own tests on Mercer's drop-in classes.

Loaded by `test_sklearn_suites.py` with `-p substitution` in a process of its own. It replaces the eleven classes, by
identity, in every loaded module; keeps the tests that can reach one of them; counts the fits of each test; and writes
the outcomes as JSON to the file named by `--outcomes`. With `--any-words` the messages of errors and warnings that a
test expects may have any words.
"""

import functools
import inspect
import json
import sys
import types
from pathlib import Path

import pytest

PLACES = {
    "sklearn.svm": ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR"),
    "sklearn.kernel_ridge": ("KernelRidge",),
    "sklearn.decomposition": ("KernelPCA",),
    "sklearn.neighbors": ("KernelDensity",),
    "sklearn.cluster": ("SpectralClustering",),
}
NAMES = tuple(name for names in PLACES.values() for name in names)


class Substitution:
    """Original and replacement of each class, the fits of the running test, and the outcomes."""

    def __init__(self, outcomes):
        import mercer

        self.outcomes_file = Path(outcomes)
        self.originals = {}  # id -> name; ids are safe since the classes are kept in `kept`
        self.kept = []
        for place, names in PLACES.items():
            module = __import__(place, fromlist=names)
            for name in names:
                self.kept.append(getattr(module, name))
                self.originals[id(self.kept[-1])] = name
        self.ours = {name: getattr(mercer, name) for name in NAMES}
        self.fits = {}
        self.outcomes = {}
        for name, cls in self.ours.items():
            for method in ("fit", "fit_predict", "fit_transform"):
                if hasattr(cls, method):
                    setattr(cls, method, self.counted(name, getattr(cls, method)))

    def counted(self, name, method):
        @functools.wraps(method)
        def fit(*args, **kwargs):
            self.fits[name] = self.fits.get(name, 0) + 1
            return method(*args, **kwargs)

        return fit

    def substitute(self):
        """Replace the originals wherever a module holds them, and return what was replaced."""
        replaced = []
        for key, module in list(sys.modules.items()):
            if not isinstance(module, types.ModuleType):
                continue
            for attribute, value in list(vars(module).items()):
                if id(value) in self.originals:
                    setattr(module, attribute, self.ours[self.originals[id(value)]])
                    replaced.append(f"{key}.{attribute}")
        return replaced

    def reaches(self, function, seen):
        """Whether `function`, or a function of its module that it calls, names one of the classes."""
        function = inspect.unwrap(function)
        if not isinstance(function, types.FunctionType) or function in seen:
            return False
        seen.add(function)
        names = set(names_in(function.__code__))
        if names & set(NAMES):
            return True
        values = [function.__globals__.get(name) for name in names]
        return any(
            self.holds(value)
            or (getattr(value, "__module__", None) == function.__module__ and self.reaches(value, seen))
            for value in values
        )

    def holds(self, value):
        """Whether a value is one of our classes or their objects, or a container or estimator that holds one."""
        if isinstance(value, type):
            return value in self.ours.values()
        if isinstance(value, tuple(self.ours.values())):
            return True
        if isinstance(value, dict):
            return any(map(self.holds, [*value.keys(), *value.values()]))
        if isinstance(value, (list, tuple, set)):
            return any(map(self.holds, value))
        return any(map(self.holds, vars(value).values())) if hasattr(value, "get_params") else False

    # ---- hooks

    def pytest_collection_modifyitems(self, config, items):
        late = self.substitute()  # a module that was loaded after the first pass got ours, unless it looked elsewhere
        assert not late, f"not substituted before collection: {late}"
        left = {m.__name__ for m in sys.modules.values() if isinstance(m, types.ModuleType) and self.original_in(m)}
        assert not left, f"an original class is reachable from {left}"
        kept, dropped = [], []
        for item in items:
            fixtures = [f.func for defs in item._fixtureinfo.name2fixturedefs.values() for f in defs]
            seen: set = set()
            used = any(self.reaches(f, seen) for f in [item.function, *fixtures])
            used = used or self.holds(getattr(getattr(item, "callspec", None), "params", {}))
            (kept if used else dropped).append(item)
        items[:] = kept
        config.hook.pytest_deselected(items=dropped)

    def original_in(self, module):
        return [name for name, value in list(vars(module).items()) if id(value) in self.originals]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.fits.clear()
        result = yield
        self.outcomes[item.nodeid]["fits"] = dict(self.fits)
        return result

    def pytest_runtest_logreport(self, report):
        entry = self.outcomes.setdefault(report.nodeid, {"outcome": "passed", "error": ""})
        if report.outcome != "passed" and entry["outcome"] != "failed":
            entry["outcome"] = "xfailed" if hasattr(report, "wasxfail") else report.outcome
            if report.outcome == "failed":
                crash = getattr(report.longrepr, "reprcrash", None)
                entry["error"] = crash.message if crash else report.longreprtext
        entry["seconds"] = entry.get("seconds", 0) + report.duration

    def pytest_sessionfinish(self):
        self.outcomes_file.write_text(json.dumps(self.outcomes, indent=1), encoding="utf-8")


def names_in(code):
    """Names that a code object and those inside it look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_in(constant)


def without_match(context):
    """`pytest.raises` or `pytest.warns` that asks for the type alone."""

    def any_words(*args, match=None, **kwargs):
        return context(*args, **kwargs)

    return any_words


def pytest_addoption(parser):
    parser.addoption("--outcomes", required=True, help="file for the outcomes, as JSON")
    parser.addoption(
        "--any-words", action="store_true", help="let errors and warnings of the right type have any words"
    )


def pytest_configure(config):
    substitution = Substitution(config.getoption("--outcomes"))
    assert set(NAMES) <= {place.rsplit(".", 1)[1] for place in substitution.substitute()}
    if config.getoption("--any-words"):
        for name in ("raises", "warns"):
            setattr(pytest, name, without_match(getattr(pytest, name)))
    config.pluginmanager.register(substitution, "substitution of the drop-in classes")
