# Two commands do everything on a fresh machine: `make reproduce` and `make test`.
# The first run makes a virtual environment and installs the pinned requirements; later runs start at once. Installing without
# compiling is twice as fast: Python compiles modules on import, and only a fraction is ever imported. `make reproduce` installs
# only what it uses (and the explorer, which it names at its end): 17 s of processor time instead of 42.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SMALL_STAMP := $(VENV)/.installed_to_reproduce
WORKERS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); [ $$n -gt 8 ] && echo 8 || echo $$n)
SEED ?= 0
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Empty means unset: otherwise every process would compile the same modules again.
export PYTHONDONTWRITEBYTECODE =

.PHONY: reproduce test check docs battery clean
reproduce: $(SMALL_STAMP)
	$(BIN)/icalgebra reproduce --tier quick --out build/report

test: $(STAMP)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

# Everything that could break it, about 20 minutes on two cores; a battery that was interrupted goes on.
battery: $(STAMP)
	PYTHONPATH=tests $(BIN)/python -m battery --seed $(SEED) $(if $(PARTS),--parts $(PARTS)) $(if $(COUNTS),--counts $(COUNTS))

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --quiet
	@echo build/site/index.html

$(VENV)/.docs: $(STAMP)
	$(BIN)/pip install --quiet --no-compile --constraint constraints.txt --editable ".[docs]"
	touch $@

$(STAMP): $(VENV)/.made
	$(BIN)/pip install --quiet --no-compile --constraint constraints.txt --editable ".[dev,ray,huggingface,transformer-lens,nnsight]"
	touch $(SMALL_STAMP) $@

$(SMALL_STAMP): $(VENV)/.made
	$(BIN)/pip install --quiet --no-compile --constraint constraints.txt --editable ".[explorer]"
	touch $@

$(VENV)/.made: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(if $(LOCKED),$(BIN)/pip install --quiet --no-compile --no-deps --require-hashes --requirement requirements.lock)
	touch $@

clean:
	find src tests -name __pycache__ -prune -exec rm -rf {} +
	rm -rf $(VENV) build dist .numba_cache .pytest_cache .mypy_cache .ruff_cache
