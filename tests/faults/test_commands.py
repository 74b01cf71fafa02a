"""What else make does: name the repository, give an edition, make the student edition and the EPUB."""

import re
import subprocess
import sys
import zipfile
from urllib.parse import parse_qs, urlsplit

import pytest
from bs4 import BeautifulSoup

from tests.faults.minibook import SETUP, MiniBook, code_cells, prose
from tools.repository import setup_cell

pytestmark = pytest.mark.thorough
# The pages of the mini-book, and the texts that they are made from.
MINI = {"book/intro": "book/intro.md", "book/about": "book/about.md"}
MINI |= {f"notebooks/{name}": f"book/{name}.md" for name in ("mini", "second")}


def test_repository_names_it_everywhere_without_running_anything(book: MiniBook) -> None:
    url = "https://github.com/me/my-fork"
    outputs = [cell.outputs for cell in code_cells(book.notebook())]
    given_as = f"{url}.git git@github.com:me/my-fork.git {url}/tree/main http://github.com/me/my-fork/ {url}"
    for given in given_as.split():
        book.make_green("repository", f"URL={given}")
        assert f"  url: {url}\n" in book.path("_config.yml").read_text("utf-8"), given
        readme = book.path("README.md").read_text("utf-8")
        colab = "https://colab.research.google.com/github/me/my-fork/blob/main/notebooks/self-attention.ipynb"
        for place in ("https://me.github.io/my-fork/", colab, f"{url}/releases"):
            assert readme.count(f"({place})") == 1
    assert code_cells(book.notebook())[SETUP].source == setup_cell(url)
    assert [cell.outputs for cell in code_cells(book.notebook())] == outputs
    before = book.stamps(), book.stamps("run")
    book.make_green("book")
    book.make_green("notebooks")
    assert (book.stamps(), book.stamps("run")) == before, "a chapter was run again"
    page = book.path("_build/html/notebooks/mini.html").read_text("utf-8")
    assert "colab.research.google.com/github/me/my-fork/blob/main/notebooks/mini.ipynb" in page
    assert "OWNER" not in page
    shared = '<meta property="og:image" content="https://me.github.io/my-fork/_static/previews/mini.png"'
    assert shared in page and '<link rel="canonical" href="https://me.github.io/my-fork/notebooks/mini.html"' in page


def test_each_page_of_a_named_repository_leads_to_its_text_and_to_an_issue_and_says_where_it_is(book: MiniBook) -> None:
    url, home, site = "https://github.com/me/my-fork", "https://me.github.io/my-fork", book.path("_build/html")
    assert not site.joinpath("sitemap.xml").exists() and not site.joinpath("robots.txt").exists()
    book.make_green("repository", f"URL={url}")
    book.make_green("book")
    pages = {name: BeautifulSoup(site.joinpath(f"{name}.html").read_text("utf-8"), "html.parser") for name in MINI}
    for name, page in pages.items():
        assert page.select_one("a:-soup-contains('Edit this page')")["href"] == f"{url}/edit/main/{MINI[name]}"
        assert book.path(MINI[name]).exists()
        report = urlsplit(page.select_one("a:-soup-contains('Report a problem')")["href"])
        assert report.path == "/me/my-fork/issues/new"
        assert parse_qs(report.query)["title"] == [page.h1.get_text().removesuffix("#") + ": "]
        assert page.find("link", rel="canonical")["href"] == f"{home}/{name}.html"
    listed = re.findall("<loc>(.+)</loc>", site.joinpath("sitemap.xml").read_text("utf-8"))
    assert sorted(listed) == sorted(f"{home}/{name}.html" for name in MINI)
    assert f"Sitemap: {home}/sitemap.xml" in site.joinpath("robots.txt").read_text("utf-8")


def test_repository_does_not_hide_an_edit_made_by_hand(book: MiniBook) -> None:
    book.edit(prose("Other words."), by_hand=True)
    book.make_green("repository", "URL=https://github.com/me/my-fork")
    assert "mini: notebooks/mini.ipynb was edited by hand" in book.make("notebooks", "CHAPTERS=mini").stdout


@pytest.mark.parametrize("url", ["", "my-fork", "https://github.com/me", "ftp://github.com/me/my-fork"])
def test_repository_refuses_what_is_no_address(book: MiniBook, url: str) -> None:
    made = book.make("repository", f"URL={url}")
    assert made.returncode != 0 and "URL must look like https://github.com/me/my-fork" in made.stdout


def test_an_edition_is_named_everywhere_and_its_notebooks_install_it(book: MiniBook) -> None:
    url = "https://github.com/me/my-fork"
    book.make_green("repository", f"URL={url}")
    assert f"git+{url}@main" in code_cells(book.notebook())[SETUP].source
    book.path("d2lmini/__init__.py").write_text('__version__ = "0.2.0.dev0"\n')
    book.path("CITATION.cff").write_text("version: 0.2.0.dev0\ndate-released: 2026-11-01\n")
    book.path("CHANGELOG.md").write_text("# Change log\n\n## 0.2.0\n\n## 0.1.0\n\n- The first.\n")
    refused = book.make("edition", "VERSION=0.2.0")
    assert refused.returncode != 0 and "no section '## 0.2.0' that says what is new" in refused.stdout
    book.replace("CHANGELOG.md", "## 0.2.0\n", "## 0.2.0\n\n- A chapter more.\n")
    book.make_green("edition", "VERSION=0.2.0")
    assert f"git+{url}@v0.2.0" in code_cells(book.notebook())[SETUP].source
    for name in ("d2lmini/__init__.py", "CITATION.cff", "pyproject.toml"):
        assert re.search(r"version\S* ?[=:] \"?0\.2\.0\b(?!\.dev)", book.path(name).read_text("utf-8")), name
    assert "2026-11-01" not in book.path("CITATION.cff").read_text("utf-8")
    book.make_green("repository", f"URL={url}-2")
    assert f"git+{url}-2@v0.2.0" in code_cells(book.notebook())[SETUP].source
    book.make_green(".build/checked")
    book.make_green("edition", "VERSION=0.3.0.dev0")
    assert f"git+{url}-2@main" in code_cells(book.notebook())[SETUP].source


