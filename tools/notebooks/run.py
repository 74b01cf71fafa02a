"""Bring notebooks up to date with their texts, and store what they give: `python -m tools.notebooks.run x`.

A chapter is run where its code changed, or its checkers or the package since it was last run or
compared here; where only words did, what it printed is taken along, and what takes minutes is kept as long as its own
cell stays the same, unless a side is named with `--from`. What new code gives is stored if it is also what a
processor that nobody has built gives (`noise`), by the rule of `printed`; `NOISE=no` asks for none of
that, `NOISE=2` for another such processor. Running twice changes no byte.
"""

import argparse
import copy
import os
import sys
import time
from collections.abc import Callable, Container
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbformat
from book_site.outputs import OPT_OUT, STORED
from nbformat import NotebookNode

from tools import ROOT
from tools.notebooks.compare import tell_differences
from tools.notebooks.kernels import over_files
from tools.notebooks.files import (
    COVER,
    DIGEST,
    FRAMEWORKS,
    KERNEL,
    TEXTS,
    attach_opening,
    bears_noise,
    choose,
    digest,
    find_cover,
    from_text,
    is_edited,
    list_code,
    locate,
    read,
    restore_ids,
    tidy,
    to_text,
    write,
    write_all,
)
from tools.notebooks.printed import compare_outputs
from tools.notebooks.results import begin_longest, digest_chapter, is_known, read_result
from tools.translating.build import refresh_translations

STAMPS = ROOT / ".build/run"
NOISE = ROOT / "tools/notebooks/noise.py"
# Python says nothing if a file that it reads at its start fails.
IS_SHAKEN = "from torch.utils import _python_dispatch\n\nassert _python_dispatch._get_current_dispatch_mode_stack()"


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


def execute(
    name: str, notebook: NotebookNode, folder: Path, kept: Container[str] = (), **environment: str
) -> float:
    """Run the cells in a folder, in a kernel with these variables, and return how many seconds it took.

    `kept` are the sources of cells that keep what they show, and are not run.

    Raises:
        SystemExit: if a cell raises.
    """
    from jupyter_client.manager import KernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    from nbconvert.preprocessors import CoalesceStreamsPreprocessor

    class Client(NotebookClient):
        async def async_execute_cell(self, cell: NotebookNode, *place: Any, **options: Any) -> NotebookNode:
            if cell.cell_type != "code" or cell.source not in kept:
                return await super().async_execute_cell(cell, *place, **options)
            self.code_cells_executed += 1
            cell.execution_count = self.code_cells_executed
            return cell

    begin, manager = time.monotonic(), KernelManager(kernel_name="python3", **over_files())
    where = {"metadata": {"path": str(folder)}}
    client = Client(notebook, manager, timeout=1200, record_timing=False, resources=where)
    client.extra_arguments = ["--log-level=ERROR"]  # the kernel's own remarks are not the chapter's
    try:
        client.execute(env=os.environ | environment | {"D2L_PROGRESS": ""})
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        side = folder if folder == FRAMEWORKS else TEXTS
        raise SystemExit(f"{side.name}/{name}.md: a cell raised\n{error}") from None
    finally:  # it belongs to us, so the client leaves it running: twenty chapters would fill the memory
        manager.shutdown_kernel(now=True)
    CoalesceStreamsPreprocessor().preprocess(notebook, {})
    return time.monotonic() - begin


def finish(notebook: NotebookNode) -> None:
    """Keep of the metadata what is the same on every machine, and remember the text."""
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    describe_figures(notebook)
    collapse_in_colab(notebook)
    attach_opening(notebook)
    notebook.metadata[DIGEST] = digest(notebook)


def check_under_noise(chapter: str, notebook: NotebookNode, shaken: NotebookNode) -> None:
    """Compare a run with one on a processor that nobody has built; times may differ, and what takes minutes.

    Raises:
        SystemExit: if cells print something else there.
    """
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    others = [cell for cell in shaken.cells if cell.cell_type == "code"]
    differs = {
        number: pairs
        for number, (cell, other) in enumerate(zip(cells, others, strict=True))
        if not {OPT_OUT, STORED} & {*cell.source.splitlines()}
        and (pairs := compare_outputs(cell.outputs, other.outputs))
    }
    if differs:
        lines = [f"    code cell {number}: {tell_differences(pairs, 'there')}" for number, pairs in differs.items()]
        raise SystemExit(
            f"{chapter}: {len(differs)} cells would show something else on another processor. Nothing was written; "
            "the page on extending says what helps, and `NOISE=no` stores it all the same\n" + "\n".join(lines)
        )


def run_code(chapter: str, notebook: NotebookNode, seed: str, kept: Container[str]) -> str:
    """Run a chapter, with a seed once more under noise beside it, compare, and say how long it took."""
    shaken, long = copy.deepcopy(notebook), [cell.source for cell in list_code(notebook) if is_long(cell)]
    folder = locate(chapter).parent
    shaken.cells.insert(0, nbformat.v4.new_code_cell(IS_SHAKEN))
    with ThreadPoolExecutor() as pool:
        noise = {"PYTHONSTARTUP": str(NOISE), "NOISE": seed}
        other = pool.submit(execute, chapter, shaken, folder, long, **noise) if seed else None
        seconds = execute(chapter, notebook, folder, kept)
    if other is None:
        return f"run in {seconds:.0f} s"
    slow = other.result()
    del shaken.cells[0]
    check_under_noise(chapter, notebook, shaken)
    return f"run in {seconds:.0f} s, and in {slow:.0f} s under noise, which gave the same"


