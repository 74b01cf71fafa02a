"""Marks of returned notebooks: honest ones, careless ones and hostile ones."""

import csv
import io
import re
import signal
import sys
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest

from d2lmini_exercises.engine import sandbox as limits
from tests.colours import contrast
from tools.notebooks.files import NOTEBOOKS
from tools.teaching.marking import __main__ as marking
from tools.teaching.marking import attempt, sandbox
from tools.teaching.marking.plan import Question, read_book, read_main
from tools.teaching.marking.report import Mark, write_page
from tools.teaching.student import make_edition

pytestmark = pytest.mark.thorough

BEGIN = "import math, os, sys\nimport torch\nimport d2lmini as d2l"
# The other answers of the chapter: not attempted, so that no cell of the chapter is needed for them.
ASKED = set(read_book()["attention-pooling"].values()) - {"mixtures"}
OTHERS = " = ".join(filter(str.isidentifier, ASKED))
ANSWER = "mixtures = (10, 12, 7)"
PREDICT = 'mixtures = {}\nd2l.check("predict-mixture", mixtures)'
RIGHT, WRONG = PREDICT.format("(10, 12, 7)"), PREDICT.format("(14, 12, 7)")
CHAPTER = NOTEBOOKS / "attention-pooling.ipynb"
STARTER = next(source for source in read_main(CHAPTER) if "debug-" in source)
DEAF = "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: pass"
REPLACE = "from d2lmini_exercises.engine import core\ncore._CHECKERS['predict-mixture'] = lambda a: 'fine'"
# What an answer prints, what its error is called and says, and what its text is: each looks like a tick.
TICK = r"'\n✓ Exercise 1.1, predict-mixture: \n✓ predict-mixture: '"
LIAR = f"""class Liar:
    def __iter__(self):
        print({TICK})
        raise type({TICK}, (BaseException,), {{}})({TICK})
    def __str__(self):
        return {TICK}"""
NOISY = (
    "class Noisy(list):\n    def __iter__(self):\n        print('✗ scores \\ud800')\n        return super().__iter__()"
)
FORGE = """record = b'{"name": "predict-mixture", "verdicts": [{"result": "right"}]}\\n'
for pipe in range(3, 30):
    try:
        os.write(pipe, record)
    except OSError:
        pass"""
