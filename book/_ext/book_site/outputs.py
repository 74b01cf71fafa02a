"""How each stored output of a notebook is held to the truth: compared, bounded by an assertion, or only printed."""

from __future__ import annotations

from collections import Counter
from typing import Any

# The first line of a cell whose outputs are not compared; the second says why. What a training gave is bounded by an
# assertion near by; a time is bounded by nothing.
MOST_CELLS_NOT_COMPARED = 12  # of a chapter: nearly all are about trained models
OPT_OUT = "# NBVAL_IGNORE_OUTPUT"
TIMES = ("Times differ", "A time is different")
UNBOUNDED = (*TIMES, "What a trained model draws")
KINDS = ("compared", "bounded", "only printed")


def is_time(source: str) -> bool:
    """Whether what a code cell shows is a time, by what its source says."""
    return any(reason in source for reason in TIMES)


def find_kind(source: str) -> str:
    """Which of `KINDS` the outputs of a code cell are, by what its source says."""
    if OPT_OUT not in source:
        return "compared"
    return "only printed" if any(reason in source for reason in UNBOUNDED) else "bounded"


def count_outputs(notebook: Any) -> Counter[str]:
    """How many of a notebook's code cells with outputs are of each kind."""
    return Counter(find_kind("".join(cell["source"])) for cell in notebook["cells"] if cell.get("outputs"))
