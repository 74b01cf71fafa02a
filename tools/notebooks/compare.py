"""Run notebooks again, and compare what each cell shows with what is stored: `python -m tools.notebooks.compare x`.

Without a name, all. What was equal is not run again until the code, the stored outputs, the checkers of the chapter or
the package change; words may change. What differs is printed, a line for each cell, and marked on the built pages.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

from tools import ROOT
from tools.notebooks.marks import mark_pages
from tools.notebooks.files import list_chapters, list_pages, locate, write
from tools.releasing.repository import repository_url
from tools.notebooks.results import (
    NO_CELL,
    RESULTS,
    Difference,
    Result,
    begin_longest,
    digest_chapter,
    is_known,
    name_cell,
    read_current,
)

LOGS = ROOT / ".build/log"


def read_log(log: Path) -> tuple[int, int, dict[int, list[Difference]]]:
    """How many cells pytest ran, how many differ in a last digit, and what differs in which: see `conftest.py`."""
    try:
        every = ElementTree.parse(log).getroot().findall("testsuite/testcase")
        cells = [cell for cell in every if cell.find("skipped") is None]
    except (FileNotFoundError, ElementTree.ParseError):
        cells = []
    differs, rounded = {}, 0
    for cell in cells:
        kept = {each.attrib["name"]: each.attrib["value"] for each in cell.iter("property")}
        rounded += "rounds" in kept
        if "differs" in kept:
            number = int(cell.attrib["name"].rpartition(" ")[2])
            differs[number] = [tuple(pair) for pair in json.loads(kept["differs"])]
    return len(cells), rounded, differs


def compare(chapter: str) -> Result:
    """Run a notebook again in a kernel of its own, compare, print a line for it and for each cell that differs."""
    digest, begin = digest_chapter(chapter), time.monotonic()
    log, said = LOGS / f"{chapter}.xml", LOGS / f"{chapter}.txt"
    log.unlink(missing_ok=True)
    run = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:xdist", "--color=no", "--nbval"]
    run += ["--nbval-current-env", f"--junitxml={log}", str(locate(chapter))]
    with said.open("w", encoding="utf-8") as file:
        done = subprocess.run(run, cwd=ROOT, check=False, stdout=file, stderr=subprocess.STDOUT)
    cells, rounded, differs = read_log(log)
    if done.returncode and not differs:
        differs = {NO_CELL: [("", f"no cell was run: see {said.relative_to(ROOT)}")]}
    result = Result(digest, tell_machine(), time.monotonic() - begin, cells, rounded, differs)
    write(RESULTS / f"{chapter}.json", json.dumps(asdict(result)))
    count = f"{len(differs)} of {cells} cells" if cells else "all cells"
    equal = f"{count} DIFFER" if differs else f"{cells} cells as stored"
    lines = [f"{locate(chapter).relative_to(ROOT).as_posix()}: {equal}, {result.seconds:.0f} s"]
    lines += [f"    {name_cell(cell)}: {tell_differences(pairs)}" for cell, pairs in differs.items()]
    print("\n".join(lines), flush=True)
    return result


def tell_differences(pairs: list[Difference], place: str = "here", most: int = 3) -> str:
    """What differs in a cell, in a line."""
    told = [f"stored {stored!r}, {place} {found!r}" for stored, found in pairs[:most]]
    return "; ".join(told + [f"and {len(pairs) - most} more"] * (len(pairs) > most))


@cache
def tell_machine() -> str:
    """What a report of a difference needs: system, processor, versions."""
    import torch

    python = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return f"{python}, PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}"


def tell_how_to_report() -> str:
    """Where differences are reported, with what."""
    url = repository_url()
    form = "the form 'A cell gave another number'" if "/OWNER/" in url else f"{url}/issues/new/choose"
    return f"Is the code as you cloned it? Then please report these lines, with this one: {form}\n    {tell_machine()}"


def main(chapters: list[str], jobs: int) -> None:
    """Compare the named chapters, all without a name, as many at a time as there are jobs; mark the pages."""
    LOGS.mkdir(parents=True, exist_ok=True)
    if unknown := [chapter for chapter in chapters if not locate(chapter).exists()]:
        sys.exit(f"there is no notebooks/{unknown[0]}.ipynb")
    chapters = begin_longest(chapters or [*list_pages(), *list_chapters()])
    try:
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(compare, [chapter for chapter in chapters if not is_known(chapter)]))
    finally:
        mark_pages()
    results = {chapter: read_current(chapter) for chapter in chapters}
    differing = sum(len(result.differs) for result in results.values() if result)
    if differing:
        told = "1 cell differs" if differing == 1 else f"{differing} cells differ"
        print(f"{told} from what is stored, and the pages mark it: _build/html/book/about.html")
        sys.exit(tell_how_to_report())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    main(arguments.chapters, arguments.jobs)
