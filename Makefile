# Everything runs in .venv, which is made on first use; PYTHON names the interpreter that makes it (3.11 or later).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Two test workers on two cores: let BLAS use one thread in each.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

# The lowest versions that pyproject.toml declares, together, in an environment of their own (Python 3.11 or 3.12).
LOWEST := .venv-lowest
MINIMUMS := import re, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
  needs = sum(project["optional-dependencies"].values(), project["dependencies"]); \
  print(*(need.replace(">=", "==") for need in needs if re.fullmatch(r"[\w-]+>=[\w.]+", need)), sep="\n")

.PHONY: help env demo test test-lowest test-all lint docs clean

help:
	@echo "make demo      learn to read digits, with a report"
	@echo "make test      lint, types and the quick tests"
	@echo "make test-lowest  quick tests with the lowest versions that are declared"
	@echo "make test-all  the long tests and the documentation"
	@echo "make lint      ruff and mypy only"
	@echo "make docs      the documentation, in docs/_build/html"
	@echo "make clean     remove what was built; .venv stays"

env: $(STAMP)

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Mercer needs Python 3.11 or later; name one, for example: make demo PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

demo: env
	$(BIN)/mercer demo

lint: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(PYTEST) -m "not long"

$(LOWEST)/.installed: pyproject.toml
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -c '$(MINIMUMS)' > $(LOWEST)/minimums.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(LOWEST)/minimums.txt \
	  --editable ".[plot,cli,wavelets,onnx,test]"
	@touch $@

# old versions of others warn of what is deprecated between them
test-lowest: $(LOWEST)/.installed
	NUMBA_CACHE_DIR=$(LOWEST)/compiled OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	  $(LOWEST)/bin/python -m pytest -n 2 -m "not long" -W ignore::DeprecationWarning \
	  tests/test_import.py tests/test_threads.py tests/evaluation/test_evaluator.py tests/methods/test_compiled.py tests/gram/test_base.py \
	  tests/kernels/test_base.py tests/cli/test_data.py tests/io/test_onnx.py

test-all: env docs
	$(PYTEST) -m long

docs: env
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs docs/_build/html
	@echo "Documentation: docs/_build/html/index.html"

clean:
	rm -rf build dist docs/_build docs/api/generated docs/methods docs/auto_examples docs/sg_execution_times.rst
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
