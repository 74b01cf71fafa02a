"""The book for e-readers."""

import posixpath
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from book_site.phrases import DOUBTS, SOLUTION
from lxml import etree

from tests.paper import RAW
from tools import ROOT
from tools.notebooks.files import list_chapters
from tools.releasing.paper import EPUB
from tools.releasing.repository import read_version

pytestmark = pytest.mark.thorough

NAMES = {"h": "http://www.w3.org/1999/xhtml", "m": "http://www.w3.org/1998/Math/MathML"}
NAMES |= {"o": "http://www.idpf.org/2007/opf"}
JAR = Path("/usr/share/java/epubcheck.jar")  # where Debian has it, whose command cannot be run as it is


def find(page: Any, path: str) -> Any:
    return page.xpath(path, namespaces=NAMES)


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    with zipfile.ZipFile(EPUB) as book:
        first = book.infolist()[0]
        assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)
        return {name: book.read(name) for name in book.namelist()}


@pytest.fixture(scope="module")
def pages(files: dict[str, bytes]) -> dict[str, Any]:
    """The pages, read as the strict XML that they must be."""
    return {name: etree.fromstring(data) for name, data in files.items() if name.endswith(".xhtml")}


def test_the_package_lists_each_file_and_its_order(files: dict[str, bytes], pages: dict[str, Any]) -> None:
    package = etree.fromstring(files["content.opf"])
    names = {item.get("id"): item.get("href") for item in find(package, "//o:item")}
    assert sorted(names.values()) == sorted(set(files) - {"mimetype", "META-INF/container.xml", "content.opf"})
    assert find(package, "string(//o:meta[@property='schema:bookEdition'])") == f"Version {read_version()}"
    formulas = [name for name, page in pages.items() if find(page, "//m:math")]
    assert sorted(find(package, "//o:item[@properties='mathml']/@href")) == sorted(formulas)
    order = [names[name] for name in find(package, "//o:itemref[not(@linear)]/@idref")]
    chapters = [f"notebooks/{name}.xhtml" for name in list_chapters()]
    assert order[: len(chapters) + 1] == ["book/intro.xhtml", *chapters]
    assert sorted([*order, "nav.xhtml"]) == sorted(pages)


def test_ids_are_unique_and_links_lead_to_them(pages: dict[str, Any], files: dict[str, bytes]) -> None:
    ids = {name: find(page, "//@id") for name, page in pages.items()}
    for name, page in pages.items():
        assert len(ids[name]) == len(set(ids[name])), name
        for link in [*find(page, "//@href"), *find(page, "//@src")]:
            if not link.startswith("https://"):
                path, _, anchor = link.partition("#")
                file = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
                assert file in files and (not anchor or anchor in ids[file]), (name, link)


def test_formulas_are_mathml_with_their_tex_and_figures_drawings_with_a_description(
    pages: dict[str, Any], files: dict[str, bytes]
) -> None:
    formulas = [formula for page in pages.values() for formula in find(page, "//m:math")]
    assert len(formulas) == sum(len(find(page, "//h:*[@class='math']")) for page in pages.values()) > 1000
    assert all(formula.get("alttext") for formula in formulas)
    figures = [figure for page in pages.values() for figure in find(page, "//h:img")]
    assert len(figures) > 30
    assert all(figure.get("src").endswith(".svg") and figure.get("alt") for figure in figures)
    drawings = [data for name, data in files.items() if name.endswith(".svg")]
    # On the white ground that they get here, the light ink of the site's dark pages could not be seen.
    assert not [data for data in drawings if b"<!DOCTYPE" in data or b"prefers-color-scheme" in data]


def test_nothing_is_for_a_screen_or_a_tool_and_chinese_says_that_it_is(pages: dict[str, Any]) -> None:
    gone = " | ".join(f"//h:{name}" for name in ("math", "svg", "script", "style", "input", "button", "form"))
    shown = "//h:body//text()[not(ancestor::m:math or ancestor::h:nav)]"
    for name, page in pages.items():
        assert not find(page, gone), name
        bare = [text for text in find(page, shown) if re.search("[\u4e00-\u9fff]", text)]
        assert all(text.getparent().get("lang") for text in bare if not text.is_tail), name
        assert not (name.startswith("notebooks/") and RAW.search("".join(page.itertext()))), name


def test_chapters_are_in_the_contents_with_sections_and_folds(pages: dict[str, Any]) -> None:
    for number, name in enumerate(list_chapters(), start=1):
        page, text = pages[f"notebooks/{name}.xhtml"], (ROOT / f"book/{name}.md").read_text("utf-8")
        entry = f"//h:nav/h:ol/h:li/h:ol/h:li[h:a/@href='notebooks/{name}.xhtml']"
        title = find(pages["nav.xhtml"], f"string({entry}/h:a)")
        assert title == "".join(find(page, "//h:h1")[0].itertext()) and title.startswith(f"{number} · ")
        assert find(pages["nav.xhtml"], f"{entry}/h:ol/h:li/h:a[.='Exercises']"), name
        for kind, heading in (("solution", SOLUTION), ("check", DOUBTS)):
            folds = find(page, f"//h:details[@class='{kind}']/h:summary")
            assert len(folds) == text.count(f"\n#### {heading}\n"), (name, kind)


def test_epubcheck_finds_no_error() -> None:
    if not (JAR.exists() and shutil.which("java")):
        pytest.skip("epubcheck is not installed: the EPUB was checked only by these tests")
    checked = subprocess.run(["java", "-jar", JAR, EPUB], capture_output=True, text=True, check=False)
    assert "0 fatals / 0 errors / 0 warnings" in checked.stdout, checked.stdout + checked.stderr
