# canopy: `make help` lists what there is. Everything runs out of .venv, which `make setup` builds by itself.
SHELL := /bin/bash
PYTHON ?= $(shell for p in python3.11 python3 python3.12 python3.13; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys, venv, ensurepip; sys.exit(not ((3, 11) <= sys.version_info < (3, 14)))' 2>/dev/null \
	&& { command -v $$p; break; }; done)
BIN := .venv/bin
BENCHMARKS ?=
DATA ?=
WORKSPACE ?=
WORKERS ?= 2
.PHONY: help setup demo test test-fast lint docs deps drawings figures figures-slices ui clean

help:  ## What there is to do
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1|\2/' | while IFS='|' read -r t d; do printf '  make %-10s %s\n' "$$t" "$$d"; done

setup: .venv/ready  ## Build .venv with Python 3.11 (3.12 and 3.13: best effort); needs no CUDA

.venv/ready: pyproject.toml orchestration/pyproject.toml constraints.txt
	@if [ -z "$(PYTHON)" ]; then \
		echo "canopy needs Python 3.11 (3.12 and 3.13 may work) with the venv and ensurepip modules, and none was found."; \
		echo "Install python3.11 and python3.11-venv, or name one: make setup PYTHON=/path/to/python3.11"; exit 1; fi
	@$(PYTHON) -c 'import sys; v = sys.version_info; print(f"Building .venv with Python {v[0]}.{v[1]}" + ("" if v[:2] == (3, 11) else ": best effort, 3.11 is the tested version"))'
	@# A killed or half-made environment has no working pip: made anew; a whole one is brought up to date in place.
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	@# The constraints are the tested set on 3.11; other versions of Python resolve from the ranges in pyproject.toml.
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; then pins="-c constraints.txt"; else pins=""; fi; \
		echo "Installing (about 3 GB, a few minutes) ..."; \
		$(BIN)/python -m pip install --disable-pip-version-check -q $$pins -e '.[dev]' -e ./orchestration && $(BIN)/python -m pip check --disable-pip-version-check
	@touch .venv/ready

demo: setup  ## The whole pipeline on the starter benchmark; or BENCHMARKS="hotpotqa ott-qa" DATA=path/to/releases
	@$(BIN)/canopy demo $(if $(BENCHMARKS),--benchmarks "$(BENCHMARKS)") $(if $(DATA),--data "$(DATA)") $(if $(WORKSPACE),--workspace "$(WORKSPACE)")

test: setup  ## The whole test suite, on WORKERS=2 processes of one thread each
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

test-fast: setup  ## The suite without tests that start processes or train
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow"

lint: setup  ## ruff and mypy
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m mypy

docs: setup  ## The pages of docs/, into site/
	@NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(BIN)/python -m mkdocs build -q

drawings: setup  ## The pictures of the architecture page, from the imports and dvc.yaml
	@$(BIN)/python docs/drawings.py

figures: setup  ## The figures that the documents quote, from the outputs of make demo
	@$(BIN)/python docs/figures.py

figures-slices: setup  ## The figures of release files in docs/results.md, from the report of WORKSPACE
	@$(BIN)/python docs/figures.py slices "$(WORKSPACE)"

deps: setup  ## Write the code deps of dvc.yaml from the imports
	@$(BIN)/python -m orchestration.pipeline.code_deps

ui: setup  ## Dagster UI and MLflow on loopback; prints both addresses
	@$(BIN)/canopy ui $(if $(WORKSPACE),--workspace "$(WORKSPACE)")

clean:  ## Remove what runs made (data/, workspaces/, .canopy/, caches), not .venv
	@rm -rf data workspaces .canopy dvc.lock .dvc/cache .dvc/tmp build dist site *.egg-info .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
