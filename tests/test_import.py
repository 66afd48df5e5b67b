"""What `import mercer` brings with it, seen in fresh processes. How long it takes is in benchmarks/import_time.py."""

import json
import subprocess
import sys

OPTIONAL = {"torch", "dask", "matplotlib", "click", "pandas", "pywt"}
# What any scikit-learn estimator costs its user anyway; scikit-learn itself loads pandas where it is installed.
BASELINE = "import sklearn.base, sklearn.utils.validation, sklearn.metrics.pairwise, scipy.linalg, scipy.sparse.linalg"
OWN = {"mercer", "array_api_compat"}


def loaded(statement):
    """Top-level packages outside the standard library that a fresh interpreter holds after the statement."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return {name.split(".")[0] for name in json.loads(result.stdout)} - sys.stdlib_module_names


def test_import_adds_only_array_api_compat():
    added = loaded("import mercer") - loaded(BASELINE)
    # Names with an underscore are halves of packages already counted (Cython's shared types and the like).
    assert {name for name in added if not name.startswith("_")} <= OWN


def test_import_leaves_numba_for_first_use():
    everything = "import mercer.inference, mercer.plot, mercer.reports, mercer.selection, mercer.testing"
    assert not {"numba", "llvmlite"} & loaded(f"import mercer\n{everything}")


def test_import_works_without_optional_libraries():
    hide = f"""
import sys

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Hide())
"""
    held = loaded(hide + "import mercer")
    assert "mercer" in held
    assert not held & OPTIONAL


def test_packages_are_loaded_when_they_are_asked_for():
    names = ["datasets", "inference", "plot", "selection", "testing"]
    code = f"""
import sys
import mercer
assert not [name for name in {names!r} if f"mercer.{{name}}" in sys.modules]
assert all(getattr(mercer, name).__name__ == f"mercer.{{name}}" for name in {names!r})
assert set({names!r}) <= set(dir(mercer))
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_methods_are_loaded_when_they_are_asked_for():
    code = """
import sys
import mercer
assert not [name for name in sys.modules if name.startswith("mercer.methods.")]
mercer.KernelRidge
assert "mercer.methods.ridge" in sys.modules and "mercer.methods.cca" not in sys.modules
assert {"SVC", "KernelCCA", "report", "load"} <= set(dir(mercer))
from mercer import *
assert all(name in globals() for name in mercer.__all__)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_small_fits_of_plain_linear_algebra_need_no_compiler():
    code = """
import sys
import numpy as np
import mercer
X = np.random.default_rng(0).normal(size=(100, 3))
y = X[:, 0] > 0
mercer.KernelRidge().fit(X, X[:, 0]).predict(X)
mercer.KernelRidgeCV().fit(X, X[:, 0]).predict(X)
mercer.KernelRidgeClassifierCV().fit(X, y).predict(X)
mercer.KernelLogisticRegression().fit(X, y).predict(X)
mercer.KernelPCA(2).fit(X).transform(X)
mercer.KernelDensity().fit(X).score_samples(X)
mercer.KernelKMeans(2, random_state=0).fit(X)
mercer.inference.mmd_test(X, X + 1)
assert "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
