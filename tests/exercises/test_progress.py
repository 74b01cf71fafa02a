"""What is noted of ticks: a file beside the notebook, or where the reader wants it; nothing of tests and solutions."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import d2lmini as d2l
from d2lmini_exercises import list_exercises
from d2lmini_exercises.engine import ticks
from d2lmini_exercises.engine.tasks import CHAPTERS
from tests.exercises.answers import RIGHT

SOLVED = "predict-heads"


def solve(cell: str, patch: pytest.MonkeyPatch, answer: object = RIGHT[SOLVED][0]) -> None:
    """Check an answer in a cell of a notebook."""
    shell = SimpleNamespace(user_ns={"In": ["", cell]})
    patch.setattr(ticks, "find_shell", lambda: shell)
    d2l.check(SOLVED, answer)


@pytest.mark.parametrize("named", [True, False])
def test_a_tick_is_noted_once_and_listed_until_it_is_reset(
    named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / ("mine.json" if named else ".d2l-progress.json")
    monkeypatch.setenv("D2L_PROGRESS", str(file)) if named else monkeypatch.delenv("D2L_PROGRESS", raising=False)
    solve("d2l.check(...)", monkeypatch, (1, 2, 3))
    assert not file.exists()
    for _ in range(2):
        solve("d2l.check(...)", monkeypatch)
    assert json.loads(file.read_text("utf-8")) == [SOLVED]
    capsys.readouterr()
    d2l.progress()
    out = capsys.readouterr().out
    assert "\nMulti-head attention: 1 of 5 (3.1)\n" in out and out.count(": 0 of ") == len(CHAPTERS) - 1
    d2l.progress(reset=True)
    assert not file.exists() and "Multi-head attention: 0 of 5\n" in capsys.readouterr().out


def test_of_an_exercise_with_two_checks_both_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("D2L_PROGRESS", str(tmp_path / "mine.json"))
    for name, told in {"measure-heads": "0 of 5\n", "use-heads": "1 of 5 (3.5)\n"}.items():
        d2l.check(name, RIGHT[name][0])
        d2l.progress()
        assert f"Multi-head attention: {told}" in capsys.readouterr().out


def test_nothing_is_noted_of_solutions_nor_where_nobody_wants_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("D2L_PROGRESS", "")
    solve("d2l.check(...)", monkeypatch)
    d2l.progress()
    assert "Nothing is noted here" in capsys.readouterr().out
    monkeypatch.delenv("D2L_PROGRESS")
    solve("# @title Solution\nd2l.check(...)", monkeypatch)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("content", ["", "{", "3", '{"a": 1}'])
def test_a_file_that_is_none_of_ours_stops_nobody(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.json"
    file.write_text(content)
    monkeypatch.setenv("D2L_PROGRESS", str(file))
    d2l.progress()
    solve("d2l.check(...)", monkeypatch)
    assert capsys.readouterr().out.count("✓") == 1 and SOLVED in json.loads(file.read_text("utf-8"))
    monkeypatch.setenv("D2L_PROGRESS", str(tmp_path / "missing" / "mine.json"))
    solve("d2l.check(...)", monkeypatch)
    d2l.progress()
    out = capsys.readouterr().out
    assert "✓" in out and "Nothing can be noted in" in out and "\nNoted in" not in out


@pytest.mark.parametrize("encoding", ["cp1252", "gbk", "ascii"])
def test_an_output_without_a_tick_gets_its_name(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In Windows, a file has the letters of its language only."""
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    for answer in ((1, 2, 3), RIGHT[SOLVED][0]):
        d2l.check(SOLVED, answer)
    for name in list_exercises():
        d2l.hint(name)
    d2l.progress()
    sys.stdout.seek(0)
    out = sys.stdout.read()
    assert out.startswith(r"\N{BALLOT X} ") and "\n\\N{CHECK MARK} " in out
