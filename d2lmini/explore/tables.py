"""The tables of a panel: all that it can show, for a reader who has no styles, prints the page, or listens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from d2lmini.figures.tables import align_columns

__all__ = ["Label", "PanelTable", "write_html", "write_meters", "write_text"]


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


def write_meters(table: PanelTable, chosen: int) -> str:
    """The row that is chosen, or the first column where a row has only two numbers, as meters.

    A notebook that is not trusted loses its style sheets and drawings, but no meter: this is its picture.
    """
    if len(table.head) > 2:
        pairs = list(zip(table.head, table.rows[chosen][1], strict=True))
        said = table.rows[chosen][0].html
    else:
        pairs = [(label, entries[0]) for label, entries in table.rows]
        said = table.head[0].html
    numbers = [entry.replace("\N{MINUS SIGN}", "-") for _, entry in pairs]
    box = f"min={min(0, *map(float, numbers)):g} max={max(1, *map(float, numbers)):g}"
    body = "".join(
        f"<li><meter {box} value={number}></meter> {entry} {label.html}</li>"
        for (label, entry), number in zip(pairs, numbers, strict=True)
    )
    return f'<div class="still">{escape(table.caption)}: {said}<ul>{body}</ul></div>'


def _write_cells(entries: Sequence[str], bars: bool) -> Iterator[str]:
    for entry in entries:
        yield f'<td style="--w:{entry}">{entry}</td>' if bars else f"<td>{escape(entry)}</td>"
