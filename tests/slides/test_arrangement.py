"""What is shown of a chapter, on a small notebook."""

import re
from itertools import cycle
from typing import Any

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools.teaching.slides.arrange import Arrangement
from tools.teaching.slides.blocks import split_sentences

TEXT = """\
## A heading

What is it? It is $a. B$ and `c. D`. More of it is said here, in a sentence that is longer than what has room in a line.
And still more of it, up to a sentence that asks.

**Predict.** What will it be?
"""
AFTER = """\
Seven. And more.

Nothing of this is shown. This leads to:

$$
x
$$

**In one sentence.** It is seven.

## Exercises

### Exercise 1 · One
"""


def make(text: str, after: str) -> Any:
    """A chapter with a figure below its prediction, a fold, code that prints, and a cell that is to be skipped."""
    figure = new_output("display_data", data={"image/svg+xml": "<svg/>", "image/png": ""})
    return new_notebook(
        cells=[
            new_markdown_cell("# Title\n\nAn opening.\n\n**Prerequisites**: none."),
            new_code_cell("import math"),
            new_markdown_cell(text),
            new_code_cell("draw()", outputs=[new_output("stream", text="drawn"), figure]),
            new_markdown_cell("Folded.", metadata={"tags": ["check"]}),
            new_code_cell("skipped()", metadata={"slideshow": {"slide_type": "skip"}}),
            new_code_cell("7", outputs=[new_output("execute_result", data={"text/plain": "7"})]),
            new_code_cell("\n" * 30 + "8"),
            new_markdown_cell(after),
        ]
    )


def arrange(notebook: Any) -> list[tuple[str, str]]:
    """The slide types and sources of the cells that the slides have."""
    arranged, _ = Arrangement().preprocess(notebook, {"metadata": {"name": "mini"}})
    return [(cell.metadata.slideshow.slide_type, cell.source) for cell in arranged.cells]


def test_what_is_shown_follows_from_the_shape() -> None:
    shown = [cell for cell in arrange(make(TEXT, AFTER)) if cell[0] != "notes"]
    heading = ("slide", "## A heading")
    *first, last = split_sentences(TEXT.split("\n\n")[1])
    assert shown == [
        ("slide", "# Title"),
        ("-", "An opening."),
        heading,
        ("-", " ".join(first)),  # as much as two lines hold
        ("fragment", f"{last}\n\n**Predict.** What will it be?"),
        heading,  # never a picture below its question
        ("-", "draw()"),
        ("fragment", "7"),
        ("fragment", "Seven. And more."),
        heading,  # what has no room
        ("-", "This leads to:\n\n$$\nx\n$$"),
        ("-", "**In one sentence.** It is seven."),
        ("slide", "## Exercises"),
        ("-", "- Exercise 1 · One\n\nIn `notebooks/mini.ipynb`, each with a checker that answers with hints."),
    ]


def test_who_rewords_a_sentence_breaks_no_slide() -> None:
    def reword(text: str) -> str:
        other = cycle(("quux", "plugh", "xyzzy"))
        return re.sub(r"(?<![$`#*\w. ·])[a-z]{2,}|(?<=[a-z,] )[a-z]{2,}", lambda _: next(other), text)

    changed = reword(TEXT), reword(AFTER)
    assert changed != (TEXT, AFTER)
    assert [kind for kind, _ in arrange(make(*changed))] == [kind for kind, _ in arrange(make(TEXT, AFTER))]


def test_the_notes_have_all_the_text_that_is_not_folded() -> None:
    notes = "\n\n".join(source for kind, source in arrange(make(TEXT, AFTER)) if kind == "notes")
    written = [part for part in f"{TEXT}\n{AFTER}".split("\n\n") if not part.lstrip().startswith("#")]
    assert all(part.strip() in notes for part in written)
    assert "Folded" not in notes


def test_a_sentence_ends_where_a_reader_ends_it() -> None:
    sentences = ["No.", "See [a. B](x.ipynb) and Li et al. (2020).", "(An aside.)", "The **end**.", "**Now.** What?"]
    assert split_sentences(" ".join(sentences)) == [*sentences[:4], "**Now.**", "What?"]


def test_a_sentence_in_chinese_ends_without_a_blank() -> None:
    sentences = ["谁在吃？", "误差只剩37.5倍（见图。它很小）。", "（旁白。）", "“对！”", "结束"]
    assert split_sentences("".join(sentences)) == sentences
