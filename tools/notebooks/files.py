"""A chapter is a text and a notebook: what stands for what, which side was edited, and which one to take.

The text is the source. The notebook remembers, in its own metadata, the digest of the text that it was made from. A
notebook that no longer matches its digest was edited by hand.
"""

import copy
import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from book_site.guesses import is_answer
from book_site.opening import ATTACHED, without_opening
from book_site.phrases import PREREQUISITES
from jupytext.combine import combine_inputs_with_outputs
from jupytext.config import load_jupytext_config
from nbformat import NotebookNode

from tools import ROOT

TEXTS, NOTEBOOKS = ROOT / "book", ROOT / "notebooks"
PAGES = ROOT / "pages"  # notebooks that are no chapters: no number, no exercises, no deck
FRAMEWORKS = ROOT / "frameworks"  # the same layer elsewhere: text and notebook side by side
COVER = TEXTS / "_static" / "cover.svg"
CELL_METADATA = {"tags", "mystnb", "jupyter", "cellView", "slideshow", "jp-MarkdownHeadingCollapsed", "guess"}
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
ASIDE = {"solution", "check"}  # the tags of what is folded: the main line of a chapter stands without it
NEEDS_MODEL = "needs-model"  # the tag of what is measured in a real model: the main line stands without it, too
SETUP = "# Installs d2lmini, the package of this book, if it is missing."  # how the first code cell begins
DIGEST = "text_sha256"  # the key in the notebook's metadata; jupytext.toml keeps it out of the text


def list_files(folder: str) -> list[str]:
    """The notebooks of a folder, in the order of the table of contents."""
    return re.findall(rf"^ *- file: {folder}/([\w-]+)", (ROOT / "_toc.yml").read_text("utf-8"), re.MULTILINE)


def list_chapters() -> list[str]:
    """The chapters, in their order."""
    return list_files("notebooks")


def list_pages() -> list[str]:
    """The pages that are notebooks but no chapters."""
    return list_files("pages")


def locate(name: str) -> Path:
    """Where the notebook of a chapter or a page is, or would be."""
    return (PAGES if name in list_pages() else NOTEBOOKS) / f"{name}.ipynb"


def is_notebook(text: Path) -> bool:
    """Whether a Markdown file is a notebook as text; the others are prose."""
    return "\nkernelspec:\n" in text.read_text("utf-8")


def is_chapter(text: Path) -> bool:
    """Whether a Markdown file is the text of a chapter."""
    return is_notebook(text) and text.stem not in list_pages()


def drop_empty(metadata: Any) -> Any:
    """Metadata without what says nothing: an editor writes `tags: []` where another writes no tags."""
    if not isinstance(metadata, dict):
        return metadata
    kept = {key: drop_empty(value) for key, value in sorted(metadata.items())}
    return {key: value for key, value in kept.items() if value}


def list_answers(notebook: NotebookNode) -> Iterator[NotebookNode]:
    """What answers a prediction: the prose with that tag, and the code right above it."""
    above: list[NotebookNode] = []
    for cell in notebook.cells:
        if is_answer(cell):
            yield from [*above, cell]
        above = [*above, cell] if cell.cell_type == "code" else []


def hide(cell: NotebookNode) -> str:
    """What Jupyter collapses of a cell that answers: what comes out, or all of the prose."""
    return "outputs_hidden" if cell.cell_type == "code" else "source_hidden"


def simplify(notebook: NotebookNode) -> NotebookNode:
    """A copy that says the same in one way, whichever program saved it, on whose machine, and whoever ran it.

    In Jupyter what answers a prediction is collapsed, output and prose, and nothing else.
    """
    plain = copy.deepcopy(notebook)
    plain.cells = [cell for cell in plain.cells if cell.source.strip()]
    for cell in plain.cells:
        cell.source = without_opening(cell.source.replace("\r\n", "\n").strip("\n").rstrip())
        cell.metadata.get("jupyter", {}).pop("outputs_hidden", None)
        cell.metadata = nbformat.from_dict(
            drop_empty({key: value for key, value in cell.metadata.items() if key in CELL_METADATA})
        )
    for cell in list_answers(plain):
        cell.metadata.setdefault("jupyter", {})[hide(cell)] = True
    kept = {key: plain.metadata[key] for key in ("jupytext", DIGEST) if key in plain.metadata}
    plain.metadata = nbformat.from_dict({**kept, "kernelspec": KERNEL})
    return plain


