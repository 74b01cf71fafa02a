"""Plant a fault of each kind into each chapter, at a place drawn by chance: does its test turn red?

    python -m tests.faults.drawn complexity   # without a name: all

A planted notebook is run and compared as `make book` does it; a number in a sentence is looked up as
`tests/chapters/test_numbers.py` does it. What passes is printed, line by line.
"""

import ast
import contextlib
import copy
import os
import random
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import nbformat
from book_site.outputs import OPT_OUT

from tests.chapters.sentences import NUMBER, find_numbers, is_measured
from tools import ROOT
from tools.notebooks import NOTEBOOKS

FOLDER = ROOT / ".build/planted"
LABELS = ("xlabel", "ylabel", "title", "titles", "labels", "legend")
MASKS = ("mask", "causal", "valid_lens", "attn_mask", "is_causal", "key_padding_mask")


@dataclass(frozen=True)
class Fault:
    """One planted fault: in which cell which letters give way to which others, in its source or in its output."""

    cell: int
    start: int
    was: str
    now: str
    where: str = "source"

    def plant(self, notebook: Any) -> Any:
        """A copy of the notebook with the fault."""
        planted = copy.deepcopy(notebook)
        cell = planted.cells[self.cell]
        place = cell.outputs[0] if self.where == "text" else cell
        text = place[self.where]
        assert text[self.start :].startswith(self.was)
        place[self.where] = text[: self.start] + self.now + text[self.start + len(self.was) :]
        return planted


def walk_code(notebook: Any) -> Iterator[tuple[int, str, list[ast.AST]]]:
    """The code cells without magics: number, source, and the nodes in which a change would be a fault."""
    for i, cell in enumerate(notebook.cells):
        if cell.cell_type != "code" or re.search(r"(?m)^\s*[%!]", cell.source):
            continue
        tree = ast.parse(cell.source)
        held = {node for part in ast.walk(tree) if _is_no_place(part) for node in ast.walk(part)}
        yield i, cell.source, [node for node in ast.walk(tree) if node not in held]


def _is_no_place(node: ast.AST) -> bool:
    """An assertion is a test itself, and a seed may be any."""
    return isinstance(node, ast.Assert) or (isinstance(node, ast.Call) and "seed" in ast.unparse(node.func))


def locate(source: str, node: Any) -> tuple[int, str]:
    """Where a node begins, and how it is written. The tree counts bytes, the notebook letters."""
    written = ast.get_source_segment(source, node) or ""
    lines = source.splitlines(keepends=True)
    column = len(lines[node.lineno - 1].encode()[: node.col_offset].decode())
    return sum(map(len, lines[: node.lineno - 1])) + column, written


def change_constant(notebook: Any) -> Iterator[Fault]:
    """A number in the code is another one."""
    for i, source, nodes in walk_code(notebook):
        for node in nodes:
            value = getattr(node, "value", None)
            if isinstance(node, ast.Constant) and isinstance(value, (int, float)) and not isinstance(value, bool):
                yield Fault(i, *locate(source, node), repr(value + 1 if isinstance(value, int) else value * 1.5))


def walk_arguments(notebook: Any, names: Collection[str]) -> Iterator[tuple[int, str, ast.keyword]]:
    """The arguments of these names: cell, source, and the argument."""
    for i, source, nodes in walk_code(notebook):
        for node in nodes:
            for keyword in node.keywords if isinstance(node, ast.Call) else ():
                if keyword.arg in names:
                    yield i, source, keyword


def drop_mask(notebook: Any) -> Iterator[Fault]:
    """An argument that restricts attention is missing."""
    for i, source, keyword in walk_arguments(notebook, MASKS):
        start, written = locate(source, keyword)
        gap = re.search(r",\s*$", source[:start])
        if gap and written.partition("=")[2] not in ("None", "False"):
            yield Fault(i, gap.start(), source[gap.start() : start] + written, "")


