"""What runs once a week, part by part, with the time that each takes and may take: `make thorough`.

Nothing here is for the day: a part that grows beyond its seconds is red, so that somebody sees it before it hurts.
The last parts run the package's tests and all notebooks in surroundings that differ from the usual ones in one thing
each; `tools/notebooks/noise.py` is a processor that nobody has built.
"""

import os
import subprocess
import sys
import time

import nbformat
from book_site.outputs import STORED

from tools import ROOT
from tools.notebooks.files import NOTEBOOKS, PAGES, bears_noise

Variables = dict[str, str | None]  # of the environment; None where one is missing
PYTEST = [sys.executable, "-m", "pytest", "-q", "--no-header", "-n", "2", "--dist", "worksteal"]
IN_ORDER = [*PYTEST, "--dist", "loadscope"]
NBVAL = [*IN_ORDER, "--nbval", "--nbval-current-env"]
SHAKEN = [str(path) for folder in (NOTEBOOKS, PAGES) for path in sorted(folder.glob("*.ipynb"))]
SHAKEN = [path for path in SHAKEN if bears_noise(nbformat.read(path, as_version=4))]
LONG = [str(path) for path in sorted(NOTEBOOKS.glob("*.ipynb")) if STORED in path.read_text("utf-8")]
ELSEWHERE = [*NBVAL, "tests/package", "tests/exercises", "--ignore=tests/package/test_distribution.py"]
ELSEWHERE += ["notebooks", "pages"]
BENCH = [sys.executable, "-m", "tools.notebooks.run", "speed", "same-numbers", "--from", "text", "--jobs", "1"]
TURKISH: Variables = {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "TZ": "Pacific/Chatham"}

# The seconds that each may take on two idle cores, which variables are set otherwise, and the command.
PARTS: dict[str, tuple[int, Variables, list[str]]] = {
    "package": (420, {}, [*PYTEST, "--cov=d2lmini", "tests/package", "tests/exercises"]),
    "chapters": (420, {}, [*PYTEST, "tests/book", "tests/chapters"]),
    "faults": (300, {}, [*IN_ORDER, "tests/faults"]),
    "site": (600, {}, [*PYTEST, "tests/site"]),
    "colab": (300, {}, [*PYTEST, "tests/colab"]),
    "recipes": (300, {}, [*IN_ORDER, "tests/recipes"]),
    "comparison": (60, {}, [*PYTEST, "tests/comparison"]),
    "classes": (300, {}, [*PYTEST, "tests/instructor"]),
    "paper": (180, {}, ["make", "paper"]),
    "printed": (120, {}, [*PYTEST, "tests/paper"]),
    "slides": (240, {}, ["make", "slides"]),
    "decks": (240, {}, [*PYTEST, "tests/slides"]),
    "long": (900, {"WHOLE": "1"}, [*NBVAL, *LONG]),
    "bench": (900, {}, BENCH),
    "without-avx": (1200, {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}, ELSEWHERE),
    "avx2": (1200, {"ATEN_CPU_CAPABILITY": "avx2"}, ELSEWHERE),
    "two-threads": (1200, {"OMP_NUM_THREADS": "2"}, ELSEWHERE),
    "hash-seed": (1200, {"PYTHONHASHSEED": "4711"}, ELSEWHERE),
    "locale": (1200, TURKISH, ELSEWHERE),
    "no-locale": (1200, {"LC_ALL": "C", "LANG": None, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, ELSEWHERE),
    "no-home": (1200, {"HOME": None, "USERPROFILE": None}, ELSEWHERE),
}
for seed in "123":
    PARTS[f"noise-{seed}"] = (
        1800,
        {"PYTHONSTARTUP": str(ROOT / "tools/notebooks/noise.py"), "NOISE": seed},
        [*NBVAL, *SHAKEN],
    )


def run(variables: Variables, command: list[str]) -> bool:
    """Run a command with these variables set otherwise; whether it succeeds."""
    environment = {name: value for name, value in (os.environ | variables).items() if value is not None}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


def main(names: list[str]) -> None:
    """Run the named parts, all without a name, and print the table.

    Raises:
        SystemExit: if a part fails, takes longer than it may, or is not known.
    """
    if unknown := set(names) - set(PARTS):
        raise SystemExit(f"{', '.join(sorted(unknown))}: no such part; there are {', '.join(PARTS)}")
    rows, red = [], False
    for name in names or PARTS:
        may, variables, command = PARTS[name]
        begin = time.monotonic()
        failed = not run(variables, command)
        took = time.monotonic() - begin
        red |= failed or took > may
        rows.append(f"{name:14} {took:7.0f} s of {may:5}   {'FAILED' if failed else 'too slow' if took > may else ''}")
    print("\n".join(rows))
    sys.exit(red)


if __name__ == "__main__":
    main(sys.argv[1:])
