"""The one style sheet: what pages can use stays, in its order, and what none can use goes."""

from __future__ import annotations

import re

import pytest
import tinycss2

from book._ext.book_site.styles import can_match, keep_used
from tests.site.pages import SITE, WRITTEN, soup

WORDS = {"cell", "note", "open", "main"}


def shorten(css: str) -> str:
    return re.sub(r"\s+", "", keep_used(tinycss2.parse_stylesheet(css, True, True), WORDS))


@pytest.mark.parametrize(
    ("selector", "kept"),
    [
        (".cell .note", True),
        (".cell .gone", False),
        ("#main > p", True),
        ("#gone", False),
        (".cell:not(.gone)", True),
        (":is(.gone, .cell) p", True),
        ("a[href='x.gone']", True),
        (r".sm\:gone", True),
    ],
)
def test_a_selector_goes_if_no_page_has_a_name_that_it_must_find(selector: str, kept: bool) -> None:
    assert can_match(selector, WORDS) is kept


def test_rules_keep_their_order_and_lose_the_selectors_that_nothing_matches() -> None:
    css = ".cell, .gone { color: red } .gone { color: blue } p { color: green }"
    assert shorten(css) == ".cell{color:red}p{color:green}"


def test_rules_within_a_condition_are_looked_at_too() -> None:
    assert shorten("@media print { .gone { top: 0 } .note { top: 1px } }") == "@mediaprint{.note{top:1px}}"
    assert shorten("@media print { .gone { top: 0 } }") == ""
    assert shorten("@keyframes turn { to { top: 0 } }") == "@keyframesturn{to{top:0}}"


def test_a_page_asks_for_one_style_sheet_whose_files_are_there() -> None:
    sheets = {page: [link["href"] for link in soup(page).select("link[rel=stylesheet]")] for page in WRITTEN}
    assert all(len(links) == 1 for links in sheets.values()), sheets
    for name in {link.partition("?")[0].lstrip("./") for (link,) in sheets.values()}:
        css = (SITE / name).read_text("utf-8")
        addresses = re.findall(r"""url\(['"]?(?!data:|#)([^)'"?#]+)""", css)
        faces = [address for address in addresses if "fonts/text" in address or address.endswith("math.woff2")]
        assert len(faces) >= 4 and all((SITE / name).parent.joinpath(face).exists() for face in faces)
