"""The faults: what is changed in a chapter or in the book, and the message that must name it."""

from collections.abc import Callable
from typing import Any

from book_site.outputs import OPT_OUT
from nbformat.v4 import new_code_cell, new_markdown_cell

from tests.faults import minibook
from tests.faults.minibook import DRAWN, PRINTED, SOLVED, STARTER, Change, MiniBook, code_cells, prose, source


def replace(part: Any, key: str, old: str, new: str) -> None:
    assert old in part[key]
    part[key] = part[key].replace(old, new)


def output(number: int, old: str, new: str) -> Change:
    """A code cell's stored print is another one."""
    return lambda notebook: replace(code_cells(notebook)[number].outputs[0], "text", old, new)


def forget(number: int, key: str) -> Change:
    """A code cell lacks a part of its metadata."""
    return lambda notebook: code_cells(notebook)[number].metadata.pop(key)


def both(*changes: Change) -> Change:
    return lambda notebook: [change(notebook) for change in changes]


def find(notebook: Any, written: str) -> Any:
    return next(cell for cell in notebook.cells if written in cell.source)


def figure(old: str, new: str) -> Change:
    """The stored figure is another one, wherever it says this."""
    return lambda notebook: replace(code_cells(notebook)[DRAWN].outputs[0].data, "image/svg+xml", old, new)


def compare_nothing(notebook: Any) -> None:
    notebook.cells = [notebook.cells[0], *code_cells(notebook)[: minibook.CHECK + 1]]


def doubt(*after: Any) -> Change:
    """A section with a fold, and what comes after it."""

    def change(notebook: Any) -> None:
        heading = {"jp-MarkdownHeadingCollapsed": True, "tags": ["check"]}
        fold = [
            new_markdown_cell("#### Does this hold?", metadata=heading),
            new_code_cell("share = 1 / 7", metadata={"tags": ["check"]}),
        ]
        place = notebook.cells.index(find(notebook, "## Exercises"))
        notebook.cells[place:place] = [new_markdown_cell("## A share"), *fold, *after]

    return change


# What the cell that prints has for its source.
IN_CODE = {
    "a trailing semicolon": ("print(1 / 7);", "trailing ;"),
    "an output not compared without a reason": (f"{OPT_OUT}\nprint(1 / 7)", "the next is a comment that says why"),
    "no time and not compared": (f"{OPT_OUT}\n# differs each time\nprint(1 / 7)", "is for times alone"),
    "a bound on a time": (
        "import time\nbegin = time.time()\ntook = time.time() - begin\nassert took < 9\nprint(1 / 7)",
        r"an assertion on \['took'\]",
    ),
    "a long cell in the main line": ("# NBVAL_SKIP\n# It takes minutes\nprint(1 / 7)", "belongs in a fold"),
    "output that is hidden": ("%%capture\nprint(1 / 7)", "only .* opt out"),
}
# Other changes, with the place that is named.
IN_CELLS: dict[str, tuple[Change, str, str]] = {
    "raw MyST": (prose("See {ref}`this`."), "markdown cell 0", r"raw MyST \(a role\)"),
    "a work that is nowhere listed": (
        prose("[This (2020)](https://arxiv.org/abs/2001.00001)"),
        "markdown cell 0",
        r"is not in references\.bib",
    ),
    "a solution that its checker rejects": (output(SOLVED, "✓ right", "✗ wrong"), "code cell 5", "should print '✓'"),
    "a starter that is solved already": (
        both(source(STARTER, 'd2l.check("double", 42)'), output(STARTER, "not attempted yet", "✓ right")),
        "code cell 4",
        "should print 'not attempted yet'",
    ),
    "a figure without alt text": (forget(DRAWN, "mystnb"), "code cell 3", "without alt text"),
    "a figure without a caption": (
        lambda book: code_cells(book)[DRAWN].metadata["mystnb"].pop("figure"),
        "code cell 3",
        "without a caption",
    ),
    "two figures in a cell": (
        lambda book: code_cells(book)[DRAWN].outputs.append(code_cells(book)[DRAWN].outputs[0]),
        "code cell 3",
        "one figure a cell",
    ),
    "a section in a solution": (
        lambda book: book.cells.append(new_markdown_cell("## More", metadata=find(book, "#### Solution").metadata)),
        "markdown cell 3",
        "a cell with the tag solution",
    ),
    "stored output on stderr": (
        lambda book: code_cells(book)[PRINTED].outputs[0].update(name="stderr"),
        "code cell 2",
        "on stderr",
    ),
    "an exercise with a colon": (
        lambda book: replace(find(book, "### Exercise"), "source", " · Twice", ": Twice"),
        "markdown cell 1",
        "should begin with .### Exercise",
    ),
    "a fold in mid-section": (doubt(new_markdown_cell("### More")), "markdown cell 3", "the last thing in its section"),
    "a cell without its tag": (doubt(new_code_cell("1 / 7")), "code cell 5", "a check cell without the tag check"),
    "a name from a fold": (both(doubt(), source(5, "answer = share")), "code cell 5", "`share`: only a fold"),
    "an edited setup cell": (source(minibook.SETUP, "import sys"), "code cell 0", "setup cell differs"),
    "a solution cell without its tag": (forget(SOLVED, "tags"), "code cell 5", "a solution cell without the tag"),
    "a solution that is not folded": (forget(SOLVED, "jupyter"), "code cell 5", "metadata fold it"),
    "no check": (source(STARTER, "answer = None"), r"Exercise 1\.1", r"call d2l\.check by the same names"),
    "no prerequisites": (lambda book: book.cells[0].update(source="# Mini"), "markdown cell 0", "the first cell lacks"),
}
# Each is planted in a chapter of its own, whose name stands in the message instead of `mini`.
IN_THE_FILES: dict[str, tuple[Change, str]] = {
    "a cell that was never executed": (
        lambda book: code_cells(book)[PRINTED].update(execution_count=None),
        r"never executed.*book/mini\.md:\d+, code cell 2",
    ),
    "a notebook with no compared cell": (compare_nothing, r"book/mini\.md: no compared cell"),
    "an equation that is not there": (prose("See (1.7)."), r"book/mini\.md:\d+: there is no equation 1\.7"),
    "a number used twice": (prose(r"$$a \tag{1.1}$$ $$b \tag{1.1}$$"), r"mini\.md:\d+: an equation number is used"),
    "beyond a ceiling": (prose("word " * 81), r"book/mini\.md: .*'paragraph': '\d+, at most \d+'"),
    "a fold left open": (prose("<details><summary>More</summary>"), r"book/mini\.md:\d+: a <details> is not closed"),
}
for fault, (written, message) in IN_CODE.items():
    IN_CELLS[fault] = (source(PRINTED, written), "code cell 2", message)
