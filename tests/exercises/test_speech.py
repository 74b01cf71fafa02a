"""What checks and hints say in another language: every message of these chapters, and never another verdict."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import d2lmini as d2l
import d2lmini_exercises
from d2lmini_exercises.engine.core import judge
from d2lmini_exercises.engine.speech import speak, translate
from d2lmini_exercises.engine.tasks import CHAPTERS, Task
from tests.exercises.answers import RIGHT, WRONG
from tools.translating.store import list_texts, read_entries

LANGUAGE = "zh"
WORDS = json.loads((Path(d2lmini_exercises.__file__).parent / f"words/{LANGUAGE}.json").read_text("utf-8"))
TITLES = (
    "Attention pooling",
    "Self-attention",
    "Multi-head attention",
    "CNN, RNN, self-attention",
    "Positional encoding",
)
TASKS = [task for title in TITLES for task in CHAPTERS[title]]
NAMES = [name for task in TASKS for name in task.checks.split()]
# Names in code, numbers, and what Python or PyTorch itself says.
FREE = re.compile(
    r"`[^`]*`|d2l\.\w+|\w+\(.*|[A-Z][a-z]+Error.*|\b\w*_\w*\b|\b(?:softmax|nn|torch|GPU|dtype|class|None)\b"
)


@pytest.fixture(autouse=True)
def in_chinese() -> Iterator[None]:
    speak(LANGUAGE)
    yield
    speak()


def is_english(line: str) -> bool:
    """Whether words are left that nobody has translated."""
    return len(re.findall(r"\b[a-z]{3,} [a-z]{2,} [a-z]{2,}\b", FREE.sub("", line))) > 0


@pytest.mark.parametrize("name", NAMES)
def test_what_is_said_to_right_and_wrong_answers_is_translated_and_the_verdict_is_the_same(name: str) -> None:
    wrong = [answer for check, answer, _ in WRONG if check == name]
    for answer in [*RIGHT[name], *wrong, None]:
        verdict = judge(name, answer)
        said = translate(f"{verdict.report}\n{verdict.clue}\n  hint: {verdict.hint}")
        lines = [line for line in said.split("\n") if not re.match(r" +(输入|得到|应为|\w+Error)", line)]
        assert not list(filter(is_english, lines)), lines
        assert said[0] == str(verdict)[0] or verdict.result == "not attempted"


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_questions_and_places_are_translated(task: Task) -> None:
    for line in (f"hint 1 of 3: {task.question}", f"hint 2 of 3: see {task.place}"):
        assert translate(line).startswith("提示") and not is_english(translate(line)), line


def test_a_place_is_a_heading_of_the_translated_chapter() -> None:
    headings = {
        heading
        for name in list_texts(LANGUAGE)
        for entry in read_entries(LANGUAGE, name)
        for heading in re.findall(r"^#+ (.+)$", entry.text, re.MULTILINE)
    }
    named = {found for task in TASKS for found in re.findall("“([^”]+)”", translate(f"hint 2 of 3: see {task.place}"))}
    assert named and not {name for name in named if not any(name in heading for heading in headings)}


def test_a_phrase_has_as_many_gaps_in_both_languages() -> None:
    for english, spoken in WORDS.items():
        count = english.count("{}")
        assert not count or len(re.findall(r"\{\d?\}", spoken)) == count, english


def test_it_prints_in_the_language_that_is_spoken(capsys: pytest.CaptureFixture[str]) -> None:
    d2l.check("predict-mixture", None)
    assert "还没有做" in capsys.readouterr().out
    d2l.speak()
    d2l.check("predict-mixture", None)
    assert "not attempted yet" in capsys.readouterr().out
    with pytest.raises(ValueError, match="language must be one of en, zh, got 'fr'"):
        d2l.speak("fr")
