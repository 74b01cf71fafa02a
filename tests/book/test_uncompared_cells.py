"""What nbval does not compare: little, for a reason that is written down, and within bounds that are asserted."""

from __future__ import annotations

import ast
import re

import pytest

from book._ext.book_site.outputs import MOST_CELLS_NOT_COMPARED, OPT_OUT, find_kind, is_time
from tests.book.chapters import cells, each_chapter
from tests.book.labels import find_missing_labels
from tests.book.names import follow, list_asserted, list_imported, list_shown, parse

pytestmark = pytest.mark.recipe("A chapter")

# Where times come from.
CLOCKS = {"time", "timeit", "Timer", "perf_counter", "monotonic", "process_time", "datetime"}


def parse_all(chapter: str) -> ast.Module:
    return parse("\n".join(cell.source for _, cell in cells(chapter, "code")))


@each_chapter
def test_few_outputs_are_not_compared(chapter: str) -> None:
    opted_out = []
    for where, cell in cells(chapter, "code"):
        lines = cell.source.removeprefix("# @title Solution\n").splitlines()
        marks = [line for line in lines if re.match(r"\s*(#+\s*(NBVAL_|PYTEST_VALIDATE)|%%)", line)]
        assert set(marks) <= {OPT_OUT}, f"{where}: only {OPT_OUT!r} may opt out of comparison, not {marks}"
        if marks:
            opted_out.append(where)
            assert lines[0] == OPT_OUT and len(lines) > 1 and re.match(r"# \w+", lines[1]), (
                f"{where}: {OPT_OUT!r} is the first line (or follows the title of a solution), "
                "and the next is a comment that says why"
            )
    assert len(opted_out) <= MOST_CELLS_NOT_COMPARED, f"too many cells are not compared: {opted_out}"


@each_chapter
def test_nothing_but_times_is_not_compared(chapter: str) -> None:
    places = [where for where, cell in cells(chapter, "code") if OPT_OUT in cell.source and not is_time(cell.source)]
    assert not places, (
        f"{places}: NBVAL_IGNORE_OUTPUT is for times alone. Train in float64 at a rate that falls to 0, and the "
        "numbers are the same on every machine"
    )


@each_chapter
def test_what_is_not_compared_is_bounded(chapter: str) -> None:
    """By an assertion that speaks of it: in the cell itself, or in one of the two before or after that is compared."""
    sources = [(where, cell.source) for where, cell in cells(chapter, "code")]
    imported = list_imported(parse_all(chapter))
    for i, (where, source) in enumerate(sources):
        if find_kind(source) == "bounded":
            shown = list_shown(parse(source)) - imported
            near = [other for _, other in sources[max(i - 2, 0) : i + 3] if not other.startswith(OPT_OUT)]
            assert any(list_asserted(tree) & follow(shown, tree) for tree in map(parse, [source, *near])), (
                f"{where}: no assertion bounds what it prints"
            )


@each_chapter
def test_no_assertion_depends_on_a_time(chapter: str) -> None:
    times = CLOCKS
    for where, cell in cells(chapter, "code"):
        times = follow(times, parse(cell.source))
        timed = list_asserted(parse(cell.source)) & times
        assert not timed, f"{where}: an assertion on {sorted(timed)}: a time is printed, and bounded by nothing"


@each_chapter
def test_a_figure_that_is_not_compared_says_what_its_code_says(chapter: str) -> None:
    for where, cell in cells(chapter, "code"):
        missing = find_missing_labels(cell) if OPT_OUT in cell.source else None
        assert not missing, f"{where}: the stored figure does not say {sorted(missing)}: run the chapter again"
