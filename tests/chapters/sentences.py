"""The numbers in the sentences of a chapter, and where each was measured: printed, drawn or set near by."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from book_site.opening import without_opening
from book_site.phrases import EXERCISE, name_numbers

NUMBER = re.compile(r"(?<![A-Za-z0-9_.^{])[0-9][0-9,]*(?:\.[0-9]+)?(?![A-Za-z0-9_])")  # 误差只剩37.5倍
# What holds numbers that are no statements: formulas, code, links, citations, names of equations and of exercises.
_NO_SENTENCE = re.compile(
    r"\$\$.*?\$\$|(?<!\\)\$.*?(?<!\\)\$|`[^`]*`|\]\([^)]*\)|https?://\S+|<[^>]*>|\[[^\]]*\d{4}[a-z]?[^\]]*\]"
    r"|\(\d+\.\d+\)|Python 3\.\d+|" + name_numbers(EXERCISE, r"\d+\.\d+"),
    re.DOTALL,
)
_SECTION = re.compile(rf"(?m)^(## |### {EXERCISE})")
SMALL, YEARS = 12, range(1900, 2031)  # whole numbers up to here count things that stand before the reader's eyes


@dataclass(frozen=True)
class Told:
    """A number in a sentence."""

    text: str  # as it is written
    cell: int  # counted from 0
    start: int  # where in the source of the cell it begins
    share: bool  # whether it is a percentage

    @property
    def value(self) -> float:
        """What it says."""
        return float(self.text.replace(",", ""))

    @property
    def decimals(self) -> int:
        """How many digits stand behind the point."""
        return len(self.text.partition(".")[2])


def find_numbers(notebook: Any) -> Iterator[Told]:
    """The numbers that sentences tell; no years, and nothing that one counts on one's fingers."""
    for i, cell in enumerate(notebook.cells):
        if cell.cell_type != "markdown":
            continue
        text = _NO_SENTENCE.sub(lambda found: " " * len(found[0]), without_opening(cell.source))
        for found in NUMBER.finditer(text):
            written = found[0].rstrip(",")
            share = text[found.start() + len(written) :].lstrip().startswith(("%", "％"))
            told = Told(written, i, found.start(), share)
            if told.decimals or (told.value > SMALL and int(told.value) not in YEARS):
                yield told


def number_sections(notebook: Any) -> list[int]:
    """Of each cell, in which section or exercise it stands."""
    return list(
        accumulate(int(cell.cell_type == "markdown" and bool(_SECTION.search(cell.source))) for cell in notebook.cells)
    )


def read_shown(cell: Any) -> str:
    """What a code cell shows: its prints, its tables, and the letters in its figures."""
    parts = [output.get("text", "") for output in cell.outputs]
    for data in (output.get("data", {}) for output in cell.outputs):
        parts += [re.sub(r"<[^>]*>", " ", data.get(kind, "")) for kind in ("text/plain", "text/html", "image/svg+xml")]
    return re.sub(name_numbers(EXERCISE, r"\d+\.\d+"), " ", " ".join(parts))  # the line of a check names one


def is_measured(told: Told, notebook: Any) -> bool:
    """Whether the section of a sentence shows its number, rounded as there, or whether its code sets it."""
    sections = number_sections(notebook)
    for cell, section in zip(notebook.cells, sections, strict=True):
        if cell.cell_type != "code" or section != sections[told.cell]:
            continue
        if any(float(number.replace(",", "")) == told.value for number in NUMBER.findall(cell.source)):
            return True
        if any(_rounds_to(number.rstrip(","), told) for number in NUMBER.findall(read_shown(cell))):
            return True
    return False


def _rounds_to(shown: str, told: Told) -> bool:
    value, decimals = float(shown.replace(",", "")), len(shown.partition(".")[2])
    if told.share and round(100 * value, told.decimals) == told.value:
        return True
    if told.decimals == 0 and told.value >= 1000 and told.value % 100 == 0:  # a round number, and *about* before it
        return abs(value - told.value) < 0.02 * told.value
    return decimals >= told.decimals and round(value, told.decimals) == told.value
