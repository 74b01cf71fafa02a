"""The environment that `make` makes by itself, and which package and kernels it gives to the notebooks."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.faults.minibook import PRINTED, MiniBook, code_cells, source
from tools.lock import HEADING, REQUIREMENTS, join


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
    book.path("d2lmini/__init__.py").write_text("here = 'this copy'\n")
    book.edit(source(PRINTED, "import d2lmini\nprint(d2lmini.here)"))
    book.make_green("notebooks", "CHAPTERS=mini")
    assert code_cells(book.notebook())[PRINTED].outputs[0].text == "this copy\n"
    book.make_green(".build/tested/mini")  # nbval's kernel prints the same


def test_an_old_python_is_refused_by_name(book: MiniBook, tmp_path: Path) -> None:
    shutil.rmtree(book.path(".venv"))
    old = tmp_path / "old"
    old.write_text(
        f'#!/bin/sh\ntest "$1" = -c || exec "{sys.executable}" "$@"\n'
        f'exec "{sys.executable}" -c "import sys; sys.version_info = (3, 10); $(printf %s "$2")"\n'
    )
    old.chmod(0o755)
    for python in (str(old), "python3.99"):
        made = book.make("notebooks", PYTHON=python)
        assert made.returncode != 0 and f"Python 3.11 or later is needed, and {python} is none" in made.stdout
        assert "make notebooks PYTHON=python3.12" in made.stdout and "Traceback" not in made.stdout


def test_kernels_side_by_side_need_no_port(book: MiniBook) -> None:
    """A port that was free when it was picked can be taken when the kernel wants it: "Address already in use"."""
    shown = 'import json\n\nimport ipykernel\n\nprint(json.load(open(ipykernel.get_connection_file()))["transport"])'
    book.replace("book/mini.md", "print(1 / 7)", shown)
    book.make_green("notebooks")
    assert code_cells(book.notebook())[PRINTED].outputs[0].text == "ipc\n"
    book.make_green(".build/tested/mini")  # nbval's kernel prints the same


def test_two_at_once_wait_for_each_other(book: MiniBook, tmp_path: Path) -> None:
    """The first installs, and the second neither deletes its environment nor its stamps."""
    shutil.rmtree(book.path(".venv"))
    book.path("requirements.txt").write_text(f"{wheel(tmp_path, 'early')}\n")
    with ThreadPoolExecutor(3) as pool:
        variables = {"PIP_NO_INDEX": "1", "PYTHON": sys.executable}
        runs = [pool.submit(book.make, ".venv/.ready", **variables) for _ in range(3)]
        made = [run.result() for run in runs]
    assert [run.returncode for run in made] == [0, 0, 0], [run.stdout for run in made]
    assert sum("Installing" in run.stdout for run in made) == 1
    assert any("another make works in this folder: this one waits" in run.stdout for run in made)


def test_a_make_that_was_killed_locks_nobody_out(book: MiniBook) -> None:
    locked = [sys.executable, "tools/alone.py", "sleep", "600"]
    with subprocess.Popen(locked, cwd=book.folder) as killed:
        time.sleep(1)
        killed.kill()
    assert "another make" not in book.make_green("book")


def test_a_lock_holds_what_came_along_and_nothing_twice() -> None:
    asked = "# why\n--editable .\ntorch==2.1  # the book\nruamel.yaml==1.0\n\n"
    frozen = (
        "triton==3.0\nnvidia-cublas-cu12==12\ntorch==2.1+cpu\nruamel_yaml==1.0\nzipp==4\nAttrs==26+local\npip==25\n"
    )
    assert join(asked, frozen) == f"{asked}{HEADING}attrs==26\nzipp==4\n"


def test_the_lock_of_the_book_is_what_the_command_writes() -> None:
    """Sorted, each package once, and nothing that only one kind of machine has."""
    asked, heading, pulled = REQUIREMENTS.read_text("utf-8").partition(HEADING)
    assert heading and join(asked, pulled) == REQUIREMENTS.read_text("utf-8")
