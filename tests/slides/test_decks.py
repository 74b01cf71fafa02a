"""What is in the decks, read as files."""

import re

import pytest
from lxml import html

from tests.slides.decks import CHAPTERS, LECTURE, list_slides, read_cells, read_deck, squeeze
from tools.notebooks.files import is_aside
from tools.teaching.slides import FOLDER
from tools.teaching.slides.markup import to_line

pytestmark = pytest.mark.thorough

RAW = re.compile(r"\\(?:frac|mathrm|sqrt|begin|end|tag|sum|top|alpha|beta|left|text)\b|\$")


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_is_one_lecture_of_titled_slides_described_figures_and_set_formulas(name: str) -> None:
    slides, deck = list_slides(name), read_deck(name)
    assert len(slides) in LECTURE
    assert all(squeeze(slide.xpath("string(.//h1 | .//h2)")) for slide in slides)
    known = {cell.metadata.get("mystnb", {}).get("image", {}).get("alt") for cell in read_cells(name)}
    assert all(len(image.get("alt")) > 30 and image.get("alt") in known for image in deck.xpath("//section//img"))
    texts = deck.xpath("//section//text()[not(ancestor::pre or ancestor::code or ancestor::math)]")
    assert not [text for text in texts if RAW.search(text)]


@pytest.mark.parametrize("name", CHAPTERS)
def test_it_begins_with_the_title_and_ends_with_the_exercises(name: str) -> None:
    deck, slides = read_deck(name), list_slides(name)
    title = read_cells(name)[0].source.partition("\n")[0].removeprefix("# ")
    assert squeeze(slides[0].xpath("string(.//h1)")) == squeeze(title)
    assert deck.get("lang") == "en"
    assert squeeze(deck.findtext("head/title")).startswith(squeeze(title))
    named = re.findall(r"^### (Exercise .+)$", "\n".join(cell.source for cell in read_cells(name)), re.MULTILINE)
    assert [squeeze(item.text_content()) for item in slides[-1].iter("li")] == [
        squeeze(html.fromstring(to_line(title)).text_content()) for title in named
    ]


@pytest.mark.parametrize("name", CHAPTERS)
def test_nothing_that_is_folded_is_in_a_deck(name: str) -> None:
    cells = read_cells(name)
    elsewhere = squeeze("".join(cell.source for cell in cells if not is_aside(cell)))
    deck = squeeze(read_deck(name).text_content())
    lines = [squeeze(line) for cell in cells if is_aside(cell) for line in cell.source.splitlines()]
    own = [line for line in lines if len(line) > 20 and "$" not in line and line not in elsewhere]
    assert not [line for line in own if line in deck]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_prediction_comes_before_the_answer(name: str) -> None:
    slides = list_slides(name)
    # Not inside notes, which have the whole text.
    shown = [
        (number, part)
        for number, slide in enumerate(slides)
        for part in slide.xpath(".//*[contains(@class, 'predict') or @class='output'][not(ancestor::aside)]")
    ]
    asked = [at for at, (_, part) in enumerate(shown) if part.get("class") == "predict"]
    for at in asked:
        (here, question), (there, answer) = shown[at : at + 2]
        assert answer.get("class") == "output", question.text_content()
        assert there > here or (there == here and answer.xpath("ancestor::div[contains(@class, 'fragment')]"))


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_notes_have_the_whole_text_of_what_is_shown(name: str) -> None:
    for slide in list_slides(name)[:-1]:
        notes = squeeze("".join(aside.text_content() for aside in slide.iter("aside")))
        for paragraph in slide.xpath(".//div[contains(@class, 'text')][not(ancestor::aside)]//p"):
            if paragraph.get("class") != "kicker":
                assert squeeze(paragraph.text_content())[-15:] in notes


def test_there_is_something_to_test() -> None:
    """Questions, figures, formulas and solutions are found where the tests above look for them."""
    for path, least in (("//*[@class='predict']", 40), ("//section//img", 20), ("//math", 500)):
        assert sum(len(read_deck(name).xpath(path)) for name in CHAPTERS) > least
    assert any(is_aside(cell) for name in CHAPTERS for cell in read_cells(name))


def test_all_that_is_linked_or_loaded_is_in_the_folder() -> None:
    pages = [FOLDER / f"{name}.html" for name in (*CHAPTERS, "index")]
    for page in pages:
        tree = html.fromstring(page.read_bytes())
        loaded = tree.xpath("//@src | //link/@href")
        assert all(link.startswith("data:") or (FOLDER / link).is_file() for link in loaded)
        inner = [link for link in tree.xpath("//a/@href") if not link.startswith("https://")]
        assert all((FOLDER / re.split(r"[?#]", link)[0]).is_file() for link in inner)
    for sheet in FOLDER.rglob("*.css"):
        for target in re.findall(r"url\([\"']?([^\"')]+)", sheet.read_text("utf-8")):
            assert target.startswith("data:") or (sheet.parent / target).is_file(), (sheet, target)


def test_the_index_leads_to_each_deck_in_the_order_of_the_book() -> None:
    links = read_deck("index").xpath("//li/a[1]/@href")
    assert links == [f"{name}.html" for name in CHAPTERS]
    counts = [int(note.split()[0]) for note in read_deck("index").xpath("//li//small/text()[1]")]
    assert counts == [len(list_slides(name)) for name in CHAPTERS]


def test_the_licences_are_kept() -> None:
    assert "Hakim El Hattab" in (FOLDER / "reveal/LICENSE").read_text("utf-8")
    assert len(list((FOLDER / "fonts").glob("*.txt"))) == 4
