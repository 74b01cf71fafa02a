"""What is shown of a chapter, and under which title, on a small notebook."""

from typing import Any

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools.teaching.slides.arrange import Arrangement

FIGURE = new_output("display_data", data={"image/svg+xml": "<svg/>", "image/png": ""})
PANEL = new_output("display_data", data={"text/html": '<div class="touch">'})
TOY = new_output("display_data", data={"text/html": '<div class="touch" data-play="softmax">'})
PRINTED = new_output("stream", text="7")
FORMULA, CHOICES = "$$\nx\n$$", "- seven\n- eight"
SECTION = f"## A heading\n\nWhat is it? This:\n\n{FORMULA}\n\n**Predict.** What will it be?\n\n{CHOICES}"
ANSWER = "It is seven.\n\n**In one sentence.** Sevens come out."
CELLS = [
    new_markdown_cell("# Title\n\nAn opening.\n\n**Prerequisites**: none."),
    new_code_cell("import math", outputs=[PRINTED]),
    new_markdown_cell(SECTION),
    new_code_cell("draw()", outputs=[PRINTED, FIGURE]),
    new_markdown_cell(ANSWER, metadata={"tags": ["answer"]}),
    new_markdown_cell("Folded.", metadata={"tags": ["check"]}),
    new_code_cell("skipped()", metadata={"slideshow": {"slide_type": "skip"}}, outputs=[PRINTED]),
    new_code_cell("play()", outputs=[TOY]),
    new_code_cell("press()", outputs=[PANEL]),
    new_code_cell("\n" * 30 + "8", outputs=[PRINTED]),
    new_markdown_cell("## Only words\n\nThey lead on.\n\n**In one sentence.** Words count."),
    new_markdown_cell("Last.\n\n## Exercises\n\n### Exercise 1 · One\n\nDo it."),
]


def arrange(cells: list[Any]) -> list[tuple[str, str]]:
    """The slide types and sources of the cells that the slides have."""
    given = {"metadata": {"name": "mini"}}
    arranged, _ = Arrangement().preprocess(new_notebook(cells=[cell.copy() for cell in cells]), given)
    return [(cell.metadata.get("slideshow", {}).get("slide_type", "-"), cell.source.strip()) for cell in arranged.cells]


def test_each_thing_to_see_is_a_slide_whose_title_is_a_question_or_what_comes_out() -> None:
    assert [cell for cell in arrange(CELLS) if cell[0] != "notes"] == [
        ("slide", "# Title"),
        ("-", "An opening."),
        ("slide", "## What will it be?"),  # what is asked stands above what leads there,
        ("-", FORMULA),
        ("slide", "## What will it be?"),
        ("-", CHOICES),
        ("slide", "## Sevens come out."),  # and no answer above its question
        ("-", "draw()"),
        ("slide", "## Sevens come out."),
        ("-", "play()"),
        ("slide", "## Sevens come out."),
        ("-", "8"),
        ("slide", "## Words count."),
        ("slide", "## Exercises"),
        ("-", "- Exercise 1 · One\n\nIn `notebooks/mini.ipynb`, each with a checker that answers with hints."),
    ]


def test_with_two_questions_the_first_answer_stands_below_its_question() -> None:
    more = [new_markdown_cell("**Predict.** And then?\n\n*A number.*"), new_code_cell("9", outputs=[PRINTED])]
    titles = [source for kind, source in arrange([*CELLS[:4], CELLS[4], *more, CELLS[4]]) if kind == "slide"]
    assert titles == ["# Title", *["## What will it be?"] * 3, "## And then?", "## Sevens come out."]


def test_the_notes_have_all_the_text_that_is_not_folded() -> None:
    notes = "\n\n".join(source for kind, source in arrange(CELLS) if kind == "notes")
    assert all(
        part in notes for part in f"An opening.\n\n{SECTION[14:]}\n\n{ANSWER}\n\nThey lead on.\n\nLast.".split("\n\n")
    )
    assert "Folded" not in notes and "Do it" not in notes