def test_student_edition_is_one_folder_with_the_package(book: MiniBook) -> None:
    book.make_green("student")
    copies = list(book.path("student/notebooks").glob("*.ipynb"))
    assert len(copies) == 2 and len(list(book.path("student").glob("d2lmini-*.whl"))) == 1
    for edition in copies:
        text = edition.read_text("utf-8")
        assert "Exercise 1.1" in text and "answer = None" in text and "olution" not in text


def test_paper_is_made_of_the_texts_and_leaves_the_pages_alone(book: MiniBook) -> None:
    pages = {path: path.stat().st_mtime_ns for path in book.path("_build/html").rglob("*")}
    book.make_green("paper")
    with zipfile.ZipFile(book.path("attention-measured.epub")) as packed:
        assert b"Show the solution of Exercise 1.1" in packed.read("notebooks/mini.xhtml")
    book.edit(prose("Other words."))
    book.make_green("paper")
    with zipfile.ZipFile(book.path("attention-measured.epub")) as packed:
        assert b"Other words." in packed.read("notebooks/mini.xhtml")
    assert {path: path.stat().st_mtime_ns for path in book.path("_build/html").rglob("*")} == pages


def test_a_chapter_whose_file_has_another_name_is_linked_by_it_and_not_run(book: MiniBook) -> None:
    book.edit(prose("See [the second](second.ipynb#exercises), a second chapter."))
    book.path("_config.yml").write_text(book.path("_config.yml").read_text("utf-8") + "\n# complete: [mini, second]\n")
    ran = book.stamps("run")
    for arguments, said in ((("third", "last"), "no book/third.md"), (("second", "mini"), "is there already")):
        refused = rename(book, *arguments)
        assert refused.returncode != 0 and said in refused.stderr
    assert rename(book, "second", "last").returncode == 0
    book.make_green("notebooks")
    assert {stamp for stamp in book.stamps("run") if stamp.startswith("mini")} <= ran
    assert "[the second](last.ipynb#exercises), a second chapter." in book.notebook().cells[0].source
    assert "# complete: [mini, last]" in book.path("_config.yml").read_text("utf-8")
    book.make_green("book")
    assert book.path("_build/html/notebooks/last.html").exists() and not book.path("notebooks/second.ipynb").exists()
    assert "url=last.html" in book.path("_build/html/notebooks/second.html").read_text("utf-8")


def rename(book: MiniBook, *names: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools.rename", *names]
    return subprocess.run(command, cwd=book.folder, check=False, capture_output=True, text=True)


def number(book: MiniBook, **first: str) -> tuple[str, str]:
    """The texts of both chapters, which have one exercise and one formula of these numbers each, counted anew."""
    for chapter, label in first.items():
        text = book.path(f"book/{chapter}.md").read_text("utf-8")
        text = text.replace("Exercise 1.1", f"Exercise {label}") + f"\n$$a \\tag{{{label}}}$$\n"
        book.path(f"book/{chapter}.md").write_text(text, "utf-8")
    assert rename(book, "--numbers").returncode == 0
    mini, second = (book.path(f"book/{chapter}.md").read_text("utf-8") for chapter in ("mini", "second"))
    return mini, second


def test_a_chapter_that_was_moved_takes_its_number_along(book: MiniBook) -> None:
    book.edit(prose("See [chapter 2](second.ipynb), exercise 2.1 and (2.1), not (2.5), in chapters 1 to 2."))
    toc = book.path("_toc.yml").read_text("utf-8")
    book.path("_toc.yml").write_text(toc.replace("/mini", "/x").replace("/second", "/mini").replace("/x", "/second"))
    mini, second = number(book, mini="1.1", second="2.1")
    assert "Exercise 2.1" in mini and "\\tag{2.1}" in mini and "Exercise 1.1" in second and "\\tag{1.1}" in second
    assert "See [chapter 1](second.ipynb), exercise 1.1 and (1.1), not (2.5), in chapters 2 to 1." in mini


def test_of_a_chapter_that_was_cut_each_file_counts_anew(book: MiniBook) -> None:
    book.edit(prose("See exercises 1.1 and 1.2, (1.1) and (1.2), [1](../notebooks/second.ipynb), in chapter 1."))
    mini, second = number(book, mini="1.1", second="1.2")
    assert "Exercise 1.1" in mini and "Exercise 2.1" in second and "\\tag{2.1}" in second
    assert "See exercises 1.1 and 2.1, (1.1) and (2.1), [2](../notebooks/second.ipynb), in chapter 1." in mini
