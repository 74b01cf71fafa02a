"""What make counts on: a changed checker concerns its own chapter only, so that the others need not be run again."""

import re
from pathlib import Path

import pytest

from tools import ROOT
from tools.notebooks.files import TEXTS, is_chapter

pytestmark = pytest.mark.recipe("An exercise")

EXERCISES = ROOT / "d2lmini_exercises"
CHAPTERS = {path.stem: path.read_text("utf-8") for path in TEXTS.glob("*.md") if is_chapter(path)}
SOURCES = {path: path.read_text("utf-8") for path in sorted(EXERCISES.rglob("*.py"))}


def find_owner(path: Path) -> str | None:
    """The chapter whose checkers a module holds: `my_chapter.py`, or a folder of that name."""
    name = path.relative_to(EXERCISES).parts[0].removesuffix(".py").replace("_", "-")
    return name if name in CHAPTERS else None


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_calls_no_checker_of_another(chapter: str) -> None:
    called = set(re.findall(r'd2l\.check\("([^"]+)"', CHAPTERS[chapter]))
    for path, source in SOURCES.items():
        foreign = called & set(re.findall(r'\b(?:checker|exercise|prediction|judge)\(\s*"([^"]+)"', source))
        assert not foreign or find_owner(path) == chapter, (
            f"book/{chapter}.md: {sorted(foreign)} is checked in {path.relative_to(ROOT)}, "
            "which make does not run it again for"
        )


def test_checkers_of_a_chapter_are_imported_by_no_other_module() -> None:
    for path, source in SOURCES.items():
        for module in re.findall(r"(?:from|import) d2lmini_exercises\.(\w+)", source):
            owner = find_owner(EXERCISES / module)
            assert owner in (None, find_owner(path)), (
                f"{path.relative_to(ROOT)} imports the checkers of {owner}: what both need is a module of its own"
            )
