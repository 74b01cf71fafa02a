"""Each planted fault must turn `make book` red, with a message that names the chapter and the cause."""

from __future__ import annotations

import copy
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.book.test_notebook_files import MOST_CELLS_NOT_COMPARED, OPT_OUT
from tests.faults.minibook import NEEDS, MiniBook
from tools.repository import setup_cell

Fault = Callable[[MiniBook], None]

SETUP, CHECK, PRINTED, DRAWN, STARTER, SOLVED = range(6)  # the code cells of the mini-chapter


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def source(number: int, text: str) -> Fault:
    """Another source for a code cell, its stored outputs left as they are."""
    return lambda book: book.edit(lambda notebook: code_cells(notebook)[number].update(source=text))


def prose(text: str) -> Fault:
    """Another text for the first Markdown cell."""
    return lambda book: book.edit(lambda notebook: notebook.cells[0].update(source=f"# Mini\n\n{text}{NEEDS}"))


def last_digit(book: MiniBook) -> None:
    def change(notebook: Any) -> None:
        output = code_cells(notebook)[PRINTED].outputs[0]
        assert output.text == "0.14285714285714285\n"
        output.text = "0.14285714285714284\n"

    book.edit(change)


def figure(book: MiniBook) -> None:
    def change(notebook: Any) -> None:
        data = code_cells(notebook)[DRAWN].outputs[0].data
        moved = re.sub(r"(M \d+\.\d)(\d)", lambda m: m[1] + str((int(m[2]) + 1) % 10), data["image/svg+xml"], count=1)
        assert moved != data["image/svg+xml"]
        data["image/svg+xml"] = moved

    book.edit(change)


def never_executed(book: MiniBook) -> None:
    book.edit(lambda notebook: code_cells(notebook)[PRINTED].update(execution_count=None))


def one_too_many_not_compared(book: MiniBook) -> None:
    def change(notebook: Any) -> None:
        printed = code_cells(notebook)[PRINTED]
        copies = [copy.deepcopy(printed) for _ in range(MOST_CELLS_NOT_COMPARED + 1)]
        for i, cell in enumerate(copies):
            cell.update(id=f"copy-{i}", source=f"{OPT_OUT}\n# differs each time\n{cell.source}")
        at = notebook.cells.index(printed)
        notebook.cells[at:at] = copies
        for count, cell in enumerate(code_cells(notebook), start=1):
            cell.execution_count = count

    book.edit(change)


def nothing_compared(book: MiniBook) -> None:
    def change(notebook: Any) -> None:
        notebook.cells = [notebook.cells[0], *code_cells(notebook)[: CHECK + 1]]

    book.edit(change)


def no_alt_text(book: MiniBook) -> None:
    book.edit(lambda notebook: code_cells(notebook)[DRAWN].update(metadata={}))


def stored_stderr(book: MiniBook) -> None:
    def change(notebook: Any) -> None:
        cell = code_cells(notebook)[PRINTED]
        cell.source = 'import sys\nprint("careful", file=sys.stderr)'
        cell.outputs[0].update(name="stderr", text="careful\n")

    book.edit(change)


def untagged_solution(book: MiniBook) -> None:
    book.edit(lambda notebook: code_cells(notebook)[SOLVED].metadata.pop("tags"))


def unfolded_solution(book: MiniBook) -> None:
    book.edit(lambda notebook: code_cells(notebook)[SOLVED].metadata.pop("jupyter"))


def unchecked_exercise(book: MiniBook) -> None:
    book.edit(lambda notebook: code_cells(notebook)[STARTER].update(source="answer = None"))


def commented_entry(book: MiniBook) -> None:
    book.replace("_toc.yml", "  - file: notebooks/second", "  # - file: notebooks/second")


def failing_solution(book: MiniBook) -> None:
    def change(notebook: Any) -> None:
        output = code_cells(notebook)[SOLVED].outputs[0]
        output.text = output.text.replace("✓ right", "✗ wrong")

    book.edit(change)


