"""A question that asks the reader to predict: what may be chosen, what comes out, and what is said of it.

In a notebook a Markdown cell ends with the question, a paragraph that begins with **Predict**, and below it two to four
choices as a list or the words *A number.* The code cells that answer follow, then a Markdown cell with the tag
`answer`, whose metadata hold what is right:

    {"guess": {"name": "likeness", "right": "itself", "rule": "4\\.,? 1"}, "tags": ["answer"]}

`name` is unique in its chapter and never changes: a reader's guess is kept under it. `rule` is a regular expression
that matches what is shown; of a number, its group is `right`. Without a rule `right` itself is shown. One guess of a
chapter may be its `bet`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Any

from nbformat import NotebookNode

from book_site.phrases import A_NUMBER, PREDICT

ASKS = re.compile(rf"(?:\A|(?<=\n\n))\*\*{PREDICT}(?![A-Za-z0-9_])", re.MULTILINE)
CHOICE = re.compile(r"^- (.+)$", re.MULTILINE)
NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?")


@dataclass
class Guess:
    """One such question: its cell, what may be chosen (nothing where a number is asked for), and what answers it."""

    asked: NotebookNode
    text: str  # from its marker on
    choices: list[str]
    code: list[NotebookNode]
    answer: NotebookNode

    @property
    def question(self) -> str:
        """The paragraph that asks."""
        return self.text.partition("\n\n")[0]

    @property
    def key(self) -> dict[str, Any]:
        """What is right, by the metadata of the answer."""
        return dict(self.answer.metadata.get("guess", {}))


def is_answer(cell: NotebookNode) -> bool:
    """Whether a cell is the prose that answers."""
    return cell.cell_type == "markdown" and "answer" in cell.metadata.get("tags", [])


def find_guesses(notebook: NotebookNode) -> Iterator[Guess]:
    """The questions of a notebook, in their order.

    Raises:
        ValueError: if what a question needs is not there.
    """
    cells = notebook.cells
    for number, cell in enumerate(cells):
        begins = [found.start() for found in ASKS.finditer(cell.source)] if cell.cell_type == "markdown" else []
        if not begins:
            continue
        text = cell.source[begins[0] :].rstrip()
        question, _, below = text.partition("\n\n")
        end = next((i for i in range(number + 1, len(cells)) if cells[i].cell_type == "markdown"), len(cells))
        choices = CHOICE.findall(below)
        form = below == f"*{A_NUMBER}*" or (2 <= len(choices) <= 4 and len(below.splitlines()) == len(choices))
        if not form or len(begins) > 1:
            raise ValueError(f"below a question stand two to four choices or *{A_NUMBER}*, got {text!r}")
        if end == number + 1 or end == len(cells) or not is_answer(cells[end]):
            raise ValueError(f"code and a cell with the tag answer must follow {question!r}")
        yield Guess(cell, text, choices, cells[number + 1 : end], cells[end])


def read_shown(guess: Guess) -> str:
    """What the code of a question shows: what it prints, its tables, the words and descriptions of its figures."""
    shown = []
    for cell in guess.code:
        shown.append(str(cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")))
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            drawn = re.findall(r"<text[^>]*>([^<]*)", data.get("image/svg+xml", ""))
            shown += [output.get("text", ""), data.get("text/plain", "") * ("image/svg+xml" not in data), *drawn]
    return unescape("\n".join(shown))


def is_shown(guess: Guess) -> bool:
    """Whether what is said to be right is what is shown, or matches it by its rule."""
    shown, right = read_shown(guess), str(guess.key["right"])
    if "rule" not in guess.key:
        numbers = [number.replace(",", "").replace("−", "-") for number in NUMBER.findall(shown)]
        return right in shown if guess.choices else any(float(number) == float(right) for number in numbers)
    if not (found := re.search(guess.key["rule"], shown)):
        return False
    return not found.groups() or float(found[1].replace(",", "")) == float(right)
