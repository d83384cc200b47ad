# `make demo` shows the main job, `make test` is what CI runs. Both install what they need into .venv,
# with uv where it is on the PATH and with venv and pip where it is not.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
export UV_PYTHON_DOWNLOADS := never
export UV_PYTHON := $(shell $(PYTHON) -c 'import sys; print(sys.executable)')

.PHONY: help demo test nightly cluster lint bench accuracy format build clean

help:
	@echo "make demo    size a model, write its claim, see the devices of a sample cluster that fit it"
	@echo "make test    lint, types, import contracts and all tests (what CI runs)"
	@echo "make cluster a throw-away Kubernetes for trials by hand, sample loaded (SAMPLE=mixed)"
	@echo "make lint    ruff, mypy and the import contracts only"
	@echo "make bench   the speed ratios against their peers"
	@echo "make nightly every Kubernetes minor against its own modules"
	@echo "make accuracy  cross-validation of memory and speed; rewrites docs/accuracy*.md"

# --- installs ---------------------------------------------------------------------------------

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml src/claimfit/_version.py | $(BIN)/python
ifdef UV
	$(UV) sync --quiet --frozen --inexact --no-default-groups
else
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
endif
	@touch $@

$(VENV)/.dev: $(VENV)/.core uv.lock
ifdef UV
	$(UV) sync --quiet --frozen --inexact --all-extras --group dev
else
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[llmfit]' --group dev
endif
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
ifdef UV
	$(UV) sync --quiet --frozen --inexact --all-extras --group dev --group bench
else
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
endif
	@touch $@

# --- for users --------------------------------------------------------------------------------

demo: $(VENV)/.core
	@PATH="$(abspath $(BIN)):$$PATH" sh docs/demo.sh

# --- for developers ---------------------------------------------------------------------------

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python tests/support/kubernetes_build.py
	$(BIN)/pytest --numprocesses 2 --dist loadgroup

# Every minor of Kubernetes that claimfit knows, and 5,000 manifests for lint: too long for each push.
nightly: lint
	CLAIMFIT_MINORS=all CLAIMFIT_LINT_MUTATIONS=5000 $(BIN)/pytest tests/oracle tests/cluster

SAMPLE ?= mixed
cluster: $(VENV)/.core
	@PYTHONPATH=tests $(BIN)/python -m support.throwaway_cluster $(SAMPLE)

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench
	$(BIN)/python bench/claim_cold.py
	$(BIN)/python bench/gguf_header.py
	$(BIN)/python bench/remote_bytes.py
	$(BIN)/python bench/fit_scale.py
	$(BIN)/python bench/allocator_nodes.py
	$(BIN)/python bench/selector_devices.py
	$(BIN)/python bench/explain_cold.py

accuracy: $(VENV)/.bench
	$(BIN)/python bench/accuracy_memory.py --write
	$(BIN)/python bench/accuracy_speed.py

build: $(VENV)/.dev
	$(BIN)/python -m build

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
