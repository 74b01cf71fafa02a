"""The faults: what is changed in a chapter or in the book, and the message that must name it."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

from book._ext.book_site.outputs import MOST_CELLS_NOT_COMPARED, OPT_OUT
from tests.faults.minibook import (
    CHECK,
    DRAWN,
    PRINTED,
    SETUP,
    SOLVED,
    STARTER,
    Change,
    MiniBook,
    code_cells,
    prose,
    source,
)


def change_last_digit(notebook: Any) -> None:
    output = code_cells(notebook)[PRINTED].outputs[0]
    assert output.text == "0.14285714285714285\n"
    output.text = "0.14285714285714284\n"


def change_figure(notebook: Any) -> None:
    data = code_cells(notebook)[DRAWN].outputs[0].data
    moved = re.sub(r"(M \d+\.\d)(\d)", lambda m: m[1] + str((int(m[2]) + 1) % 10), data["image/svg+xml"], count=1)
    assert moved != data["image/svg+xml"]
    data["image/svg+xml"] = moved


def forget_execution(notebook: Any) -> None:
    code_cells(notebook)[PRINTED].update(execution_count=None)


def compare_one_too_few(notebook: Any) -> None:
    printed = code_cells(notebook)[PRINTED]
    copies = [copy.deepcopy(printed) for _ in range(MOST_CELLS_NOT_COMPARED + 1)]
    for i, cell in enumerate(copies):
        cell.update(id=f"copy-{i}", source=f"{OPT_OUT}\n# differs each time\n{cell.source}")
    at = notebook.cells.index(printed)
    notebook.cells[at:at] = copies
    for count, cell in enumerate(code_cells(notebook), start=1):
        cell.execution_count = count


def compare_nothing(notebook: Any) -> None:
    notebook.cells = [notebook.cells[0], *code_cells(notebook)[: CHECK + 1]]


def drop_alt_text(notebook: Any) -> None:
    code_cells(notebook)[DRAWN].update(metadata={})


def drop_caption(notebook: Any) -> None:
    code_cells(notebook)[DRAWN].metadata["mystnb"].pop("figure")


def store_stderr(notebook: Any) -> None:
    cell = code_cells(notebook)[PRINTED]
    cell.source = 'import sys\nprint("careful", file=sys.stderr)'
    cell.outputs[0].update(name="stderr", text="careful\n")


def untag_solution(notebook: Any) -> None:
    code_cells(notebook)[SOLVED].metadata.pop("tags")


def unfold_solution(notebook: Any) -> None:
    code_cells(notebook)[SOLVED].metadata.pop("jupyter")


def fail_solution(notebook: Any) -> None:
    output = code_cells(notebook)[SOLVED].outputs[0]
    output.text = output.text.replace("✓ right", "✗ wrong")


def solve_starter(notebook: Any) -> None:
    cell = code_cells(notebook)[STARTER]
    cell.source = cell.source.replace("None", "42")
    cell.outputs[0].text = "double ✓ right\n"


def rename_exercise(notebook: Any) -> None:
    cell = next(cell for cell in notebook.cells if "### Exercise" in cell.source)
    cell.source = cell.source.replace(" · Twice", ": Twice")


def solve_one_of_two(notebook: Any) -> None:
    for number, verdict in ((STARTER, "not attempted yet"), (SOLVED, "✗ wrong")):
        cell = code_cells(notebook)[number]
        cell.source += '\nd2l.check("again", 42)'
        cell.outputs[0].text += f"again {verdict}\n"


def hint_at_the_bug(notebook: Any) -> None:
    task = next(cell for cell in notebook.cells if "### Exercise" in cell.source)
    task.source = task.source.replace("*Build.*", "*Debug.*")
    code_cells(notebook)[STARTER].outputs[0].text = "✗ double: expected 42, got 21\nhint: double it\n"


def continue_in_the_solution(notebook: Any) -> None:
    text = copy.deepcopy(next(cell for cell in notebook.cells if cell.source == "#### Solution"))
    text.update(id="text", source="Twice 21.\n\n## Going further")
    notebook.cells.append(text)


def bound_something_else(notebook: Any) -> None:
    printed, drawn = code_cells(notebook)[PRINTED], code_cells(notebook)[DRAWN]
    printed.source = f"{OPT_OUT}\n# differs each time\nshare = 1 / 7\nprint(share)"
    drawn.source += "\nassert path"


def draw_twice(notebook: Any) -> None:
    outputs = code_cells(notebook)[DRAWN].outputs
    outputs.append(outputs[0])


# Each is planted in a chapter of its own, whose name stands in the message instead of `mini`.
IN_THE_FILES: dict[str, tuple[Change, str]] = {
    "a cell that was never executed": (forget_execution, r"never executed.*book/mini\.md:\d+, code cell 2"),
    "a notebook with no compared cell": (compare_nothing, r"book/mini\.md: no compared cell"),
    "a solution that its checker rejects": (fail_solution, r"book/mini\.md:\d+, code cell 5.*should print '✓'"),
    "a starter that is solved already": (
        solve_starter,
        r"book/mini\.md:\d+, code cell 4.*should print 'not attempted yet'",
    ),
    "a figure without alt text": (drop_alt_text, r"book/mini\.md:\d+, code cell 3.*without alt text"),
    "a figure without a caption": (drop_caption, r"book/mini\.md:\d+, code cell 3.*without a caption"),
    "two figures in a cell": (draw_twice, r"book/mini\.md:\d+, code cell 3.*one figure a cell"),
    "a role": (prose("See {ref}`this`."), r"book/mini\.md:\d+, markdown cell 0.*raw MyST \(a role\)"),
    "a directive": (prose(":::{note}\nThis.\n:::"), r"book/mini\.md:\d+, markdown cell 0.*raw MyST \(a directive\)"),
    "a directive in backticks": (
        prose("```{note}\nThis.\n```"),
        r"book/mini\.md:\d+, markdown cell 0.*raw MyST \(a directive\)",
    ),
    "a target": (prose("(here)=\n\n## Here"), r"book/mini\.md:\d+, markdown cell 0.*raw MyST \(a target\)"),
    "stored output on stderr": (store_stderr, r"book/mini\.md:\d+, code cell 2.*on stderr"),
    "an exercise with a colon": (
        rename_exercise,
        r"book/mini\.md:\d+, markdown cell 1.*should begin with .### Exercise",
    ),
    "a solution that passes one of two checks": (solve_one_of_two, r"book/mini\.md:\d+, code cell 5.*should print '✓'"),
    "a hint beside a symptom": (hint_at_the_bug, r"book/mini\.md:\d+, code cell 4.*hint=False"),
    "a section in a solution's cell": (
        continue_in_the_solution,
        r"book/mini\.md:\d+, markdown cell 3.*a cell with the tag solution",
    ),
    "a trailing semicolon": (source(PRINTED, "print(1 / 7);"), r"book/mini\.md:\d+, code cell 2.*trailing ;"),
    "a semicolon before a comment": (
        source(PRINTED, "print(1 / 7);  # so"),
        r"book/mini\.md:\d+, code cell 2.*trailing ;",
    ),
    "a comment of MyST": (prose("%hidden"), r"book/mini\.md:\d+, markdown cell 0.*raw MyST \(a comment\)"),
    "an edited setup cell": (source(SETUP, "import sys"), r"book/mini\.md:\d+, code cell 0.*setup cell differs"),
    "a solution cell without its tag": (
        untag_solution,
        r"book/mini\.md:\d+, code cell 5.*a solution cell without the tag",
    ),
    "a solution that is not folded": (unfold_solution, r"book/mini\.md:\d+, code cell 5.*metadata fold it"),
    "an exercise without a check": (
        source(STARTER, "answer = None"),
        r"book/mini\.md:\d+, Exercise 1\.1.*call d2l\.check by the same names",
    ),
    "an output that is not compared without a reason": (
        source(PRINTED, "# NBVAL_IGNORE_OUTPUT\nprint(1 / 7)"),
        r"book/mini\.md:\d+, code cell 2.*the next is a comment that says why",
    ),
    "an output that is neither compared nor bounded": (
        source(PRINTED, "# NBVAL_IGNORE_OUTPUT\n# differs each time\nprint(1 / 7)"),
        r"book/mini\.md:\d+, code cell 2.*no assertion bounds what it prints",
    ),
    "a bound on something else": (
        bound_something_else,
        r"book/mini\.md:\d+, code cell 2.*no assertion bounds what it prints",
    ),
    "a bound on a time": (
        source(PRINTED, "import time\nbegin = time.time()\ntook = time.time() - begin\nassert took < 9\nprint(1 / 7)"),
        r"book/mini\.md:\d+, code cell 2.*an assertion on \['took'\]",
    ),
    "one output too many that is not compared": (
        compare_one_too_few,
        r"too many cells are not compared.*book/mini\.md:\d+, code cell 2",
    ),
    "output that is hidden": (
        source(PRINTED, "%%capture\nprint(1 / 7)"),
        r"book/mini\.md:\d+, code cell 2.*only .* opt out",
    ),
    "a mark without a blank": (
        source(PRINTED, "#NBVAL_SKIP\nprint(1 / 7)"),
        r"book/mini\.md:\d+, code cell 2.*only .* opt out",
    ),
    "an equation that is not there": (prose("See (1.7)."), r"book/mini\.md:\d+: there is no equation 1\.7"),
    "an equation number used twice": (
        prose("$$a \\tag{1.1}$$ $$b \\tag{1.1}$$"),
        r"book/mini\.md:\d+: an equation number is used",
    ),
    "a chapter without prerequisites": (
        lambda notebook: notebook.cells[0].update(source="# Mini"),
        r"book/mini\.md:\d+, markdown cell 0.*the first cell lacks",
    ),
    "a fold that is not closed": (
        prose("<details><summary>More</summary>"),
        r"book/mini\.md:\d+: a <details> is not closed",
    ),
    "a work missing from the bibliography": (
        prose("[This (2020)](https://arxiv.org/abs/2001.00001)"),
        r"book/mini\.md:\d+, markdown cell 0.*is not in references\.bib",
    ),
    "a mark of a merge conflict": (prose("<<<<<<< HEAD"), r"book/mini\.md:\d+, markdown cell 0.*merge conflict"),
    "a cell that is skipped": (
        source(PRINTED, "# NBVAL_SKIP\nprint(1 / 7)"),
        r"book/mini\.md:\d+, code cell 2.*only .* opt out",
    ),
}


def edit_by_hand(book: MiniBook) -> None:
    book.edit(source(PRINTED, "print(2 / 7)"), by_hand=True)


def edit_both_alike(book: MiniBook) -> None:
    """The text and the notebook's cells, but not the digest."""
    edit_by_hand(book)
    book.replace("book/mini.md", "print(1 / 7)", "print(2 / 7)")


