"""What nbval does not compare: times, and nothing else; and no assertion depends on one."""

from __future__ import annotations

import re

import pytest
from book_site.report import OPT_OUT, is_time

from tests.book.chapters import cells, each_chapter
from tests.book.names import follow, list_asserted, parse

pytestmark = pytest.mark.recipe("A chapter")

# Where times come from.
CLOCKS = {"time", "timeit", "Timer", "perf_counter", "monotonic", "process_time", "datetime"}


@each_chapter
def test_a_cell_opts_out_in_one_way_and_says_why(chapter: str) -> None:
    for where, cell in cells(chapter, "code"):
        lines = cell.source.removeprefix("# @title Solution\n").splitlines()
        marks = [line for line in lines if re.match(r"\s*(#+\s*(NBVAL_|PYTEST_VALIDATE)|%%)", line)]
        assert set(marks) <= {OPT_OUT}, f"{where}: only {OPT_OUT!r} may opt out of comparison, not {marks}"
        if marks:
            assert lines[0] == OPT_OUT and len(lines) > 1 and re.match(r"# \w+", lines[1]), (
                f"{where}: {OPT_OUT!r} is the first line (or follows the title of a solution), "
                "and the next is a comment that says why"
            )


@each_chapter
def test_nothing_but_times_is_not_compared(chapter: str) -> None:
    places = [where for where, cell in cells(chapter, "code") if OPT_OUT in cell.source and not is_time(cell.source)]
    assert not places, (
        f"{places}: NBVAL_IGNORE_OUTPUT is for times alone. Train in float64 at a rate that falls to 0, and the "
        "numbers are the same on every machine"
    )


@each_chapter
def test_no_assertion_depends_on_a_time(chapter: str) -> None:
    times = CLOCKS
    for where, cell in cells(chapter, "code"):
        times = follow(times, parse(cell.source))
        timed = list_asserted(parse(cell.source)) & times
        assert not timed, f"{where}: an assertion on {sorted(timed)}: a time is printed, and bounded by nothing"
