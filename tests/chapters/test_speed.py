"""The page on speed tells what was measured, to the last digit, and says so where nothing was."""

from __future__ import annotations

import re

import pytest

from tools.bench.__main__ import PARTS
from tools.bench.page import FIGURE, PAGE, TABLE, fill, read_results, write_table


def test_its_tables_are_those_of_the_results() -> None:
    text = PAGE.read_text("utf-8")
    assert fill(text, read_results()) == text, "run make bench"
    assert [found[2] for found in TABLE.finditer(text)] == list(PARTS)


def test_its_figure_has_a_dot_for_each_row() -> None:
    drawn = re.findall(r"<!-- (.*?) -->", FIGURE.read_text("utf-8"))
    assert {row["what"] for row in read_results()["layers"]["cpu"]["rows"]} <= set(drawn)


@pytest.mark.parametrize("digit", ["1", "7"])
def test_a_number_that_somebody_typed_is_noticed(digit: str) -> None:
    text = PAGE.read_text("utf-8")
    typed = re.sub(r"\| (\d\.\d)\d \|\n", rf"| \g<1>{digit} |\n", text)
    assert typed != text and fill(typed, read_results()) == text


def test_a_part_that_was_not_measured_names_its_command() -> None:
    assert "python -m tools.bench memory" in fill(PAGE.read_text("utf-8"), {})


def test_each_device_has_a_column_of_ratios() -> None:
    rows = [{"what": "forward", "ours": 3.0, "theirs": 2.0, "unit": "ms"}]
    table = write_table({"cpu": {"rows": rows}, "cuda": {"rows": [{**rows[0], "ours": 1.0}]}})
    assert table.splitlines()[0] == "| what | here, ms | there, ms | ratio, CPU | ratio, GPU |"
    assert table.splitlines()[2] == "| forward | 3 | 2 | 1.50 | 0.50 |"
