# `make help` lists what can be made. Only `notebooks`, `frameworks`, `chapter`, `repository` and `edition` edit tracked files.
# Written for GNU make 3.81 and later (the one that macOS ships).

PYTHON ?= python3
VENV := .venv
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
PORT ?= 8000
NETWORK ?= doi.org:443

PY := $(VENV)/bin/python
READY := $(VENV)/.ready
# One process, and none of the plugins that it does not use: they take half of a short run's time.
BARE := -p no:xdist -p no:pytest_cov -p no:hypothesispytest
CHOSEN := $(if $(findstring command,$(origin FROM)),$(FROM))

# One thread a kernel: JOBS kernels run side by side, and sums come out in the same order on every machine.
export OMP_NUM_THREADS = 1
# No bars in stored outputs and in logs.
export TQDM_DISABLE = 1
# This copy of the package, even where .venv was made for another copy of the book.
export PYTHONPATH := $(CURDIR)

# Nobody looked at a page where there is no browser.
BROWSER := $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)

KNOWN := $(sort $(basename $(notdir $(shell grep -ls '^kernelspec:' book/*.md) $(wildcard notebooks/*.ipynb))))
CHAPTERS := $(KNOWN)
NOTEBOOKS := $(sort $(wildcard notebooks/*.ipynb))
FRAMEWORKS := $(sort $(basename $(notdir $(wildcard frameworks/*.md))))
# The largest first, so that no long one begins when the others are done.
TESTED := $(patsubst notebooks/%.ipynb,.build/tested/%,$(shell ls -S notebooks/*.ipynb 2>/dev/null))
PACKAGE := $(sort $(shell find d2lmini -type f ! -path '*/__pycache__/*' 2>/dev/null))
TEXTS := $(sort $(wildcard book/*.md book/*.bib book/_static/* book/_templates/*) $(shell find book/_ext -name "*.py"))
TOOLS := $(wildcard tools/*.py)
PAPER := $(wildcard tools/paper/*)
SLIDES := $(wildcard tools/slides/* tools/slides/deck/*)
TEMPLATE := $(wildcard tools/template/*)
SETTINGS := _config.yml _toc.yml
MACHINERY := $(READY) Makefile pyproject.toml conftest.py tools/kernels.py

.PHONY: help book test code site paper notebooks chapter frameworks mutants planted anywhere bench lock serve zip pdf epub slides student mark edition \
    repository links lint clean FORCE
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

help: ## this list
	@grep -hE '^[a-z]+:.*## ' Makefile | sed -E 's/^([a-z]+):.*## /make \1 — /'

# All but `help` and the server run behind a lock: two that work at once would delete each other's files.
BEHIND := $(filter-out help serve,$(MAKECMDGOALS))
ifneq ($(if $(BOOK_ALONE),,$(BEHIND)),)

.PHONY: $(BEHIND) behind
$(BEHIND): behind
	@:
behind:
	@$(if $(shell $(PYTHON) -c 'import fcntl, pathlib' 2>/dev/null && echo 3),$(PYTHON) tools/alone.py) $(MAKE) --no-print-directory BOOK_ALONE=1 $(BEHIND)

else

book: $(READY) ## check the notebooks, run each one again and compare, build the HTML book
	@$(MAKE) --silent --no-print-directory .build/checked
	@test -n "$(TESTED)" || { echo "there is no notebook in notebooks/" >&2; exit 1; }
	@$(MAKE) --silent --no-print-directory -k -j$(JOBS) $(TESTED)
	@$(MAKE) --silent --no-print-directory _build/html/.built
	@echo "The book: _build/html/index.html"

test: ## everything that CI checks, a part only where its inputs changed: make code, make book, make site
	@$(MAKE) --no-print-directory code
	@$(MAKE) --no-print-directory book
	@$(MAKE) --no-print-directory site
	@$(MAKE) --no-print-directory paper
	@echo "Not run again: frameworks/ (its stored outputs were looked at), for which there is make frameworks"

code: $(READY) ## test what needs no page: lint, types, the package, the cells that guard a chapter, the planted faults
	@$(MAKE) --no-print-directory $(addprefix .build/passed/,lint package chapters faults)
	@echo "The code: every test passed"

site: $(READY) ## test the pages that `make book` built, their notebooks in a rehearsal of Colab, and the recipes
	@test -e _build/html/index.html || { echo "there are no pages in _build/html: make book" >&2; exit 1; }
	@$(MAKE) --no-print-directory $(addprefix .build/passed/,site colab recipes instructor)
	@$(MAKE) --silent --no-print-directory -k -j$(JOBS) $(NOTEBOOKS:notebooks/%.ipynb=.build/rehearsed/%)
	@echo "The site: every test passed"

paper: $(READY) ## test the book as one file, of `make pdf` and `make epub`, and the slides of `make slides`
	@$(MAKE) --no-print-directory $(addprefix .build/passed/,paper slides)
	@echo "The book as one file, and the slides: every test passed"

lint: $(READY)
	@$(MAKE) --no-print-directory .build/passed/lint

notebooks: $(READY) ## run the chapters whose text changed; if a notebook was edited by hand, it says how to settle that
	$(if $(CHOSEN),$(if $(findstring command,$(origin CHAPTERS)),,$(error FROM needs a chapter: CHAPTERS=... FROM=...)))
	@$(MAKE) --silent --no-print-directory -k -j$(JOBS) $(CHAPTERS:%=.build/run/%)

chapter: $(READY) ## begin a chapter: NAME=my-chapter; a small one that passes every check, for you to change
	@$(PY) -m tools.chapter "$(NAME)"
	@$(MAKE) --silent --no-print-directory notebooks CHAPTERS=$(NAME)

frameworks: ## run the same layer in other frameworks and compare, in environments of their own: 5 GB, 5 minutes the first time
	@$(MAKE) --no-print-directory -k $(FRAMEWORKS:%=.build/frameworks/%)
	@echo "The frameworks: compared. Where a notebook is new: make notebooks CHAPTERS=elsewhere"

mutants: .venv-mutants/.ready ## plant small faults into the package: does a test notice? Hours; GROUPS="attention" for a part
	@.venv-mutants/bin/python -m tools.mutants $(GROUPS) --jobs $(JOBS)

planted: $(READY) ## plant a fault of each kind into each chapter, where chance says: does its test notice? Half an hour
	@$(PY) -m tests.faults.drawn --jobs $(JOBS)

anywhere: $(READY) ## the package and the notebooks in environments that differ in one thing each: another locale, no home... Hours
	@$(PY) -m tools.anywhere --jobs $(JOBS)

bench: $(READY) ## measure the package beside PyTorch and the house beside the usual way; write the page that tells it. Half an hour
	@$(PY) -m tools.bench

lock: ## write the lower half of requirements.txt again, after a version on top has changed
	@$(PYTHON) -m tools.lock

serve: ## make the book and show it at http://localhost:8000 (PORT=8001 for another port)
	@$(MAKE) --no-print-directory book
	@$(PY) -c 'import socket; socket.create_server(("127.0.0.1", $(PORT)))' 2>/dev/null \
	    || { echo "port $(PORT) is taken; another one: make serve PORT=8001" >&2; exit 1; }
	$(PY) -m http.server --directory _build/html --bind 127.0.0.1 $(PORT)

zip: book ## the book as one file to hand around: attention-measured.zip; unpack it and open index.html
	@rm -rf .build/zip && mkdir -p .build/zip && cp -R _build/html .build/zip/attention-measured
	@$(PY) -c 'import shutil; shutil.make_archive("attention-measured", "zip", ".build/zip", "attention-measured")'
	@rm -rf .build/zip
	@echo "attention-measured.zip"

pdf: $(if $(BROWSER),attention-measured.pdf) ## the book to print and to search: attention-measured.pdf; needs Chromium
	@$(if $(BROWSER),:,echo "make pdf needs Chromium: none is installed as chromium, chromium-browser or google-chrome" >&2; exit 1)

epub: attention-measured.epub ## the book for e-readers: attention-measured.epub

slides: slides/index.html ## a lecture for each chapter, in slides/: open slides/index.html

student: $(READY) ## the notebooks without solutions, ready to hand out: student/ and attention-measured-student.zip
	@$(PY) -m tools.student

mark: $(READY) ## run and check the notebooks that came back: FROM=folder; the result is in marks/
	@test -d "$(CHOSEN)" || { echo "FROM must be a folder: make mark FROM=returned" >&2; exit 1; }
	@$(PY) -m tools.marking "$(CHOSEN)" $(JOBS)

edition: $(READY) ## give the book a version: VERSION=0.2.0; RELEASING.md says what comes before and after
	@$(PY) -m tools.edition "$(VERSION)"

repository: $(READY) ## name the repository that the pages and the setup cells point to: URL=https://github.com/me/my-fork
	$(PY) -m tools.repository "$(URL)"

links: $(READY) ## ask every link to another site whether it still leads somewhere (needs the network)
	@$(PY) -c 'import socket; socket.create_connection("$(NETWORK)".split(":"), 10)' 2>/dev/null \
	    || { echo "$(NETWORK) does not answer: is there a network? No link was asked" >&2; exit 1; }
	$(VENV)/bin/jupyter-book build . --all --builder linkcheck -q

clean: ## delete what was built, but not .venv
	rm -rf _build .build/tested .build/log .build/checked .build/passed .build/pages .build/rehearsed .build/paper student otter marks slides \
	    attention-measured-student.zip attention-measured.zip attention-measured.pdf attention-measured.epub

# ---- the environment --------------------------------------------------------------------------------------------------

# While .half-made is there an install broke off half-way: begin from nothing. An environment that somebody else made is
# only added to.
NAMED := $(or $(MAKECMDGOALS),book)
$(READY): requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(not sys.version_info >= (3, 11))' 2>/dev/null || { \
	    echo "Python 3.11 or later is needed, and $(PYTHON) is none; name it: make $(NAMED) PYTHON=python3.12" >&2; exit 1; }
	@if test -f $(VENV)/.half-made; then rm -rf $(VENV); fi
	@test -e $(VENV) || { mkdir -p $(VENV) && touch $(VENV)/.half-made && $(PYTHON) -m venv $(VENV); }
	@$(PY) -c '' || { echo "$(PY) does not run: delete $(VENV), the next run makes it anew" >&2; exit 1; }
	@rm -f $@ && touch $@.new
	@echo "Installing what requirements.txt lists into $(VENV): a minute or two, and more where PyTorch is large"
	@$(PY) -m pip install --requirement requirements.txt \
	    || { echo "installing requirements.txt into $(VENV) failed; the next run tries again" >&2; exit 1; }
	@rm -f $(VENV)/.half-made && mv $@.new $@

# The other frameworks. MXNet is a last word for Python 3.11 alone.
.venv-frameworks/.ready .venv-mxnet/.ready .venv-mutants/.ready: .venv-%/.ready: requirements-%.txt
	@$(PYTHON) -m venv --clear .venv-$*
	@echo "Installing what $< lists into .venv-$*"
	@.venv-$*/bin/python -m pip install --quiet --requirement $<
	@touch $@

# ---- what stands on what ----------------------------------------------------------------------------------------------

python = $(sort $(shell find $(1) -name '*.py' 2>/dev/null))
SHARED := $(wildcard tests/*.py)

# A chapter stands on the package without the other chapters' checkers, and on the reviews only if it reads them.
READERS := $(basename $(notdir $(shell grep -lsE 'load_reviews|small_reviews' book/*.md notebooks/*.ipynb)))
checkers = $(foreach chapter,$(subst -,_,$(1)),d2lmini/exercises/$(chapter).py d2lmini/exercises/$(chapter)/%)
unread = $(call checkers,$(filter-out $(1),$(KNOWN))) $(if $(filter $(1),$(READERS)),,d2lmini/reviews/%)
$(foreach chapter,$(KNOWN),$(eval NEEDS_chapter-$(chapter) := $(filter-out $(call unread,$(chapter)),$(PACKAGE))))

NEEDS_pages := $(TEXTS) $(NOTEBOOKS)
NEEDS_checked := $(NEEDS_pages) $(SETTINGS) $(TOOLS) $(filter %.py,$(PACKAGE)) $(call python,tests/book)
NEEDS_lint = $(filter %.py,$(PACKAGE)) $(call python,tools tests book/_ext)
NEEDS_package = $(PACKAGE) $(SHARED) $(call python,tests/package)
NEEDS_chapters = $(PACKAGE) $(TOOLS) $(SHARED) $(wildcard README.md book/*.md) $(call python,tests/chapters) \
    $(addprefix notebooks/,$(sort $(shell grep -ohsE '[a-z-]+\.ipynb' tests/chapters/*.py)))
NEEDS_faults = $(TOOLS) $(call python,tests/book tests/faults book/_ext) $(wildcard book/_templates/*) \
    $(wildcard book/_static/*) README.md _config.yml jupytext.toml .gitignore
NEEDS_site = _build/html/index.html $(TOOLS) $(SHARED) $(call python,tests/site) $(wildcard .github/workflows/*) \
    $(if $(BROWSER),,FORCE)
NEEDS_paper = attention-measured.epub $(if $(BROWSER),attention-measured.pdf,FORCE) $(call python,tests/paper)
NEEDS_instructor = $(PACKAGE) $(NOTEBOOKS) $(call python,tools tests/instructor)
NEEDS_slides = slides/index.html $(if $(BROWSER),,FORCE) tools/paper/pdf.py $(call python,tests/slides)
NEEDS_recipes = $(TEXTS) $(PACKAGE) $(TOOLS) $(TEMPLATE) $(SHARED) $(SETTINGS) $(wildcard tests/faults/minibook.py) \
    $(call python,tests/recipes tests/book tests/site tests/package) $(if $(BROWSER),,FORCE)
NEEDS_colab := $(TOOLS) $(call python,tests/colab)

# Lists of files, rewritten only when a file comes or goes: so that a deletion counts as a change.
.build/list/%: FORCE
	@mkdir -p $(@D) && printf '%s\n' $(NEEDS_$*) | cmp -s - $@ || printf '%s\n' $(NEEDS_$*) > $@

.SECONDEXPANSION:

# ---- the parts of `make test`: one that passed is not run again until a file that it stands on changes ------------------

RUN_lint = $(PY) -m ruff check . && $(PY) -m ruff format --check . && $(PY) -m mypy
RUN_package = $(PY) -m pytest -q tests/package -n $(JOBS) --dist worksteal \
    --cov=d2lmini --cov-report=term-missing:skip-covered
RUN_chapters = $(PY) -m pytest -q tests/chapters -n $(JOBS)
RUN_faults = $(PY) -m pytest -q tests/faults -n $(JOBS) --dist loadscope
# The pages that changed since they passed, by their content: each build writes all of them.
RUN_site = PAGES="$$($(PY) -m tools.pages)" $(PY) -m pytest -q tests/site -n $(JOBS) --dist worksteal -rs \
    $(if $(BROWSER),&& mv .build/pages.new .build/pages)
RUN_paper = $(PY) -m pytest -q $(BARE) -p no:nbval tests/paper -rs
RUN_instructor = $(PY) -m pytest -q tests/instructor
RUN_slides = $(PY) -m pytest -q $(BARE) -p no:nbval tests/slides -rs
RUN_recipes = $(PY) -m pytest -q tests/recipes
RUN_colab = $(PY) -m pytest -q tests/colab -k 'not ['

.build/passed/lint .build/passed/package .build/passed/chapters .build/passed/faults .build/passed/site \
.build/passed/colab .build/passed/recipes .build/passed/instructor .build/passed/paper \
.build/passed/slides: .build/passed/%: $$(NEEDS_$$*) .build/list/% $(MACHINERY)
	@mkdir -p $(@D) && touch $@.new
	$(RUN_$*)
	@mv $@.new $@

$(NOTEBOOKS:notebooks/%.ipynb=.build/rehearsed/%): .build/rehearsed/%: notebooks/%.ipynb $$(NEEDS_chapter-$$*) \
    .build/list/chapter-% $(NEEDS_colab) $(MACHINERY)
	@mkdir -p $(@D) .build/log && touch $@.new
	@$(PY) -m pytest -q --no-header $(BARE) -p no:nbval tests/colab -k '[$*]' > .build/log/$*.colab.txt 2>&1 \
	    && echo "$< in Colab: $$(tail -n 1 .build/log/$*.colab.txt)" \
	    || { cat .build/log/$*.colab.txt; echo "$< FAILED in the rehearsal of Colab: see above" >&2; exit 1; }
	@mv $@.new $@

# ---- from text to tested page -----------------------------------------------------------------------------------------

.build/checked: $(NEEDS_checked) .build/list/checked jupytext.toml $(MACHINERY)
	@touch $@.new
	@$(PY) -m pytest -q --no-header --tb=line $(BARE) -p no:nbval tests/book
	@mv $@.new $@

# The stamp gets the time at which the run began: an edit made meanwhile still counts.
$(TESTED): .build/tested/%: notebooks/%.ipynb $$(NEEDS_chapter-$$*) .build/list/chapter-% $(MACHINERY)
	@mkdir -p $(@D) .build/log && touch $@.new
	@echo "$<: is run and compared"
	@$(PY) -m pytest -q --no-header $(BARE) --nbval --nbval-current-env \
	    --junitxml=.build/log/$*.xml $< > .build/log/$*.txt 2>&1 \
	    && echo "$<: $$(tail -n 1 .build/log/$*.txt)" \
	    || { cat .build/log/$*.txt; echo "$< FAILED: see above" >&2; exit 1; }
	@mv $@.new $@

# From scratch each time: an incremental Sphinx build can call a broken page whole, and keeps deleted chapters.
_build/html/.built: $(TESTED) $(TEXTS) $(SETTINGS) tools/outputs.py .build/list/pages $(MACHINERY)
	@rm -rf _build && touch .build/html.new
	@$(VENV)/bin/jupyter-book build . --all -n -W --keep-going -q > .build/html.log 2>&1 \
	    || { cat .build/html.log; echo "the pages could not be built: see above" >&2; exit 1; }
	@mv .build/html.new $@

# The book as one page, of which PDF and EPUB are made. The page on this build tells of the tests that left their logs.
.build/paper/page/index.html: $(TEXTS) $(NOTEBOOKS) $(SETTINGS) $(wildcard .build/log/*.xml) tools/outputs.py \
    tools/repository.py tools/paper/__init__.py tools/paper/arrange.py tools/paper/page.py tools/paper/page.html \
    tools/paper/writer.py tools/paper/print.css .build/list/pages $(READY) Makefile pyproject.toml
	@$(PY) -m tools.paper.page

attention-measured.pdf: .build/paper/page/index.html tools/paper/pdf.py
	@$(PY) -m tools.paper.pdf

attention-measured.epub: .build/paper/page/index.html $(addprefix tools/paper/,epub.py package.py ereader.css)
	@$(PY) -m tools.paper.epub

slides/index.html: $(NOTEBOOKS) $(SETTINGS) $(SLIDES) tools/__init__.py $(wildcard book/_static/*.css) \
    $(addprefix book/_ext/book_site/,fonts.py formulas.py) .build/list/pages $(READY) pyproject.toml
	@$(PY) -m tools.slides.build

OLD := $(shell $(PYTHON) -c 'import sys; print(sys.version_info[:2] == (3, 11))' 2>/dev/null)
.build/frameworks/%: KIND = $(if $(filter mxnet,$*),mxnet,frameworks)
.build/frameworks/%: frameworks/%.md $$(wildcard frameworks/$$*.ipynb) $(filter d2lmini/instruments/elsewhere.py d2lmini/attention/%,$(PACKAGE)) \
    tools/notebooks.py $$(if $$(filter mxnet,$$*),$(if $(filter True,$(OLD)),.venv-mxnet/.ready),.venv-frameworks/.ready)
	@mkdir -p $(@D)
	@if test "$*-$(OLD)" = mxnet-False; then echo "frameworks/$*.ipynb: not run, since MXNet needs Python 3.11"; else \
	    .venv-$(KIND)/bin/python -m tools.notebooks --framework $* && .venv-$(KIND)/bin/python -m pytest -q --no-header \
	    -p no:cacheprovider --nbval --nbval-current-env frameworks/$*.ipynb; fi
	@touch $@

# No rule makes a text or a notebook: make would call it intermediate, and delete it. A missing side is the tool's business.
$(CHAPTERS:%=.build/run/%): .build/run/%: $$(or $$(wildcard book/$$*.md),FORCE) $$(or $$(wildcard notebooks/$$*.ipynb),FORCE) \
    $$(NEEDS_chapter-$$*) .build/list/chapter-% $(READY) jupytext.toml tools/notebooks.py
	@mkdir -p $(@D) && touch $@.new
	@$(PY) -m tools.notebooks $* $(if $(CHOSEN),--from $(CHOSEN))
	@mv $@.new $@

endif
