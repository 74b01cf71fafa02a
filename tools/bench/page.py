"""The page that tells what was measured: tables and figure are made from `results.json`, the sentences are not."""

from __future__ import annotations

import json
import re
from typing import Any

import matplotlib.pyplot as plt

from d2lmini.figures.plot import use_svg_display
from tools import ROOT

RESULTS = ROOT / "tools/bench/results.json"
PAGE = ROOT / "book/speed.md"
FIGURE = ROOT / "book/_static/speed.svg"
TABLE = re.compile(r"(?s)(<!-- bench: (\w+) -->\n).*?(<!-- end -->)")
NAMES = {"cpu": "CPU", "cuda": "GPU"}


def read_results() -> dict[str, Any]:
    """What was measured so far: of each part, by device, the rows."""
    return json.loads(RESULTS.read_text("utf-8"))


def write_table(part: dict[str, Any]) -> str:
    """The rows as a table in Markdown, with a column of ratios for each device."""
    by_device = list(zip(*(each["rows"] for each in part.values()), strict=True))
    unit = by_device[0][0]["unit"]
    lines = [["what", f"here, {unit}", f"there, {unit}", *(f"ratio, {NAMES[device]}" for device in part)]]
    for row, *others in by_device:
        ratios = [f"{each['ours'] / each['theirs']:.2f}" for each in (row, *others)]
        lines.append([row["what"], f"{row['ours']:.3g}", f"{row['theirs']:.3g}", *ratios])
    head, *body = [f"| {' | '.join(cells)} |\n" for cells in lines]
    return "".join([head, "|---|" + "--:|" * (len(lines[0]) - 1) + "\n", *body])


def fill(text: str, results: dict[str, Any]) -> str:
    """The page with the tables of what was measured; a part that nobody has measured yet names the command."""
    made = {part: write_table(devices) for part, devices in results.items()}
    missing = "Not measured yet: `.venv/bin/python -m tools.bench {}`.\n"
    return TABLE.sub(lambda found: f"{found[1]}{made.get(found[2], missing.format(found[2]))}{found[3]}", text)


def draw(results: dict[str, Any]) -> None:
    """The ratios of the layers as dots: left of 1 we are faster."""
    rows = results["layers"]["cpu"]["rows"][::-1]
    use_svg_display()
    figure, axes = plt.subplots(figsize=(5.5, 0.28 * len(rows) + 0.8))
    axes.axvline(1, color="0.5", linewidth=1)
    axes.plot([row["ours"] / row["theirs"] for row in rows], range(len(rows)), "o", color="C0")
    axes.set_yticks(range(len(rows)), [row["what"] for row in rows])
    axes.set_xlabel("our time, in times PyTorch's")
    axes.set_xlim(0, max(1.5, *(1.1 * row["ours"] / row["theirs"] for row in rows)))
    figure.savefig(FIGURE, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
