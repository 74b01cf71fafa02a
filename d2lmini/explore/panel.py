"""A panel: groups of radio buttons, and parts of which those are seen that belong to the buttons chosen.

The style sheet alone decides what is seen, by the selector `:has`: nothing is executed, so a panel works in a page that
was saved, and in every notebook that shows HTML. Where styles are taken away all parts are left, one below the other.
A part belongs to a choice by its class: `a0` is the first option of choice `a`, and what is marked `a0 b2` is seen
where both are chosen. Sentences and tables that are not seen keep their place, so that no choice moves the page. All
colours are mixed from that of the text around, so a panel goes with any theme, and they are the system's own where it
forces them.

On the pages of the book a panel may be more: one with `play` holds what a script of that name, in book/_static/play,
needs to let a reader put in words or numbers of their own.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from d2lmini.explore.tables import Label, PanelTable, write_html, write_meters, write_text

__all__ = ["Choice", "Drawing", "Panel", "build_panel"]

_MOST_BYTES = 36 * 1024  # of a panel: a notebook holds several, and every reader of the page loads them

_STYLE = """\
--hue:color-mix(in oklab,currentColor 30%,#3584e4);--hue2:color-mix(in oklab,currentColor 30%,#e66100);
--pale:color-mix(in oklab,currentColor 22%,transparent);--weight:color-mix(in oklab,currentColor 30%,#7a52c7);
color:inherit;line-height:1.4;max-width:36rem;
p{margin:.25rem 0;color:inherit}
fieldset{border:0;margin:.5rem 0;padding:0;min-width:0}
legend{float:none;width:auto;margin:0;padding:0;font-size:inherit;color:inherit}
.options{display:flex;flex-wrap:wrap;gap:.25rem}
.columns{display:grid;grid-auto-flow:column;grid-auto-columns:minmax(0,1fr)}
label{display:flex;gap:.3rem;align-items:center;min-height:32px;min-width:32px;margin:0;padding:0 .4rem;cursor:pointer;
border:1px solid var(--pale);border-radius:.3rem}
.columns label{flex-direction:column;justify-content:center;text-align:center;padding:.2rem 0;margin:0 1px;gap:.1rem}
label:has(:checked){border-color:var(--hue);box-shadow:inset 0 -3px var(--hue);outline:2px solid transparent}
label:has(:focus-visible){outline:3px solid var(--hue2);outline-offset:1px}
input{margin:0;accent-color:var(--hue)}
table{border-collapse:collapse;width:auto;margin:.5rem 0;font-size:.9em;color:inherit;
table-layout:auto;min-width:min(100%,16rem)}
caption{caption-side:top;text-align:left;color:inherit;padding:.2rem 0}
td,th{padding:.1rem .5rem;text-align:right;font-variant-numeric:tabular-nums;color:inherit;background:none;border:0}
td{white-space:nowrap}tbody th{font-weight:inherit}
svg{display:block;width:100%;height:auto;overflow:visible}
path{fill:none;stroke:var(--hue);vector-effect:non-scaling-stroke}
@media(max-width:480px){td,th{padding:.1rem .25rem}label{padding:0 .25rem}}
@media(max-width:480px),(pointer:coarse){label{min-height:44px;min-width:44px}.columns label{min-width:0}}
.still{display:none}
@supports selector(::details-content){summary{display:none}
details::details-content{content-visibility:visible;block-size:auto}}
@media screen{[hidden]{display:block!important}
.now,.tables{display:grid}.tables{justify-items:start}.now p{display:block!important;grid-area:1/1}
.now [class*=" "]{grid-row:2}.tables [class^=a]{display:table!important;grid-area:1/1}
.bars{width:100%;table-layout:fixed}.bars :is(td,th){text-align:center}
.bars td[style]::before{content:"";display:block;height:6rem;
background:linear-gradient(var(--pale) calc(100% - 100%*var(--w)),var(--weight) 0)}}
@media print{fieldset,.now{display:none}table{display:inline-table;margin-right:2rem;vertical-align:top}}
@media(forced-colors:active){--hue:Highlight;--weight:Highlight;--hue2:LinkText;--pale:GrayText;--mark:none;
label{--pale:ButtonBorder}.bars{--pale:Canvas}.bars td::before{forced-color-adjust:none;border:1px solid CanvasText}}
""".replace("\n", "")


@dataclass(frozen=True)
class Drawing:
    """The inside of an SVG, and its width and height."""

    width: float
    height: float
    inside: str


@dataclass(frozen=True)
class Choice:
    """A group of radio buttons: `variables` holds, for each option, what the style sheet sets while it is chosen.

    With `columns` the options stand side by side in columns of one width, below what the drawing shows of them.
    Otherwise nothing in the drawing is in line with an option, and it stands below them all.
    """

    letter: str
    legend: str
    options: Sequence[Label]
    variables: Sequence[str] = ()
    drawing: Drawing | None = None
    columns: bool = False


class Panel:
    """What a notebook shows as HTML, and a terminal as text."""

    def __init__(self, html: str, text: str) -> None:
        self.html, self.text = html, text

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


def build_panel(
    title: str,
    choices: Sequence[Choice],
    sentences: Sequence[tuple[str, str]],
    tables: Sequence[PanelTable],
    style: str = "",
    *,
    start: Sequence[int] = (0, 0),
    play: tuple[str, dict[str, Any]] | None = None,
) -> Panel:
    """Put a panel together.

    Args:
        title: what it shows, and what to do.
        choices: from top to bottom.
        sentences: the classes of a state, and the HTML of what is said there; below the choices.
        tables: all numbers, below the sentences.
        style: rules of this kind of panel.
        start: the option of each choice that is chosen at first.
        play: the name of a script of the pages, and what it needs.

    Raises:
        ValueError: if there is no such option, or the panel would be too large.
    """
    if len(start) != len(choices) or not all(0 <= at < len(c.options) for at, c in zip(start, choices, strict=True)):
        raise ValueError(f"start must be one of the options of each of {len(choices)} choices, got {start!r}")
    # The same content has the same name: what a notebook stores is the same in each run. Stored names were made when
    # PanelTable was called Table.
    content = repr((title, choices, sentences, tables, style))
    name = f"touch-{hashlib.sha256(content.encode()).hexdigest()[:8]}"
    rules = "".join(_write_rules(choice) for choice in choices) + _mark_rows(tables, choices)
    said = "".join(f'<p class="{state}">{text}</p>' for state, text in sentences)
    kind, data = play or ("", {})
    script = f' data-play="{kind}" data-given="{escape(json.dumps(data, ensure_ascii=False))}"' if play else ""
    html = (
        f'<div class="touch" id="{name}" role="group" aria-labelledby="{name}-title"{script}>'
        f"<style>#{name}{{{_STYLE}{style}{rules}}}</style>"
        f'<p id="{name}-title"><strong>{escape(title)}</strong></p>'
        '<p class="still">To choose, run the cell.</p>'
        + _write_still(tables, choices, start)
        + "".join(_write_choice(choice, name, at) for choice, at in zip(choices, start, strict=True))
        + "<details><summary>All that there is to choose</summary>"
        + f'<div class="now" id="{name}-now" aria-live="polite">{said}</div>'
        + f'<div class="tables">{"".join(map(write_html, tables))}</div></details></div>'
    )
    if len(html.encode()) > _MOST_BYTES:
        found = f"{len(html.encode()) / 1024:.0f} KiB"
        raise ValueError(f"a panel must fit into {_MOST_BYTES // 1024} KiB, this one has {found}: show less of it")
    return Panel(html, "\n\n".join([title, *map(write_text, tables)]))


def _write_still(tables: Sequence[PanelTable], choices: Sequence[Choice], start: Sequence[int]) -> str:
    """What is chosen at first, for a notebook that has lost the style sheet."""
    chosen = {choice.letter: at for choice, at in zip(choices, start, strict=True)}
    shown = next(table for table in tables if table.state in ["", *(f"{letter}{at}" for letter, at in chosen.items())])
    return write_meters(shown, chosen[shown.rows_of])


def _write_rules(choice: Choice) -> str:
    """What is not chosen is not seen, but on paper; and what is chosen sets its variables."""
    states = [f"{choice.letter}{i}" for i in range(len(choice.options))]
    # What the style sheet gives back its display, to keep its place, is hidden all the same.
    hidden = ",".join(f"&:not(:has([value={state}]:checked)) .{state}" for state in states)
    variables = "".join(
        f"&:has([value={state}]:checked){{{values}}}" for state, values in zip(states, choice.variables, strict=False)
    )
    return f"@media screen{{{hidden}{{display:none;visibility:hidden}}}}{variables}"


def _mark_rows(tables: Sequence[PanelTable], choices: Sequence[Choice]) -> str:
    """The row of the option that is chosen has a ground of its own, and a line around it where colours are forced."""
    letters = {table.rows_of for table in tables if not table.bars}
    marked = ",".join(
        f"&:has([value={choice.letter}{i}]:checked) .row-{choice.letter}{i}"
        for choice in choices
        if choice.letter in letters
        for i in range(len(choice.options))
    )
    ground = "background:var(--mark,var(--pale));outline:2px solid transparent;outline-offset:-2px"
    return f"@media screen{{{marked}{{{ground}}}}}" if marked else ""


def _write_choice(choice: Choice, name: str, start: int) -> str:
    buttons = "".join(
        f'<label><input type="radio" name="{name}-{choice.letter}" value="{choice.letter}{i}"'
        f' aria-describedby="{name}-now"{" checked" if i == start else ""}> <span>{option.html}</span></label>'
        for i, option in enumerate(choice.options)
    )
    kind = "columns" if choice.columns else "options"
    parts = [_write_drawing(choice.drawing) if choice.drawing else "", f'<div class="{kind}">{buttons}</div>']
    inside = "".join(parts if choice.columns else reversed(parts))
    return f"<fieldset><legend>{escape(choice.legend)}</legend>{inside}</fieldset>"


def _write_drawing(drawing: Drawing) -> str:
    """Hidden where there is no style sheet: what it shows at once would be too much."""
    box = f"0 0 {drawing.width:g} {drawing.height:g}"
    return f'<div hidden><svg viewBox="{box}" aria-hidden="true">{drawing.inside}</svg></div>'
