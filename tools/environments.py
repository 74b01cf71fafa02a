"""Run the package's tests and all notebooks in environments that differ from the usual one in one thing each.

    python -m tools.environments "another locale" "noise, seed 1"

Without a name it runs all of them. What another computer does is for the weekly workflow; `tools/noise.py` is what no
computer does.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
import torch

from tools import ROOT
from tools.notebooks import NOTEBOOKS, PAGES, bears_noise

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
for seed in "123":
    ENVIRONMENTS[f"noise, seed {seed}"] = {"PYTHONSTARTUP": str(ROOT / "tools/noise.py"), "NOISE": seed}
TRAINS = re.compile(r"train\(|optim\.|recall")  # a chapter in which rounding can grow: it meets three seeds
ASIDE = shutil.ignore_patterns(".*", "_build", "__pycache__")  # what a copy of the repository goes without
PYTEST = [sys.executable, "-m", "pytest", "-q", "-n", "logical", "--dist", "loadscope", "-p", "no:cov"]
PARTS = {
    "package": ["tests/package", "tests/exercises", "--ignore=tests/package/test_distribution.py"],
    "notebooks": ["--nbval", "--nbval-current-env", "notebooks", "pages"],
}


def list_arguments(name: str, part: str) -> list[str]:
    """What pytest is asked to run: noise is for notebooks, and its later seeds for those that train."""
    if "noise" not in name:
        return PARTS[part]
    if part == "package":
        return []
    paths = [path for folder in (NOTEBOOKS, PAGES) for path in sorted(folder.glob("*.ipynb"))]
    paths = [path for path in paths if bears_noise(nbformat.read(path, as_version=4))]
    again = [path for path in paths if name.endswith("1") or TRAINS.search(path.read_text("utf-8"))]
    return [*PARTS[part][:2], *map(str, again)]


def run(name: str, arguments: list[str]) -> str:
    """The last line of what pytest says, and how many cells differ in a last digit."""
    changed = ENVIRONMENTS[name]
    environment = {key: value for key, value in os.environ.items() if key not in changed}
    environment |= {key: value for key, value in changed.items() if value is not None}
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4 * ("loops" in name))]
    with tempfile.TemporaryDirectory() as outside:
        place = shutil.copytree(ROOT, Path(outside) / name, ignore=ASIDE) if "folder" in name else ROOT
        log = Path(outside) / "log.xml"
        command = [*PYTEST, f"--junitxml={log}", *arguments]
        try:
            done = subprocess.run(command, cwd=place, env=environment, check=False, capture_output=True, text=True)
        finally:
            for loop in busy:
                loop.kill()
        rounded = log.read_text("utf-8").count('<property name="rounds"') if log.exists() else 0
    for line in re.findall(r"(?m)^(?:FAILED|ERROR).*", done.stdout):
        print(f"    {line}")
    said = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr.strip()[-200:]
    return f"{said}, {rounded} differ in a last digit" if "--nbval" in arguments else said


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
            if not (arguments := list_arguments(name, part)):
                continue
            said = run(name, arguments)
            fine &= "failed" not in said and "error" not in said and "passed" in said
            print(f"{name:24} {part:10} {said}", flush=True)
    sys.exit(not fine)


if __name__ == "__main__":
    main()
