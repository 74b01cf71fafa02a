"""TeX to MathML: what the converter takes amiss."""

from __future__ import annotations

from html import escape
from types import SimpleNamespace

import pytest
from docutils import nodes

from book._ext.book_site import formulas
from book._ext.book_site.formulas import set_formula


def convert(tex: str) -> str:
    return set_formula(tex)[0]


def test_a_number_is_taken_out_of_the_formula() -> None:
    assert set_formula(r"y = x. \tag{2.1}") == (convert("y = x."), "2.1")
    assert set_formula("y = x")[1] == ""


def test_a_description_is_the_tex_without_the_number() -> None:
    assert 'alttext="y &lt; \\dots"' in set_formula(r"y < \dots \tag{2.1}", described=True)[0]
    assert "alttext" not in convert("y = x")


@pytest.mark.parametrize("tex", [r"\nonsense{x}", "a & b", "a_"])
def test_what_cannot_be_set_is_a_warning_and_stays_as_it_was_written(tex: str, monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(formulas.LOGGER, "warning", lambda text, *parts, location: warnings.append(text % parts))
    writer = SimpleNamespace(config=SimpleNamespace(formulas_described=False))
    assert formulas.convert(writer, nodes.math("", tex), block=False) == (escape(tex), "")
    assert len(warnings) == 1 and tex in warnings[0]


def test_signs_that_xml_reserves_stay_signs() -> None:
    assert "<mo>&lt;</mo>" in convert("i < j") and "<mo>&gt;</mo>" in convert("i > j")


def test_rows_that_are_aligned_become_a_table() -> None:
    assert convert(r"\begin{aligned} a &= b, \\ c &= d \end{aligned}").count("<mtr>") == 2


def test_a_name_is_one_word_and_a_function_stands_apart() -> None:
    assert "<mi>softmax</mi>" in convert(r"\mathrm{softmax}(x)")
    space, call = '<mspace width="0.1667em" />', "<mo>\u2061</mo>"
    assert f"<mi>a</mi>{space}<mi>sin</mi>{call}{space}<mi>b</mi>" in convert(r"a\sin b")
    assert f"<mi>cos</mi>{call}<mo" in convert(r"\cos(x)")


def test_an_underscore_in_a_word_is_no_command() -> None:
    assert "<mtext>d_model</mtext>" in convert(r"\text{d\_model}")
