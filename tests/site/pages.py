"""The pages of the built site, and which of them are tested: `PAGES="book/intro.html" pytest tests/site`."""

from __future__ import annotations

import functools
import os

import yaml
from bs4 import BeautifulSoup

from tools.notebooks import NOTEBOOKS, ROOT, TEXTS, is_chapter

SITE = ROOT / "_build/html"
ALL_CHAPTERS = sorted(f"notebooks/{path.stem}.html" for path in NOTEBOOKS.glob("*.ipynb"))
ALL_PAGES = sorted(f"book/{path.stem}.html" for path in TEXTS.glob("*.md") if not is_chapter(path)) + ALL_CHAPTERS


def choose_pages(names: str | None) -> list[str]:
    """The named pages in the order of the site; all of them without a list of names."""
    if names is None:
        return ALL_PAGES
    chosen = names.split()
    if unknown := sorted(set(chosen) - set(ALL_PAGES)):
        raise ValueError(f"PAGES names {' '.join(unknown)}; the site has {' '.join(ALL_PAGES)}")
    return [page for page in ALL_PAGES if page in chosen]


PAGES = choose_pages(os.environ.get("PAGES"))
CHAPTERS = [page for page in PAGES if page in ALL_CHAPTERS]
SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["sphinx"]["config"]
COMPLETE = {f"notebooks/{chapter}.html" for chapter in SETTINGS["complete_chapters"]}


@functools.cache
def soup(page: str) -> BeautifulSoup:
    return BeautifulSoup((SITE / page).read_text("utf-8"), "html.parser")


@functools.cache
def ids(page: str) -> set[str]:
    return {str(tag["id"]) for tag in soup(page).find_all(id=True)}
