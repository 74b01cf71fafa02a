"""The exercise checkers: right answers get a tick; each wrong answer that learners give gets its own hint."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import d2lmini as d2l
from d2lmini_exercises import list_exercises
from d2lmini_exercises.engine import Number, WrongAnswer, checker, core, sandbox
from d2lmini_exercises.engine.core import find_exercise
from d2lmini_exercises.engine.prediction import Prediction
from tests.exercises.answers import RIGHT, WRONG
from tools.marking.plan import read_book
from tools.notebooks import TEXTS

ROOT = Path(__file__).parents[2]


pytestmark = pytest.mark.recipe("An exercise")


def find(name: str, answer: Any) -> str:
    """Where an answer is written, for the message."""
    code = getattr(answer, "__code__", None)
    folder = Path(__file__).parent / "answers"
    if code is None or folder not in Path(code.co_filename).parents:
        return f"{folder.relative_to(ROOT)}: {name}, {answer!r:.80}"
    return f"{Path(code.co_filename).relative_to(ROOT)}:{code.co_firstlineno}: {name}"


def start(*_: Any, **__: Any) -> Any:
    """The starter of an exercise."""
    raise NotImplementedError


def raises(error: BaseException) -> Callable[..., Any]:
    def answer(*_: Any) -> Any:
        raise error

    return answer


@pytest.mark.parametrize(("name", "answer"), [(name, answer) for name, answers in RIGHT.items() for answer in answers])
def test_a_right_answer_gets_a_tick(name: str, answer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    d2l.check(name, answer)
    out = capsys.readouterr().out
    assert out.startswith(f"✓ {name}: "), f"{find(name, answer)}: a right answer should get a tick, not {out!r}"
    assert "\n  not tried: " in out and out.count("\n") == 2 + (name in core._NEXT)


@pytest.mark.parametrize("chapter", read_book())
def test_a_tick_names_the_next_exercise_as_the_page_does(chapter: str) -> None:
    text = (TEXTS / f"{chapter}.md").read_text("utf-8")
    checks = re.findall(r"^### (Exercise [\d.]+)|^d2l\.check\(\"([\w-]+)", text, re.MULTILINE)
    called, order = "", dict[str, str]()
    for exercise, name in checks:
        called = exercise or called
        order |= {name: called} if name and name not in order else {}
    title = text[text.index("\n# ") + 3 :].partition("\n")[0].partition(":")[0]
    assert core.CHAPTERS[title] == order and [*core.CHAPTERS[title]] == [*read_book()[chapter]]
    assert [core._NEXT.get(name) for name in order] == [*[*order.values()][1:], None]


@pytest.mark.parametrize(("name", "answer", "hint"), WRONG)
def test_a_wrong_answer_gets_its_hint(name: str, answer: Any, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    d2l.check(name, answer)
    out = capsys.readouterr().out
    wanted = f"{find(name, answer)}: this wrong answer should get the hint {hint!r}, not {out!r}"
    assert out.startswith(f"✗ {name}: ") and hint in out.partition("hint: ")[2], wanted
    for line in out.splitlines():
        code = line.removeprefix("  for      ")
        if line != code and code.startswith(("torch.", "import ")):
            exec(code, {"torch": torch, "nn": nn, "F": F, "d2l": d2l})  # the student can paste it


def list_mistakes() -> list[tuple[str, str, Any]]:
    found = ((name, find_exercise(name)) for name in list_exercises())
    return [(name, *each) for name, data in found if hasattr(data, "list_mistakes") for each in data.list_mistakes()]


@pytest.mark.parametrize(("name", "hint", "judge"), list_mistakes())
def test_each_mistake_gets_its_own_hint(name: str, hint: str, judge: Callable[[], str]) -> None:
    with pytest.raises(WrongAnswer) as wrong, sandbox.keep_state():
        judge()
    assert wrong.value.hint == hint, f"{name}: {wrong.value.symptom}"


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "answer"), {wrong[0]: wrong[:2] for wrong in WRONG}.values())
def test_without_a_hint_the_symptom_is_shown(name: str, answer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    d2l.check(name, answer, hint=False)
    symptom = capsys.readouterr().out
    d2l.check(name, answer)
    assert "hint:" not in symptom and capsys.readouterr().out.startswith(symptom.rstrip("\n") + "\n  hint: ")


@pytest.mark.parametrize("name", list_exercises())
def test_an_exercise_has_answers(name: str) -> None:
    assert RIGHT.get(name), f"no right answer to {name!r} in tests/exercises/answers, RIGHT"
    assert any(name == other for other, *_ in [*WRONG, *list_mistakes()]), (
        f"no mistake is listed, nor a wrong answer to {name!r} in tests/exercises/answers, WRONG"
    )


def test_no_listed_mistake_is_among_the_wrong_answers() -> None:
    listed = [(name, hint) for name, hint, _ in list_mistakes()]
    again = [(name, part) for name, _, part in WRONG for other, hint in listed if name == other and part in hint]
    assert not again, f"tests/exercises/answers, WRONG: {again} are listed as mistakes, and a test hands those in"


def test_answers_belong_to_exercises() -> None:
    assert {*RIGHT, *(name for name, _, _ in WRONG)} <= {*list_exercises()}


@pytest.mark.thorough
@pytest.mark.parametrize("name", RIGHT)
def test_no_answer_raises(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    errors = ValueError("oops"), SystemExit(3), NotImplementedError("\"softmax\" not implemented for 'Bool'")
    for answer in (0, "text", [], object(), lambda *a: None, *map(raises, errors)):
        d2l.check(name, answer)
        assert capsys.readouterr().out.startswith(f"✗ {name}: ")


@pytest.mark.parametrize("name", RIGHT)
def test_not_attempted(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    d2l.check(name, None)
    assert capsys.readouterr().out == f"{name}: not attempted yet\n"
    if callable(RIGHT[name][0]):
        d2l.check(name, start)
        assert capsys.readouterr().out == f"{name}: not attempted yet\n"


def test_of_a_long_matrix_the_first_difference_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    right = RIGHT["debug-multi-head"][0]

    def wrong(*arguments: Any) -> torch.Tensor:
        found = right(*arguments)
        found[1:, 2, 0] += 1.5  # of (3, 4, 6)
        return found

    d2l.check("debug-multi-head", wrong)
    lines = capsys.readouterr().out.splitlines()[2:4]
    expected, got = (float(line.split()[1]) for line in lines)
    assert got == pytest.approx(expected + 1.5, abs=2e-3)  # four digits of each
    assert lines[0].endswith("at [1, 2, 0], the first of 2 places that differ") and lines[1].endswith("there")


def test_a_prediction_is_not_given_away(capsys: pytest.CaptureFixture[str]) -> None:
    for name, answer, _ in WRONG:
        if name.startswith(("predict", "use-")):
            d2l.check(name, answer)
    assert "expected" not in capsys.readouterr().out


def test_an_unknown_exercise_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no exercise named 'masked-attentio'; there are .*masked-attention"):
        d2l.check("masked-attentio", None)


def test_a_name_is_taken_once() -> None:
    with pytest.raises(ValueError, match="already a checker named 'masked-attention'"):
        checker("masked-attention")(lambda answer: "")


@pytest.mark.parametrize("mistakes", [{"half": 4.0, "a quarter": 4.001}, {"the right one": (2.0, 8.0)}])
def test_two_hints_for_one_number_are_refused(mistakes: dict[str, float | tuple[float, ...]]) -> None:
    with pytest.raises(ValueError, match="mistakes of the width must give different numbers"):
        Prediction({Number("the width", 8.0, "count"): mistakes}, "")


def test_one_hint_may_be_for_several_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    for angle in (7.6, 7.64):
        d2l.check("predict-relative", (264, 0.368, angle))
        assert "in radians, not in degrees" in capsys.readouterr().out
