"""The marks: a table to compute with, and a page to read."""

import csv
from collections import Counter
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

from tools.teaching.marking.plan import number_exercises

SIGNS = {"right": "✓", "wrong": "✗", "not attempted": "–", "did not run": "!"}
RESULTS = tuple(SIGNS)
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


def write_points(path: Path, marks: list[Mark]) -> None:
    """Write a row for each person: the points of each exercise, one for each right check, and their sum.

    Who handed in a chapter twice has the better one of each check.
    """
    numbers = list(dict.fromkeys(number_exercises().values()))
    right = {(mark.who, mark.exercise) for mark in marks if mark.result == "right"}
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["who", *numbers, "sum"])
        for who in dict.fromkeys(mark.who for mark in marks):
            of_each = Counter(number for name, number in number_exercises().items() if (who, name) in right)
            writer.writerow(
                ["'" * who.startswith(FORMULA) + who, *(of_each[each] for each in numbers), of_each.total()]
            )


def list_columns(marks: list[Mark]) -> list[str]:
    """The exercises that somebody has handed in, in the order of the book, behind those who have none to show."""
    order = ["", *number_exercises()]
    names = {mark.exercise for mark in marks}
    return [*filter(names.__contains__, order), *sorted(names.difference(order))]


def lay_rows(marks: list[Mark], columns: list[str]) -> dict[str, list[list[int]]]:
    """For each person and each column, where its marks are: several if somebody handed in a chapter twice."""
    rows: dict[str, list[list[int]]] = {}
    for place, mark in enumerate(marks):
        row = rows.setdefault(mark.who, [[] for _ in columns])
        row[columns.index(mark.exercise)].append(place)
    return rows


def sum_exercises(marks: list[Mark]) -> list[list[str | int]]:
    """A row for each exercise: its number and name, how often each result, and its hints."""
    exercises: dict[str, Counter[str]] = {}
    hints: dict[str, Counter[str]] = {}
    for mark in filter(lambda mark: mark.exercise, marks):
        exercises.setdefault(mark.exercise, Counter())[mark.result] += 1
        hints.setdefault(mark.exercise, Counter()).update(filter(None, [mark.hint]))
    told = {name: "; ".join(f"{number} × {hint}" for hint, number in hints[name].most_common()) for name in exercises}
    return [
        [number_exercises().get(name, ""), name, *(exercises[name][result] for result in RESULTS), told[name]]
        for name in list_columns(marks)
        if name
    ]


def write_page(path: Path, marks: list[Mark], network: str) -> None:
    """Write the marks as a page: a grid of people and exercises, sums by exercise, and each mark."""
    columns = list_columns(marks)
    right, remarks = (
        Counter(mark.who for mark in marks if holds(mark))
        for holds in (lambda mark: mark.result == "right", lambda mark: mark.remark)
    )
    rows = lay_rows(marks, columns)
    tables = [
        ("By exercise", ["number", "exercise", *RESULTS, "hints, the most frequent first"], sum_exercises(marks)),
        ("Each mark", NAMES, [astuple(mark) for mark in marks]),
    ]
    page = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True).get_template("marks.html.j2")
    text = page.render(
        network=network,
        tables=tables,
        signs=SIGNS,
        heads={name: number_exercises().get(name, name) or "all" for name in columns},
        rows=rows,
        marks=marks,
        right=right,
        files={who: list(dict.fromkeys(mark.file for mark in marks if mark.who == who and mark.file)) for who in rows},
        remarks=remarks,
    )
    path.write_text(text, "utf-8")
