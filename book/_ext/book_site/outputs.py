"""How each stored output of a notebook is held to the truth: compared, or, if it is a time, only printed."""

from __future__ import annotations

from collections import Counter
from typing import Any

OPT_OUT = "# NBVAL_IGNORE_OUTPUT"  # the first line of a cell whose outputs are not compared; the second says why
TIMES = ("Times differ", "A time is different")
KINDS = ("compared", "only printed")


def is_time(source: str) -> bool:
    """Whether what a code cell shows is a time, by what its source says."""
    return any(reason in source for reason in TIMES)


def count_outputs(notebook: Any) -> Counter[str]:
    """How many of a notebook's code cells with outputs are of each kind."""
    return Counter(KINDS[OPT_OUT in "".join(cell["source"])] for cell in notebook["cells"] if cell.get("outputs"))
