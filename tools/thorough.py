"""What runs at night, part by part, with the time that each takes and may take: `make thorough`.

Nothing here is for the day: a part that grows beyond its seconds is red, so that somebody sees it before it hurts.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass

from tools import ROOT

PYTEST = [sys.executable, "-m", "pytest", "-q", "--no-header", "-n", "2", "--dist", "worksteal"]
MUTATION = ROOT / ".venv-mutation/bin/python"


@dataclass(frozen=True)
class Part:
    """A command, and the seconds that it may take on two idle cores."""

    seconds: int
    command: list[str]


PARTS = {
    "package": Part(420, [*PYTEST, "--cov=d2lmini", "tests/package", "tests/exercises"]),
    "chapters": Part(120, [*PYTEST, "tests/book", "tests/chapters"]),
    "faults": Part(300, [*PYTEST, "--dist", "loadscope", "tests/faults"]),
    "site": Part(600, [*PYTEST, "tests/site"]),
    "colab": Part(300, [*PYTEST, "tests/colab"]),
    "recipes": Part(300, [*PYTEST, "tests/recipes"]),
    "classes": Part(300, [*PYTEST, "tests/instructor"]),
    "pdf-and-epub": Part(240, ["make", "pdf", "epub"]),
    "paper": Part(120, [*PYTEST, "tests/paper"]),
    "slides": Part(240, ["make", "slides"]),
    "decks": Part(240, [*PYTEST, "tests/slides"]),
    "environments": Part(7200, [sys.executable, "-m", "tools.environments"]),
    "mutation": Part(3600, [str(MUTATION), "-m", "tools.mutation", "--sample", "60"]),
    "planted": Part(2700, [sys.executable, "-m", "tests.faults.drawn"]),
}


def main(names: list[str]) -> None:
    """Run the named parts, all without a name, and print the table.

    Raises:
        SystemExit: if a part fails, takes longer than it may, or is not known.
    """
    if unknown := set(names) - set(PARTS):
        raise SystemExit(f"{', '.join(sorted(unknown))}: no such part; there are {', '.join(PARTS)}")
    rows, red = [], False
    for name in names or PARTS:
        begin = time.monotonic()
        failed = subprocess.run(PARTS[name].command, cwd=ROOT, check=False).returncode != 0
        took, may = time.monotonic() - begin, PARTS[name].seconds
        red |= failed or took > may
        rows.append(f"{name:14} {took:7.0f} s of {may:5}   {'FAILED' if failed else 'too slow' if took > may else ''}")
    print("\n".join(rows))
    sys.exit(red)


if __name__ == "__main__":
    main(sys.argv[1:])
