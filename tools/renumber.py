"""Give the chapters the numbers that `_toc.yml` says: `python -m tools.renumber`, then `make notebooks`.

Exercises, formulas and links carry the number of their chapter in the texts, in the hints of the checkers and in tests.
A chapter that was moved in the table of contents takes them along.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from pathlib import Path

from book_site.phrases import EXERCISE

from tools import ROOT
from tools.notebooks import TEXTS, list_chapters

EXERCISES = re.compile(r"[Ee]xercises? \d+\.\d+(?:(?:,| to| and) \d+\.\d+)*")
TAG = re.compile(r"\\tag\{(\d+)\.")
FORMULA = re.compile(r"\((\d+)\.(\d+)\)")
CHAPTERS = re.compile(r"\b[Cc]hapters? \d+(?:(?:,| to| and) \d+)*\b(?!\.\d)")
LINK = re.compile(r"\[(\d+)\](?=\(\.\./notebooks/)")
NUMBER = re.compile(r"\d+(?=\.)")
READ = ("book/*.md", "d2lmini/**/*.py", "d2lmini_exercises/**/*.py", "tests/exercises/**/*.py", "tests/chapters/*.toml")


def read_number(text: str) -> str | None:
    """The number that a chapter's text has now."""
    found = re.search(rf"^### {EXERCISE} (\d+)\.1\b", text, re.MULTILINE) or TAG.search(text)
    return found[1] if found else None


def renumber(text: str, numbers: Mapping[str, str], formulas: Set[str]) -> str:
    """A text with other numbers of chapters; `(1.5)` is a formula only where it is one of `formulas`."""

    def get(number: str) -> str:
        return numbers.get(number, number)

    text = EXERCISES.sub(lambda found: NUMBER.sub(lambda number: get(number[0]), found[0]), text)
    text = TAG.sub(lambda found: f"\\tag{{{get(found[1])}.", text)
    text = FORMULA.sub(
        lambda found: f"({get(found[1])}.{found[2]})" if f"{found[1]}.{found[2]}" in formulas else found[0], text
    )
    text = LINK.sub(lambda found: f"[{get(found[1])}]", text)
    return CHAPTERS.sub(lambda found: re.sub(r"\d+", lambda number: get(number[0]), found[0]), text)


def main() -> None:
    """Change the numbers of all chapters at once, wherever they are written."""
    texts = {name: path.read_text("utf-8") for name in list_chapters() if (path := TEXTS / f"{name}.md").exists()}
    numbers = {old: str(new) for new, text in enumerate(texts.values(), start=1) if (old := read_number(text))}
    formulas = {tag for text in texts.values() for tag in re.findall(r"\\tag\{([\d.]+)\}", text)}
    moved = {old: new for old, new in numbers.items() if old != new}
    changed: list[Path] = []
    for path in sorted(path for pattern in READ for path in ROOT.glob(pattern)) if moved else ():
        before = path.read_text("utf-8")
        after = renumber(before, moved, formulas)
        if after != before:
            path.write_text(after, "utf-8")
            changed.append(path)
    for old, new in moved.items():
        print(f"chapter {old} is chapter {new}")
    print(f"{len(changed)} files changed" + ("; now: make notebooks" if changed else ""))


if __name__ == "__main__":
    main()
