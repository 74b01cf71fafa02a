"""The other targets: `repository`, `links`, `zip`, `student`, `help`."""

from __future__ import annotations

import re
import socket
import zipfile

import pytest

from tests.faults.minibook import SETUP, MiniBook, code_cells, prose
from tests.faults.plants import name_another_repository
from tools.repository import setup_cell


def test_repository_names_it_everywhere_without_running_anything(book: MiniBook) -> None:
    url = "https://github.com/me/my-fork"
    outputs = [cell.outputs for cell in code_cells(book.notebook())]
    for given in (
        f"{url}.git",
        "git@github.com:me/my-fork.git",
        f"{url}/tree/main",
        "http://github.com/me/my-fork/",
        url,
    ):
        book.make_green("repository", f"URL={given}")
        assert f"  url: {url}\n" in book.path("_config.yml").read_text("utf-8"), given
    assert code_cells(book.notebook())[SETUP].source == setup_cell(url)
    assert [cell.outputs for cell in code_cells(book.notebook())] == outputs
    before = book.stamps(), book.stamps("run")
    book.make_green("book")
    book.make_green("notebooks")
    assert (book.stamps(), book.stamps("run")) == before, "a chapter was run again"
    page = book.path("_build/html/notebooks/mini.html").read_text("utf-8")
    assert "colab.research.google.com/github/me/my-fork/blob/main/notebooks/mini.ipynb" in page
    assert "OWNER" not in page
    shared = '<meta property="og:image" content="https://me.github.io/my-fork/_static/cover.png"'
    assert shared in page and '<link rel="canonical" href="https://me.github.io/my-fork/notebooks/mini.html"' in page


def test_repository_mends_settings_edited_by_hand(book: MiniBook) -> None:
    name_another_repository(book)
    assert book.make(".build/checked").returncode != 0
    book.make_green("repository", "URL=https://github.com/me/my-fork")
    book.make_green(".build/checked")


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
    book.path("CITATION.cff").write_text("version: 0.2.0.dev0\n")
    book.path("CHANGELOG.md").write_text("# Change log\n\n## 0.2.0\n\n## 0.1.0\n\n- The first.\n")
    refused = book.make("edition", "VERSION=0.2.0")
    assert refused.returncode != 0 and "no section '## 0.2.0' that says what is new" in refused.stdout
    book.replace("CHANGELOG.md", "## 0.2.0\n", "## 0.2.0\n\n- A chapter more.\n")
    book.make_green("edition", "VERSION=0.2.0")
    assert f"git+{url}@v0.2.0" in code_cells(book.notebook())[SETUP].source
    for name in ("d2lmini/__init__.py", "CITATION.cff", "pyproject.toml"):
        assert re.search(r"version\S* ?[=:] \"?0\.2\.0\b(?!\.dev)", book.path(name).read_text("utf-8")), name
    book.make_green("repository", f"URL={url}-2")
    assert f"git+{url}-2@v0.2.0" in code_cells(book.notebook())[SETUP].source
    book.make_green(".build/checked")
    book.make_green("edition", "VERSION=0.3.0.dev0")
    assert f"git+{url}-2@main" in code_cells(book.notebook())[SETUP].source


@pytest.mark.parametrize("version", ["", "2", "v0.2.0", "0.2"])
def test_an_edition_has_a_version_of_three_numbers(book: MiniBook, version: str) -> None:
    made = book.make("edition", f"VERSION={version}")
    assert made.returncode != 0 and "VERSION must look like 0.2.0" in made.stdout


def test_links_to_other_sites_are_asked(book: MiniBook) -> None:
    with socket.create_server(("127.0.0.1", 0)) as there:
        network = f"NETWORK=127.0.0.1:{there.getsockname()[1]}"
        book.make_green("links", network)
        book.edit(prose("A [dead end](http://127.0.0.1:9/nothing)."))
        made = book.make("links", network)
    assert made.returncode != 0 and "http://127.0.0.1:9/nothing" in made.stdout
    offline = book.make("links", "NETWORK=127.0.0.1:9")
    assert offline.returncode != 0 and "127.0.0.1:9 does not answer: is there a network?" in offline.stdout
    assert "nothing" not in offline.stdout and "Traceback" not in offline.stdout


def test_serving_on_a_taken_port_names_another(book: MiniBook) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        made = book.make("serve", f"PORT={port}")
    assert made.returncode != 0 and f"port {port} is taken; another one: make serve PORT=8001" in made.stdout
    assert "Traceback" not in made.stdout


def test_zip_packs_the_site_with_notebooks_and_package_into_one_folder(book: MiniBook) -> None:
    book.make_green("zip")
    with zipfile.ZipFile(book.path("attention-measured.zip")) as packed:
        names = packed.namelist()
    assert all(name.startswith("attention-measured/") for name in names)
    within = {name.removeprefix("attention-measured/") for name in names}
    assert {
        "index.html",
        "book/intro.html",
        "notebooks/mini.html",
        "_sources/notebooks/mini.ipynb",
        "_static/math.woff2",
    } <= within
    assert any(re.fullmatch(r"_sources/d2lmini-[\w.]+-py3-none-any\.whl", name) for name in within)


def test_epub_is_made_of_the_texts_and_leaves_the_pages_alone(book: MiniBook) -> None:
    pages = {path: path.stat().st_mtime_ns for path in book.path("_build/html").rglob("*")}
    book.make_green("epub")
    with zipfile.ZipFile(book.path("attention-measured.epub")) as packed:
        assert b"Exercise 1.1" in packed.read("mini.xhtml") and b"Exercise 1.1" in packed.read("appendix.xhtml")
    assert "tools.paper" not in book.make_green("--trace", "epub")
    book.edit(prose("Other words."))
    book.make_green("epub")
    with zipfile.ZipFile(book.path("attention-measured.epub")) as packed:
        assert b"Other words." in packed.read("mini.xhtml")
    assert {path: path.stat().st_mtime_ns for path in book.path("_build/html").rglob("*")} == pages


def test_pdf_needs_chromium_and_says_so(book: MiniBook) -> None:
    made = book.make("pdf", "BROWSER=")
    assert made.returncode != 0 and "make pdf needs Chromium" in made.stdout
    assert not book.path("attention-measured.pdf").exists()


def test_student_edition_is_one_folder_with_the_package(book: MiniBook) -> None:
    book.make_green("student")
    copies = list(book.path("student/notebooks").glob("*.ipynb"))
    assert len(copies) == 2 and len(list(book.path("student").glob("d2lmini-*.whl"))) == 1
    for edition in copies:
        text = edition.read_text("utf-8")
        assert "Exercise 1.1" in text and "answer = None" in text and "olution" not in text


def test_marking_asks_for_a_folder(book: MiniBook) -> None:
    for arguments in ([], ["FROM=nowhere"]):
        made = book.make("mark", *arguments)
        assert made.returncode != 0 and "FROM must be a folder: make mark FROM=returned" in made.stdout


def test_help_has_a_line_for_each_target(book: MiniBook) -> None:
    lines = book.make("help").stdout.splitlines()
    assert [line.split(" — ")[0] for line in lines] == [
        f"make {target}"
        for target in [
            "help",
            "book",
            "test",
            "code",
            "site",
            "paper",
            "notebooks",
            "chapter",
            "frameworks",
            "mutants",
            "planted",
            "anywhere",
            "bench",
            "lock",
            "serve",
            "zip",
            "pdf",
            "epub",
            "slides",
            "student",
            "mark",
            "edition",
            "repository",
            "links",
            "clean",
        ]
    ]
    assert book.make().stdout.splitlines() == lines
