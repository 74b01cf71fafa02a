"""`make notebooks`: the text is the source, and an edit of the notebook is never lost in silence."""

import re
import shutil
import subprocess
import sys
from typing import Any

import pytest
from nbformat.v4 import new_code_cell

from tests.faults.minibook import PRINTED, STARTER, MiniBook, code_cells, source
from tools.notebooks.files import DIGEST

pytestmark = pytest.mark.thorough


def read_sides(book: MiniBook, name: str = "mini") -> tuple[bytes, bytes]:
    return book.path(f"book/{name}.md").read_bytes(), book.path(f"notebooks/{name}.ipynb").read_bytes()


def test_notebooks_run_twice_changes_no_byte(book: MiniBook) -> None:
    before = read_sides(book)
    shutil.rmtree(book.path(".build"))
    for _ in range(2):
        said = book.make_green("notebooks")
        assert read_sides(book) == before
    assert "ipynb" not in said  # and the second time it ran nothing
    assert DIGEST.encode() in before[1] and DIGEST.encode() not in before[0]


@pytest.mark.parametrize(("wanted", "text"), [("text", "print(2 / 7)"), ("ipynb", "print(1 / 7)")])
def test_an_edit_by_hand_is_left_to_the_author(book: MiniBook, text: str, wanted: str) -> None:
    """Whether the text is another one as well or not."""
    book.replace("book/mini.md", "print(1 / 7)", text)
    book.edit(source(PRINTED, "print(3 / 7)"), by_hand=True)
    before = read_sides(book)
    made = book.make("notebooks", "CHAPTERS=mini")
    assert made.returncode != 0 and "mini: notebooks/mini.ipynb was edited by hand" in made.stdout, made.stdout
    assert ("the text is another one as well" in made.stdout) == (text == "print(2 / 7)")
    assert all(f"make notebooks CHAPTERS=mini FROM={side}" in made.stdout for side in ("text", "ipynb"))
    assert read_sides(book) == before
    book.make_green("notebooks", "CHAPTERS=mini", f"FROM={wanted}")
    expected = text if wanted == "text" else "print(3 / 7)"
    assert all(expected.encode() in side for side in read_sides(book))
    book.make_green(".build/checked")


def add_what_editors_add(notebook: Any) -> None:
    """A kernel of VS Code or Colab and all that it knows, empty tags and slides, a cell that was run again."""
    notebook.metadata.kernelspec = {"display_name": ".venv (3.12.7)", "name": "python3"}
    notebook.metadata.language_info = {"name": "python", "version": "3.12.7", "file_extension": ".py"}
    for cell in notebook.cells:
        cell.metadata.setdefault("tags", [])
        cell.metadata.setdefault("slideshow", {"slide_type": ""})
    code_cells(notebook)[PRINTED].metadata.update(jupyter={"outputs_hidden": False}, scrolled=True)
    code_cells(notebook)[PRINTED].update(execution_count=12, outputs=[])
    notebook.cells.append(new_code_cell(""))


def test_one_side_of_a_chapter_is_enough(book: MiniBook) -> None:
    text, notebook = read_sides(book)[0], book.notebook()
    book.path("notebooks/mini.ipynb").unlink()
    del notebook.metadata[DIGEST]
    book.write(notebook, "third", by_hand=True)
    book.enter("third")
    book.make_green("notebooks")
    assert read_sides(book)[0] == text and read_sides(book, "third")[0] == text
    book.make_green(".build/checked")


def test_what_takes_minutes_is_run_when_its_own_cell_changes(book: MiniBook) -> None:
    def run(line: str, side: str = "") -> tuple[str, str]:
        book.replace("book/mini.md", *line.split(" -> "))
        book.make_green("notebooks", "CHAPTERS=mini", *side.split())
        cells = code_cells(book.notebook())
        assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
        return cells[PRINTED].outputs[0].text, cells[STARTER].source

    long = "# NBVAL_SKIP\n# It takes minutes\nimport time; print(time.time())"
    first = run(f"print(1 / 7) -> {long}")
    assert run("answer = None -> answer = None  # yet") == (first[0], first[1].replace("None", "None  # yet"))
    second = run("time.time() -> 1 + time.time()")
    assert second[0] != first[0]
    assert run("How small can -> How tiny can", "FROM=text")[0] != second[0]  # as `make thorough PARTS=bench` asks


