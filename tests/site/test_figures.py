"""A figure of several panels has a narrow twin for phones, cut between its panels."""

import io
import re
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from book_site.figures import PHONE, SMALLEST, cut_panels, stack_panels
from PIL import Image

import d2lmini as d2l
from tests.site.pages import CHAPTERS, SITE, soup


@pytest.mark.parametrize("panels", [2, 3, 5])
@pytest.mark.parametrize("labels", [None, ["a long name of a row", "b", "c"]])
def test_no_panel_is_cut_and_none_is_missing(panels: int, labels: list[str] | None) -> None:
    d2l.show_heatmaps(
        np.random.default_rng(0).random((1, panels, 3, 3)), "key", "query", figsize=(7.2, 2), yticklabels=labels
    )
    files = io.BytesIO(), io.StringIO()
    for file, kind in zip(files, ("png", "svg"), strict=True):
        plt.savefig(file, format=kind)
    boxes = [axes.get_window_extent() for axes in plt.gcf().axes[:panels]]
    plt.close("all")
    picture, widest = np.asarray(Image.open(files[0]).convert("L")), PHONE / SMALLEST * 3 / 4
    pieces = cut_panels(picture, widest)
    assert pieces[0][0] == 0 and pieces[-1][1] == picture.shape[1] and len(pieces) == 2
    assert all(end == begin for (_, end), (begin, _) in pairwise(pieces))
    assert all(end - begin <= widest for begin, end in pieces)
    for box in boxes:
        assert any(begin <= box.x0 and box.x1 <= end for begin, end in pieces), box
    narrow = stack_panels(files[1].getvalue(), picture) or ""
    assert len(set(re.findall(r'<svg x="\d+" y="(\d+)"', narrow))) == 2
    # The names of the rows stand again before the second one.
    assert narrow.count('viewBox="0 0 ') == 3


def test_pages_offer_the_narrow_twin_to_phones() -> None:
    offered = [source["srcset"] for page in CHAPTERS for source in soup(page).select("picture > source")]
    assert len(offered) > 8 and all((SITE / "notebooks" / name).resolve().exists() for name in offered)
