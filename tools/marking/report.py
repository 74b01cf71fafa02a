"""The marks: a table to compute with, and a page to read."""

import csv
from collections import Counter
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

RESULTS = ("right", "wrong", "not attempted", "did not run")
FORMULA = ("=", "+", "-", "@")


@dataclass
class Mark:
    """What became of one exercise of one notebook."""

    who: str
    file: str
    chapter: str
    exercise: str
    result: str
    hint: str = ""
    remark: str = ""


NAMES = [field.name for field in fields(Mark)]


def write_table(path: Path, marks: list[Mark]) -> None:
    """Write the marks as CSV. A cell that a spreadsheet would take for a formula gets an apostrophe."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, NAMES)
        writer.writeheader()
        for mark in marks:
            writer.writerow({name: "'" * text.startswith(FORMULA) + text for name, text in asdict(mark).items()})


def write_page(path: Path, marks: list[Mark], network: str) -> None:
    """Write the marks as a page: sums by person and by exercise, and each mark."""
    people: dict[str, Counter[str]] = {}
    exercises: dict[str, Counter[str]] = {}
    hints: dict[str, Counter[str]] = {}
    for mark in marks:
        people.setdefault(mark.who, Counter()).update([mark.result, *(["remarks"] if mark.remark else [])])
        if mark.exercise:
            exercises.setdefault(mark.exercise, Counter())[mark.result] += 1
            hints.setdefault(mark.exercise, Counter()).update(filter(None, [mark.hint]))
    sums = ("remarks", *RESULTS)
    told = {name: "; ".join(f"{number} × {hint}" for hint, number in hints[name].most_common()) for name in exercises}
    by_exercise = [[name, *(counts[each] for each in RESULTS), told[name]] for name, counts in exercises.items()]
    tables = [
        ("By person", ["who", *sums], [[who, *(counts[name] for name in sums)] for who, counts in people.items()]),
        ("By exercise", ["exercise", *RESULTS, "hints, the most frequent first"], by_exercise),
        ("Each mark", NAMES, [astuple(mark) for mark in marks]),
    ]
    page = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True).get_template("marks.html.j2")
    path.write_text(page.render(network=network, tables=tables), "utf-8")
