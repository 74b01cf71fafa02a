"""What the book's Sphinx extension makes of formulas, languages, style sheets and scripts, case by case."""

import re
from html import escape
from pathlib import Path
from types import SimpleNamespace

import pytest
import tinycss2
from book_site import formulas
from book_site.formulas import read_second_meanings, set_formula
from book_site.phrases import read_language, read_phrases
from book_site.styles import Site, keep_used
from docutils import nodes

from tools import ROOT

SPACE, CALL = '<mspace width="0.1667em" />', "<mo>\u2061</mo>"
CALL_SPACE = CALL.replace("<mo>", '<mo rspace="0.1667em">')
PAGE = (
    '<body><main id="main"></main><i class="cell">gone</i><p class="note"><a href="x"></a></p><script>"open"</script>'
)


# What a formula's TeX means, as MathML.
FORMULAS = {
    "i < j": "<mo>&lt;</mo>",
    r"\begin{aligned} a &= b, \\ c &= d \end{aligned}": "</mtr><mtr>",
    r"\mathrm{softmax}(x)": "<mi>softmax</mi>",
    r"a\sin b": f"<mi>a</mi>{SPACE}<mi>sin</mi>{CALL_SPACE}<mi>b</mi>",
    r"\cos(x)": f"<mi>cos</mi>{CALL}<mo",
    r"\text{d\_model}": "<mtext>d_model</mtext>",
    "QK": '<mi class="query">Q</mi><mi class="key">K</mi>',
    "v_k": '<msub><mi class="value">v</mi><mi>k</mi></msub>',
    "W_q + W_o": '<msub class="query"><mi>W</mi><mi>q</mi></msub><mo>+</mo><msub><mi>W</mi><mi>o</mi></msub>',
}
# Selectors that stay, and others: a page has no name that they must find.
KEPT = [".cell .note", "#main > p", ".cell:not(.gone)", ":is(.gone, .cell) p", "a[href='x.gone']", r".sm\:gone"]
GONE = [".cell .gone", "#gone", ".cell.note", "video", "[dir] p"]
KEPT += ["p.open:hover", "a[data-open]"]  # a script can say it
# Rules keep their order, and lose the selectors that nothing matches.
RULES = {
    ".cell, .gone { top: 0 } .gone { top: 1 } p { top: 2 }": ".cell{top:0}p{top:2}",
    "@media print { .gone { top: 0 } .note { top: 1px } }": "@mediaprint{.note{top:1px}}",
    "@media print { .gone { top: 0 } }": "",
    "@keyframes turn { to { top: 0 } }": "@keyframesturn{to{top:0}}",
}


def test_a_formula_holds_what_its_tex_means() -> None:
    assert {tex: part for tex, part in FORMULAS.items() if part not in set_formula(tex)[0]} == {}
    assert "class" not in set_formula("2k + 1", other=read_second_meanings(ROOT / "book/notation.md")["complexity"])[0]
    assert read_second_meanings(ROOT / "book/not-translated-yet.md") == {}


@pytest.mark.parametrize("tex", [r"\nonsense{x}", "a & b", "a_"])
def test_what_cannot_be_set_is_a_warning_and_stays_as_it_was_written(tex: str, monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(formulas.LOGGER, "warning", lambda text, *parts, location: warnings.append(text % parts))
    builder = SimpleNamespace(current_docname="notebooks/mini", srcdir=str(ROOT))
    writer = SimpleNamespace(config=SimpleNamespace(formulas_described=False), builder=builder)
    assert formulas.convert(writer, nodes.math("", tex), block=False) == (escape(tex), "")
    assert len(warnings) == 1 and tex in warnings[0]


def test_a_rule_goes_if_no_page_has_a_tag_that_it_can_match() -> None:
    site = Site(Path(), [PAGE])
    assert [selector for selector in KEPT + GONE if site.can_match(selector)] == KEPT
    for css, left in RULES.items():
        assert re.sub(r"\s+", "", keep_used(tinycss2.parse_stylesheet(css, True, True), site)) == left


ENGLISH = '[en]\nsummary = "Summary"\n[en.scripts]\nclose = "Close"\n'
# What is wrong with a second language, and what it is told.
TABLES = {
    '[zh]\nsummary = "小结"\n': "'zh' lacks 'close'",
    '[zh]\nsummary = ""\n[zh.scripts]\nclose = "关闭"\n': "'zh' lacks 'summary'",
    '[zh]\nsummary = "小结"\nsumary = "小结"\n[zh.scripts]\nclose = "关闭"\n': "'zh' has 'sumary', which English lacks",
    "": "language must be one of en, got 'zh'",
}


@pytest.mark.parametrize("table", TABLES)
def test_a_language_with_other_phrases_than_english_is_refused(table: str) -> None:
    with pytest.raises(ValueError, match=TABLES[table]):
        read_phrases("zh", ENGLISH + table)


def test_a_second_language_is_a_table_more() -> None:
    table = ENGLISH + '[zh]\nsummary = "小结"\n[zh.scripts]\nclose = "关闭"\n'
    assert read_phrases("zh", table) == ({"summary": "小结"}, {"close": "关闭"})
    assert [read_language(text) for text in ("sphinx:\n  config:\n    language: zh_CN\n", "")] == ["zh", "en"]
