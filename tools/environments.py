"""Run the package's tests and all notebooks in environments that differ from the usual one in one thing each.

    python -m tools.environments "another locale" "no home"

Without a name it runs all of them and prints a table. What another computer does is for the weekly workflow.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools import ROOT

# Which variables are set otherwise, and which are missing.
ENVIRONMENTS: dict[str, dict[str, str | None]] = {
    "as it is": {},
    "a CPU without AVX": {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"},
    "a CPU with AVX2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "two threads": {"OMP_NUM_THREADS": "2"},
    "another hash seed": {"PYTHONHASHSEED": "4711"},
    "another locale": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "TZ": "Pacific/Chatham"},
    "no locale": {"LC_ALL": "C", "LANG": None, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "no home": {"HOME": None, "USERPROFILE": None},
    "a folder named 我 喜欢": {},
    "four busy loops": {},
    "in another order": {},
}
ASIDE = shutil.ignore_patterns(".*", "_build", "__pycache__")  # what a copy of the repository goes without
PARTS = {
    "package": ["tests/package", "tests/exercises", "--ignore=tests/package/test_distribution.py"],
    "notebooks": ["--nbval", "--nbval-current-env", "notebooks"],
}


@contextmanager
def surround(name: str) -> Iterator[Path]:
    """The folder in which the tests of an environment run, with what is around it."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4 * ("loops" in name))]
    try:
        with tempfile.TemporaryDirectory() as outside:
            yield shutil.copytree(ROOT, Path(outside) / name, ignore=ASIDE) if "folder" in name else ROOT
    finally:
        for loop in busy:
            loop.kill()


def run(name: str, part: str, jobs: str) -> str:
    """The last line of what pytest says."""
    changed = ENVIRONMENTS[name]
    environment = {key: value for key, value in os.environ.items() if key not in changed}
    environment |= {key: value for key, value in changed.items() if value is not None}
    words = PARTS[part]
    if "order" in name and part == "notebooks":
        words = [*words[:-1], *sorted(map(str, (ROOT / "notebooks").glob("*.ipynb")), key=lambda path: path[::-1])]
    with surround(name) as place:
        command = [sys.executable, "-m", "pytest", "-q", "-n", jobs, "--dist", "loadscope", "-p", "no:cov", *words]
        done = subprocess.run(command, cwd=place, env=environment, check=False, capture_output=True, text=True)
    for line in re.findall(r"(?m)^(?:FAILED|ERROR).*", done.stdout):
        print(f"    {line}")
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr.strip()[-200:]


def main() -> None:
    """Run the environments that are named, all without a name."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", choices=[*ENVIRONMENTS, []], help="all without a name")
    parser.add_argument("--jobs", default=str(os.cpu_count() or 1), help="how many tests at a time")
    options = parser.parse_args()
    fine = True
    for name in options.names or ENVIRONMENTS:
        for part in PARTS:
            said = run(name, part, options.jobs)
            fine &= "failed" not in said and "error" not in said and "passed" in said
            print(f"{name:24} {part:10} {said}", flush=True)
    sys.exit(not fine)


if __name__ == "__main__":
    main()
