"""Run the package's tests and all notebooks in environments that differ from the usual one in one thing each.

    python -m tools.environments "another locale" "no home"

Without a name it runs all of them. What another computer does is for the weekly workflow.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from tools import ROOT

# Which variables are set otherwise, and which are missing.
ENVIRONMENTS: dict[str, dict[str, str | None]] = {
    "as it is": {},
    "a CPU without AVX": {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"},
    "a CPU with AVX2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "a CPU with AVX-512": {"ATEN_CPU_CAPABILITY": "avx512"},
    "two threads": {"OMP_NUM_THREADS": "2"},
    "another hash seed": {"PYTHONHASHSEED": "4711"},
    "another locale": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "TZ": "Pacific/Chatham"},
    "no locale": {"LC_ALL": "C", "LANG": None, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "no home": {"HOME": None, "USERPROFILE": None},
    "a folder named 我 喜欢": {},
    "four busy loops": {},
}
ASIDE = shutil.ignore_patterns(".*", "_build", "__pycache__")  # what a copy of the repository goes without
PYTEST = [sys.executable, "-m", "pytest", "-q", "-n", "logical", "--dist", "loadscope", "-p", "no:cov"]
PARTS = {
    "package": ["tests/package", "tests/exercises", "--ignore=tests/package/test_distribution.py"],
    "notebooks": ["--nbval", "--nbval-current-env", "notebooks"],
}


def run(name: str, part: str) -> str:
    """The last line of what pytest says."""
    changed = ENVIRONMENTS[name]
    environment = {key: value for key, value in os.environ.items() if key not in changed}
    environment |= {key: value for key, value in changed.items() if value is not None}
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4 * ("loops" in name))]
    with tempfile.TemporaryDirectory() as outside:
        place = shutil.copytree(ROOT, Path(outside) / name, ignore=ASIDE) if "folder" in name else ROOT
        command = [*PYTEST, *PARTS[part]]
        try:
            done = subprocess.run(command, cwd=place, env=environment, check=False, capture_output=True, text=True)
        finally:
            for loop in busy:
                loop.kill()
    for line in re.findall(r"(?m)^(?:FAILED|ERROR).*", done.stdout):
        print(f"    {line}")
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr.strip()[-200:]


def main() -> None:
    """Run the environments that are named, all without a name, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*ENVIRONMENTS, []], help="all without a name")
    fine = True
    names = parser.parse_args().names or [*ENVIRONMENTS]
    if torch.backends.cpu.get_cpu_capability() != "AVX512":
        names = [name for name in names if "AVX-512" not in name]  # what the machine lacks cannot be asked of it
    for name in names:
        for part in PARTS:
            said = run(name, part)
            fine &= "failed" not in said and "error" not in said and "passed" in said
            print(f"{name:24} {part:10} {said}", flush=True)
    sys.exit(not fine)


if __name__ == "__main__":
    main()
