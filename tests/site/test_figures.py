"""No figure scrolls sideways on a phone: where panels stand side by side, the page offers them one below the other."""

import re

import numpy as np
import pytest
from book_site.panels import PHONE, cut_panels

from tests.site.pages import CHAPTERS, soup


@pytest.mark.parametrize("page", CHAPTERS)
def test_each_figure_fits_a_phone_with_letters_that_can_be_read(page: str) -> None:
    for box in soup(page).select(".scrolls:has(img)"):
        narrow, image = box.select_one("picture > source"), box.img
        least = re.search(r"min-width: (\d+)px", image["style"])
        assert narrow or (least and int(least[1]) <= PHONE), image["src"]


def test_no_panel_is_cut_and_none_is_missing() -> None:
    picture = np.full((20, 900), 255)
    for begin in (40, 260, 480, 700):
        picture[2:18, begin : begin + 160] = 0
    pieces = cut_panels(picture, 500)
    assert pieces[0][0] == 0 and pieces[-1][1] == 900 and len(pieces) == 2
    assert 420 < pieces[0][1] == pieces[1][0] < 480
