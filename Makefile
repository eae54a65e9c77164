# Two commands do everything on a fresh machine: `make reproduce` and `make test`.
# The first run makes a virtual environment and installs the pinned requirements; later runs start at once. Installing without
# compiling is twice as fast: Python compiles modules on import, and only a fraction is ever imported.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); [ $$n -gt 8 ] && echo 8 || echo $$n)
export NUMBA_CACHE_DIR ?= $(CURDIR)/.numba_cache
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Empty means unset: otherwise every process would compile the same modules again.
export PYTHONDONTWRITEBYTECODE =

.PHONY: reproduce test check clean
reproduce: $(STAMP)
	$(BIN)/icalgebra reproduce --tier quick --out build/report

test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --no-compile --constraint constraints.txt --editable ".[dev,ray]"
	touch $@

clean:
	rm -rf $(VENV) build dist .numba_cache .pytest_cache .mypy_cache .ruff_cache
