"""What make counts on: a changed checker concerns its own chapter only, so that the others need not be run again."""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
from pathlib import Path

import pytest

from tools import ROOT
from tools.notebooks import TEXTS, is_chapter

pytestmark = pytest.mark.recipe("An exercise")

EXERCISES = ROOT / "d2lmini" / "exercises"
CHAPTERS = {path.stem: path.read_text("utf-8") for path in TEXTS.glob("*.md") if is_chapter(path)}
MODULES = sorted((ROOT / "d2lmini").rglob("*.py"))
REGISTER = ("checker", "prediction")


def find_owner(path: Path) -> str | None:
    """The chapter whose checkers a module holds: `exercises/my_chapter.py`, or a folder of that name."""
    if EXERCISES not in path.parents:
        return None
    name = path.relative_to(EXERCISES).parts[0].removesuffix(".py").replace("_", "-")
    return name if name in CHAPTERS else None


@functools.cache
def list_checked(path: Path) -> set[str]:
    """The names that a module gives to `checker` or `prediction`, wherever it calls them."""
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    named = (call for call in calls if ast.unparse(call.func).rpartition(".")[2] in REGISTER)
    values = (
        value for call in named for value in [*call.args[:1], *(k.value for k in call.keywords if k.arg == "name")]
    )
    return {value.value for value in values if isinstance(value, ast.Constant)}


def list_imported(path: Path) -> set[str]:
    """The full names of what a module imports; of `from a import b` both `a` and `a.b`."""
    here = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    package = here.removesuffix(".__init__") if here.endswith(".__init__") else here.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            source = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            found |= {source, *(f"{source}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_calls_no_checker_of_another(chapter: str) -> None:
    called = set(re.findall(r'd2l\.check\("([^"]+)"', CHAPTERS[chapter]))
    for path in MODULES:
        foreign = called & list_checked(path)
        assert not foreign or find_owner(path) in (None, chapter), (
            f"book/{chapter}.md: {sorted(foreign)} is checked in {path.relative_to(ROOT)}, "
            "which make does not run it again for"
        )


def test_checkers_of_a_chapter_are_imported_by_no_other_module() -> None:
    for path in MODULES:
        for name in list_imported(path):
            owner = find_owner(ROOT.joinpath(*name.split(".")))
            assert owner in (None, find_owner(path)), (
                f"{path.relative_to(ROOT)} imports the checkers of {owner}: what both need is a module of its own"
            )
