"""What runs once a week, part by part, with the time that each takes and may take: `make thorough`.

Nothing here is for the day: a part that grows beyond its seconds is red, so that somebody sees it before it hurts.
"""

import subprocess
import sys
import time

from tools import ROOT
from tools.environments import ENVIRONMENTS as KINDS

PYTEST = [sys.executable, "-m", "pytest", "-q", "--no-header", "-n", "2", "--dist", "worksteal"]
ENVIRONMENTS = [sys.executable, "-m", "tools.environments"]
MUTATION = ROOT / ".venv-mutation/bin/python"


# The seconds that each may take on two idle cores, and the command.
PARTS = {
    "package": (420, [*PYTEST, "--cov=d2lmini", "tests/package", "tests/exercises"]),
    "chapters": (420, [*PYTEST, "tests/book", "tests/chapters"]),
    "faults": (300, [*PYTEST, "--dist", "loadscope", "tests/faults"]),
    "site": (600, [*PYTEST, "tests/site"]),
    "colab": (300, [*PYTEST, "tests/colab"]),
    "recipes": (300, [*PYTEST, "--dist", "loadscope", "tests/recipes"]),
    "comparison": (60, [*PYTEST, "tests/comparison"]),
    "classes": (300, [*PYTEST, "tests/instructor"]),
    "paper": (180, ["make", "paper"]),
    "printed": (120, [*PYTEST, "tests/paper"]),
    "slides": (240, ["make", "slides"]),
    "decks": (240, [*PYTEST, "tests/slides"]),
    "environments": (7200, [*ENVIRONMENTS, *(name for name in KINDS if "noise" not in name)]),
    "noise": (5400, [*ENVIRONMENTS, *(name for name in KINDS if "noise" in name)]),
    "stored": (900, ["make", "bench"]),
    "mutation": (3600, [str(MUTATION), "-m", "tools.mutation", "--sample", "60"]),
    "planted": (2700, [sys.executable, "-m", "tests.faults.drawn"]),
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
        may, command = PARTS[name]
        begin = time.monotonic()
        failed = subprocess.run(command, cwd=ROOT, check=False).returncode != 0
        took = time.monotonic() - begin
        red |= failed or took > may
        rows.append(f"{name:14} {took:7.0f} s of {may:5}   {'FAILED' if failed else 'too slow' if took > may else ''}")
    print("\n".join(rows))
    sys.exit(red)


if __name__ == "__main__":
    main(sys.argv[1:])
