"""Tables: the same numbers as HTML and as text, in line, and clear on bad input."""

from typing import Any

import torch
from bs4 import BeautifulSoup

from d2lmini.figures.tables import Table
from tests.package.refusals import rejected

COLUMNS, FORMATS = ["word", "d", "spread"], ["", "d", ".2f"]
ROWS: list[list[Any]] = [["我", 4, torch.tensor(1.0)], ["苹果", 1024, None], ["a<b", 16, -32.456]]


def test_text_has_its_columns_in_line_also_with_wide_letters() -> None:
    lines = "word     d  spread", "我       4    1.00", "苹果  1024       –", "a<b     16  -32.46"
    assert repr(Table(COLUMNS, ROWS, FORMATS)) == "\n".join(lines)


def test_html_holds_the_same_entries_under_their_heads_and_nothing_of_it_is_markup() -> None:
    table = BeautifulSoup(Table(COLUMNS, ROWS, FORMATS)._repr_html_(), "html.parser")
    assert [head.get_text() for head in table.select("thead th[scope=col]")] == COLUMNS
    entries = [[cell.get_text() for cell in row.select("th, td")] for row in table.select("tbody tr")]
    assert entries == [["我", "4", "1.00"], ["苹果", "1024", "–"], ["a<b", "16", "-32.46"]]
    assert [cell.name for cell in table.select("tbody tr")[0].children] == ["th", "td", "td"]
    sides = [[cell["style"] for cell in row.select("th, td")] for row in table.select("tr")]
    assert sides == [["text-align: left", "text-align: right", "text-align: right"]] * 4


def test_one_format_may_serve_all_columns() -> None:
    assert repr(Table(["a", "b"], [(1, 2.0)], ".1f")) == "  a    b\n1.0  2.0"


test_what_is_no_table_is_refused = rejected(
    (([], [[]]), "at least one column and one row, got 0 and 1"),
    ((["a"], []), "at least one column and one row, got 1 and 0"),
    ((["a", "b"], [[1, 2], [1]]), "each of the rows must have one entry for each of the 2 columns, got 1"),
    ((["a", "b"], ["ab"]), "each of the rows must have one entry for each of the 2 columns, got 'ab'"),
    ((["a"], [[1]], ["d", "d"]), "formats must have one entry for each of the 1 columns, got 2"),
    (("ab", [[1, 2]]), "columns must have one entry for each of the 2 columns, got 'ab'"),
    by=lambda arguments: Table(*arguments),
)
