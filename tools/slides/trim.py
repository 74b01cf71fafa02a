"""What is shown of a text on a slide: headings, formulas, lists, tables, predictions, and few sentences.

A cell may choose for itself: its metadata `slideshow` may have, beside `slide_type`, a list `shows` with the beginnings
of the sentences, lists, tables and formulas to show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tools.slides.markup import PARSER

PREDICT = "**Predict"
LONG = 520  # letters of a list; of a longer one each item shows its first sentence
SHORT = 40  # a first sentence with fewer letters, as "No." or "Not quite.", is shown with the next one
CLOSED = re.compile(r"\$[^$]+\$|`[^`]+`|\[[^\]]*\]\([^)]*\)|\([^()]*\)|\bet al\. |\be\.g\. |\bi\.e\. |\*\*\d+\. ")
ITEMS = re.compile(r"\n(?=(?:[-*]|\d+\.) )")  # where the next one of a list begins


@dataclass
class Block:
    """A paragraph, a formula, a list, a table: its kind and its source."""

    kind: str
    source: str


@dataclass
class Part:
    """What stands below one heading; above the first heading of a cell there may be a part without one."""

    heading: str = ""
    level: int = 0
    blocks: list[Block] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All of it, for the notes of the speaker."""
        return "\n\n".join(block.source for block in self.blocks)


def read_blocks(source: str) -> Iterator[Block]:
    """The blocks of a text; a prediction within a paragraph is a block of its own."""
    lines = source.splitlines()
    for token in PARSER.parse(source):
        if token.level or token.nesting < 0 or token.map is None:
            continue
        text = "\n".join(lines[slice(*token.map)]).strip()
        if token.type == "paragraph_open":
            for piece in re.split(rf"(?={re.escape(PREDICT)})", text):
                if piece.strip():
                    yield Block("predict" if piece.startswith(PREDICT) else "paragraph", piece.strip())
        else:
            yield Block(token.type.removesuffix("_open"), text)


def read_parts(source: str) -> list[Part]:
    """The parts of a cell."""
    parts = [Part()]
    for block in read_blocks(source):
        if block.kind == "heading":
            marks, _, words = block.source.partition(" ")
            parts.append(Part(words, len(marks)))
        else:
            parts[-1].blocks.append(block)
    return [part for part in parts if part.heading or part.blocks]


def cover(found: re.Match[str]) -> str:
    """Letters in the place of what stays whole; a whole sentence in parentheses keeps its end."""
    kept = found[0][-2:] if found[0].endswith((".)", "?)", "!)")) else ""
    return "x" * (len(found[0]) - len(kept)) + kept


def split_sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph; formulas, code, links and parentheses stay whole."""
    text = paragraph.replace("\n", " ")
    closed = CLOSED.sub(cover, text)
    ends = [found.span() for found in re.finditer(r"(?<=[.?!])[*”)]*(\s+)(?=\S)", closed)]
    starts = [0, *(end for _, end in ends)]
    return [text[a:b].strip() for a, b in zip(starts, [*starts[1:], len(text)], strict=True) if text[a:b].strip()]


def say_first(paragraph: str) -> str:
    """The first sentence of a paragraph, with the second one if it is short."""
    sentences = split_sentences(paragraph)
    return " ".join(sentences[: 2 if len(sentences[0]) < SHORT else 1])


def shorten(block: Block) -> Block:
    """A long list with the first sentence of each item; anything that is not a list as it is."""
    if not block.kind.endswith("_list") or len(block.source) < LONG:
        return block
    items = [re.match(r"(?:[-*]|\d+\.) +", item) for item in ITEMS.split(block.source)]
    lines = [item[0] + say_first(item.string[item.end() :]) for item in items if item]
    return Block(block.kind, "\n".join(lines))


def trim(part: Part) -> list[Block]:
    """What is shown of a part if its cell does not choose: of its paragraphs the first sentence of the first one."""
    shown, said = [], False
    for block in part.blocks:
        if block.kind != "paragraph":
            shown.append(shorten(block))
        elif not said:
            said = True
            shown.append(Block("paragraph", say_first(block.source) if part.level != 1 else block.source))
    return shown


def choose(part: Part, shows: list[str], missing: set[str]) -> list[Block]:
    """What is shown of a part if its cell names it; what was found is taken from `missing`."""

    def wanted(text: str) -> bool:
        found = [start for start in shows if text.startswith(start)]
        missing.difference_update(found)
        return bool(found)

    shown = []
    for block in part.blocks:
        if wanted(block.source) and block.kind != "paragraph":
            shown.append(shorten(block))
        elif block.kind.endswith("_list"):
            items = [item for item in ITEMS.split(block.source) if wanted(re.sub(r"^([-*]|\d+\.) +", "", item))]
            shown += [Block(block.kind, "\n".join(items))] if items else []
        elif block.kind == "paragraph":
            # What begins in bold is one of several, or a definition, and begins a line.
            lines: list[str] = []
            for sentence in filter(wanted, split_sentences(block.source)):
                if lines and not sentence.startswith("**"):
                    lines[-1] += f" {sentence}"
                else:
                    lines.append(sentence)
            shown += [Block("paragraph", line) for line in lines]
    return shown
