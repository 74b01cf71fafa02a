"""TeX to MathML: what the converter takes amiss."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tools.paper.formulas import set_formula, split_tag


def convert(tex: str) -> str:
    return ElementTree.tostring(set_formula(tex, display=False), encoding="unicode").partition("alttext")[2]


def test_a_number_is_taken_out_of_the_formula() -> None:
    assert split_tag(r"y = x. \tag{2.1}") == ("y = x.", "2.1")
    assert split_tag("y = x") == ("y = x", "")


def test_an_unknown_command_is_refused() -> None:
    with pytest.raises(ValueError, match="nonsense"):
        set_formula(r"\nonsense{x}", display=False)


def test_signs_that_xml_reserves_stay_signs() -> None:
    assert "<mo>&lt;</mo>" in convert("i < j") and "<mo>&gt;</mo>" in convert("i > j")


def test_rows_that_are_aligned_become_a_table() -> None:
    assert convert(r"\begin{aligned} a &= b, \\ c &= d \end{aligned}").count("<mtr>") == 2


def test_a_name_is_one_word_and_a_function_stands_apart() -> None:
    assert "<mi>softmax</mi>" in convert(r"\mathrm{softmax}(x)")
    assert '<mi>a</mi><mspace width="0.167em" /><mi>sin</mi><mspace width="0.167em" /><mi>b</mi>' in convert(r"a\sin b")
    assert "<mi>cos</mi><mo" in convert(r"\cos(x)")


def test_an_underscore_in_a_word_is_no_command() -> None:
    assert "<mtext>d_model</mtext>" in convert(r"\text{d\_model}")
