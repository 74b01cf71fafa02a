"""What is in the decks, read as files."""

import re

import pytest

from tests.slides.decks import CHAPTERS, list_slides, read_deck
from tools.teaching.slides import FOLDER

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_is_one_lecture_of_titled_slides_and_described_figures(name: str) -> None:
    slides, deck = list_slides(name), read_deck(name)
    assert 8 <= len(slides) <= 30 and deck.get("lang") == "en"
    assert all(slide.xpath("string(.//h1 | .//h2)").strip() for slide in slides)
    assert all(len(image.get("alt")) > 30 for image in deck.xpath("//section//img"))


def test_all_that_is_linked_or_loaded_is_in_the_folder_and_the_index_leads_to_it() -> None:
    for name in (*CHAPTERS, "index"):
        tree = read_deck(name)
        loaded = tree.xpath("//@src | //link/@href")
        assert all(link.startswith("data:") or (FOLDER / link).is_file() for link in loaded)
        inner = [link for link in tree.xpath("//a/@href") if not link.startswith("https://")]
        assert all((FOLDER / re.split(r"[?#]", link)[0]).is_file() for link in inner)
    for sheet in FOLDER.rglob("*.css"):
        for target in re.findall(r"url\([\"']?([^\"')]+)", sheet.read_text("utf-8")):
            assert target.startswith("data:") or (sheet.parent / target).is_file(), (sheet, target)
    assert "Hakim El Hattab" in (FOLDER / "reveal/LICENSE").read_text("utf-8")
    assert len(list((FOLDER / "fonts").glob("*.txt"))) == 4
    assert read_deck("index").xpath("//li/a[1]/@href") == [f"{name}.html" for name in CHAPTERS]
    counts = [int(note.split()[0]) for note in read_deck("index").xpath("//li//small/text()[1]")]
    assert counts == [len(list_slides(name)) for name in CHAPTERS]
