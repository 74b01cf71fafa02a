"""Markdown as the book writes it: its blocks and sentences, and its HTML, with MathML and links from deck to deck."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from book_site.formulas import frame_display, set_formula
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

CHAPTER = re.compile(r"\]\(([a-z-]+)\.ipynb(?:#[^)]*)?\)")
ELSEWHERE = re.compile(r"(?<!!)\[([^]]*)\]\((?!https://|[a-z-]+\.html\))[^)]*\)")
# A formula with the bracket before it and the mark after it, which stay on its line.
ATTACHED = re.compile(r'([(\[“‘]*)(<span class="math">(?:(?!</span>).)*</span>)([.,;:?!)\]’”%-][^\s<]*)?')

PREDICT = "**Predict"
LONG = 520  # letters of a list; of a longer one each item shows its first sentence
# What has no end of a sentence within; a whole sentence in parentheses keeps its own.
CLOSED = re.compile(
    r"\$[^$]+\$|`[^`]+`|\[[^\]]*\]\([^)]*\)|\((?:[^()]*[.?!](\))|[^()]*\))|\bet al\. |\be\.g\. |\bi\.e\. |\*\*\d+\. "
)
SENTENCE = re.compile(r".+?(?:[.?!][*”)]*(?=\s)|$)")


def write_formula(tex: str, *, block: bool) -> str:
    """A formula in a line or of its own."""
    math, number = set_formula(tex, block)
    return frame_display(math, number) if block else f'<span class="math">{math}</span>'


# Of what the chapters are written in; the rules of its plugin would wrap the formulas once more.
PARSER = MarkdownIt("commonmark", {"typographer": True}).enable(["table", "smartquotes"]).use(dollarmath_plugin)
PARSER.add_render_rule("math_inline", lambda _, tokens, at, *__: write_formula(tokens[at].content, block=False))
PARSER.add_render_rule("math_block", lambda _, tokens, at, *__: write_formula(tokens[at].content, block=True))


def to_html(source: str) -> str:
    """The HTML of a text; its links lead from deck to deck, and what has no deck keeps its words."""
    html = PARSER.render(ELSEWHERE.sub(r"\1", CHAPTER.sub(r"](\1.html)", source)))
    html = html.replace("<p><strong>Predict", '<p class="predict"><strong>Predict')
    return ATTACHED.sub(r'<span class="nobreak">\1\2\3</span>', html)


def to_line(source: str) -> str:
    """The HTML of a heading or of one line."""
    return to_html(source).strip().removeprefix("<p>").removesuffix("</p>")


@dataclass
class Block:
    """A paragraph, a formula, a list, a table, a prediction, or a cell: its kind and its source."""

    kind: str
    source: str
    cell: Any = None
    later: bool = False  # comes with a press of its own
    joined: bool = False  # with the block before


def read_blocks(source: str) -> Iterator[Block]:
    """The blocks of a text; a prediction within a paragraph is a block of its own."""
    lines = source.splitlines()
    for token in PARSER.parse(source):
        if token.level or token.nesting < 0 or token.map is None:
            continue
        kind = "title" if token.tag == "h1" else token.type.removesuffix("_open")
        for piece in re.split(rf"(?={re.escape(PREDICT)})", "\n".join(lines[slice(*token.map)])):
            if piece.strip():
                yield Block("predict" if piece.startswith(PREDICT) else kind, piece.strip())


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