def attach_opening(notebook: NotebookNode) -> None:
    """Show the figure of the cell with the tag `opening` below the question as well, where no page does it.

    In place of a panel, which is no picture, stands the first figure that answers no question.
    """
    asked, begins = list(list_answers(notebook)), {cell.id: is_opening(cell) for cell in notebook.cells}
    drawn = [cell for cell in list_code(notebook) if "image/png" in str(cell.outputs) and cell not in asked]
    if not drawn or not any(begins.values()):
        return
    cell = max(drawn, key=lambda cell: begins[cell.id])  # of those that are none, the first
    data = next(output["data"] for output in cell.outputs if "image/png" in output.get("data", {}))
    alt = re.sub(r"\s+", " ", cell.metadata["mystnb"]["image"]["alt"]).translate(str.maketrans("[]", "()"))
    before, prerequisites, after = notebook.cells[0].source.partition(f"**{PREREQUISITES}")
    notebook.cells[0].source = f"{before}![{alt}]({ATTACHED})\n\n{prerequisites}{after}"
    notebook.cells[0]["attachments"] = {ATTACHED.partition(":")[2]: {"image/png": data["image/png"]}}


def is_opening(cell: NotebookNode) -> bool:
    """Whether a cell shows what the chapter opens with."""
    return "opening" in cell.metadata.get("tags", [])


def to_text(notebook: NotebookNode) -> str:
    """The one text that stands for a notebook."""
    plain = simplify(notebook)
    for cell in list_answers(plain):  # that follows from the text
        cell.metadata["jupyter"].pop(hide(cell))
        cell.metadata = nbformat.from_dict(drop_empty(cell.metadata))
    return jupytext.writes(plain, fmt="md:myst", config=load_jupytext_config(str(TEXTS / "any.md")))


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
    made = locate(chapter).relative_to(ROOT).as_posix()
    command, missing = f"make notebooks CHAPTERS={chapter} FROM=", f"{chapter}: there is no book/{chapter}.md"
    if text is None:
        if notebook is None:
            raise SystemExit(f"{missing} and no {made}")
        if DIGEST not in notebook.metadata:  # a new chapter
            return notebook
        raise SystemExit(
            f"{missing}, from which {made} was made. Nothing was written. Delete the notebook as "
            f"well, or take it as the new text: {command}ipynb"
        )
    if notebook is None or not is_edited(notebook) or to_text(text) == to_text(notebook):
        return text
    also = "" if digest(text) == notebook.metadata.get(DIGEST) else ", and the text is another one as well"
    raise SystemExit(
        f"{chapter}: {made} was edited by hand since it was made from book/{chapter}.md{also}. "
        f"Nothing was written. To throw the notebook's edit away: {command}text; to take it as the new text: "
        f"{command}ipynb"
    )


def tidy(chapter: str, notebook: NotebookNode) -> NotebookNode:
    """Write a notebook in the one way, and make sure that its text gives back the same cells.

    Raises:
        SystemExit: if it does not, as with a code block in Markdown that is never closed.
    """
    notebook = simplify(notebook)
    again = [(cell.cell_type, cell.source) for cell in from_text(to_text(notebook)).cells]
    for number, cell in enumerate(notebook.cells):
        if [(cell.cell_type, cell.source)] != again[number : number + 1]:
            raise SystemExit(f"{chapter}: cell {number} does not survive as text: {cell.source[:60]!r}")
    return notebook


def restore_ids(notebook: NotebookNode, stored: NotebookNode | None) -> NotebookNode:
    """The text's cells with the ids and outputs that they have in the stored notebook."""
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


def list_code(notebook: NotebookNode) -> list[NotebookNode]:
    """The code cells, without the first: it installs the package, and names another repository in each fork."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and not cell.source.startswith(SETUP)]


def bears_noise(notebook: NotebookNode) -> bool:
    """Whether a notebook can run under `tools/notebooks/noise.py`: PyTorch's compilers and FlexAttention refuse to."""
    refused = any(re.search(r"torch\.export|flex_attention", cell.source) for cell in list_code(notebook))
    return not refused


def find_cover(notebook: NotebookNode) -> str | None:
    """The figure of the cell tagged `cover`, as SVG: the picture on the title page and in README.md."""
    shown = [out for cell in notebook.cells if "cover" in cell.metadata.get("tags", []) for out in cell.outputs]
    return next((out.data["image/svg+xml"] for out in shown if "image/svg+xml" in out.get("data", {})), None)


def read(path: Path) -> str | None:
    """What a file holds; `None` where there is none."""
    return path.read_text("utf-8") if path.exists() else None


def write(path: Path, content: str) -> None:
    """Replace a file in one step, if it changes."""
    write_all({path: content})


def write_all(contents: Mapping[Path, str]) -> int:
    """Replace files that change, all or none: each is written beside its place before the first is put there.

    Returns:
        How many changed.
    """
    changed = {path: path.with_name(f"{path.name}.new") for path, content in contents.items() if read(path) != content}
    try:
        for path, new in changed.items():
            new.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(contents[path], "utf-8")
    except BaseException:
        for new in changed.values():
            new.unlink(missing_ok=True)
        raise
    for path, new in changed.items():
        new.replace(path)
    return len(changed)
