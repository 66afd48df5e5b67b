# Everything runs in .venv, which is made on first use; PYTHON names the interpreter that makes it (3.11 or later).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Two test workers on two cores: let BLAS use one thread in each.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

.PHONY: help env demo test test-all lint docs clean

help:
	@echo "make demo      learn to read digits, with a report"
	@echo "make test      lint, types and the quick tests"
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

test-all: env docs
	$(PYTEST) -m long

docs: env
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs docs/_build/html
	@echo "Documentation: docs/_build/html/index.html"

clean:
	rm -rf build dist docs/_build docs/api/generated docs/methods docs/auto_examples docs/sg_execution_times.rst
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
