"""Each question that asks to predict is answered: by what a cell shows, and by prose that waits."""

import re
from typing import Any

import nbformat
import pytest
from book_site.guesses import find_guesses, is_shown
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools.notebooks.files import NOTEBOOKS

pytestmark = pytest.mark.recipe("A question to predict")
CHAPTERS = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_what_is_right_is_what_is_shown(chapter: str) -> None:
    guesses = list(find_guesses(nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4)))
    names = [guess.key.get("name", "") for guess in guesses]
    assert len({*names}) == len(names) and all(re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", name) for name in names), names
    for guess in guesses:
        right, where = str(guess.key.get("right")), f"{chapter}, {guess.question}"
        form = right in guess.choices if guess.choices else re.fullmatch(r"-?\d+(\.\d+)?", right)
        assert not re.search(r"[$*\[`]", right), (
            f"{where}: {right!r} is compared with what the page says, as plain words"
        )
        assert form and {*guess.key} <= {"name", "right", "rule", "bet"}, f"{where}: {guess.key}"
        assert is_shown(guess), f"{where}: the cell does not show {right!r}; give a rule"
        assert not guess.answer.source.rstrip().endswith((":", "：")), f"{where}: the answer leads to the next cell"
    assert sum("bet" in guess.key for guess in guesses) == bool(guesses), f"{chapter}: one of the questions is the bet"


def ask(below: str, *rest: Any) -> Any:
    return new_notebook(cells=[new_markdown_cell(f"So.\n\n**Predict.** How many?{below}"), *rest])


CODE = new_code_cell("print(7)", outputs=[new_output("stream", text="it is 1,234\n")])
ANSWER = new_markdown_cell("It is.", metadata={"tags": ["answer"], "guess": {"name": "it", "right": "1234"}})


@pytest.mark.parametrize(
    "below", ["", "\n\nA number.", "\n\n- one", "\n\n- a\n- b\n- c\n- d\n- e", "\n\n- a\n- b\n\nMore."]
)
def test_a_question_without_choices_is_refused(below: str) -> None:
    with pytest.raises(ValueError, match="two to four choices"):
        list(find_guesses(ask(below, CODE, ANSWER)))


@pytest.mark.parametrize("rest", [[], [ANSWER], [CODE], [CODE, new_markdown_cell("It is.")]])
def test_a_question_without_an_answer_is_refused(rest: list[Any]) -> None:
    with pytest.raises(ValueError, match="code and a cell with the tag answer"):
        list(find_guesses(ask("\n\n*A number.*", *rest)))


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ({}, True),
        ({"right": "123"}, False),
        ({"rule": r"is ([\d,]+)"}, True),
        ({"rule": "is (1)"}, False),
        ({"rule": "no"}, False),
    ],
)
def test_a_number_is_shown_or_is_the_group_of_its_rule(key: dict[str, str], shown: bool) -> None:
    (guess,) = find_guesses(ask("\n\n*A number.*", CODE, ANSWER))
    guess.answer.metadata["guess"] = {"name": "it", "right": "1234", **key}
    assert is_shown(guess) is shown
