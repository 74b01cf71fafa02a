"""What is shown of a cell, on small notebooks."""

from __future__ import annotations

from typing import Any

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools.slides.arrange import Arrangement
from tools.slides.trim import choose, read_parts, split_sentences, trim

pytestmark = pytest.mark.thorough

TEXT = """\
No. It prints $a. B$ and `c. D`. See [a. B](x.ipynb) and Li et al. (2020). (An aside.) The **end**. **Predict.** What?

## A heading

First sentence, which is of a usual length. Second one.

$$
x
$$

- one. More of it.
- two
"""


def arrange(*cells: Any) -> list[tuple[str, str]]:
    """The types and sources of the cells that the slides have."""
    notebook = new_notebook(cells=list(cells))
    arranged, _ = Arrangement().preprocess(notebook, {"metadata": {"name": "mini"}})
    return [(cell.metadata.slideshow.slide_type, cell.source) for cell in arranged.cells]


def text(source: str, kind: str = "slide", **metadata: Any) -> Any:
    shows = {"shows": metadata.pop("shows")} if "shows" in metadata else {}
    return new_markdown_cell(source, metadata={"slideshow": {"slide_type": kind, **shows}, **metadata})


def code(source: str, kind: str = "slide", *outputs: Any, **more: Any) -> Any:
    metadata = {"slideshow": {"slide_type": kind, **more}}
    return new_code_cell(
        source, metadata=metadata, outputs=[new_output("execute_result", data=data) for data in outputs]
    )


def test_a_sentence_ends_where_a_reader_ends_it() -> None:
    assert split_sentences(read_parts(TEXT)[0].blocks[0].source) == [
        "No.",
        "It prints $a. B$ and `c. D`.",
        "See [a. B](x.ipynb) and Li et al. (2020).",
        "(An aside.)",
        "The **end**.",
    ]


def test_by_itself_a_part_shows_its_first_sentence_and_all_that_is_not_prose() -> None:
    above, below = read_parts(TEXT)
    assert [block.source for block in trim(above)] == ["No. It prints $a. B$ and `c. D`.", "**Predict.** What?"]
    assert [block.source for block in trim(below)] == [
        "First sentence, which is of a usual length.",
        "$$\nx\n$$",
        "- one. More of it.\n- two",
    ]


def test_a_cell_can_choose() -> None:
    missing = {"Second", "two", "Nothing"}
    shown = choose(read_parts(TEXT)[1], ["Second", "two", "Nothing"], missing)
    assert [block.source for block in shown] == ["Second one.", "- two"]
    assert missing == {"Nothing"}


def test_a_choice_that_is_not_there_stops_the_build() -> None:
    with pytest.raises(SystemExit, match="mini: nothing begins with 'Third' in the cell that begins with 'No"):
        arrange(text(TEXT, shows=["First", "Third"]))


def test_what_does_not_say_so_is_in_the_notes_up_to_the_exercises() -> None:
    below = [text("## Exercises", "skip"), new_markdown_cell("A task.")]
    assert arrange(
        text("# Title"), text("skipped", "skip"), new_markdown_cell("nothing"), new_code_cell("1"), *below
    ) == [("slide", "# Title"), ("notes", "skipped\n\nnothing")]


def test_a_heading_begins_a_slide_and_the_words_above_it_stay_below_the_picture() -> None:
    shown = arrange(text("## Old"), code("draw()", "slide", {"image/svg+xml": "<svg/>"}), text(TEXT, "fragment"))
    kinds = [(kind, source) for kind, source in shown if kind != "notes"]
    assert kinds[:3] == [("slide", "## Old"), ("slide", "## Old"), ("-", "draw()")]
    assert kinds[3] == ("fragment", "No. It prints $a. B$ and `c. D`.")
    assert kinds[4:6] == [("slide", "## Old"), ("-", "**Predict.** What?")]  # never below a picture
    assert kinds[6][1] == "## A heading"


def test_a_break_begins_the_next_slide() -> None:
    shown = arrange(text(TEXT, shows=["First", "---", "Second"]))
    assert [source for kind, source in shown if kind != "notes"] == [
        "## A heading",
        "First sentence, which is of a usual length.",
        "## A heading",
        "Second one.",
    ]


def test_code_is_hidden_where_a_picture_is_the_point_or_the_cell_is_long() -> None:
    picture, number = {"image/svg+xml": "<svg/>"}, {"text/plain": "7"}
    cells = [
        code("7", "slide", number),
        code("draw()", "slide", number, picture),
        code("\n" * 12 + "7", "slide", number),
        code("draw()", "slide", picture, shows=["code"]),
        code("def f(): ..."),
    ]
    arranged, _ = Arrangement().preprocess(new_notebook(cells=cells), {"metadata": {"name": "mini"}})
    shown = [cell for cell in arranged.cells if cell.cell_type == "code"]
    assert ["transient" in cell.metadata for cell in shown] == [False, True, True, False, False]
    assert [[*map(dict, (output.data for output in cell.outputs))] for cell in shown] == [
        [number],
        [picture],
        [number],
        [],
        [],
    ]
