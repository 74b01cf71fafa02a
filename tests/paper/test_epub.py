"""The book for e-readers."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from lxml import etree, html

from tests.paper.chapters import CHINESE, RAW, list_exercises, read_text, read_title
from tools.notebooks import list_chapters
from tools.paper import EPUB, PAGE
from tools.repository import read_version

pytestmark = pytest.mark.thorough

NAMES = {
    "h": "http://www.w3.org/1999/xhtml",
    "m": "http://www.w3.org/1998/Math/MathML",
    "o": "http://www.idpf.org/2007/opf",
    "dc": "http://purl.org/dc/elements/1.1/",
}
JAR = Path("/usr/share/java/epubcheck.jar")  # where Debian has it, whose command cannot be run as it is


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    assert EPUB.exists(), "make epub"
    with zipfile.ZipFile(EPUB) as book:
        first = book.infolist()[0]
        assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)
        return {name: book.read(name) for name in book.namelist()}


@pytest.fixture(scope="module")
def pages(files: dict[str, bytes]) -> dict[str, Any]:
    """The pages, read as the strict XML that they must be."""
    return {name: etree.fromstring(data) for name, data in files.items() if name.endswith(".xhtml")}


@pytest.fixture(scope="module")
def package(files: dict[str, bytes]) -> Any:
    return etree.fromstring(files["book.opf"])


def find(page: Any, path: str) -> Any:
    return page.xpath(path, namespaces=NAMES)


def test_the_package_lists_each_file_and_names_the_version(files: dict[str, bytes], package: Any) -> None:
    listed = find(package, "//o:item/@href")
    assert sorted(listed) == sorted(set(files) - {"mimetype", "META-INF/container.xml", "book.opf"})
    assert find(package, "string(//o:meta[@property='schema:bookEdition'])") == f"Version {read_version()}"
    assert find(package, "string(//dc:title)") == "Attention, Measured"


def test_each_chapter_has_an_entry_in_the_contents(pages: dict[str, Any]) -> None:
    entries = find(pages["contents.xhtml"], "//h:nav//h:a")
    found = {entry.get("href").partition("#")[0]: "".join(entry.itertext()) for entry in reversed(entries)}
    for number, name in enumerate(list_chapters(), start=1):
        assert found[f"{name}.xhtml"] == f"{number}\u2002{read_title(name)}"
    assert found["appendix.xhtml"] == "Solutions"


def test_ids_are_unique_and_links_lead_to_them(pages: dict[str, Any], files: dict[str, bytes]) -> None:
    ids = {name: find(page, "//@id") for name, page in pages.items()}
    for name, page in pages.items():
        assert len(ids[name]) == len(set(ids[name])), name
        for link in find(page, "//h:a/@href"):
            if not link.startswith("https://"):
                file, _, anchor = link.partition("#")
                assert anchor in ids[file or name], (name, link)
        for shown in [*find(page, "//h:img/@src"), *find(page, "//h:link/@href")]:
            assert shown in files, (name, shown)


def test_each_formula_is_mathml_with_its_tex_beside_it(pages: dict[str, Any]) -> None:
    written = len(html.parse(PAGE).xpath("//*[@class='math']"))
    formulas = [formula for page in pages.values() for formula in find(page, "//m:math")]
    assert len(formulas) == written > 1000
    assert all(formula.get("alttext") for formula in formulas)


def test_nothing_is_taken_for_html_that_is_not(pages: dict[str, Any]) -> None:
    assert not [name for name, page in pages.items() if find(page, "//h:math | //h:svg")]


def test_no_formula_is_left_as_it_was_written_and_no_word_for_a_tool(pages: dict[str, Any]) -> None:
    for name in ["introduction", "appendix", *list_chapters()]:
        text = "".join(pages[f"{name}.xhtml"].itertext())
        assert not RAW.search(text), name
    text = "".join(pages["self-attention.xhtml"].itertext())
    assert all(word in text for word in CHINESE)


def test_figures_are_drawings_with_a_description(pages: dict[str, Any], files: dict[str, bytes]) -> None:
    figures = [figure for page in pages.values() for figure in find(page, "//h:img")]
    assert len(figures) > 30
    assert all(figure.get("src").endswith(".svg") and figure.get("alt") for figure in figures)
    drawings = [data for name, data in files.items() if name.endswith(".svg")]
    # On the white ground that they get here, the light ink of the site's dark pages could not be seen.
    assert not [data for data in drawings if b"<!DOCTYPE" in data or b"prefers-color-scheme" in data]


def test_each_solution_stands_at_the_end_with_links_there_and_back(pages: dict[str, Any]) -> None:
    solved = "//h:p[@class='to-fold']/h:a[.='Solution']/@href"
    there = [link for name in list_chapters() for link in find(pages[f"{name}.xhtml"], solved)]
    back = find(pages["appendix.xhtml"], "//h:p[@class='from-fold']/h:a/@href")
    assert len(there) == len(back) == len(list_exercises())
    assert all(link.startswith("appendix.xhtml#") for link in there)
    assert not any(find(pages[f"{name}.xhtml"], "//h:h4[.='Solution']") for name in list_chapters())


def test_what_is_doubted_stands_at_the_end_of_its_chapter(pages: dict[str, Any]) -> None:
    for name in list_chapters():
        doubts = find(pages[f"{name}.xhtml"], "//h:p[@class='to-fold']/h:a[.='Does this hold?']/@href")
        assert len(doubts) == read_text(name).count("\n#### Does this hold?\n")
        assert len(find(pages[f"{name}.xhtml"], "//h:p[@class='from-fold']")) == len(doubts)


def test_epubcheck_finds_no_error() -> None:
    if not (JAR.exists() and shutil.which("java")):
        pytest.skip("epubcheck is not installed: the EPUB was checked only by these tests")
    checked = subprocess.run(["java", "-jar", JAR, EPUB], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert re.search(r"0 fatals / 0 errors / 0 warnings", checked.stdout)
