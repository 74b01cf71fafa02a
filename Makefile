# Two commands: `make book` builds the pages from notebooks that were run again, `make test` is what CI checks.

PYTHON ?= python3
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
PY := .venv/bin/python
PYTEST := $(PY) -m pytest -q --no-header
# One thread a process: sums come out in the same order on every machine. No bars. This copy of the package.
export OMP_NUM_THREADS = 1
export TQDM_DISABLE = 1
export PYTHONPATH := $(CURDIR)
# Where pip is told to look for wheels, uv looks as well.
export UV_FIND_LINKS ?= $(PIP_FIND_LINKS)

KNOWN := $(sort $(basename $(notdir $(shell grep -ls '^kernelspec:' book/*.md) $(wildcard notebooks/*.ipynb))))
CHAPTERS ?= $(KNOWN)
# The largest first, so that no long one begins when the others are done.
TESTED := $(patsubst notebooks/%.ipynb,.build/tested/%,$(shell ls -S notebooks/*.ipynb 2>/dev/null))
# A chapter stands on the package, on what judges its exercises, and on their checkers, but on no other chapter's.
checkers = $(wildcard d2lmini_exercises/$(subst -,_,$(1)).py d2lmini_exercises/$(subst -,_,$(1))/*.py)
CHECKERS := $(foreach chapter,$(KNOWN),$(call checkers,$(chapter)))
PACKAGE := $(shell find d2lmini -type f ! -path '*/__pycache__/*') \
    $(filter-out $(CHECKERS),$(wildcard d2lmini_exercises/*.py)) requirements.txt conftest.py
TEXTS := $(shell find book -type f ! -path '*/__pycache__/*') _config.yml _toc.yml

.PHONY: help book test thorough notebooks chapter frameworks mxnet student slides bench mark zip pdf \
    epub repository edition clean FORCE
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SECONDEXPANSION:

help: ## this list
	@sed -nE 's/^([a-z ]+):.*## /make \1 — /p' Makefile

book: .venv/.ready ## run the notebooks that changed, compare, build the pages: _build/html/index.html
	@$(MAKE) -s --no-print-directory -k -j$(JOBS) $(TESTED) .build/checked
	@$(MAKE) -s --no-print-directory _build/html/.built
	@echo "The book: _build/html/index.html"

test: book ## everything that CI checks by day: lint, types, the package, the pages, faults planted on purpose
	$(PY) -m ruff check . && $(PY) -m ruff format --check . && $(PY) -m mypy
	$(PYTEST) -n $(JOBS) --dist worksteal -m "not thorough" -rs --ignore tests/book tests

thorough: book .venv-mutation/.ready ## what CI runs at night, and how long each part takes: every test, coverage, mutants, other surroundings
	@$(PY) -m tools.thorough $(PARTS)

notebooks: .venv/.ready ## run the chapters whose text changed, and store the result; CHAPTERS=x for one, FROM=ipynb after an edit there
	@$(if $(FROM),$(if $(filter command,$(origin CHAPTERS)),,$(error FROM needs a chapter: CHAPTERS=... FROM=...)))
	@$(MAKE) --no-print-directory -k -j$(JOBS) $(CHAPTERS:%=.build/run/%)

chapter: .venv/.ready ## begin a chapter: NAME=my-chapter; a small one that passes every check, for you to change
	@$(PY) -m tools.chapter "$(NAME)" && $(MAKE) --no-print-directory notebooks CHAPTERS="$(NAME)"

frameworks mxnet: .venv-$$@/.ready ## run the same layer in other frameworks and compare: 5 GB; mxnet needs Python 3.11
	@for text in $(if $(filter mxnet,$@),frameworks/mxnet.md,$(filter-out %/mxnet.md,$(wildcard frameworks/*.md))); do \
	    .venv-$@/bin/python -m tools.notebooks --framework $$(basename $$text .md) && \
	    .venv-$@/bin/python -m pytest -q --nbval --nbval-current-env $${text%.md}.ipynb || exit 1; done

student slides bench: .venv/.ready ## the notebooks to hand out; a lecture for each chapter; what the package costs, measured
	@$(PY) -m tools.$@

mark: .venv/.ready ## run and check the notebooks that came back: FROM=folder; the result is in marks/
	@$(PY) -m tools.marking "$(FROM)" $(JOBS)

zip: book ## the pages as one file to hand around: unpack it and open index.html
	@$(PY) -c 'import shutil; shutil.make_archive("attention-measured", "zip", "_build", "html")'

pdf epub: .venv/.ready ## the book to print (needs Chromium), or for e-readers: attention-measured.pdf, .epub
	@$(PY) -m tools.paper.page && $(PY) -m tools.paper.$@

repository edition: .venv/.ready ## name the repository: URL=https://github.com/me/my-fork; or the version: VERSION=0.2.0
	@$(PY) -m tools.repository $(if $(filter edition,$@),--version "$(VERSION)","$(URL)")

clean: ## delete what was built, but not .venv
	rm -rf _build .build student otter slides marks attention-measured*

.venv/.ready .venv-frameworks/.ready .venv-mxnet/.ready .venv-mutation/.ready: $$(subst .venv,requirements,$$(@D)).txt
	@$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Python 3.11 is needed: make PYTHON=python3.12"'
	@echo "Installing what $< lists into $(@D): a minute, and more where PyTorch is large"
	@rm -rf $(@D) && $(PYTHON) -m venv $(@D) && $(@D)/bin/python -m pip install --quiet uv==0.13.9
	@$(@D)/bin/uv pip install --quiet --compile-bytecode --python $(@D)/bin/python --requirement $< && touch $@

# The folders too: their time is that of the last file that came or went.
.build/checked: book/. notebooks/. $(TEXTS) $(wildcard notebooks/*.ipynb) $(PACKAGE) $(CHECKERS) $(wildcard tests/book/*.py)
	@mkdir -p $(@D) && $(PYTEST) -p no:xdist --tb=line tests/book && touch $@

# A stamp gets the time at which the run began: an edit made meanwhile still counts.
$(TESTED): .build/tested/%: notebooks/%.ipynb $(PACKAGE) $$(call checkers,$$*)
	@mkdir -p $(@D) .build/log && touch $@.new
	@$(PYTEST) -p no:xdist --nbval --nbval-current-env --junitxml=.build/log/$*.xml $< > .build/log/$*.txt 2>&1 || \
	    { cat .build/log/$*.txt; echo "$< FAILED: see above"; exit 1; }
	@echo "$<: $$(tail -n 1 .build/log/$*.txt)" && mv $@.new $@

_build/html/.built: $(TESTED) $(TEXTS)
	@rm -rf _build && .venv/bin/jupyter-book build . --all -n -W --keep-going -q > .build/pages.log 2>&1 || { cat .build/pages.log; exit 1; }
	@touch $@

$(CHAPTERS:%=.build/run/%): .build/run/%: $$(or $$(wildcard book/$$*.md),FORCE) $$(or $$(wildcard notebooks/$$*.ipynb),FORCE) \
    $(PACKAGE) $$(call checkers,$$*) .venv/.ready
	@mkdir -p $(@D) && touch $@.new && $(PY) -m tools.notebooks $* $(if $(FROM),--from $(FROM)) && mv $@.new $@
