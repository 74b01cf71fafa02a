"""What the house costs: `make book` against the way without it, against the floor, and after a change.

Everything runs in a copy of the tree, with the environment of the original.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from tools import ROOT
from tools.bench.timing import Row

PLACE = ROOT / ".build/bench"
CORES = os.cpu_count() or 1


def copy_tree(name: str) -> Path:
    """The files that git knows, and those that it does not ignore, in a folder of their own with our environment."""
    place = PLACE / name
    shutil.rmtree(place, ignore_errors=True)
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    for file in subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0"):
        if file and (ROOT / file).is_file():
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, place / file)  # with its time: make compares them
    (place / ".venv").symlink_to(sys.prefix)
    return place


def time_command(place: Path, *command: str) -> float:
    """How many seconds a command takes, which must not fail."""
    environment = {**os.environ, "PYTHONPATH": str(place), "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
    begin = time.perf_counter()
    done = subprocess.run(command, cwd=place, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return time.perf_counter() - begin


def read_seconds(place: Path) -> dict[str, float]:
    """How long each notebook ran, its kernel's start included, as its test has noted."""
    logs = place.glob(".build/log/*.xml")
    return {log.stem: float(ElementTree.parse(log).getroot()[0].attrib["time"]) for log in logs}


def run_without_the_house(place: Path) -> float:
    """The usual way: Jupyter Book executes the notebooks for its pages, then nbval runs one after the other."""
    settings = (place / "_config.yml").read_text("utf-8")
    (place / "_config.yml").write_text(
        settings.replace('execute_notebooks: "off"', "execute_notebooks: force"), "utf-8"
    )
    assert "execute_notebooks: force" in (place / "_config.yml").read_text("utf-8")
    seconds = time_command(place, ".venv/bin/jupyter-book", "build", ".", "--all", "-q")
    notebooks = sorted(str(path) for path in place.glob("notebooks/*.ipynb"))
    for path in notebooks:
        command = ("-m", "pytest", "-q", "-p", "no:xdist", "--nbval", "--nbval-current-env", path)
        seconds += time_command(place, ".venv/bin/python", *command)
    return seconds


def measure_house() -> Iterator[Row]:
    """The figures, in seconds: what was measured, and what it is held against."""
    place = copy_tree("book")
    cold = time_command(place, "make", "book")
    kernels = read_seconds(place)
    (place / "_build/html/.built").unlink()
    render = time_command(place, "make", "book")
    yield Row("make book from nothing, against the kernels' time on all cores and one rendering", cold,
              sum(kernels.values()) / CORES + render, "s")  # fmt: skip
    nothing = time_command(place, "make", "book")
    yield Row("make book where nothing has changed, against one second", nothing, 1.0, "s")
    shortest = min(kernels, key=lambda chapter: kernels[chapter])
    (place / f"notebooks/{shortest}.ipynb").touch()
    changed = time_command(place, "make", "book")
    yield Row("make book where one chapter has changed, against its own run and three seconds", changed,
              read_seconds(place)[shortest] + 3, "s")  # fmt: skip
    yield Row("make book from nothing, against Jupyter Book and then nbval", cold,
              run_without_the_house(copy_tree("without")), "s")  # fmt: skip


def main() -> None:
    """Print the figures."""
    for row in measure_house():
        print(f"{row.what}: {row.ours:.1f} s, {row.theirs:.1f} s, ratio {row.ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
