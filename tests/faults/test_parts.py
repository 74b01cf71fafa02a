"""The parts of `make test`: one that passed is not run again until something changes that it stands on."""

from __future__ import annotations

import pytest

from tests.faults.minibook import MiniBook, prose

PAGES = "book/intro.html notebooks/mini.html notebooks/second.html"
# In the place of pytest: writes down for what it was called, and fails where there is a file `broken`.
NOTE = """\
#!/bin/sh
if [ "$2" != pytest ]; then exec .venv/bin/python "$@"; fi
echo "$*" "[$PAGES]" >> noted.txt
test ! -e broken
"""
CHAPTERS = "-m pytest -q tests/chapters -n 1 []"
LOOKED = "-m pytest -q tests/site -n 1 --dist worksteal -rs [{}]"
COLAB = "-m pytest -q tests/colab -k not [ []"
RECIPES = "-m pytest -q tests/recipes []"
PLAYED = (
    "-m pytest -q --no-header -p no:xdist -p no:pytest_cov -p no:hypothesispytest -p no:nbval tests/colab -k [{}] []"
)


class NotedBook(MiniBook):
    """A mini-book whose make notes how pytest would be called."""

    def call(self, *arguments: str, code: int = 0) -> list[str]:
        made = self.make(*arguments, "PY=./note", "JOBS=1")
        assert (made.returncode != 0) == bool(code), made.stdout
        notes = self.path("noted.txt")
        lines = notes.read_text().splitlines() if notes.exists() else []
        notes.unlink(missing_ok=True)
        return lines


@pytest.fixture
def noted(book: MiniBook) -> NotedBook:
    book.path("note").write_text(NOTE)
    book.path("note").chmod(0o755)
    for part in ("chapters", "site", "colab"):
        book.path(f"tests/{part}").mkdir()
    book.path("tests/chapters/test_it.py").write_text("# Runs the cells of mini.ipynb.\n")
    return NotedBook(book.folder)


def test_a_part_is_run_again_when_its_inputs_change(noted: NotedBook) -> None:
    stamp = ".build/passed/chapters"
    assert noted.call(stamp) == [CHAPTERS] and noted.call(stamp) == []
    noted.path("tests/site/test_it.py").touch()  # another part's
    assert noted.call(stamp) == []
    for chapter in ("mini", "second"):  # one is run, and the names of the package are looked for in both
        noted.edit(prose("Other words."), chapter)
        assert noted.call(stamp) == [CHAPTERS] and noted.call(stamp) == []
    other = noted.path("tests/chapters/test_other.py")
    other.touch()
    assert noted.call(stamp) == [CHAPTERS]
    other.unlink()
    assert noted.call(stamp) == [CHAPTERS] and noted.call(stamp) == []


def test_a_part_that_failed_is_run_again(noted: NotedBook) -> None:
    noted.path("broken").touch()
    for _ in range(2):
        assert noted.call(".build/passed/chapters", code=2) == [CHAPTERS]
    noted.path("broken").unlink()
    assert noted.call(".build/passed/chapters") == [CHAPTERS]
    assert noted.call(".build/passed/chapters") == []


def test_only_a_page_that_changed_is_looked_at(noted: NotedBook) -> None:
    site = ("site", "BROWSER=yes")
    first = noted.call(*site)
    assert sorted(first) == sorted(
        [LOOKED.format(PAGES), COLAB, RECIPES, PLAYED.format("mini"), PLAYED.format("second")]
    )
    assert noted.call(*site) == []
    noted.edit(prose("Other words."))
    noted.make_green("book")
    noted.path("broken").touch()
    for _ in range(2):
        assert noted.call(*site, code=2) == [LOOKED.format("notebooks/mini.html")]
    noted.path("broken").unlink()
    assert noted.call(*site) == [LOOKED.format("notebooks/mini.html"), RECIPES, PLAYED.format("mini")]


def test_what_pages_stand_on_changed_they_are_looked_at(noted: NotedBook) -> None:
    (picture,) = noted.path("_build/html/_images").glob("*.svg")
    with_it = "notebooks/mini.html notebooks/second.html"
    for path, pages in (
        (noted.path("tests/site/test_it.py"), PAGES),
        (noted.path("_build/html/_static/new.css"), PAGES),
        (picture, with_it),  # its name may stay: the build writes the colours for dark pages into it
        (noted.path("_build/html/searchindex.js"), ""),
    ):
        with path.open("a") as file:
            file.write("\n")
        noted.path("_build/html/index.html").touch()
        assert noted.call(".build/passed/site", "BROWSER=yes") == [LOOKED.format(pages)]


def test_without_a_browser_no_page_counts_as_looked_at(noted: NotedBook) -> None:
    for browser in ("", "", "yes"):
        assert noted.call(".build/passed/site", f"BROWSER={browser}") == [LOOKED.format(PAGES)]
    assert noted.call(".build/passed/site", "BROWSER=yes") == []


def test_pages_that_were_built_elsewhere_are_tested_and_not_built_again(noted: NotedBook) -> None:
    noted.path("_build/html/.built").unlink()
    assert LOOKED.format(PAGES) in noted.call("site", "BROWSER=yes")
    assert not noted.path("_build/html/.built").exists()
    noted.path("_build/html/index.html").unlink()
    made = noted.make("site")
    assert made.returncode != 0 and "there are no pages in _build/html: make book" in made.stdout
