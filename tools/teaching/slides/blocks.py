"""A chapter as blocks: its headings, paragraphs, formulas, lists, tables and predictions, and cells of code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from book_site.opening import without_opening
from book_site.phrases import EXERCISES, PREDICT
from nbformat import NotebookNode

from tools.notebooks.files import is_aside
from tools.teaching.slides.markup import PARSER

LONG = 520  # letters of a list; of a longer one each item shows its first sentence
# What has no end of a sentence within; a whole sentence in parentheses keeps its own.
CLOSED = re.compile(
    r"\$[^$]+\$|`[^`]+`|\[[^\]]*\]\([^)]*\)|[(（](?:[^()（）]*[.?!。？！]([)）])|[^()（）]*[)）])"
    r"|\bet al\. |\be\.g\. |\bi\.e\. |\*\*\d+\. "
)
SENTENCE = re.compile(r".+?(?:[.?!][*”)]*(?=\s)|[。？！][*”」）)]*|$)")
MOST_LINES = 12  # of code that is shown
PICTURES = {"image/svg+xml", "image/png", "text/html"}  # figures and tables


@dataclass
class Block:
    """A paragraph, a formula, a list, a table, a prediction, or a cell: its kind and its source."""

    kind: str
    source: str
    cell: Any = None
    later: bool = False  # comes with a press of its own
    joined: bool = False  # with the block before


def read_main(notebook: NotebookNode) -> Iterator[Block]:
    """The blocks above the exercises that are not folded; a cell of code is one block."""
    for cell in notebook.cells:
        if is_aside(cell) or cell.metadata.get("slideshow", {}).get("slide_type") == "skip":
            continue
        for block in read_blocks(without_opening(cell.source)) if cell.cell_type == "markdown" else show_code(cell):
            if block.source == f"## {EXERCISES}":
                return
            yield block


def read_blocks(source: str) -> Iterator[Block]:
    """The blocks of a text; a prediction within a paragraph is a block of its own."""
    lines = source.splitlines()
    for token in PARSER.parse(source):
        if token.level or token.nesting < 0 or token.map is None:
            continue
        kind = "title" if token.tag == "h1" else token.type.removesuffix("_open")
        for piece in re.split(rf"(?=\*\*{PREDICT})", "\n".join(lines[slice(*token.map)])):
            if piece.strip():
                yield Block("predict" if piece.startswith(f"**{PREDICT}") else kind, piece.strip())


def split_sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph; formulas, code, links and parentheses stay whole."""
    text = paragraph.replace("\n", " ")
    closed = CLOSED.sub(lambda found: "x" * (len(found[0]) - 2) + (found[0][-2:] if found[1] else "xx"), text)
    return [text[slice(*found.span())].strip() for found in SENTENCE.finditer(closed)]


def shorten(block: Block) -> Block:
    """A long list with the first sentence of each item; anything else as it is."""
    if not block.kind.endswith("_list") or len(block.source) < LONG:
        return block
    items = re.split(r"^([-*] |\d+\. )", block.source, flags=re.MULTILINE)[1:]
    lines = [mark + split_sentences(item)[0] for mark, item in zip(items[::2], items[1::2], strict=True)]
    return Block(block.kind, "\n".join(lines))


def show_code(cell: NotebookNode) -> list[Block]:
    """What a cell of code shows: its figure or table alone, or what it prints, below its code if that is short."""
    pictures = [output for output in cell.outputs if output.get("data", {}).keys() & PICTURES]
    cell.outputs = [output for output in pictures or cell.outputs if 'class="touch"' not in str(output.get("data"))]
    if pictures or "hide-input" in cell.metadata.get("tags", []) or len(cell.source.splitlines()) > MOST_LINES:
        cell.metadata.transient = {"remove_source": True}
        return [Block("picture" if pictures else "code", "", cell)] if cell.outputs else []
    return [Block("code", cell.source, cell)]
