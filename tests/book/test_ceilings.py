"""What a reader can bear: the ceilings of a chapter, and a summary that repeats its sentences."""

import re

import pytest
import yaml
from book_site.phrases import TAKEAWAY

from tests.book.chapters import each_chapter, read_text
from tools import ROOT
from tools.ceilings import CEILINGS, count_words, find_exceeded, measure

pytestmark = pytest.mark.recipe("A chapter")

SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["sphinx"].get("config", {})
COMPLETE = SETTINGS.get("complete_chapters", [])


@each_chapter
def test_a_chapter_stays_below_its_ceilings(chapter: str) -> None:
    beyond = {what: f"{found}, at most {CEILINGS[what]}" for what, found in find_exceeded(chapter).items()}
    assert not beyond, f"book/{chapter}.md: {beyond} (python -m tools.ceilings {chapter})"


@each_chapter
def test_a_complete_chapter_has_pictures_and_a_summary_of_its_sentences(chapter: str) -> None:
    if chapter not in COMPLETE:
        pytest.skip("not complete")
    assert measure(chapter)["pictures"] >= 4, f"book/{chapter}.md: fewer than four pictures"
    text = read_text(chapter)
    sentences = re.findall(rf"^\*\*{re.escape(TAKEAWAY)}\*\* (.+)$", text, re.MULTILINE)
    summary = re.search(r"^## Summary\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    assert summary and re.findall(r"^- (.+)$", summary[1], re.MULTILINE) == sentences, (
        f"book/{chapter}.md: the summary is the list of the sentences after '**In one sentence.**'"
    )
    assert 5 <= len(sentences) <= 7 and max(map(count_words, sentences)) <= 25, f"book/{chapter}.md: {sentences}"