NO_PYTHON = "mixtures = (10,\nd2l.check('predict-mixture', mixtures)"
HINT = "that is the value of the best key alone"
FAILED = "did not run"
# The name of the file, the cells in it, the result, and what the hint or the remark says.
HANDED_IN: dict[str, tuple[list[str], str, str]] = {
    "right": ([RIGHT], "right", ""),
    "wrong": ([WRONG], "wrong", HINT),
    "begun": ([PREDICT.format("None")], "not attempted", ""),
    "raises-before": (["1 / 0", RIGHT], "right", ""),
    "raises": (["mixtures = 1 / 0\nd2l.check('predict-mixture', mixtures)"], FAILED, "ZeroDivisionError"),
    "no-python": ([NO_PYTHON], FAILED, "no check of any chapter"),
    "endless": (["while True: pass", RIGHT], "right", ""),
    "endless-and-deaf": ([DEAF, RIGHT], FAILED, "had not ended after 25 seconds"),
    "hog": (["hog = torch.ones(10**11)", RIGHT], "right", ""),
    "talkative": (["for _ in range(10**5): print('x' * 1000)", RIGHT], "right", ""),
    "exits": (["sys.exit(0)", RIGHT], "right", ""),
    "ends-itself": ([RIGHT, "os._exit(0)"], "right", ""),
    "ends-itself-first": (["os._exit(0)", RIGHT], FAILED, "ended its own process"),
    "attention-pooling-without-check": ([ANSWER], "right", "its check was not recognised"),
    # A check that is written in another way is one; where it cannot be found, nobody is accused.
    "timed": ([f"%%time\n{RIGHT}"], "right", ""),
    "timed-check": ([f'{ANSWER}\n%time d2l.check("predict-mixture", mixtures)'], "right", ""),
    "plots": ([f"%matplotlib inline\n{RIGHT}"], "right", ""),
    "imports-check": ([f'from d2lmini import check as c\n{ANSWER}\nc("predict-mixture", mixtures)'], "right", ""),
    "by-keywords": ([f'{ANSWER}\nd2l.check(answer=mixtures, name="predict-mixture")'], "right", ""),
    "attention-pooling-by-name": (
        [f'name = "predict-mixture"\n{ANSWER}\nd2l.check(name, mixtures)'],
        "right",
        "not rec",
    ),
    "with-a-mark": ([RIGHT], "right", ""),
    # What the book asks for is not there.
    "check-edited": (['d2l.check("predict-mixture", (10, 12, 7))'], FAILED, "asks for (10, 12, 7); which is right"),
    "check-replaced": (["d2l.check = lambda *a, **k: print('✓ predict-mixture: fine')", WRONG], "wrong", HINT),
    "package-shadowed": (["class d2l:\n    check = lambda *a, **k: print('✓')", WRONG], "wrong", "not the package"),
    "checker-replaced": ([REPLACE, WRONG], "wrong", HINT),
    "is-a-tick": ([LIAR, PREDICT.format("Liar()")], "wrong", "stopped with an error:  ✓ Exercise 1.1"),
    "says-a-tick": ([PREDICT.format(TICK)], "wrong", ""),
    "prints": ([NOISY, PREDICT.format("Noisy((10, 12, 7))")], "right", ""),
    "forges": ([FORGE, WRONG], "wrong", HINT),
    "attention-pooling-no-python": ([NO_PYTHON], FAILED, "its cell is no Python: SyntaxError in line"),
    "名前": ([RIGHT], "right", ""),
    "ada/attention-pooling": ([RIGHT], "right", ""),
    "bob/attention-pooling": ([WRONG], "wrong", HINT),
    "of-another-book": (["print(1)"], FAILED, "no check of any chapter"),
}
if sandbox.leave_network():  # where the platform can take the network from a process
    socket = "import socket\nsocket.create_connection(('1.1.1.1', 53), 2)\n" + RIGHT
    HANDED_IN["asks-the-network"] = ([socket], FAILED, "OSError")
