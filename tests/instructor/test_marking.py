"""Marks of returned notebooks: honest ones, careless ones and hostile ones."""

from __future__ import annotations

import csv
import signal
from pathlib import Path
from threading import Event
from typing import Any

import nbformat
import pytest

from tools.marking import __main__ as marking
from tools.marking import sandbox
from tools.marking.plan import read_book, read_code
from tools.notebooks import NOTEBOOKS
from tools.student import remove_solutions

pytestmark = pytest.mark.thorough

BEGIN = "import math, os, sys\nimport torch\nimport d2lmini as d2l"
# The other answers of the chapter: not attempted, so that no cell of the chapter is needed for them.
OTHERS = " = ".join(
    answer for answer in read_book()["attention-pooling"].values() if answer.isidentifier() and answer != "mixtures"
)
PREDICT = 'mixtures = {}\nd2l.check("predict-mixture", mixtures)'
RIGHT, WRONG = PREDICT.format("(10, 12, 7)"), PREDICT.format("(14, 12, 7)")
CHAPTER = NOTEBOOKS / "attention-pooling.ipynb"
STARTER = next(source for source in read_code(CHAPTER) if "debug-" in source)
# The name of the file, and the cells in it.
HANDED_IN = {
    "right": [RIGHT],
    "wrong": [WRONG],
    "begun": [PREDICT.format("None")],
    "raises-before": ["1 / 0", RIGHT],
    "raises": ["mixtures = 1 / 0\nd2l.check('predict-mixture', mixtures)"],
    "no-python": ["mixtures = (10,\nd2l.check('predict-mixture', mixtures)"],
    "endless": ["while True: pass", RIGHT],
    "endless-and-deaf": ["import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: pass", RIGHT],
    "hog": ["hog = torch.ones(10**11)", RIGHT],
    "talkative": ["for _ in range(10**5): print('x' * 1000)", RIGHT],
    "exits": ["sys.exit(0)", RIGHT],
    "ends-itself": [RIGHT, "os._exit(0)"],
    "ends-itself-first": ["os._exit(0)", RIGHT],
    "attention-pooling-without-check": ["mixtures = (10, 12, 7)"],
    "check-edited": ['d2l.check("predict-mixture", (10, 12, 7))'],
    "check-replaced": ["d2l.check = lambda *a, **k: print('✓ predict-mixture: fine')", WRONG],
    "package-shadowed": ["class d2l:\n    check = lambda *a, **k: print('✓')", WRONG],
    "checker-replaced": [
        "from d2lmini_exercises import core\ncore._CHECKERS['predict-mixture'] = lambda a: 'fine'",
        WRONG,
    ],
    "prints-a-tick": [
        "class Liar:\n    def __iter__(self):\n        print('✓ predict-mixture: so')\n        return iter((1, 2, 3))",
        PREDICT.format("Liar()"),
    ],
    "forges": [
        'record = b\'{"name": "predict-mixture", "verdicts": ["\\xe2\\x9c\\x93"]}\\n\'\n'
        "for pipe in range(3, 30):\n    try:\n        os.write(pipe, record)\n    except OSError:\n        pass",
        WRONG,
    ],
    "debug-tried": [STARTER.replace("return", "return 0 *", 1)],
    "ran-out-of-order": [PREDICT.format("None"), "mixtures = (10, 12, 7)"],
    "attention-pooling-no-python": ["mixtures = (10,\nd2l.check('predict-mixture', mixtures)"],
    "asks-the-network": ["import socket\nsocket.create_connection(('1.1.1.1', 53), 2)\n" + RIGHT],
    "名前": [RIGHT],
}


