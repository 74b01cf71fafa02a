"""The names of the package: few, each used in the book, each explained in plain words that name its chapter."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import d2lmini as d2l

PACKAGE, TEXTS = Path(d2l.__file__).parent, Path(__file__).parents[2] / "book"
MODULES = sorted(PACKAGE.rglob("*.py"))
NAMES = sorted(name for name, thing in vars(d2l).items() if not name.startswith("_") and not inspect.ismodule(thing))
BOOK = {path.name: path.read_text("utf-8") for path in sorted(TEXTS.glob("*.md"))}
TITLES = [re.search("^# (.*)", text, re.MULTILINE)[1] for text in BOOK.values() if "\nkernelspec:" in text]  # type: ignore[index]
# What Sphinx would render and help() does not: roles, directives, double backticks, LaTeX.
MARKUP = re.compile(r":[a-z]+:`|\.\. [a-z]+::|``|\\[a-zA-Z]{2,}")


def docstrings(module: Path) -> dict[str, str]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    nodes = [node for node in ast.walk(ast.parse(module.read_text("utf-8"))) if isinstance(node, kinds)]
    return {getattr(node, "name", "the module"): ast.get_docstring(node) or "" for node in nodes}


def test_the_face_has_few_names() -> None:
    assert 20 < len(NAMES) <= 65, NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_name_is_used_in_the_book(name: str) -> None:
    pages = [page for page, text in BOOK.items() if re.search(rf"\bd2l\.{name}\b", text)]
    assert pages, f"no chapter and no page uses d2l.{name}: it need not be on the face of the package"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "check"])
def test_each_docstring_names_its_chapter(name: str) -> None:
    found = re.search(r"^Chapter: (.+)\.$", inspect.getdoc(getattr(d2l, name)) or "", re.MULTILINE)
    assert found, f"the docstring of {name} lacks a line 'Chapter: ...'"
    assert any(title.startswith(found[1]) for title in TITLES), f"{name}: no chapter begins with {found[1]!r}: {TITLES}"


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_docstrings_read_well_in_help(module: Path) -> None:
    for name, text in docstrings(module).items():
        assert not MARKUP.search(text), f"{name}: {MARKUP.search(text)[0]!r} would be read as it stands"  # type: ignore[index]


def test_no_test_imports_another_test() -> None:
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        found = re.search(r"^\s*(from|import) tests\.[\w.]*\btest_\w+", path.read_text("utf-8"), re.MULTILINE)
        assert not found, f"{path.name}: {found[0]}"  # type: ignore[index]
