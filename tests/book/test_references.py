"""The bibliography: a reader who looks for "Press et al. (2021)" finds that name and that year in it."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from book_site.phrases import CHAPTER

from tools.notebooks.files import TEXTS, list_chapters

pytestmark = pytest.mark.recipe("A chapter")

PAGES = sorted(TEXTS.glob("*.md"))


@dataclass(frozen=True)
class Work:
    """An entry of references.bib, as far as the text uses it."""

    key: str
    title: str
    surname: str
    year: str
    address: str


def field(entry: str, name: str) -> str:
    found = re.search(rf"^  {name} = \{{(.*)\}},$", entry, re.MULTILINE)
    return found[1] if found else ""


def read_works(bibliography: str) -> list[Work]:
    works = []
    for entry in re.split(r"^@\w+\{", bibliography, flags=re.MULTILINE)[1:]:
        doi = field(entry, "doi")
        address = field(entry, "url") or (doi and f"https://doi.org/{doi}")
        surname = field(entry, "author").partition(",")[0]
        works.append(Work(entry.partition(",")[0], field(entry, "title"), surname, field(entry, "year"), address))
    return works


WORKS = {work.address: work for work in read_works((TEXTS / "references.bib").read_text("utf-8"))}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_citation_names_the_author_and_the_year_of_the_entry(page: Path) -> None:
    for text, address in re.findall(r"\[([^\][]+?)\]\((https?://[^)\s]+)\)", page.read_text("utf-8")):
        if not (cited := re.fullmatch(r"(.+?)(?: et al\.| and [^\d]+?)?,? \(?((?:19|20)\d\d)\)?", text)):
            continue
        assert address in WORKS, f"{page.name}: {text}: {address} is not in references.bib"
        work = WORKS[address]
        assert cited.groups() == (work.surname, work.year), (
            f"{page.name}: {text!r} is {work.surname}, {work.year} in references.bib"
        )


@pytest.mark.parametrize("work", WORKS.values(), ids=lambda work: work.key)
def test_an_entry_can_be_found_and_is_printed_as_it_was_written(work: Work) -> None:
    assert any(f"({work.address})" in page.read_text("utf-8") for page in PAGES), f"{work.key}: no page cites it"
    version = re.search(r"arxiv\.org/abs/(\d\d)", work.address)
    assert not version or work.year == f"20{version[1]}", f"{work.key}: the year is that of the first version on arXiv"
    unprotected = re.search(r"[A-Z]\w*", re.sub(r"\{[^}]*\}", "", work.title)[1:])
    assert not unprotected, f"{work.key}: {unprotected[0]!r} loses its capital without braces"  # type: ignore[index]


NUMBERED = re.compile(r"\[(?i:" + CHAPTER.format(r"(\d+)") + r")\]\((?:\.\./notebooks/)?([\w-]+)\.ipynb")


def test_a_link_that_names_the_number_of_a_chapter_leads_there() -> None:
    order = list_chapters()
    for path in sorted(TEXTS.glob("*.md")):
        for number, name in NUMBERED.findall(path.read_text("utf-8")):
            assert order.index(name) + 1 == int(number), (
                f"book/{path.name}: {name} is not {number}: tools.writing.rename --numbers"
            )