def name_another_repository(book: MiniBook) -> None:
    book.replace("_config.yml", "https://github.com/OWNER/d2lmini", "https://github.com/me/my-fork")


def check_elsewhere(book: MiniBook) -> None:
    book.path("d2lmini_exercises").mkdir(parents=True)
    book.path("d2lmini_exercises/second.py").write_text('@checker("double")\ndef check_double(answer): ...\n')


def import_checkers(book: MiniBook) -> None:
    book.path("d2lmini_exercises").mkdir(parents=True)
    book.path("d2lmini_exercises/second.py").write_text("from d2lmini_exercises.mini import double\n")


def cite_another_year(book: MiniBook) -> None:
    work = "title = {Attention}|author = {Vaswani, Ashish}|year = {2017}|url = {https://arxiv.org/abs/1706.03762}"
    fields = "".join(f"  {field},\n" for field in work.split("|"))
    book.path("book/references.bib").write_text(f"@misc{{vaswani2017,\n{fields}}}\n")
    book.edit(prose("[Vaswani (2018)](https://arxiv.org/abs/1706.03762)"))


BETWEEN_THE_FILES: dict[str, tuple[Callable[[MiniBook], None], str]] = {
    "text and notebook that disagree": (
        lambda book: book.replace("book/mini.md", "How small can", "How tiny can"),
        r"book/mini\.md and .*disagree, run `make notebooks`",
    ),
    "a notebook edited by hand": (edit_by_hand, r"book/mini\.md and .*disagree, run `make notebooks`"),
    "a notebook that was not made from its text": (
        edit_both_alike,
        r"notebooks/mini\.ipynb is not what was made from book/mini\.md.*run `make notebooks`",
    ),
    "a chapter missing from the table of contents": (
        lambda book: book.replace("_toc.yml", "  - file: notebooks/second\n", ""),
        r"missing from _toc\.yml.*second",
    ),
    "a chapter commented out of the table of contents": (
        lambda book: book.replace("_toc.yml", "  - file: notebooks/second", "  # - file: notebooks/second"),
        r"missing from _toc\.yml.*second",
    ),
    "an entry without a chapter": (lambda book: book.enter("third"), r"_toc\.yml names files that do not exist.*third"),
    "an entry named twice": (lambda book: book.enter("mini"), r"_toc\.yml names a file twice.*mini"),
    "a text without a notebook": (
        lambda book: book.path("notebooks/mini.ipynb").unlink(),
        r"without a notebook: \['mini'\]",
    ),
    "a check in the module of another chapter": (
        check_elsewhere,
        r"book/mini\.md: \['double'\] is checked in .*/second\.py",
    ),
    "checkers that share with another chapter": (import_checkers, r"second\.py imports the checkers of mini"),
    "a citation with another year than the bibliography": (
        cite_another_year,
        r"mini\.md: 'Vaswani \(2018\)' is Vaswani, 2017 in references\.bib",
    ),
    "another repository in the settings": (
        name_another_repository,
        r"book/mini\.md:\d+, code cell 0.*make repository URL",
    ),
}

# Also each in a chapter of its own: what running the notebook again finds.
WHEN_RUN: dict[str, tuple[Change, str]] = {
    "a cell that raises": (source(PRINTED, "print(1 / 0)"), r"mini\.ipynb[\s\S]*ZeroDivisionError"),
    "a number that differs in its last digit": (change_last_digit, r"mini\.ipynb[\s\S]*0\.14285714285714284"),
    "a figure that differs": (change_figure, r"mini\.ipynb[\s\S]*mismatch 'image/svg\+xml'"),
    "new output on stderr": (
        source(PRINTED, "import sys\nprint(1 / 7)\nprint(1, file=sys.stderr)"),
        r"mini\.ipynb[\s\S]*stderr",
    ),
}

# What the build of the pages finds: a link, and the message.
AS_PAGES = {
    "a broken link": ("[this](nowhere.ipynb)", r"mini\.ipynb.*'nowhere\.ipynb'"),
    "a broken anchor": ("[this](second.ipynb#not-there)", r"mini\.ipynb.*'not-there'"),
    "a broken anchor in the same chapter": ("[this](#not-here)", r"mini\.ipynb.*'not-here'"),
}
