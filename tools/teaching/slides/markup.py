"""Markdown as the book writes it: its blocks, and as HTML with MathML and with links from deck to deck."""

import re
from collections.abc import Iterator

from book_site.formulas import frame_display, set_formula
from book_site.phrases import PREDICT
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

CHAPTER = re.compile(r"\]\(([a-z-]+)\.ipynb(?:#[^)]*)?\)")
ELSEWHERE = re.compile(r"(?<!!)\[([^]]*)\]\((?!https://|[a-z-]+\.html\))[^)]*\)")
# A formula with the bracket before it and the mark after it, which stay on its line.
ATTACHED = re.compile(r'([(\[“‘]*)(<span class="math">(?:(?!</span>).)*</span>)([.,;:?!)\]’”%-][^\s<]*)?')

# Of what the chapters are written in; the rules of its plugin would wrap the formulas once more.
PARSER = MarkdownIt("commonmark", {"typographer": True}).enable(["table", "smartquotes"]).use(dollarmath_plugin)
PARSER.add_render_rule(
    "math_inline", lambda _, tokens, at, *__: f'<span class="math">{set_formula(tokens[at].content)[0]}</span>'
)
PARSER.add_render_rule(
    "math_block", lambda _, tokens, at, *__: frame_display(*set_formula(tokens[at].content, block=True))
)


def read_blocks(source: str) -> Iterator[tuple[str, str]]:
    """The blocks of a text, each with its kind; a prediction within a paragraph is a block of its own."""
    lines = source.splitlines()
    for token in PARSER.parse(source):
        if token.level or token.nesting < 0 or token.map is None:
            continue
        kind = "title" if token.tag == "h1" else token.type.removesuffix("_open")
        for piece in re.split(rf"(?=\*\*{PREDICT})", "\n".join(lines[slice(*token.map)])):
            if piece.strip():
                yield "predict" if piece.startswith(f"**{PREDICT}") else kind, piece.strip()


def to_html(source: str) -> str:
    """The HTML of a text; its links lead from deck to deck, and what has no deck keeps its words."""
    html = PARSER.render(ELSEWHERE.sub(r"\1", CHAPTER.sub(r"](\1.html)", source)))
    return ATTACHED.sub(r'<span class="nobreak">\1\2\3</span>', html)


def to_line(source: str) -> str:
    """The HTML of a heading or of one line."""
    return to_html(source).strip().removeprefix("<p>").removesuffix("</p>")
