# leerlauf: everything a person or the CI does, one word each. `make` alone prints this list.
#
# `make demo` installs only the core, the others everything; both into .venv, from
# requirements.lock, with every hash checked, and only when the lock or pyproject.toml changed.
# `make test` also installs Azurite, the one server that comes from npm: with the npm of this
# machine, or else the one that the lock brings.

PYTHON ?= python3
WORKERS ?= auto

BIN := .venv/bin
UV := $(BIN)/uv
# Given as constraints, the hashes of the lock hold for the packages and for what builds them.
INSTALL := $(UV) pip install --quiet --python $(BIN)/python --build-constraints requirements.lock

NPM := PATH="$$PATH:$(CURDIR)/$(BIN)" npm --no-audit --no-fund --ignore-scripts --loglevel=error

# Without this, uv installs no bytecode, and where PYTHONDONTWRITEBYTECODE is set none is ever
# written: importing Prefect then takes as long as starting its server may.
export UV_COMPILE_BYTECODE = 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint format lock docs fixtures bench soak clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' Makefile

# ------------------------------------------------------------------------------------- use

demo: .venv/core ## the first result: a month of the bundled exports, charged back
	$(BIN)/leerlauf demo

# ----------------------------------------------------------------------------------- check

test: .venv/services ## all tests but the long campaigns
	$(BIN)/pytest --numprocesses $(WORKERS) --dist loadgroup

lint: .venv/all ## ruff, mypy and sqlfluff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/sqlfluff lint --disable-progress-bar sql transforms

soak: .venv/services ## the long seeded campaigns
	$(BIN)/pytest --numprocesses $(WORKERS) --timeout 0 -m soak

bench: .venv/all ## speed and memory against a plain aggregation of the same files
	$(BIN)/python -m tests.benchmarks.month
	$(BIN)/python -m tests.benchmarks.fetching

# ------------------------------------------------------------------------------------ make

format: .venv/all ## put Python and SQL into form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/sqlfluff fix --disable-progress-bar sql transforms

fixtures: .venv/all ## make the synthetic exports again, the same bytes each time
	$(BIN)/python -m fixtures.make

docs: .venv/all ## write the generated parts of the README again
	$(BIN)/python -m pipelines.docs

lock: .venv/all ## write requirements.lock and tests/services/package-lock.json again
	$(UV) pip compile pyproject.toml --quiet --all-extras --group dev --upgrade \
	    --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --custom-compile-command "make lock" --output-file requirements.lock
	rm -f tests/services/package-lock.json
	cd tests/services && $(NPM) install --package-lock-only --omit-lockfile-registry-resolved
	$(BIN)/python -m tests.services.lock_without_addresses tests/services/package-lock.json

clean: ## remove the environment and what the tools keep
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis dist

# --------------------------------------------------------------------------------- install

.venv/core: requirements.lock pyproject.toml | $(UV)
	$(INSTALL) --require-hashes --constraints requirements.lock --requirements pyproject.toml
	$(INSTALL) --no-deps --editable .
	touch $@

.venv/all: requirements.lock pyproject.toml | $(UV)
	$(INSTALL) --require-hashes --requirements requirements.lock
	$(INSTALL) --no-deps --editable .
	touch .venv/core $@

.venv/services: tests/services/package.json tests/services/package-lock.json .venv/all
	mkdir -p .venv/azurite
	cp tests/services/package.json tests/services/package-lock.json .venv/azurite
	$(NPM) ci --prefix .venv/azurite --omit=dev --omit=optional
	touch $@

# uv itself is pinned and hashed in the lock like everything else.
$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "leerlauf needs Python 3.11 or newer: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	awk '/^[a-z]/ {on = /^uv==/} on' requirements.lock > .venv/uv.txt
	$(BIN)/python -m pip install --quiet --require-hashes --requirement .venv/uv.txt