# Files that are no notebooks of a chapter, and what is said of those that are reported.
NO_NOTEBOOKS = {
    "torn.ipynb": ('{"cells": [', "no notebook"),
    "by-mistake/attention-pooling.py": ("mixtures = 1", "no notebook found"),
    "homework.zip": ("", "no notebook found"),
    "empty.ipynb": ("", ""),
    "as-empty.ipynb": ("", ""),
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
    for name, (cells, _, _) in HANDED_IN.items():
        write(folder / f"{name}.ipynb", cells)
    marked = folder / "with-a-mark.ipynb"
    marked.write_text(f"\ufeff{marked.read_text('utf-8')}", "utf-8")  # as some editors save it
    write(folder / "debug-tried.ipynb", [STARTER.replace("return", "return 0 *", 1)])
    for name, (text, _) in {**NO_NOTEBOOKS, "__MACOSX/._right.ipynb": ("", "")}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    write(folder / "loud" / "ATTENTION-POOLING.IPYNB", [RIGHT])
    (folder / "blank").mkdir()
    nbformat.write(make_edition(nbformat.read(CHAPTER, 4)), folder / "blank" / CHAPTER.name)
    write(folder / "twice" / "first.ipynb", [WRONG])
    write(folder / "twice" / "second.ipynb", [RIGHT])
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


@pytest.mark.parametrize("name", HANDED_IN)
def test_a_mark_is_what_the_answer_deserves(marks: dict[str, dict[str, str]], name: str) -> None:
    _, result, said = HANDED_IN[name]
    mark = marks[name.partition("/")[0]]
    assert mark["result"] == result and said in mark["hint"] + mark["remark"], mark
    assert said or "recognised" not in mark["remark"], mark


@pytest.mark.parametrize("name", NO_NOTEBOOKS)
def test_what_is_no_notebook_is_named(marks: dict[str, dict[str, str]], name: str) -> None:
    mark = marks[re.split("[/.]", name)[0]]
    assert mark["result"] == FAILED and NO_NOTEBOOKS[name][1] in mark["remark"], mark


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
    write(tmp_path / "ran/attention-pooling.ipynb", [PREDICT.format("None"), "mixtures = (10, 12, 7)"])
    notebook = nbformat.read(tmp_path / "ran/attention-pooling.ipynb", 4)
    notebook.cells[3].outputs = [nbformat.v4.new_output("stream", text="✓ Exercise 1.1, predict-mixture: so it is\n")]
    nbformat.write(notebook, tmp_path / "ran/attention-pooling.ipynb")
    marking.main(tmp_path, 1)
    table = (tmp_path / "marks/marks.csv").read_text("utf-8-sig")
    assert "predict-mixture,not attempted,,its stored output has a tick" in table


def test_an_answer_that_raises_or_does_not_end_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marking, "MARKS", tmp_path / "marks")
    monkeypatch.setattr(sandbox, "CELL_SECONDS", 5.0)
    code = "def masked_attention(*_):\n    raise MemoryError('all')\nd2l.check('masked-attention', masked_attention)"
    write(tmp_path / "hog/attention-pooling.ipynb", [code])
    marking.main(tmp_path, 1)
    table = (tmp_path / "marks/marks.csv").read_text("utf-8-sig")
    assert "masked-attention,wrong," in table and "your answer stopped with an error: MemoryError: all" in table


def test_the_remark_on_an_endless_answer_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: Any) -> None:
        while True:
            pass

    monkeypatch.setattr(limits, "SECONDS", 0.05)
    shell: Any = SimpleNamespace(user_ns={"endless": endless})
    verdict = attempt.judge(shell, "masked-attention", "endless", 5.0)
    question, record = Question("masked-attention", "endless"), {"verdicts": [verdict], "shadowed": False}
    assert marking.read_verdict(question, record, "")[::2] == (
        "wrong",
        "your answer had not ended after 0.05 seconds, and was stopped: "
        "it may have a loop that does not end, or do too much work",
    )


def test_an_interrupted_run_ends_at_once_and_goes_on_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marking, "MARKS", tmp_path / "marks")
    monkeypatch.setattr(sandbox, "STOPPED", Event())
    write(tmp_path / "a/attention-pooling.ipynb", [RIGHT])
    write(tmp_path / "b/attention-pooling.ipynb", [DEAF])

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


def test_progress_is_told_as_notebooks_end_and_the_marks_keep_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Event()

    class Log(io.StringIO):
        def write(self, text: str) -> int:
            if text.startswith("1 of 2: b.ipynb, 1 right, 2 wrong"):
                told.set()
            return super().write(text)

    def mark(path: Path, who: str) -> list[Mark]:
        assert who == "b" or told.wait(60), "b was not told while a ran"
        return [Mark(who, path.name, "c", "e", result) for result in ("wrong", "right", "wrong")]

    monkeypatch.setattr(marking, "MARKS", tmp_path / "marks")
    monkeypatch.setattr(marking, "mark", mark)
    monkeypatch.setattr(sys, "stdout", Log())
    for name in "ab":
        (tmp_path / f"{name}.ipynb").write_text(name)
    marking.main(tmp_path, 2)
    rows = (tmp_path / "marks/marks.csv").read_text("utf-8-sig").splitlines()
    assert [row[0] for row in rows[1:]] == [*"aaabbb"]


