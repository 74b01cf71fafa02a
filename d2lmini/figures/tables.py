"""Tables of what was measured: HTML for a notebook and a page, text for everything else."""

import unicodedata
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from torch import Tensor

from d2lmini.checks import check_names

__all__ = ["Table"]


class Table:
    """Rows of numbers and words. A notebook shows it as a table, `print` as text in columns.

    Numbers stand on the right, with the decimals that `formats` gives their column, so that their points are in line;
    words stand on the left. What is missing, `None`, is a dash.

    Chapter: Attention pooling.

    Args:
        columns: a name for each column.
        rows: for each row an entry for each column: a number, a tensor of one number, a word or `None`.
        formats: how to write the numbers of each column, for example `".2f"`; or one format for all columns.

    Raises:
        ValueError: if there is no column or no row, or if a row or the formats are not as many as the columns.

    >>> d2l.Table(["n", "work"], [[1, 1.0], [2, 4.0]], ["", ".1f"])
    n  work
    1   1.0
    2   4.0
    """

    def __init__(
        self, columns: Sequence[str], rows: Iterable[Sequence[Any]], formats: str | Sequence[str] = ""
    ) -> None:
        rows = list(rows)
        formats = [formats] * len(columns) if isinstance(formats, str) else formats
        if not columns or not rows:
            raise ValueError(f"a table has at least one column and one row, got {len(columns)} and {len(rows)}")
        for name, given in (("columns", columns), ("formats", formats), *(("each of the rows", row) for row in rows)):
            check_names(name, given, len(columns), "columns")
        self.columns = list(columns)
        self.rows = [[_write(entry, form) for entry, form in zip(row, formats, strict=True)] for row in rows]
        self._words = [any(isinstance(entry, str) for entry in column) for column in zip(*rows, strict=True)]

    def __repr__(self) -> str:
        """Text in columns."""
        return align_columns([self.columns, *self.rows], self._words)

    def _repr_html_(self) -> str:
        sides = ["left" if words else "right" for words in self._words]
        lines = ['<table class="dataframe">', "<thead>", _write_row(self.columns, sides, "col"), "</thead>", "<tbody>"]
        return "\n".join([*lines, *(_write_row(row, sides) for row in self.rows), "</tbody>", "</table>"])


def align_columns(rows: Sequence[Sequence[str]], words: Sequence[bool]) -> str:
    """The rows as lines of text, each column as wide as its widest entry: words on the left, numbers on the right."""
    columns = []
    for column, on_the_left in zip(zip(*rows, strict=True), words, strict=True):
        lengths = [*map(_measure_width, column)]
        spaces = [" " * (max(lengths) - length) for length in lengths]
        columns.append([t + s if on_the_left else s + t for t, s in zip(column, spaces, strict=True)])
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


def _write(entry: Any, form: str) -> str:
    if isinstance(entry, Tensor):
        entry = entry.item()
    return "–" if entry is None else entry if isinstance(entry, str) else format(entry, form)


def _measure_width(text: str) -> int:
    """How many columns a text takes on a screen: a Chinese character two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _write_row(row: Sequence[str], sides: Sequence[str], scope: str | None = None) -> str:
    cells = []
    for i, (text, side) in enumerate(zip(row, sides, strict=True)):
        head = scope or ("row" if i == 0 else None)
        tag, scoped = ("th", f' scope="{head}"') if head else ("td", "")
        cells.append(f'<{tag}{scoped} style="text-align: {side}">{escape(text)}</{tag}>')
    return f"<tr>{''.join(cells)}</tr>"
