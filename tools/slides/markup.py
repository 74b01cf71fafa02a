"""Markdown as the book writes it, turned into HTML: its formulas are MathML, and its links lead from deck to deck."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from book_site.formulas import set_formula
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

CHAPTER = re.compile(r"^(?P<name>[a-z-]+)\.ipynb(?:#.*)?$")
# A formula with the bracket before it and the mark after it, which stay on its line.
ATTACHED = re.compile(r'([(\[“‘]*)(<span class="math">(?:(?!</span>).)*</span>)([.,;:?!)\]’”%-][^\s<]*)?')


def write_formula(tex: str, options: dict[str, Any]) -> str:
    """A formula in a line or of its own."""
    block = bool(options.get("display_mode"))
    math, number = set_formula(tex, block)
    if not block:
        return f'<span class="math">{math}</span>'
    name = f"Equation {number}" if number else "Formula"
    tag = f'<span class="number">({escape(number)})</span>' if number else ""
    return f'<div class="math" role="group" aria-label="{escape(name)}">{math}{tag}</div>'


def make_parser() -> MarkdownIt:
    """A parser of what the chapters are written in."""
    parser = MarkdownIt("commonmark", {"typographer": True}).enable(["table", "smartquotes"])
    parser.use(dollarmath_plugin, renderer=write_formula)
    # Its own rules would wrap the formulas once more.
    rules: dict[str, Callable[..., str]] = {
        "math_inline": lambda self, tokens, at, *_: write_formula(tokens[at].content, {"display_mode": False}),
        "math_block": lambda self, tokens, at, *_: write_formula(tokens[at].content, {"display_mode": True}),
    }
    for name, rule in rules.items():
        parser.add_render_rule(name, rule)
    return parser


PARSER = make_parser()


def redirect_links(tokens: Sequence[Token], chapters: Sequence[str]) -> None:
    """Lead from deck to deck; what has no deck keeps its words and loses its link."""
    for token in tokens:
        links: list[Token] = []
        for child in token.children or []:
            if child.type == "link_open":
                target = str(child.attrs["href"])
                chapter = CHAPTER.match(target)
                if chapter and chapter["name"] in chapters:
                    child.attrs["href"] = f"{chapter['name']}.html"
                elif not target.startswith("https://"):
                    child.tag, child.attrs = "span", {}
                links.append(child)
            elif child.type == "link_close":
                child.tag = links.pop().tag


def to_html(source: str, chapters: Sequence[str] = ()) -> str:
    """The HTML of a text."""
    tokens = PARSER.parse(source)
    redirect_links(tokens, chapters)
    html = PARSER.renderer.render(tokens, PARSER.options, {})
    html = html.replace("<p><strong>Predict", '<p class="predict"><strong>Predict')
    return ATTACHED.sub(r'<span class="nobreak">\1\2\3</span>', html)


def to_line(source: str) -> str:
    """The HTML of a heading or of one line."""
    return to_html(source).strip().removeprefix("<p>").removesuffix("</p>")