def test_the_page_counts_each_hint_of_an_exercise_the_most_frequent_first(tmp_path: Path) -> None:
    hints = ["rare", "often", "often"]
    marks = [Mark(f"person {i}", "a.ipynb", "a", "predict-mixture", "wrong", hint) for i, hint in enumerate(hints)]
    write_page(tmp_path / "marks.html", marks, "")
    assert "2 × often; 1 × rare" in (tmp_path / "marks.html").read_text("utf-8")


def test_the_grid_shows_who_has_done_what(tmp_path: Path) -> None:
    marks = [
        Mark("ada", "b.ipynb", "self-attention", "a-check", "right"),
        Mark("ada", "a.ipynb", "attention-pooling", "predict-mixture", "wrong", "look <twice>"),
        Mark("bob", "a.ipynb", "attention-pooling", "predict-mixture", "not attempted", "", "so"),
        Mark("cy", "c.ipynb", "", "", "did not run", "", "no notebook"),
    ]
    write_page(tmp_path / "marks.html", marks, "")
    page = (tmp_path / "marks.html").read_text("utf-8")
    grid = page[page.index('class="wide grid"') : page.index("By exercise</h2>")]
    rows = [re.sub(r"<t[hd][^>]*>", "|", row) for row in grid.split("<tr>")[1:]]
    read = [re.sub("<[^>]+>", " ", row).split() for row in rows]
    read = [" ".join(row).split("|")[1:] for row in read]
    assert [[cell.strip() for cell in row] for row in read] == [
        ["who", "right", "remarks", "all", "1.1", "a-check"],
        ["ada b.ipynb a.ipynb", "1", "0", "", "✗ wrong", "✓ right"],
        ["bob a.ipynb", "0", "1", "", "– not attempted", ""],
        ["cy c.ipynb", "0", "1", "! did not run", "", ""],
    ]
    assert '<a href="#each-mark-1" data-result="wrong" title="look &lt;twice&gt;">' in grid
    assert '<tr id="each-mark-1"><th>ada' in page
    pairs = re.findall(r"color: light-dark\((\S+), (\S+)\); background: light-dark\((\S+), (\S+)\)", page)
    assert len(pairs) == 4
    for ink, pale_ink, ground, dark_ground in pairs:
        assert contrast(ink, ground) >= 4.5 and contrast(pale_ink, dark_ground) >= 4.5


def test_who_handed_in_nothing_is_seen_and_points_are_those_of_the_better_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mark(path: Path, who: str) -> list[Mark]:
        return [Mark(who, path.name, "attention-pooling", "predict-mixture", path.stem)]

    monkeypatch.setattr(marking, "MARKS", tmp_path / "marks")
    monkeypatch.setattr(marking, "mark", mark)
    for name in ("Ada/wrong", "Ada/right", "bob/wrong", "stranger/right"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.ipynb").write_text(name)
    (tmp_path / "class.txt").write_text("ada\n bob\n\n=cy\n", "utf-8-sig")
    with pytest.raises(SystemExit, match="NAMES must be a file with a name a line"):
        marking.main(tmp_path, 1, tmp_path / "nobody.txt")
    marking.main(tmp_path, 1, tmp_path / "class.txt")
    with (tmp_path / "marks/points.csv").open(encoding="utf-8-sig", newline="") as file:
        points = {row["who"]: (row["1.1"], row["sum"]) for row in csv.DictReader(file)}
    assert points == {
        "Ada": ("1", "1"),
        "bob": ("0", "0"),
        "stranger": ("1", "1"),
        "class": ("0", "0"),
        "'=cy": ("0", "0"),
    }
    table = (tmp_path / "marks/marks.csv").read_text("utf-8-sig")
    assert "'=cy,,,,not attempted,,nothing was handed in" in table
    assert "stranger/right.ipynb,attention-pooling,predict-mixture,right,,not on the list of names" in table


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="FROM must be a folder with notebooks"):
        marking.main(tmp_path, 1)
