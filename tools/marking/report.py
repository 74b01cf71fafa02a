"""The marks: a table to compute with, and a page to read."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from jinja2 import Environment

RESULTS = ("right", "wrong", "not attempted", "did not run")
FORMULA = ("=", "+", "-", "@")
PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Marks</title>
<style>
  body { font: 1rem/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem }
  :root { color-scheme: light dark }
  table { border-collapse: collapse; margin: 1rem 0 }
  .wide { overflow-x: auto }
  th, td { border: 1px solid; padding: .2rem .5rem; text-align: left; vertical-align: top }
  thead th { position: sticky; top: 0; background: Canvas }
  .result { white-space: nowrap }
</style>
<h1>Marks</h1>
<p>{{ network }}</p>
<h2>By person</h2>
<div class="wide" tabindex="0"><table>
<thead><tr><th>who{% for result in results %}<th>{{ result }}{% endfor %}<th>remarks</thead>
{% for who, counts in people.items() %}<tr><th>{{ who }}{% for result in results %}<td>{{ counts[result] }}{% endfor -%}
<td>{{ counts["remarks"] }}</tr>
{% endfor %}</table></div>
<h2>By exercise</h2>
<div class="wide" tabindex="0"><table>
<thead><tr><th>exercise{% for result in results %}<th>{{ result }}{% endfor %}<th>most frequent hint</thead>
{% for exercise, counts in exercises.items() %}<tr><th>{{ exercise }}
{%- for result in results %}<td>{{ counts[result] }}{% endfor %}<td>{{ hints.get(exercise, "") }}</tr>
{% endfor %}</table></div>
<h2>Each mark</h2>
<div class="wide" tabindex="0"><table>
<thead><tr><th>who<th>file<th>chapter<th>exercise<th>result<th>hint<th>remark</thead>
{% for mark in marks %}<tr><td>{{ mark.who }}<td>{{ mark.file }}<td>{{ mark.chapter }}<td>{{ mark.exercise -}}
<td class="result">{{ mark.result }}<td>{{ mark.hint }}<td>{{ mark.remark }}</tr>
{% endfor %}</table></div>
"""


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


def write_table(path: Path, marks: list[Mark]) -> None:
    """Write the marks as CSV. A cell that a spreadsheet would take for a formula gets an apostrophe."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Mark)])
        writer.writeheader()
        for mark in marks:
            writer.writerow(
                {name: f"'{text}" if text[:1] in "=+-@" and text else text for name, text in asdict(mark).items()}
            )


def write_page(path: Path, marks: list[Mark], network: str) -> None:
    """Write the marks as a page: sums by person and by exercise, and each mark."""
    people: dict[str, Counter[str]] = {}
    exercises: dict[str, Counter[str]] = {}
    hints: dict[str, Counter[str]] = {}
    for mark in marks:
        people.setdefault(mark.who, Counter()).update([mark.result, *(["remarks"] if mark.remark else [])])
        if mark.exercise:
            exercises.setdefault(mark.exercise, Counter())[mark.result] += 1
        if mark.hint:
            hints.setdefault(mark.exercise, Counter())[mark.hint] += 1
    frequent = {name: counts.most_common(1)[0][0] for name, counts in hints.items()}
    page = Environment(autoescape=True).from_string(PAGE)
    told = {"people": people, "exercises": exercises, "hints": frequent, "marks": marks, "results": RESULTS}
    path.write_text(page.render(network=network, **told), "utf-8")
