"""The tables of a panel: all that it can show, for a reader who has no styles, prints the page, or listens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from d2lmini.figures.tables import align_columns

__all__ = ["Label", "PanelTable", "write_html", "write_text"]


@dataclass(frozen=True)
class Label:
    """A word, what it means, and its language, so that a screen reader says it right."""

    text: str
    gloss: str = ""
    lang: str = ""

    @property
    def html(self) -> str:
        """The word with its gloss."""
        lang = f' lang="{escape(self.lang)}"' if self.lang else ""
        gloss = f" <small>{escape(self.gloss)}</small>" if self.gloss else ""
        return (f"<span{lang}>{escape(self.text)}</span>" if lang else escape(self.text)) + gloss


@dataclass(frozen=True)
class PanelTable:
    """Numbers with names for rows and columns.

    `state` is the class of the choice that shows the table. `rows_of` is the letter of the choice whose row is marked;
    with `bars`, that row alone is shown, as bars.
    """

    caption: str
    head: Sequence[Label]
    rows: Sequence[tuple[Label, Sequence[str]]]
    state: str
    rows_of: str = ""
    bars: bool = False


def write_html(table: PanelTable) -> str:
    """The table for a browser."""
    head = "".join(f'<th scope="col">{label.html}</th>' for label in table.head)
    state = table.rows_of if table.bars else f"row-{table.rows_of}"
    body = "".join(
        f'<tr class="{state}{i}"><th scope="row">{label.html}</th>'
        + "".join(_write_cells(entries, table.bars))
        + "</tr>"
        for i, (label, entries) in enumerate(table.rows)
    )
    kind = f"{table.state} bars" if table.bars else table.state
    caption = f"<caption>{escape(table.caption)}</caption>"
    return f'<table class="{kind}">{caption}<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>'


def write_text(table: PanelTable) -> str:
    """The table for a terminal."""
    lines = [["", *(label.text for label in table.head)], *([label.text, *entries] for label, entries in table.rows)]
    return f"{table.caption}\n{align_columns(lines, [False] * len(lines[0]))}"


def _write_cells(entries: Sequence[str], bars: bool) -> Iterator[str]:
    for entry in entries:
        yield f'<td style="--w:{entry}">{entry}</td>' if bars else f"<td>{escape(entry)}</td>"
