"""Tables: the same numbers as HTML and as text, in line, and clear on bad input."""

import torch
from bs4 import BeautifulSoup

from d2lmini.figures.tables import Table
from tests.package.refusals import rejected


def test_text_and_html_hold_the_same_entries_in_line_also_with_wide_letters_and_none_is_markup() -> None:
    rows = [["我", 4, torch.tensor(1.0)], ["苹果", 1024, None], ["a<b", 16, -32.456]]
    table = Table(["word", "d", "spread"], rows, ["", "d", ".2f"])
    lines = "word     d  spread", "我       4    1.00", "苹果  1024       –", "a<b     16  -32.46"
    assert repr(table) == "\n".join(lines)
    shown = BeautifulSoup(table._repr_html_(), "html.parser").select("tr")
    assert [[cell.get_text() for cell in row.children] for row in shown] == [line.split() for line in lines]
    assert {tuple(cell["style"][12:] for cell in row.children) for row in shown} == {("left", "right", "right")}
    assert [[cell.get("scope") for cell in row.children] for row in shown] == [["col"] * 3, *3 * [["row", None, None]]]


test_what_is_no_table_is_refused = rejected(
    (([], [[]]), "at least one column and one row, got 0 and 1"),
    ((["a", "b"], [[1, 2], [1]]), "each of the rows must have one entry for each of the 2 columns, got 1"),
    ((["a"], [[1]], ["d", "d"]), "formats must have one entry for each of the 1 columns, got 2"),
    (("ab", [[1, 2]]), "columns must have one entry for each of the 2 columns, got 'ab'"),
    by=lambda arguments: Table(*arguments),
)
