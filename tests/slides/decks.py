"""The decks that `make slides` has made before these tests run."""

import functools
from typing import Any

from lxml import html

from tools.notebooks.files import list_chapters
from tools.teaching.slides import FOLDER

CHAPTERS = list_chapters()


@functools.cache
def read_deck(name: str) -> Any:
    return html.fromstring((FOLDER / f"{name}.html").read_bytes())


def list_slides(name: str) -> list[Any]:
    return list(read_deck(name).xpath("//section"))
