"""The tables of a panel: all that it can show, for a reader who has no styles, prints the page, or listens."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from d2lmini.figures.tables import align_columns

__all__ = ["Label", "PanelTable", "write_html", "write_text"]


_ROLES = {"table": "table", "thead": "rowgroup", "tbody": "rowgroup", "tr": "row", "td": "cell", "th": "columnheader"}


@dataclass(frozen=True)
class Label:
    """A word, what it means, its language, so that a screen reader says it right, and where it leads to."""

    text: str
    gloss: str = ""
    lang: str = ""
    href: str = field(default="", repr=False)

    @property
    def html(self) -> str:
        """The word with its gloss."""
        lang = f' lang="{escape(self.lang)}"' if self.lang else ""
        gloss = f" <small>{escape(self.gloss)}</small>" if self.gloss else ""
        text = f'<a href="{escape(self.href)}">{escape(self.text)}</a>' if self.href else escape(self.text)
        return (f"<span{lang}>{text}</span>" if lang else text) + gloss


@dataclass(frozen=True)
class PanelTable:
    """Numbers with names for rows and columns.

    `state` is the class of the choice that shows the table. `rows_of` is the letter of the choice whose row is marked;
    with `bars`, that row alone is shown, as bars. `styles` holds, for each row, what it tells the style sheet.
    """

    caption: str
    head: Sequence[Label]
    rows: Sequence[tuple[Label, Sequence[str]]]
    state: str
    rows_of: str = ""
    bars: bool = False
    styles: Sequence[str] = field(default=(), repr=False)


def write_html(table: PanelTable) -> str:
    """The table for a browser. What a style sheet puts in another order keeps its roles only if they are named."""
    head = "".join(f'<th scope="col">{label.html}</th>' for label in table.head)
    state = table.rows_of if table.bars else f"row-{table.rows_of}"
    styles = [f' style="{style}"' for style in table.styles] or [""] * len(table.rows)
    body = "".join(
        f'<tr class="{state}{i}"{style}><th scope="row">{label.html}</th>'
        + "".join(_write_cells(entries, table.bars))
        + "</tr>"
        for i, ((label, entries), style) in enumerate(zip(table.rows, styles, strict=True))
    )
    kind = f"{table.state} bars" if table.bars else table.state
    caption = f"<caption>{escape(table.caption)}</caption>"
    html = f'<table class="{kind}">{caption}<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>'
    return re.sub(rf"<({'|'.join(_ROLES)})\b([^>]*)", _name_role, html) if table.styles else html


def write_text(table: PanelTable) -> str:
    """The table for a terminal."""
    lines = [["", *(label.text for label in table.head)], *([label.text, *entries] for label, entries in table.rows)]
    return f"{table.caption}\n{align_columns(lines, [False] * len(lines[0]))}"


def _name_role(tag: re.Match[str]) -> str:
    role = "rowheader" if 'scope="row"' in tag[2] else _ROLES[tag[1]]
    return f'<{tag[1]} role="{role}"{tag[2]}'


def _write_cells(entries: Sequence[str], bars: bool) -> Iterator[str]:
    for entry in entries:
        yield f'<td style="--w:{entry}">{entry}</td>' if bars else f"<td>{escape(entry)}</td>"
