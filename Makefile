VENV := .venv
PYTHON := $(VENV)/bin/python
READY := $(VENV)/.ready
RUN ?= outputs/sft/ranger

.PHONY: sft test check browser clean
.DEFAULT_GOAL := help

help:  ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

$(READY): pyproject.toml
	test -x $(PYTHON) || python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -e '.[web,chat,bench,inspect,serving,train,ray,openenv,smollm2,dev]'
	touch $(READY)

sft: $(READY)  ## set up, train the embedded default by SFT, and show what the training changed
	$(PYTHON) -m trainers.sft +experiment=ranger hydra.run.dir=$(RUN) $(ARGS)
	$(PYTHON) -m benchmarks.compare run=$(RUN)

test: $(READY)  ## set up and run the tests
	$(PYTHON) -m pytest -n 2 -q $(ARGS)

check: $(READY)  ## lint, format, types, import contracts
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy
	$(VENV)/bin/lint-imports
	$(PYTHON) -m codespell_lib

browser:  ## install Chromium from Debian, for the tests of the report's page; needs root
	command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; }

clean:  ## remove the virtual environment and all outputs
	rm -rf $(VENV) outputs multirun wandb
