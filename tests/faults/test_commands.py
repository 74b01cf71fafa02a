"""What else is done to the whole book: name the repository, give an edition, rename and number chapters."""

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from bs4 import BeautifulSoup

from tests.faults.minibook import SETUP, MiniBook, code_cells, prose
from tools.notebooks.files import write_all
from tools.releasing.repository import setup_cell

pytestmark = pytest.mark.thorough
# The pages of the mini-book, and the texts that they are made from.
MINI = {"book/intro": "book/intro.md", "book/what-came-out": "book/what-came-out.md"}
MINI |= {f"notebooks/{name}": f"book/{name}.md" for name in ("mini", "second")}


@pytest.mark.parametrize("stopped", [FileNotFoundError, KeyboardInterrupt])
def test_files_are_written_all_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped: type[BaseException]
) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("old")
    write_text = Path.write_text

    def stop_at_the_second(path: Path, *given: str) -> int:
        if path.name.startswith("b"):
            raise stopped
        return write_text(path, *given)

    monkeypatch.setattr(Path, "write_text", stop_at_the_second)
    with pytest.raises(stopped):
        write_all({first: "new", second: "new"})
    assert first.read_text() == "old" and [*tmp_path.iterdir()] == [first]


def test_repository_names_it_everywhere_without_running_anything(book: MiniBook) -> None:
    url, home, site = "https://github.com/me/my-fork", "https://me.github.io/my-fork", book.path("_build/html")
    outputs, stamps = [cell.outputs for cell in code_cells(book.notebook())], (book.stamps(), book.stamps("run"))
    assert not site.joinpath("sitemap.xml").exists() and not site.joinpath("robots.txt").exists()
    refused = book.make("repository", "URL=https://github.com/me")
    assert refused.returncode != 0 and "URL must look like https://github.com/me/my-fork" in refused.stdout
    for given in (f"{url}.git", "git@github.com:me/my-fork.git", f"{url}/tree/main", url):
        book.make_green("repository", f"URL={given}")
        assert f"  url: {url}\n" in book.path("_config.yml").read_text("utf-8"), given
    colab = "https://colab.research.google.com/github/me/my-fork/blob/main/notebooks"
    for place in (f"{home}/", f"{colab}/self-attention.ipynb", f"{url}/releases"):
        assert book.path("README.md").read_text("utf-8").count(f"({place})") == 1
    assert code_cells(book.notebook())[SETUP].source == setup_cell(url)
    assert [cell.outputs for cell in code_cells(book.notebook())] == outputs
    book.make_green("book")
    book.make_green("notebooks")
    assert (book.stamps(), book.stamps("run")) == stamps, "a chapter was run again"
    for name, text in MINI.items():
        page = BeautifulSoup(site.joinpath(f"{name}.html").read_text("utf-8"), "html.parser")
        assert page.select_one("a:-soup-contains('Edit this page')")["href"] == f"{url}/edit/main/{text}"
        report = urlsplit(page.select_one("a:-soup-contains('Report a problem')")["href"])
        assert report.path == "/me/my-fork/issues/new"
        assert parse_qs(report.query)["title"] == [page.h1.get_text().removesuffix("#") + ": "]
        assert page.find("link", rel="canonical")["href"] == f"{home}/{name}.html"
    mini = site.joinpath("notebooks/mini.html").read_text("utf-8")
    assert f"{colab}/mini.ipynb" in mini and f"{home}/_static/previews/mini.png" in mini and "OWNER" not in mini
    listed = re.findall("<loc>(.+)</loc>", site.joinpath("sitemap.xml").read_text("utf-8"))
    assert sorted(listed) == sorted(f"{home}/{name}.html" for name in MINI)
    assert f"Sitemap: {home}/sitemap.xml" in site.joinpath("robots.txt").read_text("utf-8")
    book.edit(prose("Other words."), by_hand=True)
    book.make_green("repository", f"URL={url}")
    assert "mini: notebooks/mini.ipynb was edited by hand" in book.make("notebooks", "CHAPTERS=mini").stdout


def test_an_edition_is_named_everywhere_and_its_notebooks_install_it(book: MiniBook) -> None:
    url = "https://github.com/me/my-fork"
    book.make_green("repository", f"URL={url}")
    assert f"git+{url}@main" in code_cells(book.notebook())[SETUP].source
    book.path("d2lmini/__init__.py").write_text('__version__ = "0.2.0.dev0"\n')
    book.path("CITATION.cff").write_text("version: 0.2.0.dev0\ndate-released: 2026-11-01\n")
    book.path("CHANGELOG.md").write_text("# Change log\n\n## 0.2.0\n\n## 0.1.0\n\n- The first.\n")
    refused = book.make("repository", "VERSION=0.2.0")
    assert refused.returncode != 0 and "no section '## 0.2.0' that says what is new" in refused.stdout
    book.replace("CHANGELOG.md", "## 0.2.0\n", "## 0.2.0\n\n- A chapter more.\n")
    book.make_green("repository", "VERSION=0.2.0")
    assert f"git+{url}@v0.2.0" in code_cells(book.notebook())[SETUP].source
    for name in ("d2lmini/__init__.py", "CITATION.cff", "pyproject.toml"):
        assert re.search(r"version\S* ?[=:] \"?0\.2\.0\b(?!\.dev)", book.path(name).read_text("utf-8")), name
    assert "2026-11-01" not in book.path("CITATION.cff").read_text("utf-8")
    book.make_green(".build/checked")
    book.make_green("repository", "VERSION=0.3.0.dev0")
    assert f"git+{url}@main" in code_cells(book.notebook())[SETUP].source


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
    command = [sys.executable, "-m", "tools.writing.rename", *names]
    return subprocess.run(command, cwd=book.folder, check=False, capture_output=True, text=True)


def test_chapters_that_were_moved_or_cut_get_their_numbers(book: MiniBook) -> None:
    """The second was cut from the first, and counts on; then the two change places in the table of contents."""
    book.edit(prose("See exercises 1.1 and 1.2, (1.1) and (1.2), [1](../notebooks/second.ipynb), in chapter 1."))
    for chapter, label in (("mini", "1.1"), ("second", "1.2")):
        book.replace(f"book/{chapter}.md", "Exercise 1.1", f"Exercise {label}")
        book.replace(f"book/{chapter}.md", "## Exercises", f"$$a \\tag{{{label}}}$$\n\n## Exercises")
    assert rename(book, "--numbers").returncode == 0
    said = "See exercises {0}.1 and {1}.1, ({0}.1) and ({1}.1), [{1}](../notebooks/second.ipynb), in chapter {0}."
    mini, second = (book.path(f"book/{chapter}.md").read_text("utf-8") for chapter in ("mini", "second"))
    assert said.format(1, 2) in mini and "Exercise 2.1" in second and "\\tag{2.1}" in second
    toc = book.path("_toc.yml").read_text("utf-8")
    book.path("_toc.yml").write_text(toc.replace("/mini", "/x").replace("/second", "/mini").replace("/x", "/second"))
    assert rename(book, "--numbers").returncode == 0
    mini, second = (book.path(f"book/{chapter}.md").read_text("utf-8") for chapter in ("mini", "second"))
    assert said.format(2, 1) in mini and "\\tag{2.1}" in mini and "Exercise 1.1" in second
