"""What make counts on: a changed checker concerns its own chapter only, so that the others need not be run again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools import ROOT
from tools.notebooks import TEXTS, is_chapter

EXERCISES = ROOT / "d2lmini" / "exercises"
CHAPTERS = {path.stem: path.read_text("utf-8") for path in TEXTS.glob("*.md") if is_chapter(path)}
MODULES = sorted((ROOT / "d2lmini").rglob("*.py"))


def find_owner(path: Path) -> str | None:
    """The chapter whose checkers a module holds: `exercises/my_chapter.py`, or a folder of that name."""
    if not path.is_relative_to(EXERCISES):
        return None
    name = path.relative_to(EXERCISES).parts[0].removesuffix(".py").replace("_", "-")
    return name if name in CHAPTERS else None


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_calls_no_checker_of_another(chapter: str) -> None:
    called = set(re.findall(r'd2l\.check\("([^"]+)"', CHAPTERS[chapter]))
    for path in MODULES:
        foreign = called & set(
            re.findall(r'^(?:@checker|prediction)\(\s*"([^"]+)"', path.read_text("utf-8"), re.MULTILINE)
        )
        assert not foreign or find_owner(path) in (None, chapter), (
            f"{chapter}: {sorted(foreign)} is checked in {path.relative_to(ROOT)}, which make does not run it again for"
        )


def test_checkers_of_a_chapter_are_imported_by_no_other_module() -> None:
    for path in MODULES:
        for name in re.findall(r"d2lmini\.exercises(?:\.| import )(\w+)", path.read_text("utf-8")):
            owner = find_owner(EXERCISES / name)
            assert owner in (None, find_owner(path)) or path == EXERCISES / "__init__.py", (
                f"{path.relative_to(ROOT)} imports the checkers of {owner}: what both need is a module of its own"
            )
