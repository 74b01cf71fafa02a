"""The page for those who come from another library: both sides of every row of its tables are run and compared."""

from __future__ import annotations

import pytest

from tests.chapters.coming_from.comparisons import COMPARISONS, Compare, same
from tests.chapters.coming_from.sides import PAGE, Cell, meet, name_row, split_rows, split_sections


def assert_each_row_is_compared(page: str, comparisons: dict[str, dict[str, Compare]]) -> None:
    """The rows of all sections, in their order, are those that are compared."""
    rows = {heading: [name_row(row) for row in split_rows(text)] for heading, text in split_sections(page).items()}
    assert {heading: names for heading, names in rows.items() if names} == {
        heading: list(compared) for heading, compared in comparisons.items()
    }


def test_each_row_is_compared() -> None:
    assert_each_row_is_compared(PAGE, COMPARISONS)


# torch.jit.script warns before it fails, as its row says.
@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")
@pytest.mark.parametrize(
    ("heading", "row"), [(heading, row) for heading, text in split_sections(PAGE).items() for row in split_rows(text)]
)
def test_a_row_says_what_is_so(heading: str, row: list[str]) -> None:
    there_names, here_names = meet(heading)
    left, right, explained = row
    there, here = Cell(left, there_names), Cell(right, here_names)
    COMPARISONS[heading][name_row(row)](there, here)
    assert there.was_run and here.was_run and explained


@pytest.mark.parametrize(
    "rows", ["", "| `3 - 1` | `2` | Nothing. |", "| `1 + 1` | `2` | Nothing. |\n| words | `2` | |"]
)
def test_a_row_without_a_comparison_and_a_comparison_without_a_row_are_noticed(rows: str) -> None:
    table, comparisons = "\n## From D2L\n\n| D2L | here | why |\n|---|---|---|\n", {"From D2L": {"1 + 1": same}}
    assert_each_row_is_compared(table + "| `1 + 1` | `2` | Nothing. |\n", comparisons)
    with pytest.raises(AssertionError):
        assert_each_row_is_compared(table + rows, comparisons)


def test_a_wrong_cell_is_noticed() -> None:
    names = meet("From PyTorch")[1]
    same(Cell("`theirs(X, X, X)[0]`", names), Cell("`ours(X, X, X)`", names))
    with pytest.raises(AssertionError):
        same(Cell("`theirs(X, X, X)[0]`", names), Cell("`ours(X, X, X, lens)`", names))