@pytest.mark.parametrize("arguments", ["", "CHAPTERS=mini FROM=ipynb"])
def test_what_an_editor_adds_to_a_notebook_is_no_edit_and_stays_out(book: MiniBook, arguments: str) -> None:
    before = read_sides(book)
    book.edit(add_what_editors_add, by_hand=True)
    book.make_green("notebooks", *arguments.split())
    assert read_sides(book) == before


def test_a_change_of_words_runs_nothing(book: MiniBook) -> None:
    outputs = [cell.outputs for cell in code_cells(book.notebook())]
    compared, ran = book.stamps(), book.stamps("run")
    book.replace("book/mini.md", "How small can", "How tiny can")
    assert "its words changed, its outputs were taken along" in book.make_green("notebooks")
    assert [cell.outputs for cell in code_cells(book.notebook())] == outputs
    assert "How tiny can" in book.notebook().cells[0].source and book.stamps("run") == ran
    book.make_green("book")
    page = book.path("_build/html/notebooks/mini.html").read_text("utf-8")
    assert book.stamps() == compared and "How tiny can" in page
    book.path("requirements.txt").write_text("# another package\n" + book.path("requirements.txt").read_text("utf-8"))
    for stamp in (".pages", ".ready"):
        book.path(f".venv/{stamp}").touch()
    assert "notebooks/mini.ipynb: run in" in book.make_green("notebooks", "CHAPTERS=mini")


def test_an_edit_by_hand_of_a_framework_is_not_lost(book: MiniBook) -> None:
    text, notebook = book.path("frameworks/mini.md"), book.path("frameworks/mini.ipynb")
    text.parent.mkdir()
    text.write_text("# Mini\n\n```{code-cell}\nprint(1)\n```\n")
    command = [sys.executable, "-m", "tools.notebooks.run", "--framework", "mini"]
    subprocess.run(command, cwd=book.folder, check=True)
    notebook.write_text(notebook.read_text("utf-8").replace("print(1)", "print(1)  # mine"), "utf-8")
    text.write_text(text.read_text("utf-8").replace("Mini", "Other"))
    refused = subprocess.run(command, cwd=book.folder, check=False, capture_output=True, text=True)
    assert refused.returncode != 0 and "mini.ipynb was edited by hand" in refused.stdout
    assert "# mine" in notebook.read_text("utf-8")


def test_code_that_another_processor_would_answer_otherwise_is_not_stored(book: MiniBook) -> None:
    before = read_sides(book)
    unstable = "import torch\n\nprint(torch.tensor([0.1, 0.2]).exp().sum().item())"
    book.replace("book/mini.md", "print(1 / 7)", unstable)
    made = book.make("notebooks", "CHAPTERS=mini")
    told = r"mini: 1 cells would .*\n +code cell 2: stored '2\.32\d+', there"
    assert made.returncode != 0 and re.search(told, made.stdout)
    assert read_sides(book)[1] == before[1]
    said = book.make_green("notebooks", "CHAPTERS=mini", "NOISE=no")
    assert "noise" not in said and "2.32" in code_cells(book.notebook())[PRINTED].outputs[0].text
    book.replace("book/mini.md", unstable, unstable.replace(".exp().sum().item())", ".exp().sum())"))
    assert "under noise, which gave the same" in book.make_green("notebooks", "CHAPTERS=mini")


def test_a_deleted_text_is_not_restored_by_itself(book: MiniBook) -> None:
    book.path("book/mini.md").unlink()
    made = book.make("notebooks")
    assert made.returncode != 0 and "mini: there is no book/mini.md, from which" in made.stdout
    assert not book.path("book/mini.md").exists()
    book.make_green("notebooks", "CHAPTERS=mini", "FROM=ipynb")
    assert book.path("book/mini.md").exists()


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        ("1 / 7", "FROM=ipynb", "FROM needs a chapter"),
        ("1 / 7", "CHAPTERS=third", r"no book/third\.md and no notebooks/third\.ipynb"),
        ("1 / 0", "CHAPTERS=mini", r"book/mini\.md: a cell raised[\s\S]*ZeroDivisionError"),
    ],
)
def test_what_is_refused_leaves_both_sides_alone(book: MiniBook, code: str, arguments: str, message: str) -> None:
    book.replace("book/mini.md", "1 / 7", code)
    before = read_sides(book)
    made = book.make("notebooks", *arguments.split())
    assert made.returncode != 0 and re.search(message, made.stdout), made.stdout
    assert read_sides(book) == before