def solved_starter(book: MiniBook) -> None:
    def change(notebook: Any) -> None:
        cell = code_cells(notebook)[STARTER]
        cell.source = cell.source.replace("None", "42")
        cell.outputs[0].text = "double ✓ right\n"

    book.edit(change)


def chapter_without_entry(book: MiniBook) -> None:
    book.replace("_toc.yml", "  - file: notebooks/second\n", "")


def entry_without_chapter(book: MiniBook) -> None:
    book.replace("_toc.yml", "notebooks/second", "notebooks/second\n  - file: notebooks/third")


def text_without_notebook(book: MiniBook) -> None:
    book.path("notebooks/mini.ipynb").unlink()


def sides_that_disagree(book: MiniBook) -> None:
    book.replace("book/mini.md", "How small can", "How tiny can")


def another_repository(book: MiniBook) -> None:
    book.replace("_config.yml", "https://github.com/OWNER/d2lmini", "https://github.com/me/my-fork")


def two_figures_in_a_cell(book: MiniBook) -> None:
    def change(notebook: Any) -> None:
        outputs = code_cells(notebook)[DRAWN].outputs
        outputs.append(outputs[0])

    book.edit(change)


FAULTS: dict[str, tuple[Fault, str]] = {
    "a cell that raises": (source(PRINTED, "print(1 / 0)"), r"mini\.ipynb[\s\S]*ZeroDivisionError"),
    "a number that differs in its last digit": (last_digit, r"mini\.ipynb[\s\S]*0\.14285714285714284"),
    "a figure that differs": (figure, r"mini\.ipynb[\s\S]*mismatch 'image/svg\+xml'"),
    "text and notebook that disagree": (sides_that_disagree, r"book/mini\.md and .*disagree, run `make notebooks`"),
    "a cell that was never executed": (never_executed, r"never executed.*mini, code cell 2"),
    "a notebook with no compared cell": (nothing_compared, r"mini: no compared cell"),
    "a broken link": (prose("See [this](nowhere.ipynb)."), r"mini\.ipynb.*'nowhere\.ipynb'"),
    "a broken anchor": (prose("See [this](second.ipynb#nowhere)."), r"mini\.ipynb.*'nowhere'"),
    "a broken anchor in the same chapter": (prose("See [this](#nowhere)."), r"mini\.ipynb.*'nowhere'"),
    "a chapter missing from the table of contents": (chapter_without_entry, r"missing from _toc\.yml.*second"),
    "a chapter commented out of the table of contents": (commented_entry, r"missing from _toc\.yml.*second"),
    "a solution that its checker rejects": (failing_solution, r"mini, code cell 5.*should print '✓'"),
    "a starter that is solved already": (solved_starter, r"mini, code cell 4.*should print 'not attempted yet'"),
    "an entry without a chapter": (entry_without_chapter, r"_toc\.yml names files that do not exist.*third"),
    "a text without a notebook": (text_without_notebook, r"without a notebook: \['mini'\]"),
    "a figure without alt text": (no_alt_text, r"mini, code cell 3.*without alt text"),
    "two figures in a cell": (two_figures_in_a_cell, r"mini, code cell 3.*one figure a cell"),
    "a role": (prose("See {ref}`this`."), r"mini, markdown cell 0.*raw MyST \(a role\)"),
    "a directive": (prose(":::{note}\nThis.\n:::"), r"mini, markdown cell 0.*raw MyST \(a directive\)"),
    "a directive in backticks": (prose("```{note}\nThis.\n```"), r"mini, markdown cell 0.*raw MyST \(a directive\)"),
    "a target": (prose("(here)=\n\n## Here"), r"mini, markdown cell 0.*raw MyST \(a target\)"),
    "stored output on stderr": (stored_stderr, r"mini, code cell 2.*on stderr"),
    "new output on stderr": (
        source(PRINTED, "import sys\nprint(1 / 7)\nprint(1, file=sys.stderr)"),
        r"mini\.ipynb[\s\S]*stderr",
    ),
    "a trailing semicolon": (source(PRINTED, "print(1 / 7);"), r"mini, code cell 2.*trailing ;"),
    "an edited setup cell": (source(SETUP, "import sys"), r"mini, code cell 0.*setup cell differs"),
    "another repository in the settings": (another_repository, r"mini, code cell 0.*make repository URL"),
    "a solution cell without its tag": (untagged_solution, r"mini, code cell 5.*a solution cell without the tag"),
    "a solution that is not folded": (unfolded_solution, r"mini, code cell 5.*metadata fold it"),
    "an exercise without a check": (unchecked_exercise, r"mini, Exercise 1\.1.*each call d2l\.check once"),
    "an output that is not compared without a reason": (
        source(PRINTED, "# NBVAL_IGNORE_OUTPUT\nprint(1 / 7)"),
        r"mini, code cell 2.*the second is a comment that says why",
    ),
    "one output too many that is not compared": (
        one_too_many_not_compared,
        r"too many cells are not compared.*mini, code cell 2",
    ),
    "output that is hidden": (source(PRINTED, "%%capture\nprint(1 / 7)"), r"mini, code cell 2.*only .* opt out"),
    "a mark without a blank": (source(PRINTED, "#NBVAL_SKIP\nprint(1 / 7)"), r"mini, code cell 2.*only .* opt out"),
    "an equation that is not there": (prose("See (1.7)."), r"mini: there is no equation \['1\.7'\]"),
    "an equation number used twice": (prose("$$a \\tag{1.1}$$ $$b \\tag{1.1}$$"), r"mini: an equation number is used"),
    "a chapter without prerequisites": (
        lambda book: book.edit(lambda notebook: notebook.cells[0].update(source="# Mini")),
        r"mini, markdown cell 0.*the first cell lacks",
    ),
    "a fold that is not closed": (prose("<details><summary>More</summary>"), r"mini: a <details> is not closed"),
    "a work missing from the bibliography": (
        prose("[This (2020)](https://arxiv.org/abs/2001.00001)"),
        r"mini, markdown cell 0.*is not in references\.bib",
    ),
    "a mark of a merge conflict": (prose("<<<<<<< HEAD"), r"mini, markdown cell 0.*merge conflict"),
    "a cell that is skipped": (source(PRINTED, "# NBVAL_SKIP\nprint(1 / 7)"), r"mini, code cell 2.*only .* opt out"),
}


