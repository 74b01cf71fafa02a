"""The exercise checkers: right answers get a tick; each wrong answer that learners give gets its own hint."""

import math
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
from d2lmini_exercises.engine import EDGES, Number, Task, WrongAnswer, checker, hints, sandbox
from d2lmini_exercises.engine.core import find_exercise
from d2lmini_exercises.engine.differences import tabulate_differences
from d2lmini_exercises.engine.prediction import Prediction
from d2lmini_exercises.engine.tasks import CHAPTERS, find_next, name_check
from tests.exercises.answers import RIGHT, WRONG
from tools.notebooks.files import TEXTS
from tools.teaching.marking.plan import read_book

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


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])  # that of the chapters, and that of PyTorch
@pytest.mark.parametrize(("name", "answer"), [(name, answer) for name, answers in RIGHT.items() for answer in answers])
def test_a_right_answer_gets_a_tick(
    name: str, answer: Any, dtype: torch.dtype, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.set_default_dtype(dtype)
    d2l.check(name, answer)
    out = capsys.readouterr().out
    begins = out.startswith(f"✓ {name_check(name)}: ")
    assert begins, f"{find(name, answer)}: a right answer should get a tick, not {out!r}"
    assert "\n  not tried: " in out and out.count("\n") == 2 + bool(find_next(name))


@pytest.mark.parametrize("chapter", read_book())
def test_a_tick_names_the_next_exercise_as_the_page_does(chapter: str) -> None:
    text = (TEXTS / f"{chapter}.md").read_text("utf-8")
    checks = re.findall(r"^### (Exercise [\d.]+)|^d2l\.check\(\"([\w-]+)", text, re.MULTILINE)
    called, order = "", dict[str, str]()
    for exercise, name in checks:
        called = exercise or called
        order |= {name: called} if name and name not in order else {}
    title = text[text.index("\n# ") + 3 :].partition("\n")[0].partition(":")[0]
    listed = {name: task.name for task in CHAPTERS[title] for name in task.checks.split()}
    assert [*listed.items()] == [*order.items()] and [*listed] == [*read_book()[chapter]]
    assert [name_check(name) for name in order] == [f"{called}, {name}" for name, called in order.items()]
    assert [find_next(name) for name in order] == [*[*order.values()][1:], ""]


@pytest.mark.parametrize(("chapter", "task"), [(title, task) for title, tasks in CHAPTERS.items() for task in tasks])
def test_the_second_hint_leads_to_a_place_of_the_book(chapter: str, task: Task) -> None:
    texts = [path.read_text("utf-8") for path in TEXTS.glob("*.md")]
    own = [text for text in texts if f"\n# {chapter}" in text or "of chapter" in task.place]
    headings = {line.strip("# ") for text in own for line in re.findall(r"^#+ .*", text, re.MULTILINE)}
    named, formulas = re.findall(r'"([^"]+)"', task.place), re.findall(r"\(\d+\.\d+\)", task.place)
    assert (named or formulas) and {*named} <= headings, f"{task.name}: {task.place!r} names no section of the chapter"
    tags = {f"({tag})" for text in texts for tag in re.findall(r"\\tag\{([\d.]+)\}", text)}
    assert {*formulas} <= tags and task.question.endswith("?")


def test_hints_come_step_by_step_and_the_last_is_about_the_newest_answer(capsys: pytest.CaptureFixture[str]) -> None:
    name = "predict-heads"
    (task,) = [task for tasks in CHAPTERS.values() for task in tasks if task.checks == name]
    hints._SHOWN.clear(), hints._CLUES.clear()
    for _ in range(3):
        d2l.hint(name)
    told = capsys.readouterr().out.splitlines()
    assert task.question in told[0] and task.place in told[1] and "check an answer first" in told[2]
    for answer in ((math.sqrt(512), 1, 1), (64, 1, 1)):
        d2l.check(name, answer)
        assert f'd2l.hint("{name}")' in capsys.readouterr().out
        d2l.hint(name)
        told.append(capsys.readouterr().out)
    assert told[-1] != told[-2] and all(line.startswith("hint 3 of 3: ") for line in told[-2:])
    d2l.check(name, RIGHT[name][0])
    d2l.hint(name)
    assert "is right: there is nothing to mend" in capsys.readouterr().out
    with pytest.raises(ValueError, match=r"no exercise named 'heads'; there are .*predict-heads"):
        d2l.hint("heads")


@pytest.mark.parametrize(("name", "answer", "hint"), WRONG)
def test_a_wrong_answer_gets_its_hint(name: str, answer: Any, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    d2l.check(name, answer)
    out, clue = capsys.readouterr().out, hints.find_clue(name)
    wanted = f"{find(name, answer)}: this wrong answer should get the hint {hint!r}, not {clue!r}; {out!r}"
    assert out.startswith(f"✗ {name_check(name)}: ") and hint in clue and "hint: " in out, wanted
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


@pytest.mark.parametrize("name", list_exercises())
def test_an_exercise_has_answers(name: str) -> None:
    assert RIGHT.get(name), f"no right answer to {name!r} in tests/exercises/answers, RIGHT"
    assert any(name == other for other, *_ in [*WRONG, *list_mistakes()]), (
        f"no mistake is listed, nor a wrong answer to {name!r} in tests/exercises/answers, WRONG"
    )


def test_each_edge_case_has_a_name_and_an_exercise() -> None:
    named = {case.edge for name in list_exercises() for case in getattr(find_exercise(name), "cases", ())}
    assert named == {"", *EDGES}


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
        assert capsys.readouterr().out.startswith(f"✗ {name_check(name)}: ")


@pytest.mark.parametrize("name", RIGHT)
def test_not_attempted(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    d2l.check(name, None)
    assert capsys.readouterr().out == f"{name_check(name)}: not attempted yet\n"
    if callable(RIGHT[name][0]):
        d2l.check(name, start)
        assert capsys.readouterr().out == f"{name_check(name)}: not attempted yet\n"


def test_expected_got_and_difference_stand_side_by_side(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = RIGHT["debug-multi-head"][0]

    def wrong(*arguments: Any) -> torch.Tensor:
        found = right(*arguments)
        found[1:, 2, 5] += 1.5  # of (3, 4, 6)
        return found

    d2l.check("debug-multi-head", wrong)
    report = capsys.readouterr().out
    assert "differs  2 of 72 entries; here [1], columns 3 to 5 of 6" in report
    head, *lines = [line.split() for line in report.splitlines() if re.match(r" +(row|\d) ", line)]
    columns = ["[4]", "[5]"]
    assert head == ["row", "expected", *columns, "got", *columns, "difference", *columns]
    numbers = [[float(number) for number in line[1:]] for line in lines]
    assert len(numbers) == 4 and [line[8] for line in numbers] == [0, 0, 1.5, 0]
    assert all(a - b == pytest.approx(c, abs=2e-3) for line in numbers for b, a, c in [line[2::3]])

    shown: list[Any] = []
    monkeypatch.setattr("d2lmini_exercises.engine.core.find_shell", lambda: True)
    monkeypatch.setattr("IPython.display.display", shown.append)
    d2l.check("debug-multi-head", wrong)
    assert "<th" in shown[0]._repr_html_() and "row" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("shape", "at", "place", "rows", "columns"),
    [
        ((3,), (1,), "1 of 3 entries", 3, 3),
        ((20,), (19,), "1 of 20 entries; here entries 14 to 19 of 20", 6, 3),
        ((2, 3), (1, 1), "1 of 6 entries", 2, 9),
        ((9, 9), (0, 8), "1 of 81 entries; here rows 0 to 5 of 9, columns 6 to 8 of 9", 6, 9),
        ((2, 1, 7, 2), (1, 0, 3, 0), "1 of 28 entries; here [1, 0], rows 1 to 6 of 7", 6, 6),
    ],
)
def test_a_table_shows_the_first_entry_that_differs(
    shape: tuple[int, ...], at: tuple[int, ...], place: str, rows: int, columns: int
) -> None:
    expected = torch.zeros(shape)
    got = expected.index_put(tuple(map(torch.tensor, at)), torch.tensor(math.nan))
    found, table = tabulate_differences(got, expected, got.isnan())
    assert found == place and len(table.rows) == rows and len(table.columns) == 1 + columns
    assert str(table).count("nan") == 2


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


def test_one_hint_may_be_for_several_numbers() -> None:
    for angle in (7.6, 7.64):
        d2l.check("predict-relative", (264, 0.368, angle))
        assert "in radians, not in degrees" in hints.find_clue("predict-relative")
