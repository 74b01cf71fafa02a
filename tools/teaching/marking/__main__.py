"""Mark a folder: `make mark FROM=folder NAMES=list.txt`, the list with a name a line, or none.

What is done is kept: a second run does only what is missing.
"""

import hashlib
import json
import sys
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tools import ROOT
from tools.teaching.marking import sandbox
from tools.teaching.marking.plan import Question, make_plan, read_book
from tools.teaching.marking.report import RESULTS, Mark, write_page, write_points, write_table

MARKS = ROOT / "marks"


def name_owner(path: Path, folder: Path) -> str:
    """Who handed a notebook in: the folder below the one that is marked, or else the file."""
    first = path.relative_to(folder).parts[0]
    return Path(first).stem if first == path.name else first


@cache
def name_package() -> str:
    """A digest of the package, the checkers and the book's questions: marks of others are not taken over."""
    files = sorted([*ROOT.glob("d2lmini*/**/*.py"), *ROOT.glob("tools/teaching/marking/*.py")])
    asked = json.dumps(read_book()).encode()
    return hashlib.sha256(asked + b"".join(path.read_bytes() for path in files)).hexdigest()


def read_verdict(question: Question, record: dict[str, Any] | None, ended: str) -> tuple[str, str, str]:
    """Result, hint and remark of a question."""
    remarks = list(question.remarks)
    if record is None:
        return "did not run", "", "; ".join([*remarks, ended])
    verdict, *theirs = record["verdicts"]
    result, hint = verdict["result"], ""
    if theirs and theirs[0]["result"] == "right":
        remarks.append("which is right")
    if question.ticked and result != "right":
        remarks.append("its stored output has a tick")
    if record["shadowed"]:
        remarks.append("d2l is not the package")
    if result == "wrong" and question.untouched:
        result = "not attempted"
    elif result == "wrong":
        hint = verdict["hint"]
        remarks += [verdict["stopped"]] if verdict["stopped"] else []
    elif result == "did not run":
        remarks.append(record["error"] or verdict["report"])
    return result, hint, "; ".join(remarks)


def mark(path: Path, who: str) -> list[Mark]:
    """The marks of one notebook. All of its cells are run only if an answer needs more than what they define."""
    try:
        for whole in (False, True):
            chapter, cells, questions = make_plan(path, whole=whole)
            records, ended = sandbox.run(cells, [asdict(question) for question in questions])
            if not ended and "NameError" not in json.dumps(records):
                break
    except ValueError as error:
        return [Mark(who, path.name, "", "", "did not run", remark=str(error))]
    by_name = {record["name"]: record for record in records}
    return [
        Mark(who, path.name, chapter, question.name, *read_verdict(question, by_name.get(question.name), ended))
        for question in questions
    ]


def mark_once(path: Path, who: str, file: str) -> list[Mark]:
    """The marks of one notebook, kept under the digest of the notebook and of the package."""
    digest = hashlib.sha256(path.read_bytes() + name_package().encode()).hexdigest()
    kept = MARKS / "kept" / f"{digest}.json"
    if not kept.exists():
        text = json.dumps([asdict(found) for found in mark(path, who)], ensure_ascii=False)
        new = kept.with_suffix(f".{hash(str(path))}.new")
        new.write_text(text, "utf-8")
        new.replace(kept)
    return [Mark(**{**found, "who": who, "file": file}) for found in json.loads(kept.read_text("utf-8"))]


def list_notebooks(folder: Path) -> tuple[list[Path], list[str]]:
    """The notebooks in a folder, and who has handed in something else. What systems and Jupyter add is neither."""
    aside = {".ipynb_checkpoints", "__MACOSX"}
    files = [path for path in sorted(folder.rglob("*")) if not aside & set(path.parts) and path.name[:1] != "."]
    files = [path for path in files if MARKS not in (path, *path.parents)]
    paths = [path for path in files if path.suffix.lower() == ".ipynb" and path.is_file()]
    with_one = {name_owner(path, folder) for path in paths}
    others = {name_owner(path, folder) for path in files if path.parent == folder} - with_one
    return paths, sorted(others)


def note_twice(marks: list[Mark]) -> None:
    """Remark where somebody has handed in more than one notebook of a chapter."""
    files: dict[tuple[str, str], set[str]] = {}
    for mark in marks:
        files.setdefault((mark.who, mark.chapter), set()).add(mark.file)
    for mark in marks:
        if mark.chapter and len(files[mark.who, mark.chapter]) > 1:
            mark.remark = "; ".join(filter(None, [mark.remark, "one of several notebooks of this chapter"]))


def compare_with_list(marks: list[Mark], names: list[str]) -> list[Mark]:
    """A mark for each name on the list who has handed in nothing; who is not on it gets a remark."""
    owners, known = {mark.who.casefold() for mark in marks}, {name.casefold() for name in names}
    for mark in marks:
        if mark.who.casefold() not in known:
            mark.remark = "; ".join(filter(None, [mark.remark, "not on the list of names"]))
    missing = [name for name in names if name.casefold() not in owners]
    return [Mark(name, "", "", "", "not attempted", remark="nothing was handed in") for name in missing]


def show_progress(begun: dict[Future[list[Mark]], str]) -> None:
    """Move a bar as notebooks are done, in whatever order; where no terminal shows it, print a line for each."""
    # The bar of this program, whatever the environment says of those in notebooks.
    bar = tqdm(as_completed(begun), "notebooks", len(begun), disable=None)
    for number, done in enumerate(bar, 1):
        if bar.disable:
            counts = Counter(mark.result for mark in done.result())
            told = [f"{counts[result]} {result}" for result in RESULTS if counts[result]]
            print(f"{number} of {len(begun)}: {', '.join([begun[done], *told])}", flush=True)


def main(folder: Path, jobs: int, names_file: Path | None = None) -> None:
    """Mark each notebook in a folder, and write the reports, which name those on a list who handed in nothing.

    Raises:
        SystemExit: if there is no notebook in it or no such list, or if it is interrupted.
    """
    paths, others = list_notebooks(folder)
    if names_file is not None and not names_file.is_file():
        raise SystemExit(f"NAMES must be a file with a name a line, got {str(names_file)!r}")
    if not paths:
        raise SystemExit(f"FROM must be a folder with notebooks: make mark FROM=returned, got {str(folder)!r}")
    (MARKS / "kept").mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs) as pool:
        names = {path: str(path.relative_to(folder)) for path in paths}
        begun = {pool.submit(mark_once, path, name_owner(path, folder), name): name for path, name in names.items()}
        try:
            show_progress(begun)
        except KeyboardInterrupt:
            sandbox.stop()
            pool.shutdown(cancel_futures=True)
            raise SystemExit("interrupted: the same command goes on where it was") from None
    marks = [mark for done in begun for mark in done.result()]
    marks += [Mark(who, "", "", "", "did not run", remark="no notebook found") for who in others]
    note_twice(marks)
    if names_file is not None:
        listed = map(str.strip, names_file.read_text("utf-8-sig").splitlines())
        marks += compare_with_list(marks, [name for name in listed if name])
    network = "The notebooks had no network." if sandbox.leave_network() else "The notebooks could reach the network."
    write_table(MARKS / "marks.csv", marks)
    write_points(MARKS / "points.csv", marks)
    write_page(MARKS / "marks.html", marks, network)
    print(f"{len(paths)} notebooks: marks/marks.html, marks/marks.csv, marks/points.csv")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *map(Path, sys.argv[3:]))
