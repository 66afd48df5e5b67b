"""scikit-learn's own tests, from the installed package, on the drop-in classes.

What deviates stands in `deviations.toml`, each with its kind and its reason; the guide prints that table. A test that
fails and is not in the table fails here, and so does an entry of the table that passes.

The share: of the tests that ran (passed or failed; skipped ones are left out), those of kind "wording", which fail on
nothing but the words of a message (with any words they pass), are counted apart. Of the rest at least 94 % pass.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import sklearn

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
PACKAGES = Path(sklearn.__file__).parents[1]
TABLE = tomllib.loads((HERE / "deviations.toml").read_text(encoding="utf-8"))["deviation"]
KINDS = ("wording", "deviation")
CLASSES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR")
CLASSES += ("KernelRidge", "KernelPCA", "KernelDensity", "SpectralClustering")
NAMES = re.compile(rf"\b({'|'.join(CLASSES)})\b")
OWN = {
    "sklearn/svm/tests/test_svm.py",
    "sklearn/svm/tests/test_sparse.py",
    "sklearn/svm/tests/test_bounds.py",
    "sklearn/tests/test_kernel_ridge.py",
    "sklearn/decomposition/tests/test_kernel_pca.py",
    "sklearn/neighbors/tests/test_kde.py",
    "sklearn/cluster/tests/test_spectral.py",
}
OF_THIS_VERSION = pytest.mark.skipif(
    not sklearn.__version__.startswith("1.9."), reason="the table is of the tests of scikit-learn 1.9"
)
LEFT_OUT = {  # the checks of every estimator, which `tests/methods/test_sklearn.py` runs, and of every function
    "sklearn/tests/test_common.py",
    "sklearn/tests/test_public_functions.py",
}


@cache
def users():
    """The other test files that name one of the classes."""
    files = (path for path in (PACKAGES / "sklearn").rglob("test_*.py") if NAMES.search(path.read_text("utf-8")))
    return {path.relative_to(PACKAGES).as_posix() for path in files} - OWN - LEFT_OUT


def run(tests, folder, *options):
    """Outcome, error and fits of each test of these files or ids, by its id."""
    outcomes = folder / "outcomes.json"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PYTHONPATH"] = os.pathsep.join([str(HERE), *sys.path])
    options = (
        "-p",
        "substitution",
        "--outcomes",
        str(outcomes),
        "--rootdir",
        str(PACKAGES),
        "-c",
        os.devnull,
        *options,
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", "-q", "--tb=no", "--timeout=120"]
        + [str(PACKAGES / test) for test in sorted(tests)],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr  # 1: some tests failed
    return json.loads(outcomes.read_text(encoding="utf-8"))


def listed(name):
    """The entries of the table for a test; `*` in an entry stands for any characters."""
    return [
        entry for entry in TABLE for test in entry["tests"] if re.fullmatch(re.escape(test).replace(r"\*", ".*"), name)
    ]


def check(outcomes, folder):
    """Compare the outcomes with the table, and return how many tests passed, and how many failed by kind."""
    ran = {name: found for name, found in outcomes.items() if found["outcome"] in ("passed", "failed")}
    entries = {name: listed(name) for name in ran}
    assert not {name: found for name, found in entries.items() if len(found) > 1}, "listed twice"
    failed = {name for name, found in ran.items() if found["outcome"] == "failed"}
    unexpected = {name: ran[name]["error"] for name in failed if not entries[name]}
    assert not unexpected, "\n".join(f"{name}: {error}" for name, error in sorted(unexpected.items()))
    must = {name for name, found in entries.items() if found and not found[0].get("may_pass")}
    assert not (stale := sorted(must - failed)), f"pass now: {stale}"
    wording = [name for name in failed if entries[name][0]["kind"] == "wording"]
    worded = run(wording, folder, "--any-words") if wording else {}
    wrong = {name: worded[name]["error"] for name in wording if worded[name]["outcome"] != "passed"}
    assert not wrong, "more than words differs: " + "\n".join(f"{name}: {error}" for name, error in wrong.items())
    kinds = Counter(entries[name][0]["kind"] for name in failed)
    counts = {"passed": len(ran) - len(failed), **{kind: kinds[kind] for kind in KINDS}}
    print(counts)
    return counts


def test_guide_prints_the_table():
    spec = spec_from_file_location("deviations", DOCS / "deviations.py")
    page = module_from_spec(spec)
    spec.loader.exec_module(page)
    assert page.PLACE in (DOCS / "guide" / "conventions.md").read_text(encoding="utf-8")
    text = page.text(HERE / "deviations.toml")
    assert all(entry["reason"][:-1] in text for entry in TABLE)
    assert "`test_tweak_params`" in text and "[" not in text


def test_table():
    """Every entry has a kind, a reason of one sentence and tests of files that are run."""
    for entry in TABLE:
        assert set(entry) - {"may_pass"} == {"kind", "reason", "tests"} and entry["kind"] in KINDS
        assert entry["reason"].endswith(".") and "\n" not in entry["reason"]
        assert all(test.partition("::")[0] in OWN | users() for test in entry["tests"])


@OF_THIS_VERSION
@pytest.mark.long
@pytest.mark.timeout(900)
def test_own_tests_of_the_classes(tmp_path):
    outcomes = run(OWN, tmp_path)
    fits = Counter()
    for found in outcomes.values():
        fits.update(found["fits"])
    assert set(fits) == set(CLASSES), "a class was never fitted: the substitution failed"
    assert {name.partition("::")[0] for name, found in outcomes.items() if found["fits"]} == OWN
    counts = check(outcomes, tmp_path)
    assert sum(counts.values()) > 400
    assert counts["passed"] >= 0.94 * (counts["passed"] + counts["deviation"]), counts


@OF_THIS_VERSION
@pytest.mark.long
@pytest.mark.timeout(900)
def test_other_tests_that_use_the_classes(tmp_path):
    outcomes = run(users(), tmp_path)
    assert sum(bool(found["fits"]) for found in outcomes.values()) > 300
    counts = check(outcomes, tmp_path)
    assert sum(counts.values()) > 380
    assert counts["passed"] >= 0.94 * (counts["passed"] + counts["deviation"]), counts
