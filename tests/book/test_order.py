"""The order of the book: a chapter needs what stands before it, explains before it uses, and hands over to the next."""

import re

import pytest
from book_site.phrases import EXERCISES, EXPLAINED, PREREQUISITES
from book_site.references import ORDINARY

from tests.book.chapters import COMPLETE, each_chapter, read_text
from tools.notebooks.files import TEXTS, list_chapters
from tools.notebooks.files import read as read_file
from tools.writing.ceilings import list_texts, read

pytestmark = pytest.mark.recipe("A chapter")

ORDER = list_chapters()
ENTRY = re.compile(rf"^## (.+)\n\n.+[ 。]{EXPLAINED} ?\[.+\]\(\.\./notebooks/([\w-]+)\.ipynb", re.MULTILINE)
GLOSSARY = read_file(TEXTS / "glossary.md") or ""  # a small book has none
# A term, and its chapter; one that is being written may explain what older ones use.
EXPLAINED = {term: name for term, name in ENTRY.findall(GLOSSARY) if name in COMPLETE}
LINK = re.compile(r"\]\(([\w-]+)\.ipynb")
UNREAD = re.compile(r"\]\([^)]*\)|`[^`]*`|\$[^$]*\$")  # what is no word of a sentence


@each_chapter
def test_the_prerequisites_of_a_chapter_stand_before_it(chapter: str) -> None:
    lines = re.findall(rf"^\*\*{PREREQUISITES}\*\*.*?(?=Symbols|$)", read_text(chapter), re.MULTILINE)
    needed = LINK.findall("".join(lines))
    later = [name for name in needed if ORDER.index(name) >= ORDER.index(chapter)]
    assert not later, f"book/{chapter}.md: {later} come later"


@each_chapter
def test_a_chapter_hands_over_to_the_next(chapter: str) -> None:
    above = read_text(chapter).partition(f"\n## {EXERCISES}\n")[0].rstrip().rpartition("\n\n")[2]
    following, leads = ORDER[ORDER.index(chapter) + 1 :][:1], LINK.findall(above)
    assert leads == following or (not leads and not COMPLETE & {*following}), (
        f"book/{chapter}.md: the paragraph above ## {EXERCISES} says why {following} comes next, with a link"
    )


@each_chapter
def test_a_word_is_used_after_it_was_explained_or_with_a_link_to_where_it_will_be(chapter: str) -> None:
    later = {term: name for term, name in EXPLAINED.items() if ORDER.index(name) > ORDER.index(chapter)}
    for section in re.split(r"^## ", "\n\n".join(list_texts(read(chapter).main)), flags=re.MULTILINE):
        prose, leads = UNREAD.sub(" ", section), set(LINK.findall(section))
        for term, name in later.items():
            used = re.search(rf"\b{re.escape(re.sub(r'[*`$]', '', term))}(?=s?\b)(?!-)", prose, re.IGNORECASE)
            assert not used or name in leads or term.lower() in ORDINARY, (
                f"book/{chapter}.md uses {term!r}, which {name} explains: ...{prose[used.start() - 60 : used.end()]!r}"
            )
