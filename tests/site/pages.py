"""The pages of the built site."""

import functools

import pytest
import yaml
from bs4 import BeautifulSoup

from tools.notebooks.files import NOTEBOOKS, ROOT, TEXTS, is_notebook, list_pages

SITE = ROOT / "_build/html"
FILES = SITE.as_uri() + "/"
CHAPTERS = sorted(f"notebooks/{path.stem}.html" for path in NOTEBOOKS.glob("*.ipynb"))
HOME = "index.html"  # of book/intro.md
PAGES = sorted(
    HOME if path.stem == "intro" else f"book/{path.stem}.html" for path in TEXTS.glob("*.md") if not is_notebook(path)
)
RUN = [*CHAPTERS, *sorted(f"pages/{page}.html" for page in list_pages())]  # what is made from a notebook
PAGES += RUN
WRITTEN = [*PAGES, "search.html", "404.html"]
# A title page, a chapter and a long page of prose: where by day one kind of page stands for all.
KINDS = [HOME, CHAPTERS[0], "pages/coming-from.html"]
BY_DAY = [page if page in KINDS else pytest.param(page, marks=pytest.mark.thorough) for page in PAGES]
each_kind_by_day = pytest.mark.parametrize("page", BY_DAY)
SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["sphinx"]["config"]
MOVED = {f"{old.removesuffix('.html')}.html": new for old, new in SETTINGS["redirects"].items()}
COMPLETE = {f"notebooks/{chapter}.html" for chapter in SETTINGS["complete_chapters"]}


@functools.cache
def soup(page: str) -> BeautifulSoup:
    return BeautifulSoup((SITE / page).read_text("utf-8"), "html.parser")


@functools.cache
def ids(page: str) -> set[str]:
    return {str(tag["id"]) for tag in soup(page).find_all(id=True)}
