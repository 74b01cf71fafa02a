"""How much room something takes on a slide: lines, letters from side to side, and pixels."""

import re
from html import unescape
from unicodedata import east_asian_width

from nbformat import NotebookNode

from tools.teaching.slides.blocks import Block

GAP, WIDE = 4, 88  # letters: between two columns, and of a table that fits in its full size
LETTERS, LINE, CODE = 88, 40, 25  # of a line of text the letters and pixels, of code the pixels
FIGURE, FORMULA, BETWEEN = 360, 90, 18  # pixels
UNSEEN = re.compile(r"\]\([^)]*\)|[*`\[]")
MATH = re.compile(r"\$[^$]+\$")


def count_lines(text: str) -> int:
    """About how many lines a text takes; a formula is as wide as twelve letters."""
    lines = MATH.sub("x" * 12, UNSEEN.sub("", text)).splitlines()
    return sum(-(-measure_line(line) // LETTERS) for line in lines)


def estimate(block: Block) -> int:
    """About how many pixels a block takes from top to bottom."""
    if block.cell is not None:
        drawn = any("image/svg+xml" in output.get("data", {}) for output in block.cell.outputs)
        return FIGURE if drawn else CODE * count(block.cell)[0] + 64
    if block.kind == "math_block":
        return BETWEEN + FORMULA + FORMULA // 2 * block.source.count(r"\\")
    frame = 32 if block.kind == "predict" else 9 * block.source.count("\n")
    return BETWEEN + frame + LINE * count_lines(block.source)


def measure_table(html: str) -> tuple[int, int]:
    """The lines of a table, and its letters from side to side; in a wide one, long names of columns take two lines."""
    rows = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in html.split("<tr>")[1:]]
    columns = [[measure_line(unescape(entry)) for entry in column] for column in zip(*rows, strict=True)]
    letters = sum(max(column) + GAP for column in columns)
    if letters <= WIDE:
        return len(rows), letters
    return len(rows) + 1, sum(max((column[0] + 1) // 2, *column[1:]) + GAP for column in columns)


def count(cell: NotebookNode) -> tuple[int, int]:
    """How many lines and letters a cell shows."""
    hidden = cell.metadata.get("transient", {}).get("remove_source", False)
    lines = [] if hidden else cell.source.splitlines()
    tall, wide = 0, 1
    for output in cell.outputs:
        data = output.get("data", {})
        if "text/html" in data:
            tall, wide = measure_table(data["text/html"])
        elif "image/svg+xml" not in data:
            lines += (output.get("text") or data.get("text/plain", "")).splitlines()
    return tall + len(lines) or 1, max([wide, *(measure_line(line) + 3 for line in lines)])


def measure(cell: NotebookNode) -> str:
    """What its style needs to make a cell as large as the slide allows."""
    tall, wide = count(cell)
    return f"--lines: {tall}; --letters: {wide}"


def measure_line(line: str) -> int:
    """The letters of a line; a Chinese one is as wide as two."""
    return sum(1 + (east_asian_width(letter) in "WF") for letter in line)
