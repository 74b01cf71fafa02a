"""A table whose rows stand in the order of one of its columns: radio buttons choose which."""

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from d2lmini.explore.numbers import check_words, write
from d2lmini.explore.panel import Choice, Panel, build_panel
from d2lmini.explore.tables import Label, PanelTable

__all__ = ["explore_ranking"]

_WAYS = ("smallest first", "largest first")
# The rows are parts of one grid, whose columns they share. Who reads or tabs goes through them as they are seen.
_STYLE = """\
max-width:none;.tables{container-type:inline-size}table{min-width:0}
@media screen{.ranked{display:grid!important;grid-template-columns:repeat(COLUMNS,auto)}
.ranked :is(thead,tbody,tr){display:grid;grid-column:1/-1;grid-template-columns:subgrid}
.ranked tbody{reading-flow:grid-order}.ranked caption{display:block;grid-column:1/-1}
.ranked tbody tr:hover{background:var(--pale)}
.ranked :is(td,th){padding:.15rem .3rem;align-content:end}.ranked [scope=row]{text-align:left;white-space:nowrap}
@container(max-width:40rem){.ranked{grid-template-columns:repeat(2,auto)}
.ranked :is(td,[scope=col]):not(:first-child){display:none}}}
""".replace("\n", "")


def explore_ranking(
    title: str,
    columns: Sequence[str],
    rows: Mapping[str, Sequence[float]],
    decimals: Sequence[int],
    links: Mapping[str, str] | None = None,
) -> Panel:
    """Show a table: choose the column by which its rows are ordered, and which end comes first.

    Behind each number lies a bar, in shares of the column's largest. Where there is no room for all columns, only the
    one that is chosen is shown.

    Chapter: What is kept.

    Args:
        title: what it shows.
        columns: a name for each column of numbers.
        rows: for each name, its numbers. Rows with the same number stay in this order, or in the opposite one.
        decimals: how many of them the numbers of each column have.
        links: where the names of rows lead to.

    Returns:
        A panel: in a notebook it shows itself as the last value of a cell.

    Raises:
        ValueError: if there is no row, a number is not finite, sizes do not fit, a link belongs to no row, or the panel
            would have more than 36 KiB.

    >>> panel = d2l.explore_ranking("Layers", ["MFLOPs"], {"RNN": [0.1], "GRU": [0.3]}, [1])
    """
    links = links or {}
    _check(columns, rows, decimals, links)
    written = {name: [*map(write, numbers, decimals)] for name, numbers in rows.items()}
    orders = [sorted(rows, key=lambda name, a=a: rows[name][a]) for a in range(len(columns))]  # type: ignore[misc]
    choices = [
        Choice("a", "Order by", [*map(Label, columns)]),
        Choice("b", "Which end comes first", [*map(Label, _WAYS)], ["--way:1", "--way:-1"]),
    ]
    labelled = [(Label(name, href=links.get(name, "")), numbers) for name, numbers in written.items()]
    largest = [max(*column, 0.0) or 1.0 for column in zip(*rows.values(), strict=True)]
    styles = [
        ";".join(
            f"--a{a}:{order.index(name)};--w{a}:{max(number, 0) / largest[a]:.0%}"
            for a, (order, number) in enumerate(zip(orders, numbers, strict=True))
        )
        for name, numbers in rows.items()
    ]
    table = PanelTable("All numbers", [*map(Label, columns)], labelled, "ranked", styles=styles)
    return build_panel(title, choices, [*_say(columns, written, orders)], [table], _write_style(len(columns)))


def _say(
    columns: Sequence[str], written: Mapping[str, Sequence[str]], orders: Sequence[Sequence[str]]
) -> Iterator[tuple[str, str]]:
    """Who is first, and who is last."""
    for a, (column, order) in enumerate(zip(columns, orders, strict=True)):
        for b, ends in enumerate(((order[0], order[-1]), (order[-1], order[0]))):
            first, last = (_name(end, {name: numbers[a] for name, numbers in written.items()}) for end in ends)
            yield f"a{a} b{b}", f"{escape(column)}, {_WAYS[b]}: from {first} to {last}."


def _name(end: str, column: Mapping[str, str]) -> str:
    """A row, how many others have the same number, and that."""
    others = [*column.values()].count(column[end]) - 1
    more = f" and {others} {'other' if others == 1 else 'others'}" if others else ""
    return f"{escape(end)}{more} ({column[end]})"


def _write_style(columns: int) -> str:
    """What puts the rows in the order of a column, and marks it; behind each number lies a bar of its size."""
    rules = "".join(
        f"&:has([value=a{a}]:checked){{tbody tr{{order:calc(var(--way)*var(--a{a}))}}"
        f":is(td,th):nth-child({a + 2}){{display:block!important;font-weight:700}}}}"
        f"td:nth-child({a + 2}){{background:linear-gradient(90deg,var(--pale) var(--w{a}),transparent 0)}}"
        for a in range(columns)
    )
    return f"{_STYLE.replace('COLUMNS', str(columns + 1))}@media screen{{{rules}}}"


def _check(
    columns: Sequence[str], rows: Mapping[str, Sequence[float]], decimals: Sequence[int], links: Mapping[str, str]
) -> None:
    if not isinstance(rows, Mapping) or not rows:
        raise ValueError(f"rows must be a dictionary, not empty, got {rows!r}")
    check_words("columns", columns, len(columns), "columns")
    check_words("the names of rows", [*rows], len(rows), "rows")
    whole = [digits for digits in decimals if isinstance(digits, int) and digits >= 0]
    if len(decimals) != len(columns) or len(whole) < len(decimals):
        raise ValueError(f"decimals must be {len(columns)} integers of at least 0, one a column, got {decimals!r}")
    for name, numbers in rows.items():
        finite = [number for number in numbers if isinstance(number, (int, float)) and math.isfinite(number)]
        if len(numbers) != len(columns) or len(finite) < len(numbers):
            raise ValueError(f"the row {name!r} must have {len(columns)} finite numbers, got {numbers!r}")
    for name in links:
        if name not in rows:
            raise ValueError(f"links must lead from names of rows, got {name!r}")
