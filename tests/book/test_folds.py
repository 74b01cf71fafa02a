"""What is folded, solutions and *Does this hold?*: tagged, last in its section, and needed by nothing outside."""

import json
import re
import subprocess
import sys

import pytest
from book_site.folds import FOLDED

from tests.book.chapters import cells, each_chapter
from tests.book.names import transform
from tools.notebooks.files import ASIDE, is_aside

pytestmark = pytest.mark.recipe("A chapter")

HEADING = re.compile(r"^#{1,4} .*", re.MULTILINE)
HIDDEN = {"cellView": "form", "jupyter": {"source_hidden": True}}


@each_chapter
def test_what_is_folded_is_tagged_and_ends_its_section(chapter: str) -> None:
    fold, depth = None, 0  # the tag of the fold that we are in, and how deep the section is that it is in
    for where, cell in cells(chapter):
        headings = HEADING.findall(cell.source) if cell.cell_type == "markdown" else []
        opens = [tag for title, tag in FOLDED.items() if f"#### {title}" in headings]
        alone = len(headings) == 1 and cell.source.startswith("####")
        assert alone or not opens, f"{where}: a heading that folds begins a cell of its own"
        if headings:
            deep = len(headings[0].split()[0])
            assert fold is None or deep <= depth, f"{where}: a fold is the last thing in its section"
            fold = opens[0] if opens else None
            depth = depth if fold else len(headings[-1].split()[0])
            assert fold is None or cell.metadata.get("jp-MarkdownHeadingCollapsed"), (
                f"{where}: the metadata of this heading need jp-MarkdownHeadingCollapsed: true"
            )
        for tag in ASIDE:
            tagged = tag in cell.metadata.get("tags", [])
            said = f"a {tag} cell without" if fold == tag else "a cell with"
            assert tagged == (fold == tag), f"{where}: {said} the tag {tag}"
        if fold == "solution" and cell.cell_type == "code":
            assert HIDDEN.items() <= cell.metadata.items() and cell.source.startswith("# @title Solution"), (
                f"{where}: a solution begins with '# @title Solution', and its metadata fold it "
                "(cellView: form, jupyter: {source_hidden: true})"
            )


@each_chapter
def test_the_main_line_uses_no_name_from_a_fold(chapter: str) -> None:
    lines, places = [], []
    for where, cell in cells(chapter, "code"):
        if not is_aside(cell):
            source = transform(cell.source).splitlines()
            lines += source
            places += [where] * len(source)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select=F821", "--output-format=json"]
    command += ["--config", 'builtins = ["get_ipython"]', "-"]
    found = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False)
    faults = [f"{places[one['location']['row'] - 1]}: {one['message']}" for one in json.loads(found.stdout)]
    assert not faults, f"{'; '.join(faults)}: only a fold, or nothing, defines it"
