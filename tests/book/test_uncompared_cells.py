"""What nbval does not compare: times, and what takes minutes; and no assertion depends on a time."""

import re

import pytest
from book_site.outputs import REASONS, STORED

from tests.book.chapters import CHAPTERS, cells, each_notebook
from tests.book.names import follow, list_asserted, parse

pytestmark = pytest.mark.recipe("A chapter")

# Where times come from.
CLOCKS = {"time", "timeit", "Timer", "perf_counter", "monotonic", "process_time", "datetime"}


@each_notebook
def test_a_cell_opts_out_in_one_way_and_says_why(chapter: str) -> None:
    for where, cell in cells(chapter, "code"):
        lines = cell.source.removeprefix("# @title Solution\n").splitlines()
        marks = [line for line in lines if re.match(r"\s*(#+\s*(NBVAL_|PYTEST_VALIDATE)|%%)", line)]
        assert {*marks} <= {*REASONS}, f"{where}: only {[*REASONS]} may opt out of comparison, not {marks}"
        if marks:
            assert lines[0] in REASONS and len(lines) > 1 and re.match(r"# \w+", lines[1]), (
                f"{where}: {marks[0]!r} is the first line (or follows the title of a solution), "
                "and the next is a comment that says why"
            )


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_what_takes_minutes_is_in_a_fold_and_two_cells_of_a_chapter_at_most(chapter: str) -> None:
    long = [(where, cell) for where, cell in cells(chapter, "code") if STORED in cell.source]
    assert len(long) <= 2, f"{[where for where, _ in long]}: at most two cells of a chapter may be run once a week"
    for where, cell in long:
        assert "check" in cell.metadata.get("tags", []), f"{where}: what is run once a week belongs in a fold"


@each_notebook
def test_nothing_but_times_is_not_compared(chapter: str) -> None:
    for where, cell in cells(chapter, "code"):
        for mark in (mark for mark in REASONS if mark in cell.source):
            assert any(reason in cell.source for reason in REASONS[mark]), (
                f"{where}: {mark} is for times alone, or for what takes minutes. Train in float64 at a rate that falls "
                "to 0, and the numbers are the same on every machine"
            )


@each_notebook
def test_no_assertion_depends_on_a_time(chapter: str) -> None:
    times = CLOCKS
    for where, cell in cells(chapter, "code"):
        times = follow(times, parse(cell.source))
        timed = list_asserted(parse(cell.source)) & times
        assert not timed, f"{where}: an assertion on {sorted(timed)}: a time is printed, and bounded by nothing"
