"""Run a chapter's text and store what it gives as a notebook: `python -m tools.notebooks attention-pooling`.

The text is the source. The notebook remembers, in its own metadata, the digest of the text that it was made from. A
notebook that no longer matches its digest was edited by hand: then nothing is written, and `--from` must say which side
to take. Running twice changes no byte.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import time
from pathlib import Path

import jupytext
import nbformat
from jupytext.combine import combine_inputs_with_outputs
from jupytext.config import load_jupytext_config
from nbformat import NotebookNode

from tools import ROOT
from tools.kernels import over_files

TEXTS, NOTEBOOKS = ROOT / "book", ROOT / "notebooks"
FRAMEWORKS = ROOT / "frameworks"  # the same layer elsewhere: text and notebook side by side
COVER = TEXTS / "_static" / "cover.svg"
CELL_METADATA = {"tags", "mystnb", "jupyter", "cellView", "slideshow", "jp-MarkdownHeadingCollapsed"}
ASIDE = {"solution", "check"}  # the tags of what is folded: the main line of a chapter stands without it
DIGEST = "text_sha256"  # the key in the notebook's metadata; jupytext.toml keeps it out of the text


def list_chapters() -> list[str]:
    """The chapters, in the order of the table of contents."""
    return re.findall(r"^ *- file: notebooks/([\w-]+)", (ROOT / "_toc.yml").read_text("utf-8"), re.MULTILINE)


def is_chapter(text: Path) -> bool:
    """Whether a Markdown file is a notebook as text; the others are prose pages."""
    return "\nkernelspec:\n" in text.read_text("utf-8")


def to_text(notebook: NotebookNode) -> str:
    """The one text that stands for a notebook."""
    # From a copy: jupytext leaves metadata of its own behind in a notebook that it writes. Keys in the order in which
    # a notebook is stored, whatever order they were written in: one notebook has one text.
    ordered = nbformat.from_dict(json.loads(json.dumps(notebook, sort_keys=True)))
    return jupytext.writes(ordered, fmt="md:myst", config=load_jupytext_config(str(TEXTS / "any.md")))


def from_text(text: str) -> NotebookNode:
    """The notebook, without outputs, that a text stands for."""
    return jupytext.reads(text, fmt="md:myst", config=load_jupytext_config(str(TEXTS / "any.md")))


def digest(notebook: NotebookNode) -> str:
    """The digest of the text that stands for a notebook."""
    return hashlib.sha256(to_text(notebook).encode()).hexdigest()


def is_edited(notebook: NotebookNode) -> bool:
    """Whether a notebook no longer stands for the text that it was made from."""
    return notebook.metadata.get(DIGEST) != digest(notebook)


def choose(chapter: str, text: NotebookNode | None, notebook: NotebookNode | None, wanted: str | None) -> NotebookNode:
    """The side to take, where `None` is a missing one: the text, unless the notebook may hold an edit of its own.

    Raises:
        SystemExit: if it does and `wanted` names no side, or if the text that a notebook was made from is gone.
    """
    side = {"text": text, "ipynb": notebook}.get(wanted or "")
    if side is not None:
        return side
    command, missing = f"make notebooks CHAPTERS={chapter} FROM=", f"{chapter}: there is no book/{chapter}.md"
    if text is None:
        if notebook is None:
            raise SystemExit(f"{missing} and no notebooks/{chapter}.ipynb")
        if DIGEST not in notebook.metadata:  # a new chapter
            return notebook
        raise SystemExit(
            f"{missing}, from which notebooks/{chapter}.ipynb was made. Nothing was written. Delete the notebook as "
            f"well, or take it as the new text: {command}ipynb"
        )
    if notebook is None or not is_edited(notebook) or to_text(text) == to_text(notebook):
        return text
    also = "" if digest(text) == notebook.metadata.get(DIGEST) else ", and the text is another one as well"
    raise SystemExit(
        f"{chapter}: notebooks/{chapter}.ipynb was edited by hand since it was made from book/{chapter}.md{also}. "
        f"Nothing was written. To throw the notebook's edit away: {command}text; to take it as the new text: "
        f"{command}ipynb"
    )


def tidy(chapter: str, notebook: NotebookNode) -> NotebookNode:
    """Strip blank lines from the ends of the cells, and make sure that the text gives back the same cells.

    Raises:
        SystemExit: if it does not, as with a code block in Markdown that is never closed.
    """
    notebook.cells = [cell for cell in notebook.cells if cell.source.strip()]
    for cell in notebook.cells:
        cell.source = cell.source.strip("\n").rstrip()
    again = [(cell.cell_type, cell.source) for cell in from_text(to_text(notebook)).cells]
    for number, cell in enumerate(notebook.cells):
        if [(cell.cell_type, cell.source)] != again[number : number + 1]:
            raise SystemExit(f"{chapter}: cell {number} does not survive as text: {cell.source[:60]!r}")
    return notebook


def restore_ids(notebook: NotebookNode, stored: NotebookNode | None) -> NotebookNode:
    """The text's cells with the ids that they have in the stored notebook."""
    if stored is None or notebook is stored:
        return notebook
    metadata = [cell.metadata for cell in notebook.cells]
    combined = combine_inputs_with_outputs(notebook, stored, fmt="md:myst")
    for cell, its_own in zip(combined.cells, metadata, strict=True):
        cell.metadata = its_own
    return combined


def is_aside(cell: NotebookNode) -> bool:
    """Whether a cell is folded, as a solution or below *Does this hold?*."""
    return bool(ASIDE.intersection(cell.metadata.get("tags", [])))


