"""Doctests of modules that need an optional library are left out where it is not installed."""

from importlib.util import find_spec

FIT = "src/mercer/solvers/fit"
NEEDS = {
    "torch": [f"{FIT}/device.py", f"{FIT}/_steps.py", f"{FIT}/_triton_steps.py"],
    "triton": [f"{FIT}/_triton_steps.py"],
}

collect_ignore = [file for library, files in NEEDS.items() if find_spec(library) is None for file in files]
