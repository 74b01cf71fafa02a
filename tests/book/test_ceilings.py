"""What a reader can bear: the ceilings of a chapter, and a summary that says more than its sentences."""

import re

import pytest
from book_site.phrases import SUMMARY, TAKEAWAY

from tests.book.chapters import CHAPTERS, COMPLETE, each_chapter, read_text
from tools.notebooks.files import TEXTS
from tools.notebooks.files import read as read_file
from tools.writing.ceilings import count_words, find_exceeded, find_missing, measure

pytestmark = pytest.mark.recipe("A chapter")


@each_chapter
def test_a_chapter_stays_below_its_ceilings(chapter: str) -> None:
    beyond = find_exceeded(chapter)
    assert not beyond, f"book/{chapter}.md: {beyond} (python -m tools.writing.ceilings {chapter})"


@each_chapter
def test_a_complete_chapter_has_pictures_and_sentences_and_a_summary_that_says_more(chapter: str) -> None:
    if chapter not in COMPLETE:
        pytest.skip("not complete")
    assert not find_missing(chapter), f"book/{chapter}.md: {find_missing(chapter)}"
    text = read_text(chapter)
    sentences = re.findall(rf"^\*\*{re.escape(TAKEAWAY)}\*\* (.+)$", text, re.MULTILINE)
    assert max(map(count_words, sentences)) <= 25, f"book/{chapter}.md: {sentences}"
    summary = re.search(rf"^## {SUMMARY}\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    assert summary, f"book/{chapter}.md: no summary"
    said_again = [sentence for sentence in sentences if sentence in summary[1]]
    assert not said_again, (
        f"book/{chapter}.md: the summary is a table, a picture or questions, each with a link, and not {said_again}"
    )


def test_the_teaching_plan_tells_the_minutes_of_a_student() -> None:
    plan = read_file(TEXTS / "teaching.md") or ""  # a small book has none
    told = {name: int(minutes) for name, minutes in re.findall(r"/([\w-]+)\.ipynb\) (\d+) min", plan)}
    assert set(told) <= set(CHAPTERS)
    measured = {name: measure(name)["minutes"] for name in told}
    assert not {name: measured[name] for name in told if abs(told[name] - measured[name]) > 3}, "book/teaching.md"


def test_words_without_blanks_are_counted_by_their_characters() -> None:
    han = "误差只剩37.5倍，准确率是**99.9%**。见[第2章](self-attention.ipynb#误差)的 softmax。"
    assert count_words(han) == 9 + 4  # 13 characters; two shares, a number and a name
    assert count_words("我 likes 苹果, and $x$ costs 3.") == 7