def write(path: Path, cells: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    code = [nbformat.v4.new_code_cell(source) for source in [BEGIN, f"{OTHERS} = None", *cells]]
    title = nbformat.v4.new_markdown_cell("# Attention pooling")
    nbformat.write(nbformat.v4.new_notebook(cells=[title, *code]), path)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """All marks."""
    folder = tmp_path_factory.mktemp("returned")
    for name, cells in HANDED_IN.items():
        write(folder / f"{name}.ipynb", cells)
    write(folder / "ada/attention-pooling.ipynb", [RIGHT])
    write(folder / "bob/attention-pooling.ipynb", [WRONG])
    (folder / "torn.ipynb").write_text('{"cells": [')
    (folder / "empty.ipynb").write_text("")
    (folder / "as-empty.ipynb").write_text("")
    (folder / "by-mistake").mkdir()
    (folder / "by-mistake/attention-pooling.py").write_text("mixtures = 1")
    (folder / "homework.zip").write_text("")
    (folder / "__MACOSX").mkdir()
    (folder / "__MACOSX/._right.ipynb").write_text("")
    write(folder / "loud" / "ATTENTION-POOLING.IPYNB", [RIGHT])
    (folder / "blank").mkdir()
    nbformat.write(remove_solutions(nbformat.read(CHAPTER, 4)), folder / "blank" / CHAPTER.name)
    write(folder / "twice" / "first.ipynb", [WRONG])
    write(folder / "twice" / "second.ipynb", [RIGHT])
    write(folder / "of-another-book.ipynb", ["print(1)"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marking, "MARKS", folder / "marks")
        patch.setattr(sandbox, "CELL_SECONDS", 3.0)
        patch.setattr(sandbox, "SECONDS", 25.0)
        marking.main(folder, 2)
        patch.setattr(sandbox, "run", lambda *_: pytest.fail("run again"))
        marking.main(folder, 2)
    assert "predict-mixture" in (folder / "marks/marks.html").read_text("utf-8")
    with (folder / "marks/marks.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def marks(rows: list[dict[str, str]]) -> dict[str, dict[str, str]]:
    """The mark of the one exercise, by who handed it in."""
    return {row["who"]: row for row in rows if row["exercise"] in ("predict-mixture", "")}


@pytest.mark.parametrize(
    "who", ["right", "raises-before", "endless", "hog", "talkative", "exits", "ends-itself", "ada", "名前"]
)
def test_a_right_answer_is_right_whatever_stands_beside_it(marks: dict[str, dict[str, str]], who: str) -> None:
    assert marks[who]["result"] == "right", marks[who]


@pytest.mark.parametrize("who", ["wrong", "bob", "forges", "check-replaced", "checker-replaced"])
def test_a_wrong_answer_gets_its_first_hint(marks: dict[str, dict[str, str]], who: str) -> None:
    assert marks[who]["result"] == "wrong" and "that is the value of the best key alone" in marks[who]["hint"], marks[
        who
    ]


def test_what_was_not_attempted_is_not_wrong(marks: dict[str, dict[str, str]]) -> None:
    assert marks["begun"]["result"] == "not attempted"


@pytest.mark.parametrize(
    ("who", "why"),
    [
        ("raises", "ZeroDivisionError"),
        ("no-python", "no check of any chapter"),
        ("endless-and-deaf", "had not ended after 25 seconds"),
        ("ends-itself-first", "ended its own process"),
        ("attention-pooling-no-python", "its cell is no Python: SyntaxError in line"),
        ("torn", "no notebook"),
        ("by-mistake", "no notebook found"),
        ("homework", "no notebook found"),
        ("of-another-book", "no check of any chapter"),
    ],
)
def test_what_cannot_be_trusted_or_did_not_run_says_why(marks: dict[str, dict[str, str]], who: str, why: str) -> None:
    assert marks[who]["result"] == "did not run" and why in marks[who]["remark"], marks[who]


def test_each_row_names_its_file(rows: list[dict[str, str]]) -> None:
    files = {row["who"]: row["file"] for row in rows}
    assert files["empty"] == "empty.ipynb" and files["as-empty"] == "as-empty.ipynb" and files["ada"].startswith("ada/")
    assert not {"__MACOSX", "marks"} & set(files) and "loud" in files
    twice = {row["file"]: row for row in rows if row["who"] == "twice" and row["exercise"] == "predict-mixture"}
    results = {file: row["result"] for file, row in twice.items()}
    assert results == {"twice/first.ipynb": "wrong", "twice/second.ipynb": "right"}
    assert all("one of several" in row["remark"] for row in twice.values())


def test_a_starter_that_nobody_has_touched_was_not_attempted(rows: list[dict[str, str]]) -> None:
    assert {row["result"] for row in rows if row["who"] == "blank"} == {"not attempted"}
    found = {row["who"]: row["result"] for row in rows if row["exercise"].startswith("debug-")}
    assert found["debug-tried"] == "wrong"


def test_a_tick_that_the_run_does_not_give_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marking, "MARKS", tmp_path / "marks")
    write(tmp_path / "ran/attention-pooling.ipynb", HANDED_IN["ran-out-of-order"])
    notebook = nbformat.read(tmp_path / "ran/attention-pooling.ipynb", 4)
    notebook.cells[3].outputs = [nbformat.v4.new_output("stream", text="✓ predict-mixture: so it is\n")]
    nbformat.write(notebook, tmp_path / "ran/attention-pooling.ipynb")
    marking.main(tmp_path, 1)
    table = (tmp_path / "marks/marks.csv").read_text("utf-8-sig")
    assert "predict-mixture,not attempted,,its stored output has a tick" in table


def test_an_answer_that_raises_or_does_not_end_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marking, "MARKS", tmp_path / "marks")
    monkeypatch.setattr(sandbox, "CELL_SECONDS", 5.0)
    code = "def leave_one_out(*_):\n    raise MemoryError('all')\nd2l.check('masked-pooling', leave_one_out)"
    write(tmp_path / "hog/attention-pooling.ipynb", [code])
    marking.main(tmp_path, 1)
    table = (tmp_path / "marks/marks.csv").read_text("utf-8-sig")
    assert "masked-pooling,wrong," in table and "your answer stopped with an error: MemoryError: all" in table


def test_an_interrupted_run_ends_at_once_and_goes_on_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marking, "MARKS", tmp_path / "marks")
    monkeypatch.setattr(sandbox, "STOPPED", Event())
    write(tmp_path / "a/attention-pooling.ipynb", [RIGHT])
    write(
        tmp_path / "b/attention-pooling.ipynb",
        ["import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: pass"],
    )

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.alarm(45)
        with pytest.raises(SystemExit, match="the same command goes on"):
            marking.main(tmp_path, 1)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert len(list((tmp_path / "marks/kept").glob("*.json"))) == 1, "what was done is kept, and nothing else"


def test_an_edited_a_missing_and_a_shadowed_check_are_reported(marks: dict[str, dict[str, str]]) -> None:
    removed = marks["attention-pooling-without-check"]
    assert removed["result"] == "right" and "removed" in removed["remark"], removed
    assert marks["check-edited"]["result"] == "did not run"  # what the book asks for is not there
    assert "asks for (10, 12, 7); which is right" in marks["check-edited"]["remark"], marks["check-edited"]
    shadowed = marks["package-shadowed"]
    assert shadowed["result"] == "wrong" and "d2l is not the package" in shadowed["remark"], shadowed


def test_a_tick_that_an_answer_prints_is_none(marks: dict[str, dict[str, str]]) -> None:
    assert marks["prints-a-tick"]["result"] == "wrong", marks["prints-a-tick"]


@pytest.mark.skipif(not sandbox.leave_network(), reason="this platform cannot take the network from a process")
def test_there_is_no_network(marks: dict[str, dict[str, str]]) -> None:
    assert marks["asks-the-network"]["result"] == "did not run" and "OSError" in marks["asks-the-network"]["remark"]


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="FROM must be a folder with notebooks"):
        marking.main(tmp_path, 1)
