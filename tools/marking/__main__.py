"""Mark a folder: `python -m tools.marking FOLDER JOBS`.

What is done is kept: a second run does only what is missing.
"""

from __future__ import annotations

import hashlib
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tools import ROOT
from tools.marking import sandbox
from tools.marking.plan import Question, make_plan, to_json
from tools.marking.report import Mark, write_page, write_table

MARKS = ROOT / "marks"


def name_owner(path: Path, folder: Path) -> str:
    """Who handed a notebook in: the folder below the one that is marked, or else the file."""
    first = path.relative_to(folder).parts[0]
    return Path(first).stem if first == path.name else first


@cache
def name_package() -> str:
    """A digest of the package: marks of another one are not taken over."""
    files = sorted(ROOT.glob("d2lmini/**/*.py")) + sorted(ROOT.glob("tools/marking/*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def read_verdict(question: Question, record: dict[str, Any] | None, ended: str) -> tuple[str, str, str]:
    """Result, hint and remark of a question."""
    remarks = list(question.remarks)
    if record is None:
        return "did not run", "", "; ".join([*remarks, ended])
    verdict, *theirs = record["verdicts"]
    if theirs and theirs[0].startswith("✓"):
        remarks.append("which is right")
    if record["shadowed"]:
        remarks.append("d2l is not the package")
    if record["changed"]:
        return "did not run", "", "; ".join([*remarks, f"it changed {', '.join(record['changed'])}"])
    if verdict.startswith("✓"):
        return "right", "", "; ".join(remarks)
    if verdict.startswith("✗"):
        return "wrong", " ".join(verdict.partition("hint:")[2].split()), "; ".join(remarks)
    if verdict.endswith(": not attempted yet\n"):
        return "not attempted", "", "; ".join(remarks)
    return "did not run", "", "; ".join([*remarks, record["error"] or verdict.removeprefix("no answer: ")])


def mark(path: Path, who: str) -> list[Mark]:
    """The marks of one notebook. All of its cells are run only if an answer needs more than what they define."""
    try:
        plan = make_plan(path, whole=False)
        records, ended = sandbox.run(to_json(plan))
        if ended or "NameError" in json.dumps(records):
            plan = make_plan(path, whole=True)
            records, ended = sandbox.run(to_json(plan))
    except ValueError as error:
        return [Mark(who, path.name, "", "did not run", remark=str(error))]
    by_name = {record["name"]: record for record in records}
    return [
        Mark(who, plan.chapter, question.name, *read_verdict(question, by_name.get(question.name), ended))
        for question in plan.questions
    ]


def mark_once(path: Path, who: str) -> list[Mark]:
    """The marks of one notebook, kept under the digest of the notebook and of the package."""
    digest = hashlib.sha256(path.read_bytes() + name_package().encode()).hexdigest()
    kept = MARKS / "kept" / f"{digest}.json"
    if not kept.exists():
        text = json.dumps([asdict(found) for found in mark(path, who)], ensure_ascii=False)
        new = kept.with_suffix(f".{hash(str(path))}.new")
        new.write_text(text, "utf-8")
        new.replace(kept)
    return [Mark(**{**found, "who": who}) for found in json.loads(kept.read_text("utf-8"))]


def main(folder: Path, jobs: int) -> None:
    """Mark each notebook in a folder, and write both reports.

    Raises:
        SystemExit: if there is no notebook in it.
    """
    paths = [path for path in sorted(folder.rglob("*.ipynb")) if ".ipynb_checkpoints" not in path.parts]
    if not paths:
        raise SystemExit(f"FROM must be a folder with notebooks: make mark FROM=returned, got {str(folder)!r}")
    (MARKS / "kept").mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs) as pool:
        done = pool.map(lambda path: mark_once(path, name_owner(path, folder)), paths)
        # The bar of this program, whatever the environment says of those in notebooks.
        marks = [found for some in tqdm(done, "notebooks", len(paths), disable=None) for found in some]
    network = "The notebooks had no network." if sandbox.leave_network() else "The notebooks could reach the network."
    write_table(MARKS / "marks.csv", marks)
    write_page(MARKS / "marks.html", marks, network)
    print(f"{len(paths)} notebooks: marks/marks.csv, marks/marks.html")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
