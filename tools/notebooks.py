"""Make the two sides of a chapter equal and run its notebook: ``python -m tools.notebooks attention-pooling``.

Both sides are compared with the text on which they last agreed. The side that changed since then wins; if both did, in
different ways, nothing is written and ``--from`` must say which one to take. Running twice changes no byte.
"""

from __future__ import annotations

import argparse
import subprocess
from copy import deepcopy
from pathlib import Path

import jupytext
import nbformat
from jupytext.combine import combine_inputs_with_outputs
from jupytext.config import load_jupytext_config
from nbclient.exceptions import CellExecutionError
from nbconvert.preprocessors import ClearMetadataPreprocessor, CoalesceStreamsPreprocessor, ExecutePreprocessor
from nbformat import NotebookNode

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


def last_agreed(chapter: str) -> str | None:
    """The text on which both sides last agreed: kept by this tool, else the committed one."""
    kept = AGREED / f"{chapter}.md"
    if kept.exists():
        return kept.read_text("utf-8")
    committed = subprocess.run(
        ["git", "show", f"HEAD:./book/{chapter}.md"], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
    )
    return committed.stdout if committed.returncode == 0 else None


def winner(chapter: str, text: str | None, notebook: str | None, wanted: str | None) -> str:
    """``"text"`` or ``"ipynb"``: the side to take. Both sides come in canonical form, ``None`` for a missing one.

    Raises:
        SystemExit: if each side holds something that the other would overwrite and ``wanted`` does not choose.
    """
    if text == notebook:
        return "text"
    sides = {"text": text, "ipynb": notebook}
    agreed = last_agreed(chapter)
    changed = [side for side, content in sides.items() if content != agreed]
    if len(changed) == 1 and sides[changed[0]] is not None:
        return changed[0]
    if wanted and sides[wanted] is not None:
        return wanted
    what = "was deleted on one side" if None in (text, notebook) else "changed on both sides, in different ways"
    raise SystemExit(
        f"{chapter}: {what} (book/{chapter}.md and notebooks/{chapter}.ipynb). Nothing was written. Delete both, or "
        f"choose: make notebooks CHAPTERS={chapter} FROM=text (or FROM=ipynb)"
    )


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
    executor = ExecutePreprocessor(timeout=600, record_timing=False, extra_arguments=quiet)
    executor.preprocess(notebook, {"metadata": {"path": str(NOTEBOOKS)}})
    CoalesceStreamsPreprocessor().preprocess(notebook, {})
    ClearMetadataPreprocessor(
        preserve_cell_metadata_mask=CELL_METADATA,
        preserve_nb_metadata_mask={"kernelspec", ("language_info", "name")},
    ).preprocess(notebook, {})
    for cell in notebook.cells:
        cell.metadata = {key: value for key, value in cell.metadata.items() if key in CELL_METADATA}
    return notebook


def cover(notebook: NotebookNode) -> str | None:
    """The figure of the cell tagged ``cover``, as SVG: the picture of the title page and of README."""
    for cell in notebook.cells:
        if "cover" in cell.metadata.get("tags", []):
            return next(out.data["image/svg+xml"] for out in cell.outputs if "image/svg+xml" in out.get("data", {}))
    return None


def run(chapter: str, wanted: str | None) -> None:
    """Bring a chapter up to date: settle the text, run it, write both sides.

    Raises:
        SystemExit: if the sides are in conflict, a cell raises, or a side was edited during the run.
    """
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
    try:
        execute(notebook)
    except CellExecutionError as error:
        raise SystemExit(f"book/{chapter}.md: a cell raised\n{error}") from None
    after = {path: path.read_bytes() if path.exists() else None for path in before}
    if after != before:
        raise SystemExit(f"{chapter}: edited while it ran. Nothing was written; run `make notebooks` again")
    text = text_of(notebook)
    for path, content in ((text_path, text), (notebook_path, nbformat.writes(notebook) + "\n")):
        if before[path] != content.encode():
            path.write_text(content, "utf-8")
    if picture := cover(notebook):
        COVER.write_text(picture, "utf-8")
    AGREED.mkdir(parents=True, exist_ok=True)
    (AGREED / f"{chapter}.md").write_text(text, "utf-8")
    print(f"notebooks/{chapter}.ipynb is up to date")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapter")
    parser.add_argument("--from", dest="wanted", choices=("text", "ipynb"), help="which side to take in a conflict")
    arguments = parser.parse_args()
    run(arguments.chapter, arguments.wanted)
