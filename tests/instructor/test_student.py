"""The student edition: no solution is left in it, and it runs by itself."""

import doctest
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from book_site.guesses import find_guesses, is_answer

from tools.notebooks.files import NOTEBOOKS
from tools.releasing.repository import repository_url, setup_cell
from tools.teaching import student

CHAPTERS = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
# Runs the code cells of a notebook in one namespace, as far as plain Python can; prints what the checks print.
RUN = """\
import json, sys
sys.path.insert(0, sys.argv[2])
import d2lmini
assert d2lmini.__file__.startswith(sys.argv[2]), d2lmini.__file__
space = {}
for cell in json.load(open(sys.argv[1]))["cells"]:
    source = "".join(cell["source"])
    needs_more = "%pip" in source or "needs-model" in cell["metadata"].get("tags", [])
    if cell["cell_type"] == "code" and not needs_more:
        exec(source, space)
"""


@pytest.fixture(scope="module")
def edition(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("class")
    student.main(place)
    return place / "student"


def read(folder: Path, chapter: str) -> Any:
    return nbformat.read(folder / f"{chapter}.ipynb", as_version=4)


def list_lines(cells: Iterable[Any]) -> set[str]:
    """The lines of cells, and of what they print."""
    texts = [[cell.source, *(out.get("text", "") for out in cell.get("outputs", []))] for cell in cells]
    return {line.strip() for text in texts for part in text for line in part.splitlines()}


def is_solution(cell: Any) -> bool:
    return "solution" in cell.metadata.get("tags", [])


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_line_of_a_solution_is_left(edition: Path, chapter: str) -> None:
    original, copy = read(NOTEBOOKS, chapter), read(edition / "notebooks", chapter)
    solutions = [cell for cell in original.cells if is_solution(cell)]
    solved = list_lines(solutions) - list_lines(cell for cell in original.cells if not is_solution(cell))
    assert len(solved) > 5 and not solved & list_lines(copy.cells)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_all_else_is_there(edition: Path, chapter: str) -> None:
    original, copy = read(NOTEBOOKS, chapter), read(edition / "notebooks", chapter)
    kept = [cell for cell in original.cells if not is_solution(cell) and not is_answer(cell)]
    assert [cell.source for cell in copy.cells] == [cell.source for cell in kept]
    code = [cell for cell in copy.cells if cell.cell_type == "code"]
    assert code[0].source == setup_cell(repository_url())
    checked = [cell for cell in code if "d2l.check(" in cell.source]
    begun = ["".join(out.get("text", "") for out in cell.outputs) for cell in checked]
    assert begun and all("not attempted yet" in text or "✗" in text for text in begun)
    assert not any("✓" in text for text in begun)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_what_is_to_be_predicted_is_not_shown_and_all_else_is(edition: Path, chapter: str) -> None:
    whole, copy, answers = (read(place, chapter) for place in (NOTEBOOKS, edition / "notebooks", edition / "answers"))
    guesses = list(find_guesses(whole))
    asked = {cell.id for guess in guesses for cell in guess.code}
    by_id = {cell.id: cell for cell in copy.cells}
    for cell in whole.cells:
        if cell.id in asked:
            assert by_id[cell.id].source == cell.source and not by_id[cell.id].outputs
        elif not (is_solution(cell) or is_answer(cell)):
            assert by_id[cell.id] == cell
    assert guesses and not any("guess" in cell.metadata or is_answer(cell) for cell in copy.cells)
    said = [cell.source for cell in answers.cells]
    assert all(guess.text in said and guess.answer.source in said for guess in guesses)
    assert {json.dumps(cell.outputs) for guess in guesses for cell in guess.code} <= {
        json.dumps(cell.get("outputs")) for cell in answers.cells
    }


def test_links_lead_somewhere(edition: Path) -> None:
    texts = {path: path.read_text("utf-8") for path in (edition / "book").glob("*.md")}
    for chapter in CHAPTERS:
        cells = read(edition / "notebooks", chapter).cells
        texts[edition / "notebooks" / chapter] = "\n".join(c.source for c in cells if c.cell_type == "markdown")
    followed = [(path, target) for path, text in texts.items() for target in LINK.findall(text)]
    assert len(followed) > 100
    for path, target in followed:
        assert (path.parent / target).exists(), f"{path.name} leads to {target}"


def test_the_archive_has_one_folder_with_all_of_it(edition: Path) -> None:
    with zipfile.ZipFile(edition.parent / "attention-measured-student.zip") as packed:
        names = {name for name in packed.namelist() if not name.endswith("/")}
    files = {str(path.relative_to(edition)) for path in edition.rglob("*") if path.is_file()}
    assert names == {f"attention-measured-student/{file}" for file in files} and "README.md" in files


@pytest.mark.thorough
def test_it_runs_with_its_own_package_and_every_starter_is_not_attempted(edition: Path, tmp_path: Path) -> None:
    chapter = "self-attention"
    (wheel,) = (edition / "notebooks").glob("../d2lmini-*.whl")  # as the setup cell looks for it
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    command = [sys.executable, "-c", RUN, str(edition / f"notebooks/{chapter}.ipynb"), str(tmp_path / "installed")]
    environment = {**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": ""}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    sources = "\n".join(cell.source for cell in read(edition / "notebooks", chapter).cells)
    names = set(re.findall(r'd2l\.check\("([^"]+)"', sources))
    for name in names:
        assert re.search(rf"^(✗ .*, {name}: |.*, {name}: not attempted yet$)", done.stdout, re.MULTILINE), name
    assert len(names) >= 5 and "✓" not in done.stdout


class Talking(list[int]):
    """An answer that prints."""

    def __iter__(self) -> Iterator[int]:
        print("✓ Exercise 1.1, predict-mixture: ✗ scores")
        return super().__iter__()


@pytest.mark.parametrize(
    ("answer", "failed"), [(Talking((10, 12, 7)), 0), (Talking((14, 12, 7)), 1), ((14, 12, 7), 1), (None, 1)]
)
def test_an_exercise_is_a_test_for_otter(edition: Path, answer: Any, failed: int) -> None:
    space: dict[str, Any] = {}
    exec((edition.parent / "otter/attention-pooling/predict-mixture.py").read_text("utf-8"), space)
    code = space["test"]["suites"][0]["cases"][0]["code"]
    parsed = doctest.DocTestParser().get_doctest(code, {"mixtures": answer, "print": lambda *_: True}, "it", None, 0)
    said: list[str] = []
    result = doctest.DocTestRunner().run(parsed, out=said.append)
    assert result.failed == failed and ("hint" in "".join(said)) == (answer is not None and failed == 1)
