# `make help` lists what can be made. Nothing here edits a tracked file but `notebooks` and `repository`.
# Written for GNU make 3.81 and later (the one that macOS ships).

PYTHON ?= python3
VENV := .venv
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
PORT ?= 8000

PY := $(VENV)/bin/python
READY := $(VENV)/.ready
CHOSEN := $(if $(findstring command,$(origin FROM)),$(FROM))

# One thread a kernel: JOBS kernels run side by side, and sums come out in the same order on every machine.
export OMP_NUM_THREADS = 1
# No bars in stored outputs and in logs.
export TQDM_DISABLE = 1
# This copy of the package, even where .venv was made for another copy of the book.
export PYTHONPATH := $(CURDIR)

CHAPTERS := $(sort $(basename $(notdir $(shell grep -ls '^kernelspec:' book/*.md) $(wildcard notebooks/*.ipynb))))
NOTEBOOKS := $(sort $(wildcard notebooks/*.ipynb))
TESTED := $(NOTEBOOKS:notebooks/%.ipynb=.build/tested/%)
PACKAGE := $(sort $(shell find d2lmini -type f ! -path '*/__pycache__/*' 2>/dev/null))
TEXTS := $(sort $(wildcard book/*.md book/*.bib book/_ext/*.py book/_static/* book/_templates/*))
SETTINGS := _config.yml _toc.yml
MACHINERY := $(READY) Makefile pyproject.toml conftest.py

.PHONY: help book test notebooks serve zip student repository links lint clean FORCE
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

help: ## this list
	@grep -hE '^[a-z]+:.*## ' Makefile | sed -E 's/^([a-z]+):.*## /make \1 — /'

book: $(READY) ## check the notebooks, run each one again and compare, build the HTML book
	@$(MAKE) --silent --no-print-directory .build/checked
	@test -n "$(TESTED)" || { echo "there is no notebook in notebooks/" >&2; exit 1; }
	@$(MAKE) --silent --no-print-directory -k -j$(JOBS) $(TESTED)
	@$(MAKE) --silent --no-print-directory _build/html/.built
	@echo "The book: _build/html/index.html"

test: lint ## everything that CI checks: lint, types, the package, the book, the site, the planted faults
	$(PY) -m pytest -q tests/package tests/chapters -n $(JOBS) --cov=d2lmini --cov-report=term-missing:skip-covered
	@$(MAKE) --silent --no-print-directory book
	$(PY) -m pytest -q tests/site tests/colab -n $(JOBS) -rs
	$(PY) -m pytest -q tests/faults -n $(JOBS)

lint: $(READY)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

notebooks: $(READY) ## run again what changed: book/*.md to notebooks/*.ipynb and back; CHAPTERS=x FROM=text (or ipynb) settles a conflict
	$(if $(CHOSEN),$(if $(findstring command,$(origin CHAPTERS)),,$(error FROM needs a chapter: CHAPTERS=... FROM=...)))
	@$(MAKE) --silent --no-print-directory -k -j$(JOBS) $(CHAPTERS:%=.build/run/%)

serve: book ## show the book at http://localhost:8000 (PORT=8001 for another port)
	$(PY) -m http.server --directory _build/html --bind 127.0.0.1 $(PORT)

zip: book ## the book as one file to hand around: attention-measured.zip; unpack it and open index.html
	@rm -f attention-measured.zip
	@cd _build/html && ../../$(PY) -m zipfile -c ../../attention-measured.zip $$(ls)
	@echo "attention-measured.zip"

student: $(READY) ## the notebooks without solutions, in student/
	$(PY) -m jupyter nbconvert --log-level WARN --to notebook --output-dir student $(NOTEBOOKS) \
	    --TagRemovePreprocessor.enabled=True --TagRemovePreprocessor.remove_cell_tags=solution

repository: $(READY) ## name the repository that the pages and the setup cells point to: URL=https://github.com/me/my-fork
	$(PY) -m tools.repository "$(URL)"

links: $(READY) ## ask every link to another site whether it still leads somewhere (needs the network)
	$(VENV)/bin/jupyter-book build . --all --builder linkcheck -q

clean: ## delete what was built, but not .venv
	rm -rf _build .build/tested .build/log .build/checked student attention-measured.zip

# ---- the environment --------------------------------------------------------------------------------------------------

# While .half-made is there an install broke off half-way: begin from nothing. An environment that somebody else made is
# only added to.
$(READY): requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else \
	    "Python 3.11 or later is needed; name it: make PYTHON=python3.12")'
	@if test -f $(VENV)/.half-made; then rm -rf $(VENV); fi
	@test -e $(VENV) || { mkdir -p $(VENV) && touch $(VENV)/.half-made && $(PYTHON) -m venv $(VENV); }
	@$(PY) -c '' || { echo "$(PY) does not run: delete $(VENV), the next run makes it anew" >&2; exit 1; }
	@rm -f $@ && touch $@.new
	@$(PY) -m pip install --quiet --requirement requirements.txt \
	    || { echo "installing requirements.txt into $(VENV) failed; the next run tries again" >&2; exit 1; }
	@rm -f $(VENV)/.half-made && mv $@.new $@

# ---- from text to tested page -----------------------------------------------------------------------------------------

# Lists of files, rewritten only when a file comes or goes: so that a deletion counts as a change.
.build/files: FORCE
	@mkdir -p .build && printf '%s\n' $(TEXTS) $(NOTEBOOKS) | cmp -s - $@ || printf '%s\n' $(TEXTS) $(NOTEBOOKS) > $@

.build/package: FORCE
	@mkdir -p .build && printf '%s\n' $(PACKAGE) | cmp -s - $@ || printf '%s\n' $(PACKAGE) > $@

.build/checked: $(NOTEBOOKS) $(TEXTS) $(SETTINGS) .build/files $(wildcard tests/book/*.py tools/*.py) jupytext.toml $(MACHINERY)
	@touch $@.new
	@$(PY) -m pytest -q --no-header --tb=line tests/book
	@mv $@.new $@

# The stamp gets the time at which the run began: an edit made meanwhile still counts.
.build/tested/%: notebooks/%.ipynb $(PACKAGE) .build/package $(MACHINERY)
	@mkdir -p $(@D) .build/log && touch $@.new
	@$(PY) -m pytest -q --no-header --nbval --nbval-current-env --junitxml=.build/log/$*.xml $< > .build/log/$*.txt 2>&1 \
	    && echo "$<: $$(tail -n 1 .build/log/$*.txt)" \
	    || { cat .build/log/$*.txt; echo "$< FAILED: see above" >&2; exit 1; }
	@mv $@.new $@

# From scratch each time: an incremental Sphinx build can call a broken page whole, and keeps deleted chapters.
_build/html/.built: $(TESTED) $(TEXTS) $(SETTINGS) .build/files $(MACHINERY)
	@rm -rf _build && touch .build/html.new
	@$(VENV)/bin/jupyter-book build . --all -n -W --keep-going -q > .build/html.log 2>&1 \
	    || { cat .build/html.log; echo "the pages could not be built: see above" >&2; exit 1; }
	@mv .build/html.new $@

# No rule makes a text or a notebook: make would call it intermediate, and delete it. A missing side is the tool's business.
.SECONDEXPANSION:
$(CHAPTERS:%=.build/run/%): .build/run/%: $$(or $$(wildcard book/$$*.md),FORCE) $$(or $$(wildcard notebooks/$$*.ipynb),FORCE) \
    $(PACKAGE) .build/package $(READY) jupytext.toml tools/notebooks.py
	@mkdir -p $(@D) && touch $@.new
	@$(PY) -m tools.notebooks $* $(if $(CHOSEN),--from $(CHOSEN))
	@mv $@.new $@