def is_long(cell: NotebookNode) -> bool:
    """Whether a cell takes minutes, so that it is run once a week."""
    return STORED in cell.source


def read_seed() -> str:
    """The seed of the noise that was asked for, empty for none.

    Raises:
        SystemExit: if it is no number.
    """
    asked = os.environ.get("NOISE", "1")
    if asked != "no" and not asked.isdecimal():
        raise SystemExit(f"NOISE must be a number, or no, got {asked!r}")
    return asked.removeprefix("no")


def has_same_code(notebook: NotebookNode, stored: NotebookNode | None) -> bool:
    """Whether a notebook has the code cells of the stored one, all of which were run, one after the other."""
    if stored is None:
        return False
    counts = [cell.execution_count for cell in stored.cells if cell.cell_type == "code"]
    new, old = ([cell.source for cell in list_code(each)] for each in (notebook, stored))
    size = sum(cell.cell_type == "code" for cell in notebook.cells)
    return new == old and counts == list(range(1, size + 1))


def is_fresh(chapter: str, words_changed: bool) -> bool:
    """Whether what is stored of a chapter with the same code is what it would give now."""
    stamp = read(STAMPS / chapter)
    if stamp is None and words_changed and read_result(chapter) is None:  # never run here: only the words changed
        return True
    return stamp == digest_chapter(chapter) or is_known(chapter)


def run(chapter: str, wanted: str | None = None) -> None:
    """Bring a chapter up to date: choose the side to take, run it if it must be, write both.

    Raises:
        SystemExit: if nothing can be chosen, a cell raises, noise shows, or a side was edited during the run.
    """
    text_path, notebook_path = TEXTS / f"{chapter}.md", locate(chapter)
    before = text, source = read(text_path), read(notebook_path)
    stored = nbformat.reads(source, as_version=4) if source else None
    notebook = choose(chapter, from_text(text) if text else None, stored, wanted)
    by_hand = stored is None or is_edited(stored)  # then it does not tell what is new
    words_changed = stored is not None and not by_hand and stored.metadata.get(DIGEST) != digest(notebook)
    same_code = not by_hand and has_same_code(notebook, stored)
    notebook = tidy(chapter, restore_ids(notebook, stored))  # with the outputs of cells that stayed
    if wanted is None and stored is not None and same_code and is_fresh(chapter, words_changed):
        how = "its words changed, its outputs were taken along" if words_changed else ""
    else:
        long = [cell for cell in list_code(stored) if is_long(cell)] if stored and wanted is None else []
        kept = {cell.source for cell in long if cell.outputs}
        how = run_code(chapter, notebook, read_seed() if bears_noise(notebook) and not same_code else "", kept)
    finish(notebook)
    if before != (read(text_path), read(notebook_path)):
        raise SystemExit(f"{chapter}: edited while it ran. Nothing was written; run `make notebooks` again")
    made = {text_path: to_text(notebook), notebook_path: nbformat.writes(notebook) + "\n"}
    if picture := find_cover(notebook):
        made[COVER] = picture
    write_all(made)
    write(STAMPS / chapter, digest_chapter(chapter))
    if how:
        print(f"{notebook_path.relative_to(ROOT).as_posix()}: {how}", flush=True)


def run_framework(name: str) -> None:
    """Bring the notebook of a framework up to date where its text changed. What it printed of times is kept otherwise.

    Raises:
        SystemExit: if a cell raises, or if the notebook was edited by hand.
    """
    path = FRAMEWORKS / f"{name}.ipynb"
    text, source = from_text((FRAMEWORKS / f"{name}.md").read_text("utf-8")), read(path)
    stored = nbformat.reads(source, as_version=4) if source else None
    if stored is not None and is_edited(stored) and to_text(stored) != to_text(text):
        raise SystemExit(f"frameworks/{name}.ipynb was edited by hand: edit {name}.md instead. Nothing was written")
    if stored is None or stored.metadata.get(DIGEST) != digest(text):
        notebook = tidy(name, restore_ids(text, stored))
        execute(name, notebook, FRAMEWORKS)
        finish(notebook)
        write(path, nbformat.writes(notebook) + "\n")
    print(f"frameworks/{name}.ipynb is up to date")


def try_to(work: Callable[[str], None], name: str) -> str | None:
    """Do the work, and return what is to be said if it cannot be done."""
    try:
        work(name)
    except SystemExit as refused:
        return str(refused)
    return None


def main(names: list[str], jobs: int, wanted: str | None, framework: bool) -> None:
    """Bring all that is named up to date; what one of them refuses stops no other."""
    with ThreadPoolExecutor(jobs) as pool:
        work = run_framework if framework else lambda name: run(name, wanted)
        refused = [said for said in pool.map(lambda name: try_to(work, name), begin_longest(names)) if said]
    if not framework:
        refresh_translations()
    print("All notebooks are up to date" if not refused else "\n".join(refused))
    sys.exit(bool(refused))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--framework", action="store_true", help="of frameworks/, not chapters")
    parser.add_argument("--from", dest="wanted", choices=("text", "ipynb"), help="take this side, whatever changed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    main(arguments.names, arguments.jobs, arguments.wanted, arguments.framework)
