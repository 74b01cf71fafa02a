"""The book for e-readers."""

import posixpath
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from book_site.phrases import DOUBTS
from lxml import etree

from tests.paper.chapters import CHINESE, RAW, list_exercises, read_text, read_title
from tools.notebooks import list_chapters
from tools.paper import EPUB
from tools.repository import read_version

pytestmark = pytest.mark.thorough

NAMES = {"h": "http://www.w3.org/1999/xhtml", "m": "http://www.w3.org/1998/Math/MathML"}
NAMES |= {"o": "http://www.idpf.org/2007/opf", "dc": "http://purl.org/dc/elements/1.1/"}
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
    return etree.fromstring(files["content.opf"])


def find(page: Any, path: str) -> Any:
    return page.xpath(path, namespaces=NAMES)


def page_of(pages: dict[str, Any], chapter: str) -> Any:
    return pages[f"notebooks/{chapter}.xhtml"]


def test_the_package_lists_each_file_and_names_the_version(files: dict[str, bytes], package: Any) -> None:
    listed = find(package, "//o:item/@href")
    assert sorted(listed) == sorted(set(files) - {"mimetype", "META-INF/container.xml", "content.opf"})
    assert find(package, "string(//o:meta[@property='schema:bookEdition'])") == f"Version {read_version()}"
    assert find(package, "string(//dc:title)") == "Attention, Measured"
    assert find(package, "//o:item[@properties='cover-image']/@href") == ["_images/cover.svg"]


def test_pages_are_read_in_order_each_once(package: Any) -> None:
    names = dict(zip(find(package, "//o:item/@id"), find(package, "//o:item/@href"), strict=True))
    order = [names[name] for name in find(package, "//o:itemref[not(@linear)]/@idref")]
    chapters = [f"notebooks/{name}.xhtml" for name in list_chapters()]
    assert order[: len(chapters) + 1] == ["book/intro.xhtml", *chapters]
    assert sorted([*order, "nav.xhtml"]) == sorted(name for name in names.values() if name.endswith(".xhtml"))


def test_each_chapter_has_an_entry_in_the_contents_with_its_sections(pages: dict[str, Any]) -> None:
    for number, name in enumerate(list_chapters(), start=1):
        chapter = f"//h:nav/h:ol/h:li/h:ol/h:li[h:a/@href='notebooks/{name}.xhtml']"
        assert find(pages["nav.xhtml"], f"string({chapter}/h:a)") == f"{number} · {read_title(name)}"
        assert find(pages["nav.xhtml"], f"{chapter}/h:ol/h:li/h:a[.='Exercises']"), name
    assert find(pages["nav.xhtml"], "//h:nav/h:ol/h:li/h:a[.='II · The Transformer']")


def test_ids_are_unique_and_links_lead_to_them(pages: dict[str, Any], files: dict[str, bytes]) -> None:
    ids = {name: find(page, "//@id") for name, page in pages.items()}
    for name, page in pages.items():
        assert len(ids[name]) == len(set(ids[name])), name
        for link in [*find(page, "//@href"), *find(page, "//@src")]:
            if not link.startswith("https://"):
                path, _, anchor = link.partition("#")
                file = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
                assert file in files and (not anchor or anchor in ids[file]), (name, link)


def test_each_formula_is_mathml_with_its_tex_beside_it(pages: dict[str, Any], package: Any) -> None:
    formulas = {name: find(page, "//m:math") for name, page in pages.items()}
    written = sum(len(find(page, "//h:*[@class='math']")) for page in pages.values())
    assert sum(map(len, formulas.values())) == written > 1000
    assert all(formula.get("alttext") for found in formulas.values() for formula in found)
    told = find(package, "//o:item[@properties='mathml']/@href")
    assert sorted(told) == sorted(name for name, found in formulas.items() if found)


def test_nothing_is_taken_for_html_that_is_not_and_nothing_asks_to_be_run_or_chosen(pages: dict[str, Any]) -> None:
    gone = " | ".join(f"//h:{name}" for name in ("math", "svg", "script", "style", "input", "button", "form"))
    assert not [name for name, page in pages.items() if find(page, gone)]


def test_chinese_words_say_that_they_are(pages: dict[str, Any]) -> None:
    shown = "//h:body//text()[not(ancestor::m:math or ancestor::h:nav)]"
    for name, page in pages.items():
        bare = [text for text in find(page, shown) if re.search("[\u4e00-\u9fff]", text)]
        assert all(text.getparent().get("lang") for text in bare if not text.is_tail), name


def test_no_formula_is_left_as_it_was_written_and_no_word_for_a_tool(pages: dict[str, Any]) -> None:
    for name in list_chapters():
        assert not RAW.search("".join(page_of(pages, name).itertext())), name
    text = "".join(page_of(pages, "self-attention").itertext())
    assert all(word in text for word in CHINESE)


def test_figures_are_drawings_with_a_description(pages: dict[str, Any], files: dict[str, bytes]) -> None:
    figures = [figure for page in pages.values() for figure in find(page, "//h:img")]
    assert len(figures) > 30
    assert all(figure.get("src").endswith(".svg") and figure.get("alt") for figure in figures)
    drawings = [data for name, data in files.items() if name.endswith(".svg")]
    # On the white ground that they get here, the light ink of the site's dark pages could not be seen.
    assert not [data for data in drawings if b"<!DOCTYPE" in data or b"prefers-color-scheme" in data]


def test_each_solution_and_each_doubt_is_folded_where_it_belongs(pages: dict[str, Any]) -> None:
    folded = "//h:details[@class='{}']/h:summary"
    solved = [fold for name in list_chapters() for fold in find(page_of(pages, name), folded.format("solution"))]
    assert len(solved) == len(list_exercises())
    for name in list_chapters():
        doubts = find(page_of(pages, name), folded.format("check"))
        assert len(doubts) == read_text(name).count(f"\n#### {DOUBTS}\n")


def test_epubcheck_finds_no_error() -> None:
    if not (JAR.exists() and shutil.which("java")):
        pytest.skip("epubcheck is not installed: the EPUB was checked only by these tests")
    checked = subprocess.run(["java", "-jar", JAR, EPUB], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert re.search(r"0 fatals / 0 errors / 0 warnings", checked.stdout)