def test_the_book_without_a_fault_is_green(book: MiniBook) -> None:
    made = book.make("book")
    assert made.returncode == 0, made.stdout
    assert made.stdout.splitlines()[-1] == "The book: _build/html/index.html"


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_turns_the_book_red_twice(book: MiniBook, name: str) -> None:
    plant, message = FAULTS[name]
    plant(book)
    for _ in range(2):
        made = book.make("book")
        assert made.returncode != 0, f"{name} passed:\n{made.stdout}"
        assert re.search(message, made.stdout), f"no {message!r} in:\n{made.stdout}"


def wheel(folder: Path, name: str) -> Path:
    """A package with one module, as small as pip accepts."""
    path = folder / f"{name}-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", "here = True\n")
        archive.writestr(f"{name}-1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        archive.writestr(f"{name}-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{name}-1.dist-info/RECORD", "")
    return path


def test_an_install_that_broke_off_is_repaired_by_the_next_run(book: MiniBook, tmp_path: Path) -> None:
    shutil.rmtree(book.path(".venv"))
    book.path("requirements.txt").write_text(f"{wheel(tmp_path, 'early')}\n{tmp_path / 'late-1-py3-none-any.whl'}\n")
    offline = {"PIP_NO_INDEX": "1", "PYTHON": sys.executable}
    broken = book.make("book", **offline)
    assert broken.returncode != 0 and "installing requirements.txt into .venv failed" in broken.stdout
    shutil.rmtree(next(book.path(".venv/lib").glob("python3*/site-packages/pip")))  # as after a kill in the middle
    wheel(tmp_path, "late")
    repaired = book.make(".venv/.ready", **offline)
    assert repaired.returncode == 0, repaired.stdout
    script = "import early, late; print(early.here, late.here)"
    done = subprocess.run([book.path(".venv/bin/python"), "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"


def test_an_environment_of_somebody_else_is_added_to_and_not_cleared(book: MiniBook, tmp_path: Path) -> None:
    (book.path(".venv/.ready")).unlink()
    book.path(".venv/thesis.txt").touch()
    book.path("requirements.txt").write_text("no-such-package\n")
    for variables in ({"PIP_NO_INDEX": "1"}, {"PIP_NO_INDEX": "1", "VENV": str(tmp_path)}):
        assert book.make("book", **variables).returncode != 0
        assert book.path(".venv/thesis.txt").exists() and tmp_path.exists()


def test_a_python_that_does_not_run_is_named(book: MiniBook) -> None:
    book.path(".venv/.ready").unlink()
    book.path(".venv/bin/python").unlink()
    made = book.make("book")
    assert made.returncode != 0 and ".venv/bin/python does not run: delete .venv" in made.stdout


def test_the_package_that_lies_here_is_the_one_that_is_tested(book: MiniBook) -> None:
    book.path("d2lmini").mkdir()
    book.path("d2lmini/__init__.py").write_text("here = 'this copy'\n")
    source(PRINTED, "import d2lmini\nprint(d2lmini.here)")(book)
    made = book.make("notebooks")
    assert made.returncode == 0, made.stdout
    assert code_cells(book.notebook())[PRINTED].outputs[0].text == "this copy\n"
    assert book.make("book").returncode == 0


def test_an_old_python_is_refused_by_name(book: MiniBook, tmp_path: Path) -> None:
    shutil.rmtree(book.path(".venv"))
    old = tmp_path / "old"
    old.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -c "import sys; sys.version_info = (3, 10); $(printf %s "$2")"\n'
    )
    old.chmod(0o755)
    made = book.make("book", PYTHON=str(old))
    assert made.returncode != 0 and "Python 3.11 or later is needed" in made.stdout


def test_kernels_side_by_side_need_no_port(book: MiniBook) -> None:
    """A port that was free when it was picked can be taken when the kernel wants it: "Address already in use"."""
    shown = 'import json\n\nimport ipykernel\n\nprint(json.load(open(ipykernel.get_connection_file()))["transport"])'
    book.replace("book/mini.md", "print(1 / 7)", shown)
    made = book.make("notebooks")
    assert made.returncode == 0, made.stdout
    assert code_cells(book.notebook())[PRINTED].outputs[0].text == "ipc\n"
    made = book.make("book")  # nbval's kernel prints the same
    assert made.returncode == 0, made.stdout


# ---- what `make book` does again, and what it does not ----


def test_nothing_changed_nothing_done(book: MiniBook) -> None:
    before, built = book.tested(), book.path("_build/html/.built").stat().st_mtime_ns
    made = book.make("book")
    assert made.returncode == 0 and made.stdout == "The book: _build/html/index.html\n"
    assert book.tested() == before and book.path("_build/html/.built").stat().st_mtime_ns == built


def test_one_chapter_changed_only_it_is_run_again(book: MiniBook) -> None:
    before = book.tested()
    prose("Other words.")(book)
    made = book.make("book")
    assert made.returncode == 0, made.stdout
    assert {stamp.split()[0] for stamp in book.tested() - before} == {"mini"}
    assert "Other words." in book.path("_build/html/notebooks/mini.html").read_text("utf-8")


@pytest.mark.parametrize("name", ["d2lmini/attention.py", "requirements.txt", "conftest.py"])
def test_what_all_chapters_stand_on_changed_all_are_run_again(book: MiniBook, name: str) -> None:
    path = book.path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n" if not path.exists() else path.read_text("utf-8") + "\n")
    if name == "requirements.txt":  # installing is tested elsewhere
        book.path(".venv/.ready").touch()
    before = book.tested()
    made = book.make("book")
    assert made.returncode == 0, made.stdout
    assert {stamp.split()[0] for stamp in book.tested() - before} == {"mini", "second"}


def test_a_module_deleted_all_chapters_are_run_again(book: MiniBook) -> None:
    book.path("d2lmini").mkdir()
    book.path("d2lmini/gone.py").touch()
    assert book.make("book").returncode == 0
    before = book.tested()
    book.path("d2lmini/gone.py").unlink()
    assert book.make("book").returncode == 0
    assert {stamp.split()[0] for stamp in book.tested() - before} == {"mini", "second"}


def test_a_chapter_deleted_its_page_is_gone(book: MiniBook) -> None:
    for name in ("book/second.md", "notebooks/second.ipynb"):
        book.path(name).unlink()
    chapter_without_entry(book)
    before = book.tested()
    made = book.make("book")
    assert made.returncode == 0, made.stdout
    assert not list(book.path("_build/html").rglob("second*"))
    assert book.tested() == before


def test_one_fault_does_not_run_the_other_chapter_again(book: MiniBook) -> None:
    prose("Other words.")(book)
    book.edit(lambda notebook: code_cells(notebook)[PRINTED].update(source="print(1 / 0)"), "second")
    assert book.make("book").returncode != 0
    before = book.tested()
    book.edit(lambda notebook: code_cells(notebook)[PRINTED].update(source="print(1 / 7)"), "second")
    made = book.make("book")
    assert made.returncode == 0, made.stdout
    assert {stamp.split()[0] for stamp in book.tested() - before} == {"second"}


def test_the_working_tree_stays_clean(book: MiniBook) -> None:
    for target in ("book", "notebooks", "student"):
        made = book.make(target)
        assert made.returncode == 0, made.stdout
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=book.folder, capture_output=True, text=True, check=True
    )
    assert status.stdout == ""


# ---- the other targets ----


def sides(book: MiniBook, name: str = "mini") -> tuple[bytes, bytes]:
    return book.path(f"book/{name}.md").read_bytes(), book.path(f"notebooks/{name}.ipynb").read_bytes()


def test_notebooks_run_twice_changes_no_byte(book: MiniBook) -> None:
    before = sides(book)
    shutil.rmtree(book.path(".build"))
    for _ in range(2):
        made = book.make("notebooks")
        assert made.returncode == 0, made.stdout
        assert sides(book) == before
    assert "is up to date" not in made.stdout  # and the second time it ran nothing


@pytest.mark.parametrize("fresh_clone", [False, True])
def test_an_edited_text_wins(book: MiniBook, fresh_clone: bool) -> None:
    ids = [cell.id for cell in book.notebook().cells]
    if fresh_clone:
        shutil.rmtree(book.path(".build"))
    book.replace("book/mini.md", "print(1 / 7)", "print(2 / 7)")
    made = book.make("notebooks")
    assert made.returncode == 0, made.stdout
    notebook = book.notebook()
    assert code_cells(notebook)[PRINTED].outputs[0].text == "0.2857142857142857\n"
    assert [cell.id for cell in notebook.cells] == ids
    assert book.make("book").returncode == 0


@pytest.mark.parametrize("fresh_clone", [False, True])
def test_an_edited_notebook_wins(book: MiniBook, fresh_clone: bool) -> None:
    if fresh_clone:
        shutil.rmtree(book.path(".build"))
    notebook = book.notebook()
    code_cells(notebook)[PRINTED].source = "print(2 / 7)"
    code_cells(notebook)[PRINTED].metadata["scrolled"] = True  # an editor's own
    book.write(notebook, text=False)
    made = book.make("notebooks")
    assert made.returncode == 0, made.stdout
    assert "print(2 / 7)" in book.path("book/mini.md").read_text("utf-8")
    assert book.make("book").returncode == 0


@pytest.mark.parametrize(("wanted", "expected"), [("text", "2 / 7"), ("ipynb", "3 / 7")])
def test_a_conflict_is_left_to_the_author(book: MiniBook, wanted: str, expected: str) -> None:
    book.replace("book/mini.md", "print(1 / 7)", "print(2 / 7)")
    notebook = book.notebook()
    code_cells(notebook)[PRINTED].source = "print(3 / 7)"
    book.write(notebook, text=False)
    before = sides(book)
    for _ in range(2):
        made = book.make("notebooks")
        assert made.returncode != 0 and re.search(r"mini: changed on both sides.*FROM=text", made.stdout), made.stdout
        assert sides(book) == before
    made = book.make("notebooks", "CHAPTERS=mini", f"FROM={wanted}")
    assert made.returncode == 0, made.stdout
    assert all(expected.encode() in side for side in sides(book))
    assert book.make("book").returncode == 0


def commit(book: MiniBook, *paths: str) -> None:
    identity = ["-c", "user.name=mini", "-c", "user.email=mini@example.org"]
    subprocess.run(["git", "add", *paths], cwd=book.folder, check=True)
    subprocess.run(["git", *identity, "commit", "-qm", "edit"], cwd=book.folder, check=True)


def test_a_text_committed_alone_is_not_reverted(book: MiniBook) -> None:
    book.replace("book/mini.md", "print(1 / 7)", "print(2 / 7)")
    commit(book, "book/mini.md")
    shutil.rmtree(book.path(".build"))  # as in a fresh clone
    before = sides(book)
    made = book.make("notebooks")
    assert made.returncode != 0 and "mini: changed on both sides" in made.stdout
    assert sides(book) == before


def test_a_text_fetched_from_another_branch_is_not_reverted(book: MiniBook) -> None:
    subprocess.run(["git", "checkout", "-qb", "other"], cwd=book.folder, check=True)
    book.replace("book/mini.md", "print(1 / 7)", "print(2 / 7)")
    assert book.make("notebooks").returncode == 0
    commit(book, "-A")
    for arguments in (["-"], ["other", "--", "book/mini.md"]):
        subprocess.run(["git", "checkout", "-q", *arguments], cwd=book.folder, check=True)
    before = sides(book)
    made = book.make("notebooks")
    assert made.returncode != 0 and "or it is not known which one" in made.stdout
    assert sides(book) == before


def test_one_side_is_chosen_for_named_chapters_only(book: MiniBook) -> None:
    book.replace("book/mini.md", "print(1 / 7)", "print(2 / 7)")
    assert "FROM needs a chapter" in book.make("notebooks", "FROM=ipynb").stdout
    assert book.make("notebooks", "CHAPTERS=mini", "FROM=ipynb").returncode == 0
    assert all(b"print(1 / 7)" in side for side in sides(book))


def test_loose_ends_are_tidied_once(book: MiniBook) -> None:
    book.replace("book/mini.md", "print(1 / 7)", "print(1 / 7)  \n\n")
    book.replace("book/mini.md", "How small can", "How  small can")
    assert book.make("notebooks").returncode == 0
    before = sides(book)
    shutil.rmtree(book.path(".build/run"))
    assert book.make("notebooks").returncode == 0
    assert sides(book) == before and book.make("book").returncode == 0


def test_a_cell_that_a_text_cannot_hold_is_refused(book: MiniBook) -> None:
    notebook = book.notebook()
    notebook.cells[0].source += "\n\n```python\nnever closed"
    book.write(notebook, text=False)
    before = sides(book)
    made = book.make("notebooks")
    assert made.returncode != 0 and "mini: cell 0 does not survive as text" in made.stdout
    assert sides(book) == before


def test_the_same_edit_on_both_sides_is_no_conflict(book: MiniBook) -> None:
    source(PRINTED, "print(2 / 7)")(book)
    made = book.make("notebooks")
    assert made.returncode == 0, made.stdout
    assert code_cells(book.notebook())[PRINTED].outputs[0].text == "0.2857142857142857\n"


def test_a_deleted_side_is_not_restored_by_itself(book: MiniBook) -> None:
    book.path("book/mini.md").unlink()
    made = book.make("notebooks")
    assert made.returncode != 0 and "mini: was deleted on one side" in made.stdout
    assert not book.path("book/mini.md").exists()
    assert book.make("notebooks", "CHAPTERS=mini", "FROM=ipynb").returncode == 0
    assert book.path("book/mini.md").exists()


@pytest.mark.parametrize("side", ["text", "ipynb"])
def test_a_new_chapter_needs_one_side_only(book: MiniBook, side: str) -> None:
    name = "book/third.md" if side == "text" else "notebooks/third.ipynb"
    shutil.copy(book.path(name.replace("third", "mini")), book.path(name))
    book.replace("_toc.yml", "notebooks/second", "notebooks/second\n  - file: notebooks/third")
    made = book.make("notebooks")
    assert made.returncode == 0, made.stdout
    made = book.make("book")
    assert made.returncode == 0, made.stdout
    assert book.path("_build/html/notebooks/third.html").exists()


def test_a_cell_that_raises_leaves_both_sides_alone(book: MiniBook) -> None:
    book.replace("book/mini.md", "print(1 / 7)", "print(1 / 0)")
    before = sides(book)
    made = book.make("notebooks")
    assert made.returncode != 0 and re.search(r"book/mini\.md: a cell raised[\s\S]*ZeroDivisionError", made.stdout)
    assert sides(book) == before


def test_repository_names_it_everywhere_without_running_anything(book: MiniBook) -> None:
    url = "https://github.com/me/my-fork"
    outputs = [cell.outputs for cell in code_cells(book.notebook())]
    for given in (f"{url}.git", url):
        made = book.make("repository", f"URL={given}")
        assert made.returncode == 0, made.stdout
    assert code_cells(book.notebook())[SETUP].source == setup_cell(url)
    assert [cell.outputs for cell in code_cells(book.notebook())] == outputs
    made = book.make("book")
    assert made.returncode == 0, made.stdout
    page = book.path("_build/html/notebooks/mini.html").read_text("utf-8")
    assert "colab.research.google.com/github/me/my-fork/blob/main/notebooks/mini.ipynb" in page
    assert "OWNER" not in page


def test_repository_mends_settings_edited_by_hand(book: MiniBook) -> None:
    another_repository(book)
    assert book.make("book").returncode != 0
    assert book.make("repository", "URL=https://github.com/me/my-fork").returncode == 0
    made = book.make("book")
    assert made.returncode == 0, made.stdout


@pytest.mark.parametrize("url", ["", "my-fork", "https://github.com/me", "ftp://github.com/me/my-fork"])
def test_repository_refuses_what_is_no_address(book: MiniBook, url: str) -> None:
    made = book.make("repository", f"URL={url}")
    assert made.returncode != 0 and "URL must look like https://github.com/me/my-fork" in made.stdout


def test_links_to_other_sites_are_asked(book: MiniBook) -> None:
    assert book.make("links").returncode == 0
    prose("A [dead end](http://127.0.0.1:9/nothing).")(book)
    made = book.make("links")
    assert made.returncode != 0 and "http://127.0.0.1:9/nothing" in made.stdout


def test_zip_packs_the_site_as_one_file(book: MiniBook, tmp_path: Path) -> None:
    made = book.make("zip")
    assert made.returncode == 0, made.stdout
    with zipfile.ZipFile(book.path("attention-measured.zip")) as packed:
        names = set(packed.namelist())
    assert {"index.html", "book/intro.html", "notebooks/mini.html", "_static/mathjax/tex-chtml.js"} <= names


def test_student_edition_has_starters_and_no_solutions(book: MiniBook) -> None:
    made = book.make("student")
    assert made.returncode == 0, made.stdout
    copies = list(book.path("student").glob("*.ipynb"))
    assert len(copies) == 2
    for edition in copies:
        text = edition.read_text("utf-8")
        assert "Exercise 1.1" in text and "answer = None" in text and "olution" not in text


def test_help_has_a_line_for_each_target(book: MiniBook) -> None:
    lines = book.make("help").stdout.splitlines()
    assert [line.split(" — ")[0] for line in lines] == [
        f"make {target}"
        for target in ["help", "book", "test", "notebooks", "serve", "zip", "student", "repository", "links", "clean"]
    ]
    assert book.make().stdout.splitlines() == lines
