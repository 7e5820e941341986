# Each target does all of its own set-up, in .venv, from hash-locked requirements.
#   make serve   set up and run the service on SQLite
#   make test    set up, lint and test

# The first Python 3.11 or newer that runs and can make an environment; PYTHON= chooses another.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$p -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && command -v $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
SERVE_FLAGS ?=
COMPILE := build/uv/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --no-header

.DEFAULT_GOAL := help

help:  ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

serve: $(VENV)/.serve  ## set up and run the service; HOST, PORT and STEPCAST_… variables are honoured
	@$(BIN)/stepcast serve $(if $(HOST),--host $(HOST)) $(if $(PORT),--port $(PORT)) $(SERVE_FLAGS)

test: lint  ## set up, lint and run every test
	@$(BIN)/python -m pytest $(PYTEST_FLAGS)

lint: $(VENV)/.dev  ## ruff, mypy and the import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(VENV)/.dev  ## let ruff rewrite
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.dev  ## print the table of docs/performance.md
	@$(BIN)/python -m benchmarks.http $(BENCH_FLAGS)

calibrate: $(VENV)/.dev  ## fit the constants again
	@$(BIN)/python -m validation.fit_collectives
	@$(BIN)/python -m validation.fit_fabrics
	@$(BIN)/python -m validation.fit_custom_all_reduce
	@$(BIN)/python -m validation.fit_expert_exchange > /dev/null
	@$(BIN)/python -m validation.cross_validate > /dev/null
	@$(BIN)/python -m validation.fit_kernels
	@$(BIN)/stepcast accuracy collectives --markdown docs/accuracy.md > /dev/null
	@$(BIN)/python -m validation.plots

calibrate-inference: $(VENV)/.dev  ## fit the serving engines again, and write their pages (two minutes)
	@$(BIN)/python -m validation.fit_inference > /dev/null
	@$(BIN)/python -m validation.one_b200
	@$(BIN)/stepcast accuracy inference --markdown docs/accuracy-inference.md > /dev/null

dashboards: $(VENV)/.dev  ## write dashboards/stepcast.json again
	@$(BIN)/python -m dashboards.generate

tour: $(VENV)/.dev  ## run the README's curl tour and write its output into the README
	@$(BIN)/python -m tests.readme_tour

lock:  ## resolve the requirements again
	@$(PYTHON) -m venv build/uv
	@build/uv/bin/python -m pip --disable-pip-version-check install --quiet uv
	@$(COMPILE) pyproject.toml -o requirements.txt
	@$(COMPILE) -c requirements.txt --extra dev pyproject.toml -o requirements-dev.txt
	@printf 'hatchling\neditables\n' | $(COMPILE) -c requirements-dev.txt - -o requirements-build.txt

clean:  ## remove what make made
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(VENV)/.venv:
	@test -n "$(PYTHON)" || { echo "no Python 3.11 or newer that has venv was found (on Debian: apt-get install python3-venv)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(f"{sys.executable} is Python {sys.version.split()[0]}: Stepcast needs 3.11 or newer, set PYTHON=" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.serve: $(VENV)/.venv requirements.txt requirements-build.txt pyproject.toml
	@echo "setting up $(VENV) …"
	@$(PIP) --require-hashes -r requirements-build.txt -r requirements.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.serve requirements-dev.txt
	@echo "adding what the tests need …"
	@$(PIP) --require-hashes -r requirements-dev.txt
	@touch $@

.PHONY: help serve test lint format bench calibrate dashboards tour lock clean
