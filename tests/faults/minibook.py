"""A small book without torch, built by the real Makefile, to plant faults in."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.notebooks.files import DIGEST, digest, to_text
from tools.releasing.repository import repository_url, setup_cell

MACHINERY = ["Makefile", "conftest.py", "pyproject.toml", "README.md", "jupytext.toml", "requirements.txt"]
MACHINERY += [
    "requirements-model.txt",
    "_config.yml",
    "book/_ext",
    "book/_static",
    "book/_templates",
    "tools",
    "tests/book",
]
# What make and pytest leave in the environment would reach the make that is tested.
LEFT_OUT = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "FROM", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}
FIGURE = """\
from IPython.display import display

path = '<path d="M 1.25 40 L 90 5.5" style="stroke: #1f2328"/>'
dot = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTIG"
    "JwAAAABJRU5ErkJggg=="
)
svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="99" height="50">{path}</svg>'
display({"image/svg+xml": svg, "image/png": dot}, raw=True)"""
CHECKER = """\
class d2l:
    def check(name, answer):
        print(name, "✓ right" if answer else "not attempted yet")"""
NEEDS = "\n\n**Prerequisites**: none. **Running time**: one second."
SOLUTION = "# @title Solution\nprint(6 * 7)\nd2l.check('double', 42)".replace("'", '"')
SETUP, CHECK, PRINTED, DRAWN, STARTER, SOLVED = range(6)  # its code cells

Change = Callable[[Any], None]  # of a notebook


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def source(number: int, text: str) -> Change:
    """Another source for a code cell, its stored outputs left as they are."""
    return lambda notebook: code_cells(notebook)[number].update(source=text)


def prose(text: str) -> Change:
    """Another text for the first Markdown cell."""
    return lambda notebook: notebook.cells[0].update(source=f"# Mini\n\n{text}{NEEDS}")


def chapter() -> Any:
    folded = {"cellView": "form", "jupyter": {"source_hidden": True}, "tags": ["solution"]}
    heading = {"jp-MarkdownHeadingCollapsed": True, "tags": ["solution"]}
    figure = {"figure": {"caption": "A line."}, "image": {"alt": "A straight line that rises."}}
    return new_notebook(
        metadata={"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        cells=[
            new_markdown_cell(f"# Mini\n\nHow small can a chapter be? Go [home](../book/intro.md#where-to-go).{NEEDS}"),
            new_code_cell(setup_cell(repository_url())),
            new_code_cell(CHECKER),
            new_code_cell("print(1 / 7)"),
            new_code_cell(FIGURE, metadata={"mystnb": figure}),
            new_markdown_cell("## Exercises\n\nOne.\n\n### Exercise 1.1 · Twice\n\n*Build.* Double 21."),
            new_code_cell('answer = None\nd2l.check("double", answer)'),
            new_markdown_cell("#### Solution", metadata=heading),
            new_code_cell(SOLUTION, metadata=folded),
        ],
    )


def make_environment(folder: Path) -> None:
    """Stand in for .venv: this Python, so that nothing needs to be installed."""
    (folder / ".venv/bin").mkdir(parents=True)
    scripts = {
        "python": f'#!/bin/sh\nexec "{sys.executable}" "$@"\n',
        "jupyter-book": f"#!{sys.executable}\nfrom jupyter_book.cli.main import main\nmain()\n",
    }
    for name, text in scripts.items():
        script = folder / ".venv/bin" / name
        script.write_text(text)
        script.chmod(0o755)
    for stamp in (".pages", ".ready"):  # in the order in which they are made
        (folder / ".venv" / stamp).touch()


class MiniBook:
    """A copy of the book's machinery around one or two tiny chapters."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run make as a user would, whatever make runs these tests."""
        kept = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
        given: Any = {"cwd": self.folder, "env": kept | variables, "stdout": subprocess.PIPE, "timeout": 120}
        return subprocess.run(["make", *arguments], stderr=subprocess.STDOUT, text=True, check=False, **given)

    def make_green(self, *arguments: str, **variables: str) -> str:
        """Run make, which must succeed, and return what it said."""
        made = self.make(*arguments, **variables)
        assert made.returncode == 0, made.stdout
        return made.stdout

    def path(self, name: str) -> Path:
        return self.folder / name

    def notebook(self, name: str = "mini") -> Any:
        return nbformat.read(self.path(f"notebooks/{name}.ipynb"), as_version=4)

    def write(self, notebook: Any, name: str = "mini", *, by_hand: bool = False) -> None:
        """Store a notebook and the text that it was made from; `by_hand` the notebook alone."""
        if not by_hand:
            notebook.metadata[DIGEST] = digest(notebook)
            self.path(f"book/{name}.md").write_text(to_text(notebook), "utf-8")
        nbformat.write(notebook, self.path(f"notebooks/{name}.ipynb"))

    def enter(self, *names: str) -> None:
        """Add chapters to the table of contents."""
        entries = "".join(f"  - file: notebooks/{name}\n" for name in names)
        self.path("_toc.yml").write_text(self.path("_toc.yml").read_text("utf-8") + entries, "utf-8")

    def edit(self, change: Change, name: str = "mini", *, by_hand: bool = False) -> None:
        """Change the stored notebook, and unless `by_hand` its text alike."""
        notebook = self.notebook(name)
        change(notebook)
        self.write(notebook, name, by_hand=by_hand)

    def replace(self, name: str, old: str, new: str) -> None:
        text = self.path(name).read_text("utf-8")
        assert old in text
        self.path(name).write_text(text.replace(old, new), "utf-8")

    def stamps(self, kind: str = "compared") -> set[str]:
        """The chapters that were compared, or run, each with the time at which that was."""
        return {f"{path.stem} {path.stat().st_mtime_ns}" for path in self.path(f".build/{kind}").glob("*")}

    def find_rerun(self, before: set[str]) -> set[str]:
        """The chapters that were compared since."""
        return {stamp.split()[0] for stamp in self.stamps() - before}
