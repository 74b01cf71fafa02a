"""How each stored output of a notebook is held to the truth: compared, or, if it is a time, only printed."""

from collections import Counter
from typing import Any

# The first line of a cell whose outputs are not compared, or which is not run by day; the second line says why.
OPT_OUT, STORED = "# NBVAL_IGNORE_OUTPUT", "# NBVAL_SKIP"
REASONS = {
    OPT_OUT: ("Times differ", "A time is different"),
    STORED: ("It takes minutes", "Stored, as above", "A long control"),
}
KINDS = ("compared", "only printed")


def count_outputs(notebook: Any) -> Counter[str]:
    """How many of a notebook's code cells with outputs are of each kind."""
    sources = ("".join(cell["source"]) for cell in notebook["cells"] if cell.get("outputs"))
    return Counter(KINDS[any(mark in source for mark in REASONS)] for source in sources)