def swap_axis(notebook: Any) -> Iterator[Fault]:
    """A sum, a mean or a softmax goes over another dimension."""
    for i, source, keyword in walk_arguments(notebook, ("dim", "axis")):
        start, written = locate(source, keyword.value)
        if re.fullmatch(r"-?\d", written):
            yield Fault(i, start, written, {"-1": "-2", "-2": "-1", "0": "-1"}.get(written, "0"))


def change_label(notebook: Any) -> Iterator[Fault]:
    """An axis, a panel or a line of a figure has another name."""
    for i, source, keyword in walk_arguments(notebook, LABELS):
        for name in ast.walk(keyword.value):
            if isinstance(name, ast.Constant) and isinstance(name.value, str) and name.value:
                start, written = locate(source, name)
                if written and written[0] in "\"'":
                    yield Fault(i, start, written, f"{written[:-1]}!{written[-1]}")


def spoil_output(notebook: Any) -> Iterator[Fault]:
    """A stored print is that of an earlier run."""
    for i, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and OPT_OUT not in cell.source and cell.outputs and "text" in cell.outputs[0]:
            for number in NUMBER.finditer(cell.outputs[0].text):
                yield Fault(i, number.start(), number[0], count_on(number[0], 2), where="text")  # 1 is allowed


def change_sentence(notebook: Any) -> Iterator[Fault]:
    """A sentence tells another number."""
    for told in find_numbers(notebook):
        yield Fault(told.cell, told.start, told.text, count_on(told.text))


def count_on(number: str, units: int = 1) -> str:
    """The same with another last digit."""
    at = max(i for i, letter in enumerate(number) if letter.isdigit())
    return number[:at] + str((int(number[at]) + units) % 10) + number[at + 1 :]


KINDS: dict[str, Callable[[Any], Iterator[Fault]]] = {
    "constant": change_constant,
    "mask": drop_mask,
    "axis": swap_axis,
    "label": change_label,
    "output": spoil_output,
    "sentence": change_sentence,
}


def draw(chapter: str) -> dict[str, Fault]:
    """A fault of each kind that can be planted in a chapter."""
    notebook = nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4)
    places = {kind: list(find(notebook)) for kind, find in KINDS.items()}
    by_chance = {kind: random.Random(f"{chapter} {kind}") for kind in KINDS}
    return {kind: by_chance[kind].choice(found) for kind, found in places.items() if found}


def notices(chapter: str, kind: str, fault: Fault) -> bool:
    """Whether the test that the chapter must pass turns red."""
    planted = fault.plant(nbformat.read(NOTEBOOKS / f"{chapter}.ipynb", as_version=4))
    if kind == "sentence":
        known = tomllib.loads((ROOT / "tests/chapters/numbers.toml").read_text("utf-8"))[chapter]
        wrong = [told for told in find_numbers(planted) if (told.cell, told.start) == (fault.cell, fault.start)]
        return not any(is_measured(told, planted) or told.text in known for told in wrong)
    path = FOLDER / kind / f"{chapter}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(planted, path)
    run = [sys.executable, "-m", "pytest", "-qx", "-p", "no:xdist", "--nbval", "--nbval-current-env", str(path)]
    return subprocess.run(run, cwd=ROOT, check=False, capture_output=True).returncode == 1


def main(chapters: list[str]) -> None:
    """Plant, run, and print a row for each fault."""
    chapters = chapters or sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    faults = [(chapter, kind, fault) for chapter in chapters for kind, fault in draw(chapter).items()]
    FOLDER.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (FOLDER / "frameworks").symlink_to(ROOT / "frameworks")  # one chapter reads them from beside its folder
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        noticed = list(pool.map(lambda each: notices(*each), faults))
    for (chapter, kind, fault), red in zip(faults, noticed, strict=True):
        told = f"cell {fault.cell}: {fault.was!r} became {fault.now!r}"
        print(f"{chapter:22} {kind:9} {'caught' if red else 'PASSED'}  {told}")
    print(f"{sum(noticed)} of {len(noticed)} caught")
    sys.exit(sum(noticed) < 0.9 * len(noticed))  # some faults change nothing


if __name__ == "__main__":
    main(sys.argv[1:])
