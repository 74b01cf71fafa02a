"""Plant small faults into the package, one at a time, with mutmut: which of them does no unit test notice?

    .venv-mutation/bin/python -m tools.mutation attention positions

A mutant that survives is a missing test, or one that nobody could tell from the original: so a share must be killed,
and once an edition somebody looks at the rest.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT

FOLDER = ROOT / ".build/mutation"
LEAST = 0.93  # of the mutants of a group must be killed
UNIT = "tests/package"
PLACES = f"{UNIT}/tools_of_torch/test_places.py"
# Modules, and the tests that must notice what is wrong in them.
GROUPS: dict[str, tuple[list[str], list[str]]] = {
    "checks": (["d2lmini/checks.py"], [f"{UNIT}/test_checks.py"]),
    "attention": (["d2lmini/attention/*"], [f"{UNIT}/test_checks.py", f"{UNIT}/attention", PLACES]),
    "positions": (["d2lmini/positions/*"], [f"{UNIT}/positions", PLACES]),
    "transformer": (["d2lmini/transformer/*"], [f"{UNIT}/transformer", PLACES]),
    "instruments": (["d2lmini/instruments/*"], [f"{UNIT}/instruments", PLACES]),
    "exercises": (["d2lmini_exercises/*"], ["tests/exercises"]),
}
COPIED = ("d2lmini", "d2lmini_exercises", "tests", "tools", "book", "conftest.py", "README.md", "pyproject.toml",
          "_config.yml", "_toc.yml")  # fmt: skip
NOTICED = {"killed", "timeout", "suspicious", "segfault"}


@dataclass(frozen=True)
class Mutant:
    """One planted fault.

    Attributes:
        name: mutmut's name of it, which begins with its module.
        status: what became of it, in mutmut's words.
    """

    name: str
    status: str

    @property
    def module(self) -> str:
        """The module that it is in."""
        return re.sub(r"\.x[_ǁ].*", "", self.name)

    @property
    def function(self) -> str:
        """The function that it is in, with its module, as mutmut writes it."""
        return re.sub(r"__mutmut_\d+$", "", self.name)


def prepare(group: str) -> Path:
    """A copy of what the tests of a group need, with mutmut's settings; what an earlier run found there is kept."""
    place, (modules, tests) = FOLDER / group, GROUPS[group]
    for name in COPIED:
        source, target = ROOT / name, place / name
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    settings = {
        "source_paths": ["d2lmini", "d2lmini_exercises"],
        "only_mutate": modules,
        "also_copy": [
            name for name in COPIED if name not in ("d2lmini", "d2lmini_exercises", "tests", "pyproject.toml")
        ],
        "pytest_add_cli_args_test_selection": tests,
        "pytest_add_cli_args": ["-p", "no:xdist", "--no-cov", "-m", "not thorough", "-k", "not compiled"],
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    with (place / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write("\n".join(["", "[tool.mutmut]", *lines, "use_git_change_detection = false", ""]))
    return place


def call(place: Path, *words: str, quiet: bool = True) -> str:
    """What a command of mutmut prints; without `quiet` it is shown, with mutmut's own bar."""
    environment = {**os.environ, "PYTHONPATH": str(place), "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "mutmut", *words],
        cwd=place, env=environment, check=False, text=True, stdout=subprocess.PIPE if quiet else None,
    )  # fmt: skip
    if done.returncode and not quiet:
        raise SystemExit(f"mutmut stopped with {done.returncode}: do the tests pass without a mutant?")
    return done.stdout or ""


def draw(place: Path, number: int) -> list[str]:
    """Mutants of a large group, drawn by chance, the same ones each time."""
    call(place, "run", "none.of.these")  # plants them, and runs nothing
    return random.Random(0).sample([mutant.name for mutant in read_mutants(place)], number)  # noqa: S311


def read_mutants(place: Path) -> list[Mutant]:
    """All mutants of a group and what became of them."""
    found = re.findall(r"^\s+(\S+__mutmut_\d+): (.+?)\s*$", call(place, "results", "--all", "true"), re.MULTILINE)
    return [Mutant(name, status) for name, status in found]


def show_change(place: Path, mutant: Mutant) -> tuple[str, str]:
    """The lines of the original that are gone, and those that stand in their place."""
    lines = [line for line in call(place, "show", mutant.name).splitlines() if not line.startswith(("---", "+++"))]
    was, now = ("\n".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+")
    return was, now


def only_words_it_differently(was: str, now: str) -> bool:
    """Whether the mutant changes no more than the letters of a string: mutmut writes them in capitals, or adds XX."""
    return was.lower() == now.replace("XX", "").lower() or was.lower() == now.lower()


def judge(group: str) -> Iterator[tuple[str, Counter[str], list[str]]]:
    """For each module of a group: how many mutants came to which end, and the changes that no test noticed."""
    place = FOLDER / group
    ends: dict[str, Counter[str]] = {}
    missed: dict[str, list[str]] = {}
    for mutant in read_mutants(place):
        if mutant.status == "not checked":  # the run was stopped before it
            continue
        end = "killed" if mutant.status in NOTICED else "survived"
        if end == "survived":
            was, now = show_change(place, mutant)
            if only_words_it_differently(was, now):
                end = "worded"
            else:
                missed.setdefault(mutant.module, []).append(f"{mutant.function}\n    - {was}\n    + {now}")
        ends.setdefault(mutant.module, Counter())[end] += 1
    for module in sorted(ends):
        yield module, ends[module], missed.get(module, [])


def report(groups: list[str]) -> bool:
    """Print the table, and what survived; whether every group is killed as far as it must be."""
    fine = True
    print(f"{'module':48} {'killed':>7} {'survived':>9} {'wording':>8}  share")
    for group in groups:
        total: Counter[str] = Counter()
        changes: list[str] = []
        for module, ends, missed in judge(group):
            total += ends
            changes += missed
            _print_row(module, ends)
        _print_row(f"= {group}", total)
        print(*changes, sep="\n")
        fine &= total["killed"] >= LEAST * (total["killed"] + total["survived"])
    return fine


def _print_row(name: str, ends: Counter[str]) -> None:
    share = ends["killed"] / max(ends["killed"] + ends["survived"], 1)
    print(f"{name:48} {ends['killed']:7} {ends['survived']:9} {ends['worded']:8}  {share:.3f}")


def main() -> None:
    """Run the groups that are named, all without a name, and report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("groups", nargs="*", choices=[*GROUPS, []], help="parts of the package; all without a name")
    parser.add_argument("--jobs", default=str(os.cpu_count() or 1), help="how many mutants at a time")
    parser.add_argument(
        "--sample", type=int, default=0, help="of each group, so many mutants drawn by chance; else all"
    )
    parser.add_argument("--report", action="store_true", help="only report what the last run found")
    options = parser.parse_args()
    groups = options.groups or list(GROUPS)
    for group in [] if options.report else groups:
        place = prepare(group)
        names = draw(place, options.sample) if options.sample else []
        call(place, "run", "--max-children", options.jobs, *names, quiet=False)
    sys.exit(not report(groups))


if __name__ == "__main__":
    main()
