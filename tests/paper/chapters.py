"""What the book has, read from its texts: chapters, exercises, formulas."""

import re

from book_site.phrases import EXERCISE, SOLUTION

from tools import ROOT
from tools.notebooks import list_chapters

# Commands of TeX, of a formula that was not set, and words for a tool.
RAW = re.compile(r"\\(?:frac|mathrm|sqrt|begin|end|tag|sum|top|alpha|beta|left|text)\b|NBVAL|@title|Installs d2lmini")
CHINESE = ("我", "喜欢", "吃", "苹果")


def read_text(name: str) -> str:
    return (ROOT / f"book/{name}.md").read_text("utf-8")


def read_title(name: str) -> str:
    found = re.search(r"^# (.+)$", read_text(name), re.MULTILINE)
    assert found
    return found[1].replace("'", "’")


def list_exercises() -> list[str]:
    """The exercises with a solution, as they are called."""
    exercise = re.compile(rf"^### ({EXERCISE} .+?)$(?:(?!^### ).)*?^#### {SOLUTION}$", re.MULTILINE | re.DOTALL)
    return [title for name in list_chapters() for title in exercise.findall(read_text(name))]
