"""Make the two sides of a chapter equal and run its notebook: ``python -m tools.notebooks attention-pooling``.

Both sides are compared with the text on which they last agreed. The side that changed since then wins; if both did, in
different ways, or if it is not known, nothing is written and ``--from`` must say which one to take. Running twice
changes no byte.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import time
from copy import deepcopy
from pathlib import Path

import jupytext
import nbformat
from jupytext.combine import combine_inputs_with_outputs
from jupytext.config import load_jupytext_config
from nbclient.exceptions import CellExecutionError
from nbconvert.preprocessors import ClearMetadataPreprocessor, CoalesceStreamsPreprocessor, ExecutePreprocessor
from nbformat import NotebookNode
from traitlets.config import Config

from tools.kernels import over_files

ROOT = Path(__file__).resolve().parent.parent
TEXTS, NOTEBOOKS, AGREED = ROOT / "book", ROOT / "notebooks", ROOT / ".build" / "agreed"
COVER = TEXTS / "_static" / "cover.svg"
CELL_METADATA = {"tags", "mystnb", "jupyter", "cellView", "jp-MarkdownHeadingCollapsed"}


def is_chapter(text: Path) -> bool:
    """Whether a Markdown file is a notebook as text; the others are prose pages."""
    return "\nkernelspec:\n" in text.read_text("utf-8")


def text_of(notebook: NotebookNode) -> str:
    """The one text that stands for a notebook."""
    # Of a copy: jupytext leaves its own metadata behind in what it writes.
    return jupytext.writes(deepcopy(notebook), fmt="md:myst", config=load_jupytext_config(str(TEXTS / "any.md")))


def read_text(text: str) -> NotebookNode:
    """The notebook, without outputs, that a text stands for."""
    return jupytext.reads(text, fmt="md:myst", config=load_jupytext_config(str(TEXTS / "any.md")))


def git_show(name: str) -> str | None:
    """A file as last committed, if there is one."""
    shown = subprocess.run(
        ["git", "show", f"HEAD:./{name}"], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
    )
    return shown.stdout if shown.returncode == 0 else None


def agreements(chapter: str) -> list[str]:
    """Texts on which both sides are known to have agreed: after the last run here, and in the last commit."""
    known = []
    if (kept := AGREED / f"{chapter}.md").exists():
        known.append(kept.read_text("utf-8"))
    text, notebook = git_show(f"book/{chapter}.md"), git_show(f"notebooks/{chapter}.ipynb")
    if text and notebook and text_of(read_text(text)) == text_of(nbformat.reads(notebook, as_version=4)):
        known.append(text_of(read_text(text)))
    return known


def winner(chapter: str, text: str | None, notebook: str | None, wanted: str | None) -> str:
    """``"text"`` or ``"ipynb"``: the side to take. Both sides come in canonical form, ``None`` for a missing one.

    A side wins if it alone changed since both agreed, and no other agreement says the opposite.

    Raises:
        SystemExit: if a side would be overwritten that may hold an edit, and ``wanted`` does not choose.
    """
    sides = {"text": text, "ipynb": notebook}
    if wanted and sides[wanted] is not None:
        return wanted
    if text == notebook:
        return "text"
    known = agreements(chapter)
    opinions = set()
    for agreed in known:
        changed = [side for side, content in sides.items() if content != agreed]
        opinions |= set(changed) if len(changed) == 1 else set()
    if not known:  # a new chapter has one side only
        opinions = {side for side, content in sides.items() if content is not None}
    if len(opinions) == 1 and sides[side := opinions.pop()] is not None:
        return side
    what = "was deleted on one side" if None in (text, notebook) else "changed on both sides, in different ways"
    raise SystemExit(
        f"{chapter}: {what} (book/{chapter}.md and notebooks/{chapter}.ipynb), or it is not known which one. Nothing "
        f"was written. Delete both, or choose: make notebooks CHAPTERS={chapter} FROM=text (or FROM=ipynb)"
    )


def tidy(chapter: str, notebook: NotebookNode) -> NotebookNode:
    """Cells without blank lines at their ends, and the assurance that the text gives back the same cells.

    Raises:
        SystemExit: if it does not, as with a code block in Markdown that is never closed.
    """
    notebook.cells = [cell for cell in notebook.cells if cell.source.strip()]
    for cell in notebook.cells:
        cell.source = cell.source.strip("\n").rstrip()
    again = read_text(text_of(notebook)).cells
    for number, cell in enumerate(notebook.cells):
        if number >= len(again) or (cell.cell_type, cell.source) != (again[number].cell_type, again[number].source):
            raise SystemExit(f"{chapter}: cell {number} does not survive as text: {cell.source[:60]!r}")
    return notebook


def with_ids(notebook: NotebookNode, stored: NotebookNode) -> NotebookNode:
    """The text's cells under the ids that they have in the stored notebook."""
    metadata = [cell.metadata for cell in notebook.cells]
    combined = combine_inputs_with_outputs(notebook, stored, fmt="md:myst")
    for cell, its_own in zip(combined.cells, metadata, strict=True):
        cell.metadata = its_own
    return combined


