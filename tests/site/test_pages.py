"""The built pages as files: nothing is missing, nothing points nowhere, nothing comes from elsewhere."""

import re
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import nbformat
import pytest
from book_site.phrases import DOUBTS, EXERCISE, SHOW_SOLUTION, SOLUTION
from bs4 import BeautifulSoup
from PIL import Image

from tests.colours import contrast
from tests.site.pages import CHAPTERS, COMPLETE, MOVED, PAGES, RUN, SITE, ids, soup
from tools.notebooks.files import NOTEBOOKS, ROOT, TEXTS

STYLE, RULES = ((ROOT / f"d2lmini/figures/{name}").read_text("utf-8") for name in ("style.mplstyle", "dark.css"))
DARK = dict(re.findall(r"fill: (#\w+)\".*? fill: (#\w+)", RULES))
MACHINERY = re.compile(rf"# NBVAL_[A-Z_]+\n|# @title {SOLUTION}\n|@title ")


def squeeze(text: str) -> str:
    return " ".join(text.split())


def test_each_source_has_its_page_and_there_is_no_other() -> None:
    folders = ("book", "notebooks", "pages")
    built = {str(path.relative_to(SITE)) for folder in folders for path in (SITE / folder).glob("*.html")}
    assert built == {*PAGES, *MOVED} - {"index.html"}


def find_dead_ends(page: str) -> list[str]:
    """What points nowhere, or is loaded from elsewhere."""
    faults = []
    for tag in soup(page).select("[href], [src]"):
        for attribute in ("href", "src"):
            target = urlsplit(tag.get(attribute, ""))
            path = (SITE / page).parent / unquote(target.path) if target.path else SITE / page
            if target.scheme in ("http", "https"):
                fine = tag.name == "a" or tag.get("rel") == ["canonical"]
            elif target.scheme:
                fine = target.scheme == "data"
            else:
                fine = path.exists()
                if fine and target.fragment and path.suffix == ".html":
                    fine = unquote(target.fragment) in ids(path.resolve().relative_to(SITE).as_posix())
            faults += [f"{page}: {tag}"] * (not fine)
    return faults


def test_no_link_image_or_script_points_nowhere_or_elsewhere() -> None:
    assert [fault for page in PAGES for fault in find_dead_ends(page)] == []


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_page_shows_what_the_notebook_holds(page: str) -> None:
    parsed = soup(page)
    article = squeeze(parsed.find("article").get_text())
    notebook = nbformat.read(NOTEBOOKS / f"{Path(page).stem}.ipynb", as_version=4)
    figures = 0
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert squeeze(MACHINERY.sub("", cell.source)) in article
            for output in cell.outputs:
                assert squeeze(output.get("text", "")) in article
                table = BeautifulSoup(output.get("data", {}).get("text/html", ""), "html.parser").find("table")
                assert table is None or squeeze(table.get_text()) in article
                figures += any(mime.startswith("image/") for mime in output.get("data", {}))
    shown = parsed.select(".cell_output img")
    assert len(shown) == figures
    assert all(image["src"].endswith(".svg") and len(image["alt"].split()) >= 5 for image in shown)


@pytest.mark.recipe("An exercise")
@pytest.mark.parametrize("page", CHAPTERS)
def test_each_solution_is_folded_and_named(page: str) -> None:
    parsed = soup(page)
    exercises = [h.get_text() for h in parsed.find_all("h3") if h.get_text().startswith(EXERCISE)]
    solutions = parsed.select("details.solution")
    assert len(exercises) == len(solutions), f"{page}: {len(exercises)} exercises, {len(solutions)} solutions"
    assert len(exercises) >= 3 or page not in COMPLETE, (
        f"book/{Path(page).stem}.md: {len(exercises)} exercises; _config.yml, complete_chapters, asks for at least 3"
    )
    for exercise, solution in zip(exercises, solutions, strict=True):
        number = re.match(rf"{EXERCISE} [\d.]+", exercise)
        assert number and solution.summary.get_text() == SHOW_SOLUTION.format(number[0])
        assert solution.select(".cell") and "✓" in solution.get_text()
    doubts = [fold.summary.get_text() for fold in parsed.select("details.check")]
    text = (TEXTS / f"{Path(page).stem}.md").read_text("utf-8")
    assert doubts == re.findall(rf"^#### ({re.escape(DOUBTS)})$", text, re.M)


@pytest.mark.recipe("A chapter")
@pytest.mark.parametrize("page", CHAPTERS)
def test_a_chapter_leads_to_the_glossary(page: str) -> None:
    assert soup(page).find("article").find("a", href="../book/glossary.html"), f"{page}: none beside the sidebar's"


def test_each_page_has_a_description_of_its_own_that_ends_with_its_first_paragraph() -> None:
    described = [soup(page).find("meta", attrs={"name": "description"})["content"] for page in PAGES]
    firsts = [soup(page).select_one(".bd-article > section p") for page in PAGES]
    for told, first in zip(described, firsts, strict=True):
        assert first.find("math") or told == squeeze(first.get_text())  # a formula is an ellipsis
        assert not re.search(r"[\\{}]", told)
    assert all(len(text) > 30 for text in described) and len(set(described)) == len(PAGES)


def test_a_link_to_a_page_shows_its_first_figure_or_the_cover() -> None:
    for page in PAGES:
        said = {tag["property"]: tag["content"] for tag in soup(page).select("meta[property^='og:image']")}
        figure = soup(page).select_one(".cell_output img") if page in RUN else None
        name = f"previews/{Path(page).stem}" if figure else "cover"
        assert said["og:image"].endswith(f"_static/{name}.png")
        assert said["og:image:alt"] == (figure["alt"] if figure else "Attention, Measured"), page
        with Image.open(SITE / f"_static/{name}.png") as picture:
            assert picture.size == (600, 315) and len(picture.convert("L").getcolors() or ()) > 9, page


