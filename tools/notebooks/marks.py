"""Say on the built pages what became of each cell when it was run again: `compare` calls it when it is done.

The pages are built from what is stored, before anything runs. `book_site.report` leaves a place behind each code cell
and one where a page says what came out; here they are filled, as often as results come.
"""

import re
from collections.abc import Mapping
from html import escape

from tools import ROOT
from tools.notebooks.files import list_chapters, list_pages, locate, write
from tools.notebooks.results import Difference, Result, name_cell, read_current

SITE = ROOT / "_build/html"
PLACE = re.compile(r"(<!--cell (?P<cell>\d+)-->).*?(<!--/-->)", re.DOTALL)
SUM = re.compile(r"(<!--(?P<kind>report|line)-->).*?(<!--/-->)", re.DOTALL)
MOST = 3  # pairs of values that a mark shows


def tell(pairs: list[Difference]) -> str:
    """Both values of what differs in a cell, as HTML."""
    told = [
        f"<code>{escape(found)}</code> where <code>{escape(stored)}</code> is stored"
        if stored
        else f"<code>{escape(found)}</code>, which is not stored"
        for stored, found in pairs[:MOST]
    ]
    return "; ".join([*told, f"{len(pairs) - MOST} more"] if len(pairs) > MOST else told)


def mark_cells(html: str, result: Result | None) -> str:
    """The page of a chapter, with a mark behind each cell that gave something else here."""

    def fill(place: re.Match[str]) -> str:
        cell = int(place["cell"])
        pairs = result.differs.get(cell, []) if result else []
        mark = f'<p class="differs" id="differs-{cell}">On this machine the cell gave {tell(pairs)}.</p>'
        return place[1] + mark * bool(pairs) + place[3]

    return PLACE.sub(fill, html)


def report(results: Mapping[str, Result | None]) -> str:
    """What is said of the comparison, as HTML, on a page of a folder."""
    if not any(results.values()):
        return "<p>Nothing has been compared yet.</p>"
    known = {chapter: result for chapter, result in results.items() if result}
    differs = {chapter: result.differs for chapter, result in known.items() if result.differs}
    machines = " and ".join(sorted({result.machine for result in known.values()}))
    cells, seconds = sum(r.cells for r in known.values()), sum(r.seconds for r in known.values())
    count = sum(map(len, differs.values()))
    outcome = f"<strong>{count} differ{'s' * (count == 1)}</strong>" if count else "none differs"
    if rounded := sum(result.rounded for result in known.values()):
        outcome += f" (of {rounded} a last digit does, which is allowed)"
    said = (
        f"<p>On this machine ({escape(machines)}) {cells} cells of {len(known)} notebooks were run again in "
        f"{seconds:.0f} seconds of computing, and compared: {outcome}.</p>"
    )
    missing = len(results) - len(known)
    said += f"<p>{missing} notebooks have not been compared here.</p>" if missing else ""
    rows = [
        f'<li><a href="../{folder}/{chapter}.html#differs-{cell}">{chapter}, {name_cell(cell)}</a>: {tell(pairs)}</li>'
        for chapter, cells_of in differs.items()
        for folder in [locate(chapter).parent.name]
        for cell, pairs in cells_of.items()
    ]
    return said + (f"<ul>{''.join(rows)}</ul>" if rows else "")


def report_in_a_line(results: Mapping[str, Result | None]) -> str:
    """What the title page says of the comparison."""
    known = [result for result in results.values() if result]
    count = sum(len(result.differs) for result in known)
    ran = f"{sum(result.cells for result in known):,} outputs were run again here"
    return f"{ran}, {count or 'none'} differ{'s' * (count < 2)}" if known else "its outputs were not run again here yet"


def mark_pages() -> None:
    """Fill the places of all pages that are built."""
    results = {chapter: read_current(chapter) for chapter in (*list_chapters(), *list_pages())}
    for chapter, result in results.items():
        page = SITE / locate(chapter).parent.name / f"{chapter}.html"
        if page.exists():
            write(page, mark_cells(page.read_text("utf-8"), result))
    said = {"report": report(results), "line": report_in_a_line(results)}
    for page in (*SITE.glob("*.html"), *SITE.glob("*/*.html")):  # the translated pages lie deeper, or say it themselves
        html = page.read_text("utf-8")
        if SUM.search(html):
            write(page, SUM.sub(lambda place: place[1] + said[place["kind"]] + place[3], html))
