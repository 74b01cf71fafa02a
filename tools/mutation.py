"""Plant small faults into the package, one at a time, with mutmut: which of them does no unit test notice?

    .venv-mutation/bin/python -m tools.mutation attention positions

A mutant that survives is a missing test, or one that nobody could tell from the original: so a share must be killed,
and once an edition somebody looks at the rest.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
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
    "costs": (["d2lmini/costs/*"], [f"{UNIT}/costs", PLACES]),
    "mixers": (["d2lmini/mixers/*"], [f"{UNIT}/mixers"]),
    "exercises": (["d2lmini_exercises/*"], ["tests/exercises"]),
}
SOURCES = ("d2lmini", "d2lmini_exercises")
COPIED = ("tools", "book", "conftest.py", "README.md", "_config.yml", "_toc.yml")
NOTICED = {"killed", "timeout", "suspicious", "segfault"}


def prepare(group: str) -> Path:
    """A copy of what the tests of a group need, with mutmut's settings; what an earlier run found there is kept."""
    place, (modules, tests) = FOLDER / group, GROUPS[group]
    for name in (*SOURCES, *COPIED, "tests", "pyproject.toml"):
        source, target = ROOT / name, place / name
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    settings = {
        "source_paths": SOURCES,
        "only_mutate": modules,
        "also_copy": COPIED,
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
    command, shown = [sys.executable, "-m", "mutmut", *words], subprocess.PIPE if quiet else None
    done = subprocess.run(command, cwd=place, env=environment, check=False, text=True, stdout=shown)
    if done.returncode and not quiet:
        raise SystemExit(f"mutmut stopped with {done.returncode}: do the tests pass without a mutant?")
    return done.stdout or ""


def read_mutants(place: Path) -> dict[str, str]:
    """All mutants of a group by mutmut's name, which begins with its module, and what became of each."""
    return dict(re.findall(r"(?m)^\s+(\S+__mutmut_\d+): (.+?)\s*$", call(place, "results", "--all", "true")))


def only_words_it_differently(change: str) -> bool:
    """Whether a mutant changes no more than the letters of a string: mutmut writes them in capitals, or adds XX."""
    was, now = (re.findall(rf"(?m)^\{sign}(?!\{sign}\{sign})(.*)", change) for sign in "-+")
    return [line.lower() for line in was] in ([line.replace("XX", "").lower() for line in now], [*map(str.lower, now)])


def report(group: str) -> bool:
    """Print how many mutants were killed and each change that no test noticed; whether enough were killed."""
    ends = {name: end for name, end in read_mutants(FOLDER / group).items() if end != "not checked"}
    missed = {name: call(FOLDER / group, "show", name) for name, end in ends.items() if end not in NOTICED}
    survived = {name: change for name, change in missed.items() if not only_words_it_differently(change)}
    killed = len(ends) - len(missed)
    print(f"{group}: {killed} killed, {len(survived)} survived, {len(missed) - len(survived)} only worded differently")
    for name, change in survived.items():
        print(f"  {name}\n{change}")
    return killed >= LEAST * (killed + len(survived))


def main() -> None:
    """Run the groups that are named, all without a name, and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", choices=[*GROUPS, []], help="parts of the package; all without a name")
    parser.add_argument("--sample", type=int, default=0, help="of each group, so many drawn by chance; else all")
    options = parser.parse_args()
    groups = options.groups or list(GROUPS)
    for group in groups:
        place = prepare(group)
        names: list[str] = []
        if options.sample:  # the same ones each time
            call(place, "run", "none.of.these")  # plants them, and runs nothing
            names = random.Random(0).sample(list(read_mutants(place)), options.sample)  # noqa: S311
        call(place, "run", *names, quiet=False)
    sys.exit(not min([report(group) for group in groups]))


if __name__ == "__main__":
    main()