@pytest.mark.recipe("A chapter")
def test_the_title_page_has_a_card_for_each_chapter_in_order_with_picture_question_and_time() -> None:
    cards = soup("index.html").select(".chapter-cards li")
    listed = [link["href"] for link in soup("index.html").select("nav.bd-links a[href*='notebooks/']")]
    assert [card.a["href"] for card in cards] == listed and len(cards) == len(CHAPTERS)
    for number, card in enumerate(cards, start=1):
        page = f"notebooks/{Path(card.a['href']).name}"
        name, said = f"book/{Path(page).stem}.md", squeeze(soup(page).find("article").get_text())
        named, question, time = (squeeze(part.get_text()) for part in card.find_all("p"))
        assert f"{number} · {named.partition('?')[0].split(' ')[0]}" in said
        assert "?" in question, f"{name}: its first sentences ask no question: {question}"
        found = re.fullmatch(r"Runs in about [\w-]+ (seconds|minutes).*\.", time)
        assert found, f"{name}: write **Running time**: about ten seconds on one core. Found: {time}"
        assert card.find(["img", "svg"]) or page not in COMPLETE, f"{name}: no picture"


def test_the_report_tells_what_came_out_and_names_notebooks_and_versions() -> None:
    place = soup("pages/same-numbers.html").find(id="what-came-out-here")
    said = squeeze(place.get_text())
    ran = r"(\d+) cells of (\d+) notebooks were run again in \d+ seconds of computing, and compared: none"
    outcome = re.search(ran, said)
    assert re.search(r"Edition [\d.]+, \w+ \d{4} · [\d,]+ outputs .* none differs", soup("index.html").get_text())
    assert outcome and int(outcome[2]) == len(RUN) and int(outcome[1]) > 20 * len(CHAPTERS)
    assert not [page for page in RUN if soup(page).select(".differs")]
    rows = [row.find_all("td") for row in place.find_all("tr")]
    *tested, _ = [row for row in rows if len(row) == 3]
    assert sorted(urljoin("pages/same-numbers.html", row[0].a["href"]) for row in tested) == RUN
    text = (ROOT / "requirements.txt").read_text("utf-8").split("# What these")[0]
    pinned = re.findall(r"^([\w-]+)==(\S+)", text, re.M)
    versions = dict([cell.get_text() for cell in row] for row in rows if len(row) == 2)
    assert f'__version__ = "{versions["this book, and d2lmini"]}"' in (ROOT / "d2lmini/__init__.py").read_text("utf-8")
    assert len(pinned) > 10 and all(versions[name].split("+")[0] == version for name, version in pinned)


def test_no_markup_leaks_into_a_page() -> None:
    leak = re.compile(r".{,40}(?:\{[a-z]+\}`|:::|`|\*\*|\]\(|\{[.#]|<details|\$\$).{,40}")
    tool = re.compile(r"# NBVAL_\w+|# @title|OWNER|Name the repository")
    for page in PAGES:
        strings = soup(page).find("article").strings
        text = "".join(string for string in strings if not string.find_parent(["pre", "code"]))
        assert leak.findall(text) == [], page
        assert page not in CHAPTERS or tool.findall(soup(page).find("main").get_text()) == [], page


def test_each_chinese_character_of_a_page_is_marked() -> None:
    for page in PAGES:
        strings = soup(page).body.find_all(string=re.compile("[\u4e00-\u9fff]"))
        bare = [s for s in strings if not s.find_parent(["script", "style"]) and not s.find_parent(lang="zh-Hans")]
        assert bare == [], page
        marked = {span.get_text() for span in soup(page).body.find_all(lang=True) if span.parent.name != "nav"}
        assert all(re.fullmatch("[\u4e00-\u9fff 、，]+|[a-zāēīōūáéíóúǎěǐǒǔàèìòùü]+", text) for text in marked), page


def test_a_page_names_itself_and_no_text_moves_while_pictures_come() -> None:
    for page in PAGES:
        head, *scripts = soup(page).head, *soup(page).select("script[src*='design-tabs']")
        assert head.find("meta", attrs={"name": "viewport"}) and soup(page).h1.get_text()[:9] in head.title.get_text()
        assert head.find("link", rel="icon")["href"].partition("?")[0].endswith("_static/favicon.svg"), page
        assert bool(scripts) == bool(soup(page).select(".sd-tab-set")), f"{page}: the script of tabs, where tabs are"
        pictures = soup(page).select(".bd-article img")
        assert all(image.get("width") and image.get("height") for image in pictures), page


def test_no_button_leads_to_a_repository_that_is_not_set() -> None:
    config = (ROOT / "_config.yml").read_text("utf-8")
    if "/OWNER/" in config:
        assert not [page for page in PAGES if soup(page).find(href=re.compile("OWNER"))]
    else:
        assert all(soup(page).find(href=re.compile("colab.research.google.com")) for page in CHAPTERS)


def test_each_colour_of_a_figure_has_a_partner_for_dark_pages_and_both_can_be_read() -> None:
    assert {f"#{colour}" for colour in re.findall(r"\b[0-9a-f]{6}\b", STYLE)} == set(DARK)
    strokes = dict(re.findall(r"stroke: (#\w+)\"\] { stroke: (#\w+)", RULES))
    assert strokes == {light: dark for light, dark in DARK.items() if light != "#ffffff"}
    for light in [*re.findall(r'"([0-9a-f]{6})"', STYLE), "1f2328", "59636e"]:
        assert contrast(DARK[f"#{light}"], DARK["#ffffff"]) >= 4.5 and contrast(light, "ffffff") >= 4.5