def collapse_in_colab(notebook: NotebookNode) -> None:
    """Collapse the folded headings in Colab as in Jupyter: it has a list of its own, and its own place for an id."""
    folded = [cell for cell in notebook.cells if cell.metadata.get("jp-MarkdownHeadingCollapsed")]
    for cell in folded:
        cell.metadata["id"] = cell.id
    if folded:
        notebook.metadata["colab"] = {"collapsed_sections": [cell.id for cell in folded]}


def describe_figures(notebook: NotebookNode) -> None:
    """Copy the alt text of each figure to where Jupyter and nbconvert look for it: beside the picture."""
    for cell in notebook.cells:
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt")
        for output in cell.get("outputs", []):
            if alt and "image/png" in output.get("data", {}):
                output.metadata = {"image/png": {"alt": alt}}


def execute(chapter: str, notebook: NotebookNode, folder: Path = NOTEBOOKS) -> None:
    """Run all cells in a folder and keep only what is the same on every machine, and the digest.

    Raises:
        SystemExit: if a cell raises.
    """
    # Here, because the tests read and compare notebooks by the dozen, and take half their time to import these.
    from nbclient.exceptions import CellExecutionError
    from nbconvert.preprocessors import ClearMetadataPreprocessor, CoalesceStreamsPreprocessor, ExecutePreprocessor
    from traitlets.config import Config

    quiet = ["--log-level=ERROR"]  # the kernel's own remarks are not the chapter's
    config = Config(KernelManager=over_files())
    executor = ExecutePreprocessor(config=config, timeout=600, record_timing=False, extra_arguments=quiet)
    try:
        executor.preprocess(notebook, {"metadata": {"path": str(folder)}})
    except CellExecutionError as error:
        side = TEXTS if folder == NOTEBOOKS else folder
        raise SystemExit(f"{side.name}/{chapter}.md: a cell raised\n{error}") from None
    CoalesceStreamsPreprocessor().preprocess(notebook, {})
    kept = {"kernelspec", ("language_info", "name")}
    ClearMetadataPreprocessor(clear_cell_metadata=False, preserve_nb_metadata_mask=kept).preprocess(notebook, {})
    for cell in notebook.cells:  # that preprocessor would skip the Markdown cells
        cell.metadata = {key: value for key, value in cell.metadata.items() if key in CELL_METADATA}
    describe_figures(notebook)
    collapse_in_colab(notebook)
    notebook.metadata[DIGEST] = digest(notebook)


def find_cover(notebook: NotebookNode) -> str | None:
    """The figure of the cell tagged `cover`, as SVG: the picture on the title page and in README.md."""
    shown = [out for cell in notebook.cells if "cover" in cell.metadata.get("tags", []) for out in cell.outputs]
    return next((out.data["image/svg+xml"] for out in shown if "image/svg+xml" in out.get("data", {})), None)


def read(path: Path) -> str | None:
    """What a file holds; `None` where there is none."""
    return path.read_text("utf-8") if path.exists() else None


def write(path: Path, content: str, time_ns: int) -> None:
    """Replace a file in one step, dated back to when the run began, so that any edit made since is newer."""
    if read(path) == content:
        return
    new = path.with_suffix(".new")
    new.write_text(content, "utf-8")
    os.utime(new, ns=(time_ns, time_ns))
    new.replace(path)


def run_framework(name: str) -> None:
    """Bring the notebook of a framework up to date where its text changed. What it printed of times is kept otherwise.

    Raises:
        SystemExit: if a cell raises.
    """
    path = FRAMEWORKS / f"{name}.ipynb"
    text, source = from_text((FRAMEWORKS / f"{name}.md").read_text("utf-8")), read(path)
    stored = nbformat.reads(source, as_version=4) if source else None
    if stored is None or stored.metadata.get(DIGEST) != digest(text):
        notebook = tidy(name, restore_ids(text, stored))
        execute(name, notebook, FRAMEWORKS)
        path.write_text(nbformat.writes(notebook) + "\n", "utf-8")
    print(f"frameworks/{name}.ipynb is up to date")


def run(chapter: str, wanted: str | None) -> None:
    """Bring a chapter up to date: choose the side to take, run it, write both.

    Raises:
        SystemExit: if nothing can be chosen, a cell raises, or a side was edited during the run.
    """
    stamp = ROOT / ".build" / "run" / f"{chapter}.new"
    began = stamp.stat().st_mtime_ns if stamp.exists() else time.time_ns()
    text_path, notebook_path = TEXTS / f"{chapter}.md", NOTEBOOKS / f"{chapter}.ipynb"
    before = text, source = read(text_path), read(notebook_path)
    stored = nbformat.reads(source, as_version=4) if source else None
    notebook = choose(chapter, from_text(text) if text else None, stored, wanted)
    notebook = tidy(chapter, restore_ids(notebook, stored))
    execute(chapter, notebook)
    if before != (read(text_path), read(notebook_path)):
        raise SystemExit(f"{chapter}: edited while it ran. Nothing was written; run `make notebooks` again")
    write(text_path, to_text(notebook), began)
    write(notebook_path, nbformat.writes(notebook) + "\n", began)
    if picture := find_cover(notebook):
        write(COVER, picture, began)
    print(f"notebooks/{chapter}.ipynb is up to date")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapter")
    parser.add_argument("--framework", action="store_true", help="one of frameworks/, not a chapter")
    parser.add_argument("--from", dest="wanted", choices=("text", "ipynb"), help="take this side, whatever changed")
    arguments = parser.parse_args()
    if arguments.framework:
        run_framework(arguments.chapter)
    else:
        run(arguments.chapter, arguments.wanted)
