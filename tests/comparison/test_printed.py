"""A printed number is compared as a number, and all else as text, in prints, tables and figures."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat.v4 import new_output

from tools.notebooks.marks import mark_cells, report
from tools.notebooks.printed import Printed, compare_outputs
from tools.notebooks.results import NO_CELL, Result

EQUAL = [
    ("0.841", "0.840"),
    ("[4., 2.]", "[4.000, 2.000]"),
    ("[-0.00, 1.50]", "[ 0.00, 1.50]"),
    ("9.99 | 0.5", "10.00 | 0.5"),
    ("9.9e-05", "1.0e-04"),
    ("-0.", "0."),
    ("准确率0.841", "准确率0.842"),
    ("−1,234.5 x", "−1,234.6 x"),
    ("63.7%", "63.8%"),
    ("0.5   1.5", "0.5 1.5"),
    ('"#3169a9"', '"#3267a8"'),
    ("fill: #3169a9", "fill: #3267a8"),
    ('url(#p0123456789)"', 'url(#p9876543210)"'),
    ("touch-9e4f68d1-title", "touch-50dd3882-title"),
]
OTHER = [
    ("0.841", "0.843"),
    ("12", "13"),
    ("12,345", "12,346"),
    ("4.", "5."),
    ("3", "3.0"),
    ("64%", "65%"),
    ("0.5", "-0.5"),
    ("1.1e-07", "1.3e-07"),
    ("1e-07", "2e-07"),
    ("9e-08", "1e-07"),
    ("1e-01", "0.0"),
    ("next: Exercise 13.2", "next: Exercise 13.3"),
    ("Python 3.11", "Python 3.12"),
    ("of chapter 2.1", "of chapter 2.2"),
    ("[1,234]", "[1234]"),
    ("[5,1,234]", "[5,1234]"),
    ("(1,999.99)", "(2,000.00)"),
    ("issue #100200", "issue #100201"),
    ("commit 7e12", "commit 8e12"),
    ("commit 17e12ab", "commit 18e12ab"),
    ("1.7e+9999999", "1.8e+9999999"),
    ("0.1 0.2", "0.1"),
    ("0.1", "0.1 0.1"),
    ("0.1 0.9", "0.9 0.1"),
    ("right 0.5", "wrong 0.5"),
    ("0.5 right", "0.5 wrong"),
    ("0.50", "nan"),
    ("2.13.0", "2.12.0"),
    ("x1", "x2"),
    ("a b", "ab"),
    ('"#3169a9"', '"#3169ac"'),
    ('"#3169a9"', '"3169"'),
    ("#3169a9", "#3267a8"),
]
PLACES = {
    "text": "share {}\n",
    "HTML": '<table><tr><th>share</th><td style="--w:1">{}</td></tr></table>',
    "SVG": '<path d="M 1.25 40 L 90 5.5" style="fill: #ffffff"/><text>{}</text>',
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("one", "other", "equal"), [(*p, True) for p in EQUAL] + [(*p, False) for p in OTHER])
def test_what_is_equal_and_what_is_not(one: str, other: str, equal: bool, place: str) -> None:
    stored, found = (Printed(PLACES[place].format(text)) for text in (one, other))
    assert (stored == found) is (found == stored) is equal and (stored != found) is not equal


@given(st.integers(-(10**9), 10**9), st.integers(0, 9), st.integers(-4, 4))
def test_a_rounded_number_may_differ_by_one_unit_of_its_last_digit(digits: int, decimals: int, units: int) -> None:
    one, other = (f"{Decimal(n).scaleb(-decimals):,f}" for n in (digits, digits + units))
    assert (Printed(one) == Printed(other)) is (abs(units) <= (decimals > 0))


def test_a_drawing_strips_zeros_of_rounded_numbers() -> None:
    one, other, third = (Printed(f'<svg><path d="M 10 40 L {x} 5"/></svg>') for x in ("90", "90.000001", "90.000003"))
    assert one == other and one != third and other != third.replace("90.000003", "91")


def test_what_differs_is_told_in_both_values() -> None:
    def stream(text: str, name: str = "stdout") -> object:
        return new_output("stream", name=name, text=text)

    def figure(number: str) -> object:
        data = {"image/svg+xml": f'<path d="M {number} 2"/>', "image/png": number, "text/plain": "<Figure>"}
        return new_output("display_data", data)

    differing = compare_outputs([stream("a 0.10 b 0.50 c 7")], [stream("a 0.13 b 0.51 c 8")])
    assert differing == [("0.10", "0.13"), ("7", "8")]
    assert compare_outputs([stream("0.5 right\n")], [stream("0.5 wrong\n")]) == [("0.5 right", "0.5 wrong")]
    assert compare_outputs([figure("1.25")], [figure("1.26")]) == []
    assert compare_outputs([figure("1.25")], [figure("1.50")]) == [("1.25", "1.50")]
    assert compare_outputs([stream("1")], [stream("1"), stream("careful", "stderr")]) == [("", "careful")]
    far = compare_outputs([stream("the same words " * 20 + "end")], [stream("the same words " * 20 + "stop")])
    assert far[0][0].endswith("words end") and far[0][1].endswith("words stop")
    raised = new_output("error", ename="ValueError", evalue="no", traceback=["long"])
    assert compare_outputs([stream("1")], [raised]) == [("", "ValueError: no")]
    assert compare_outputs([raised], [raised]) == [] != compare_outputs([raised], [stream("1")])


def test_where_no_cell_was_run_none_is_marked() -> None:
    result = Result("", "", 1.0, 0, 0, {NO_CELL: [("", "no cell was run")]})
    page = "<!--cell 0--><!--/-->"
    assert mark_cells(page, result) == page and "complexity, all code cells" in report({"complexity": result})
