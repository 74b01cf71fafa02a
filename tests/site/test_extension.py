"""What the book's Sphinx extension makes of formulas, languages, style sheets and scripts, case by case."""

from __future__ import annotations

import re
from html import escape
from types import SimpleNamespace

import pytest
import tinycss2
from docutils import nodes

from book._ext.book_site import formulas
from book._ext.book_site.formulas import set_formula
from book._ext.book_site.languages import mark_page
from book._ext.book_site.styles import can_match, keep_used
from book._ext.book_site.weight import lighten

SPACE, CALL = '<mspace width="0.1667em" />', "<mo>\u2061</mo>"
WORDS = {"cell", "note", "open", "main"}
SCRIPT = '<script src="_static/searchtools.js"></script><script src="_static/doctools.js?v=1"></script>'


@pytest.mark.parametrize(
    ("tex", "part"),
    [
        ("i < j", "<mo>&lt;</mo>"),
        (r"\begin{aligned} a &= b, \\ c &= d \end{aligned}", "</mtr><mtr>"),
        (r"\mathrm{softmax}(x)", "<mi>softmax</mi>"),
        (r"a\sin b", f"<mi>a</mi>{SPACE}<mi>sin</mi>{CALL}{SPACE}<mi>b</mi>"),
        (r"\cos(x)", f"<mi>cos</mi>{CALL}<mo"),
        (r"\text{d\_model}", "<mtext>d_model</mtext>"),
    ],
)
def test_a_formula_holds_what_its_tex_means(tex: str, part: str) -> None:
    assert part in set_formula(tex)[0]


def test_a_number_is_taken_out_of_the_formula_and_of_its_description() -> None:
    assert set_formula(r"y = x. \tag{2.1}") == (set_formula("y = x.")[0], "2.1")
    assert set_formula("y = x")[1] == "" and "alttext" not in set_formula("y = x")[0]
    assert 'alttext="y &lt; \\dots"' in set_formula(r"y < \dots \tag{2.1}", described=True)[0]


@pytest.mark.parametrize("tex", [r"\nonsense{x}", "a & b", "a_"])
def test_what_cannot_be_set_is_a_warning_and_stays_as_it_was_written(tex: str, monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(formulas.LOGGER, "warning", lambda text, *parts, location: warnings.append(text % parts))
    writer = SimpleNamespace(config=SimpleNamespace(formulas_described=False))
    assert formulas.convert(writer, nodes.math("", tex), block=False) == (escape(tex), "")
    assert len(warnings) == 1 and tex in warnings[0]


@pytest.mark.parametrize(
    ("html", "marked"),
    [
        ("<p>In 吃 苹果 it</p>", '<p>In <span lang="zh-Hans">吃 苹果</span> it</p>'),
        ("<td>píngguǒ</td>", '<td><span lang="zh-Latn-pinyin">píngguǒ</span></td>'),
        ("<p>Łukasz, Sankhyā, Lučić, naïve</p>", "<p>Łukasz, Sankhyā, Lučić, naïve</p>"),
        ('<img alt="苹果"><script>"苹果"</script>', '<img alt="苹果"><script>"苹果"</script>'),
        ('<i class="math x">吃</i> 吃', '<i class="math x">吃</i> <span lang="zh-Hans">吃</span>'),
    ],
)
def test_words_are_marked_where_they_are_text(html: str, marked: str) -> None:
    assert mark_page(f"<title>吃</title><body>{html}") == f"<title>吃</title><body>{marked}"


@pytest.mark.parametrize(
    ("selector", "kept"),
    [
        (".cell .note", True),
        (".cell .gone", False),
        ("#main > p", True),
        ("#gone", False),
        (".cell:not(.gone)", True),
        (":is(.gone, .cell) p", True),
        ("a[href='x.gone']", True),
        (r".sm\:gone", True),
    ],
)
def test_a_selector_goes_if_no_page_has_a_name_that_it_must_find(selector: str, kept: bool) -> None:
    assert can_match(selector, WORDS) is kept


@pytest.mark.parametrize(
    ("css", "left"),
    [
        (".cell, .gone { top: 0 } .gone { top: 1 } p { top: 2 }", ".cell{top:0}p{top:2}"),
        ("@media print { .gone { top: 0 } .note { top: 1px } }", "@mediaprint{.note{top:1px}}"),
        ("@media print { .gone { top: 0 } }", ""),
        ("@keyframes turn { to { top: 0 } }", "@keyframesturn{to{top:0}}"),
    ],
)
def test_rules_keep_their_order_and_lose_the_selectors_that_nothing_matches(css: str, left: str) -> None:
    assert re.sub(r"\s+", "", keep_used(tinycss2.parse_stylesheet(css, True, True), WORDS)) == left


def test_search_keeps_its_scripts_and_other_pages_lose_them() -> None:
    assert lighten(SCRIPT, searching=True) == SCRIPT
    assert lighten(SCRIPT, searching=False) == '<script defer src="_static/doctools.js?v=1"></script>'