def execute(notebook: NotebookNode) -> NotebookNode:
    """Run all cells and leave only what is the same on every machine."""
    quiet = ["--log-level=ERROR"]  # the kernel's own remarks are not the chapter's
    config = Config(KernelManager=over_files())
    executor = ExecutePreprocessor(config=config, timeout=600, record_timing=False, extra_arguments=quiet)
    executor.preprocess(notebook, {"metadata": {"path": str(NOTEBOOKS)}})
    CoalesceStreamsPreprocessor().preprocess(notebook, {})
    kept = {"kernelspec", ("language_info", "name")}
    ClearMetadataPreprocessor(clear_cell_metadata=False, preserve_nb_metadata_mask=kept).preprocess(notebook, {})
    for cell in notebook.cells:  # that preprocessor would skip the Markdown cells
        cell.metadata = {key: value for key, value in cell.metadata.items() if key in CELL_METADATA}
    return notebook


def cover(notebook: NotebookNode) -> str | None:
    """The figure of the cell tagged ``cover``, as SVG: the picture of the title page and of README."""
    for cell in notebook.cells:
        if "cover" in cell.metadata.get("tags", []):
            return next(
                (out.data["image/svg+xml"] for out in cell.outputs if "image/svg+xml" in out.get("data", {})), None
            )
    return None


def write(path: Path, content: str, time_ns: int) -> None:
    """Replace a file in one step, dated back to when the run began: a later edit is newer, whenever it comes."""
    if path.exists() and path.read_text("utf-8") == content:
        return
    new = path.with_suffix(".new")
    new.write_text(content, "utf-8")
    os.utime(new, ns=(time_ns, time_ns))
    new.replace(path)


def run(chapter: str, wanted: str | None) -> None:
    """Bring a chapter up to date: settle the text, run it, write both sides.

    Raises:
        SystemExit: if the sides are in conflict, a cell raises, or a side was edited during the run.
    """
    stamp = ROOT / ".build" / "run" / f"{chapter}.new"
    began = stamp.stat().st_mtime_ns if stamp.exists() else time.time_ns()
    text_path, notebook_path = TEXTS / f"{chapter}.md", NOTEBOOKS / f"{chapter}.ipynb"
    before = {path: path.read_bytes() if path.exists() else None for path in (text_path, notebook_path)}
    from_text = read_text(text_path.read_text("utf-8")) if text_path.exists() else None
    stored = nbformat.read(notebook_path, as_version=4) if notebook_path.exists() else None
    canonical = [None if side is None else text_of(side) for side in (from_text, stored)]
    side = winner(chapter, canonical[0], canonical[1], wanted)
    notebook = stored if side == "ipynb" else from_text
    assert notebook is not None
    if side == "text" and stored is not None:
        notebook = with_ids(notebook, stored)
    notebook = tidy(chapter, notebook)
    try:
        execute(notebook)
    except CellExecutionError as error:
        raise SystemExit(f"book/{chapter}.md: a cell raised\n{error}") from None
    text, picture = text_of(notebook), cover(notebook)
    if before != {path: path.read_bytes() if path.exists() else None for path in before}:
        raise SystemExit(f"{chapter}: edited while it ran. Nothing was written; run `make notebooks` again")
    write(text_path, text, began)
    write(notebook_path, nbformat.writes(notebook) + "\n", began)
    if picture:
        write(COVER, picture, began)
    AGREED.mkdir(parents=True, exist_ok=True)
    (AGREED / f"{chapter}.md").write_text(text, "utf-8")
    print(f"notebooks/{chapter}.ipynb is up to date")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapter")
    parser.add_argument("--from", dest="wanted", choices=("text", "ipynb"), help="take this side, whatever changed")
    arguments = parser.parse_args()
    run(arguments.chapter, arguments.wanted)
