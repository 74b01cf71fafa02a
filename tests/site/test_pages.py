"""The built pages as files: nothing is missing, nothing points nowhere, nothing comes from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from bs4 import BeautifulSoup

from book._ext.book_site.figures import DARK
from tests.colours import contrast
from tests.site.pages import CHAPTERS, COMPLETE, PAGES, SITE, ids, soup
from tools.notebooks import NOTEBOOKS, ROOT

STYLE = (ROOT / "d2lmini/figures/style.mplstyle").read_text("utf-8")


MACHINERY = re.compile(r"# NBVAL_IGNORE_OUTPUT\n|# @title Solution\n|@title ")


def squeeze(text: str) -> str:
    return " ".join(text.split())


def test_each_source_has_its_page_and_there_is_no_other() -> None:
    built = {str(path.relative_to(SITE)) for folder in ("book", "notebooks") for path in (SITE / folder).glob("*.html")}
    assert built == set(PAGES)
    assert "book/intro.html" in (SITE / "index.html").read_text("utf-8")


def find_dead_ends(page: str) -> list[str]:
    """What points nowhere, or is loaded from elsewhere."""
    faults = []
    for tag in soup(page).select("[href], [src]"):
        for attribute in ("href", "src"):
            target = urlsplit(tag.get(attribute, ""))
            path = (SITE / page).parent / unquote(target.path) if target.path else SITE / page
            if target.scheme in ("http", "https"):
                fine = tag.name == "a"
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
    exercises = [h.get_text() for h in parsed.find_all("h3") if h.get_text().startswith("Exercise")]
    solutions = parsed.select("details.solution")
    assert len(exercises) == len(solutions), f"{page}: {len(exercises)} exercises, {len(solutions)} solutions"
    assert len(exercises) >= 5 or page not in COMPLETE, (
        f"book/{Path(page).stem}.md: {len(exercises)} exercises; _config.yml, complete_chapters, asks for at least 5"
    )
    for exercise, solution in zip(exercises, solutions, strict=True):
        number = re.match(r"Exercise [\d.]+", exercise)
        assert number and solution.summary.get_text() == f"Show the solution of {number[0]}"
        assert solution.select(".cell") and "✓" in solution.get_text()
    assert not [h for h in parsed.find_all(["h3", "h4"]) if h.get_text().startswith("Solution")], "said twice"


@pytest.mark.recipe("A chapter")
@pytest.mark.parametrize("page", CHAPTERS)
def test_a_chapter_leads_to_the_glossary_and_to_its_notebook(page: str) -> None:
    links = {link["href"] for link in soup(page).find_all("a", href=True)}
    assert soup(page).find("article").find("a", href="../book/glossary.html"), f"{page}: none beside the sidebar's"
    source = f"../_sources/{page.removesuffix('.html')}.ipynb"
    assert source in links
    committed = (NOTEBOOKS / f"{Path(page).stem}.ipynb").read_bytes()
    assert ((SITE / page).parent / source).read_bytes() == committed


def test_each_page_has_a_description_of_its_own() -> None:
    described = [soup(page).find("meta", attrs={"name": "description"})["content"] for page in PAGES]
    assert all(len(text) > 30 for text in described) and len(set(described)) == len(PAGES)


@pytest.mark.recipe("A chapter")
def test_the_title_page_has_a_card_for_each_chapter_in_order_with_picture_question_and_time() -> None:
    cards = soup("book/intro.html").select(".chapter-cards li")
    listed = [link["href"] for link in soup("book/intro.html").select("nav.bd-links a[href*='notebooks/']")]
    assert [card.a["href"] for card in cards] == listed and len(cards) == len(CHAPTERS)
    for card in cards:
        chapter = soup(f"notebooks/{Path(card.a['href']).name}")
        title = squeeze(chapter.h1.get_text()).removesuffix("#")
        named, question, time = (squeeze(part.get_text()) for part in card.find_all("p"))
        assert title.replace(":", "") == named
        assert "?" in question, f"book/{Path(card.a['href']).stem}.md: its first sentences ask no question: {question}"
        assert re.fullmatch(r"Runs in about [\w-]+ (seconds|minutes).*\.", time), (
            f"book/{Path(card.a['href']).stem}.md: write **Running time**: about ten seconds on one core. Found: {time}"
        )
        said = squeeze(chapter.find("article").get_text())
        assert time.removeprefix("Runs in ") in said
        pictured = f"notebooks/{Path(card.a['href']).name}" in COMPLETE
        assert card.img["src"].endswith(".svg") if card.img else not pictured, f"{card.a['href']}: no figure"


def test_the_report_names_notebooks_times_and_versions() -> None:
    rows = [row.find_all("td") for row in soup("book/about.html").find_all("tr")]
    *tested, total = [row for row in rows if len(row) == 5]
    assert sorted(f"notebooks/{Path(row[0].a['href']).name}" for row in tested) == CHAPTERS
    for row in tested:
        assert int(row[1].get_text()) > 0 and re.fullmatch(r"\d+\.\d", row[4].get_text()), row
    counts = [[int(cell.get_text()) for cell in row[1:4]] for row in tested]
    sums = [int(cell.get_text()) for cell in total[1:4]]
    assert sums == [sum(column) for column in zip(*counts, strict=True)]
    marked = sum(path.read_text("utf-8").count('"# NBVAL_IGNORE_OUTPUT') for path in NOTEBOOKS.glob("*.ipynb"))
    assert sums[1] + sums[2] == marked > 0, "the cells that are not compared"
    versions = dict([cell.get_text() for cell in row] for row in rows if len(row) == 2)
    pinned = re.findall(
        r"^([\w-]+)==(\S+)", (ROOT / "requirements.txt").read_text("utf-8").split("# What these")[0], re.M
    )
    assert f'__version__ = "{versions["this book, and d2lmini"]}"' in (ROOT / "d2lmini/__init__.py").read_text("utf-8")
    assert len(pinned) > 10 and all(versions[name].split("+")[0] == version for name, version in pinned)


def test_no_markup_leaks_into_a_page() -> None:
    leak = re.compile(r".{,40}(?:\{[a-z]+\}`|:::|`|\*\*|\]\(|\{[.#]|<details|\$\$).{,40}")
    for page in PAGES:
        strings = soup(page).find("article").strings
        text = "".join(string for string in strings if not string.find_parent(["pre", "code"]))
        assert leak.findall(text) == [], page


def test_no_button_leads_to_a_repository_that_is_not_set() -> None:
    config = (ROOT / "_config.yml").read_text("utf-8")
    if "/OWNER/" in config:
        assert not [page for page in PAGES if soup(page).find(href=re.compile("OWNER"))]
    else:
        assert all(soup(page).find(href=re.compile("colab.research.google.com")) for page in CHAPTERS)


def test_each_colour_of_a_figure_has_its_partner_for_dark_pages() -> None:
    colours = {f"#{colour}" for colour in re.findall(r"\b[0-9a-f]{6}\b", STYLE)}
    assert colours == set(DARK)


def test_page_and_figures_share_one_palette() -> None:
    css = (ROOT / "book/_static/book.css").read_text("utf-8")
    surfaces = {"#f5f6f8", "#1b1e24"}
    values = " ".join(re.findall(r"(?:color|background|border|outline)[\w-]*: ([^;}]+)", css))
    colours = set(re.findall(r"#?\b[a-zA-Z]\w*|#\w+", re.sub(r"var\([^)]*\)", "", values)))
    assert colours - {"important", "solid", "transparent"} <= set(DARK) | set(DARK.values()) | surfaces


def test_colours_of_figures_can_be_read_in_the_dark() -> None:
    ground = DARK["#ffffff"]
    for light in [*re.findall(r'"([0-9a-f]{6})"', STYLE), "1f2328", "59636e"]:
        assert contrast(DARK[f"#{light}"], ground) >= 4.5
        assert contrast(light, "ffffff") >= 4.5


def test_each_figure_brings_its_colours_for_dark_pages() -> None:
    figures = {path.name: path.read_text("utf-8") for path in (SITE / "_images").glob("*.svg")}
    assert len(figures) > 20
    for name, text in figures.items():
        assert text.count("prefers-color-scheme: dark") == 1, name
        assert "fill: #ffffff" in text, f"{name} has no opaque ground"
        assert "fill: #000000" not in text.partition("</style>")[2], name


def test_the_table_of_mistakes_counts_the_hints_of_the_checkers() -> None:
    section = soup("book/teaching.html").find(id="what-students-get-wrong")
    total = re.search(r"The checkers have (\d+) hints", section.get_text())
    rows = [[cell.get_text() for cell in row.find_all("td")] for row in section.select("tbody tr")]
    counts = [int(row[1]) for row in rows]
    assert (
        total
        and len(rows) >= 6
        and counts == sorted(counts, reverse=True)
        and 0 < counts[-1] < counts[0] < int(total[1])
    )
    assert all(1 <= int(row[2]) <= len(CHAPTERS) for row in rows)
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "d2lmini_exercises").rglob("*.py"))
    assert int(total[1]) > sources.count("hint=") > 100
