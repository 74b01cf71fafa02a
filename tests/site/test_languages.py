"""Chinese words name their language, and nothing else does."""

from __future__ import annotations

import re

import pytest

from book._ext.book_site.languages import mark_page
from tests.site.pages import PAGES, soup


def test_each_chinese_character_of_a_page_is_marked() -> None:
    for page in PAGES:
        strings = soup(page).body.find_all(string=re.compile("[\u4e00-\u9fff]"))
        bare = [s for s in strings if not s.find_parent(["script", "style"]) and not s.find_parent(lang="zh-Hans")]
        assert bare == [], page
        marked = {span.get_text() for span in soup(page).body.find_all(lang=True)}
        assert all(re.fullmatch("[\u4e00-\u9fff 、，]+|[a-zāēīōūáéíóúǎěǐǒǔàèìòùü]+", text) for text in marked), page


@pytest.mark.parametrize(
    ("html", "marked"),
    [
        ("<p>In 吃 苹果 it</p>", '<p>In <span lang="zh-Hans">吃 苹果</span> it</p>'),
        ("<td>píngguǒ</td>", '<td><span lang="zh-Latn-pinyin">píngguǒ</span></td>'),
        ("<p>Łukasz, Sankhyā, Lučić, naïve</p>", "<p>Łukasz, Sankhyā, Lučić, naïve</p>"),
        ('<img alt="苹果">', '<img alt="苹果">'),
        ("<script>'苹果'</script>", "<script>'苹果'</script>"),
        (
            '<span class="math notranslate">\\(吃\\)</span> 吃',
            '<span class="math notranslate">\\(吃\\)</span> <span lang="zh-Hans">吃</span>',
        ),
    ],
)
def test_words_are_marked_where_they_are_text(html: str, marked: str) -> None:
    assert mark_page(f"<title>吃</title><body>{html}") == f"<title>吃</title><body>{marked}"
