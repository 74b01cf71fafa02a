"""The page for those who come from another library: its cells run every row of its tables, both sides of each."""

import ast
import re

import pytest

from tools.notebooks.files import TEXTS

SECTIONS = re.split(r"^## ", (TEXTS / "coming-from.md").read_text("utf-8"), flags=re.MULTILINE)
WITH_ROWS = {text.partition("\n")[0]: text for text in SECTIONS if re.search(r"^\|", text, re.MULTILINE)}


def list_rows(section: str) -> list[tuple[str, ...]]:
    """Both sides of each row, the lines of a side in one; the first two lines of a table are its head."""
    lines = re.findall(r"^\|.*", section, re.MULTILINE)[2:]
    cells = (line.strip("| ").split(" | ") for line in lines)
    return [tuple("; ".join(re.findall("`([^`]+)`", side)) for side in row[:2]) for row in cells]


def list_run(section: str) -> list[tuple[str, ...]]:
    """What the cells of a section run: pairs of strings."""
    code = "\n".join(re.findall(r"```{code-cell}\n(?::tags: [^\n]*\n)?(.*?)```", section, re.DOTALL))
    tuples = [node.elts[:2] for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Tuple)]
    return [tuple(side.value for side in pair if isinstance(side, ast.Constant)) for pair in tuples]  # type: ignore[misc]


@pytest.mark.parametrize("heading", WITH_ROWS)
def test_each_row_is_run(heading: str) -> None:
    rows, run = list_rows(WITH_ROWS[heading]), list_run(WITH_ROWS[heading])
    assert rows and not [row for row in rows if row not in run], "a row of the table is not among those that are run"


def test_a_row_that_is_not_run_is_noticed() -> None:
    section = "| a | b |\n|---|---|\n| `1 + 1` `x` | `2` |\n\n```{code-cell}\nf([('1 + 1; x', '2', how)])\n```\n"
    assert list_rows(section) == [("1 + 1; x", "2")] and list_rows(section)[0] in list_run(section)
    assert list_rows(section)[0] not in list_run(section.replace("'2'", "'3'"))
