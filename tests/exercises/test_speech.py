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
from d2lmini_exercises.engine.tasks import CHAPTERS
from tests.exercises.answers import RIGHT, WRONG
from tools.translating.store import list_texts, read_entries

TITLES = (
    "Attention pooling",
    "Self-attention",
    "Multi-head attention",
    "CNN, RNN, self-attention",
    "Positional encoding",
)
TASKS = {  # of the chapters that are translated
    language: [task for title in TITLES[:chapters] for task in CHAPTERS[title]]
    for language, chapters in {"zh": 5, "vi": 3}.items()
}
NAMES = [(language, name) for language, tasks in TASKS.items() for task in tasks for name in task.checks.split()]
LEFT = re.compile(r"\b(?:the|of|is|are|and|with|for|it|what|which|each|how)\b")  # no other language has these words
# Names in code, numbers, and what Python or PyTorch itself says.
FREE = re.compile(
    r"`[^`]*`|d2l\.\w+|\w+\(.*|[A-Z][a-z]+Error.*|\b\w*_\w*\b|\b(?:softmax|nn|torch|GPU|dtype|class|None)\b"
)
VALUES = re.compile(r" +(?:输入|得到|应为|đầu vào|nhận được|cần có|\w+Error)")


@pytest.fixture(autouse=True)
def in_english_afterwards() -> Iterator[None]:
    yield
    speak()


def is_english(line: str) -> bool:
    """Whether words are left that nobody has translated."""
    return len(LEFT.findall(FREE.sub("", line))) > 1


@pytest.mark.parametrize(("language", "name"), NAMES)
def test_what_is_said_to_right_and_wrong_answers_is_translated_and_the_verdict_is_the_same(
    language: str, name: str
) -> None:
    speak(language)
    wrong = [answer for check, answer, _ in WRONG if check == name]
    for answer in [*RIGHT[name], *wrong, None]:
        verdict = judge(name, answer)
        said = translate(f"{verdict.report}\n{verdict.clue}\n  hint: {verdict.hint}")
        if verdict.table is not None:
            assert all(re.search("[^ -~]", head) for head in verdict.table.columns if head[0] != "["), verdict.table
        lines = [line for line in said.split("\n") if not VALUES.match(line)]
        assert not list(filter(is_english, lines)), lines
        assert said[0] == str(verdict)[0] or verdict.result == "not attempted"


@pytest.mark.parametrize("language", TASKS)
def test_questions_and_places_are_translated(language: str) -> None:
    speak(language)
    for line in (line for task in TASKS[language] for line in (task.question, f"hint 2 of 3: see {task.place}")):
        assert translate(line) != line and not is_english(translate(line)), line


@pytest.mark.parametrize("language", TASKS)
def test_a_place_is_a_heading_of_the_translated_chapter(language: str) -> None:
    speak(language)
    headings = {
        heading
        for name in list_texts(language)
        for entry in read_entries(language, name)
        for heading in re.findall(r"^#+ (.+)$", entry.text, re.MULTILINE)
    }
    places = [translate(f"hint 2 of 3: see {task.place}") for task in TASKS[language]]
    named = {found for place in places for found in re.findall("“([^”]+)”", place)}
    assert named and not {name for name in named if not any(name in heading for heading in headings)}


@pytest.mark.parametrize("language", TASKS)
def test_a_phrase_has_as_many_gaps_in_both_languages(language: str) -> None:
    words = json.loads((Path(d2lmini_exercises.__file__).parent / f"words/{language}.json").read_text("utf-8"))
    for english, spoken in words.items():
        count = english.count("{}")
        assert not count or len(re.findall(r"\{\d?\}", spoken)) == count, english


def test_it_prints_in_the_language_that_is_spoken(capsys: pytest.CaptureFixture[str]) -> None:
    d2l.speak("zh")
    d2l.check("predict-mixture", None)
    assert "还没有做" in capsys.readouterr().out
    d2l.speak()
    d2l.check("predict-mixture", None)
    assert "not attempted yet" in capsys.readouterr().out
    with pytest.raises(ValueError, match="language must be one of en, vi, zh, got 'fr'"):
        d2l.speak("fr")