for fault, (change, place, message) in IN_CELLS.items():
    IN_THE_FILES[fault] = (change, rf"book/mini\.md:\d+, {place}.*{message}")


def edit_by_hand(book: MiniBook) -> None:
    book.edit(source(PRINTED, "print(2 / 7)"), by_hand=True)


def edit_both_alike(book: MiniBook) -> None:
    """The text and the notebook's cells, but not the digest."""
    edit_by_hand(book)
    book.replace("book/mini.md", "print(1 / 7)", "print(2 / 7)")


def write_checkers(code: str) -> Callable[[MiniBook], object]:
    """Those of the other chapter."""

    def write(book: MiniBook) -> None:
        book.path("d2lmini_exercises").mkdir()
        book.path("d2lmini_exercises/second.py").write_text(code)

    return write


def cite_another_year(book: MiniBook) -> None:
    work = "title = {Attention}|author = {Vaswani, Ashish}|year = {2017}|url = {https://arxiv.org/abs/1706.03762}"
    fields = "".join(f"  {field},\n" for field in work.split("|"))
    book.path("book/references.bib").write_text(f"@misc{{vaswani2017,\n{fields}}}\n")
    book.edit(prose("[Vaswani (2018)](https://arxiv.org/abs/1706.03762)"))


DOUBLE = '@checker("double")\ndef check_double(answer): ...\n'
ENTRY, MISSING = "  - file: notebooks/second", r"missing from _toc\.yml.*second"
DISAGREE = r"book/mini\.md and .*disagree, run `make notebooks`"
BETWEEN_THE_FILES: dict[str, tuple[Callable[[MiniBook], None], str]] = {
    "a notebook edited by hand": (edit_by_hand, DISAGREE),
    "a notebook not made from its text": (edit_both_alike, r"is not what was made from book/mini\.md.*run `make note"),
    "a chapter missing from the contents": (lambda book: book.replace("_toc.yml", f"{ENTRY}\n", ""), MISSING),
    "an entry without a chapter": (lambda book: book.enter("third"), r"_toc\.yml names files that do not exist.*third"),
    "an entry named twice": (lambda book: book.enter("mini"), r"_toc\.yml names a file twice.*mini"),
    "no notebook": (lambda book: book.path("notebooks/mini.ipynb").unlink(), r"without a notebook: \['mini'\]"),
    "a check in another's module": (write_checkers(DOUBLE), r"book/mini\.md: \['double'\] is checked in .*/second\.py"),
    "shared checkers": (write_checkers("from d2lmini_exercises.mini import double\n"), "imports the checkers of mini"),
    "another year": (cite_another_year, r"mini\.md: 'Vaswani \(2018\)' is Vaswani, 2017 in references\.bib"),
    "another repository in the settings": (
        lambda book: book.replace("_config.yml", "https://github.com/OWNER/d2lmini", "https://github.com/me/my-fork"),
        r"book/mini\.md:\d+, code cell 0.*make repository URL",
    ),
}

# Also each in a chapter of its own: what running the notebook again finds. A number of both values is on the page, too.
SEVENTH = "0.1428571428571428"
WHEN_RUN: dict[str, tuple[Change, str]] = {
    "a cell that raises": (source(PRINTED, "print(1 / 0)"), "here 'ZeroDivisionError: division by zero'"),
    "a kernel that dies": (source(SOLVED, "import os\nos._exit(1)"), "here 'the kernel died'"),
    "two units of the last digit": (output(PRINTED, "285\n", "283\n"), f"stored '{SEVENTH}3', here '{SEVENTH}5'"),
    "a figure that differs": (figure("M 1.25", "M 1.28"), "stored '1.28', here '1.25'"),
    "a warning": (source(PRINTED, "import sys\nprint(1 / 7)\nprint(1, file=sys.stderr)"), "stored '', here '1"),
}
# What another processor may do: the other chapter stays green.
WITHIN_THE_RULE = output(PRINTED, "285\n", "286\n")


# What the build of the pages finds: a link, and the message.
AS_PAGES = {
    "a broken link": ("[this](nowhere.ipynb)", r"mini\.ipynb.*'nowhere\.ipynb'"),
    "a broken anchor": ("[this](second.ipynb#not-there)", r"mini\.ipynb.*'not-there'"),
}
