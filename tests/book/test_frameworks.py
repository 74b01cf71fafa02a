"""The notebooks of the other frameworks, as files: made from their texts, run from top to bottom, with their facts."""

import json
import re
from pathlib import Path

import nbformat
import pytest

from tools import ROOT
from tools.notebooks.files import DIGEST, FRAMEWORKS, digest, from_text
from tools.releasing.repository import repository_url, setup_cell

TEXTS = sorted(FRAMEWORKS.glob("*.md"))
each_framework = pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.stem)
CHAPTER = ROOT / "book" / "elsewhere.md"
LONGEST_CODE_LINE = 84


@each_framework
def test_the_notebook_is_made_from_its_text_and_was_run(text: Path) -> None:
    stored = nbformat.read(text.with_suffix(".ipynb"), 4)
    made = from_text(text.read_text("utf-8"))
    assert stored.metadata[DIGEST] == digest(made) == digest(stored), f"{text.name}: make frameworks"
    counts = [cell.execution_count for cell in stored.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    outputs = [output for cell in stored.cells for output in cell.get("outputs", [])]
    assert all(output.get("name") == "stdout" for output in outputs), "a warning is stored"


@each_framework
def test_what_is_measured_is_told(text: Path) -> None:
    cells = nbformat.read(text.with_suffix(".ipynb"), 4).cells
    printed = "".join(output.text for cell in cells for output in cell.get("outputs", []))
    for fact in (r"framework: \w+", r"outputs in float32: \de-\d\d", r"tenth call: [\d.]+ ms"):
        assert re.search(f"^{fact}", printed, re.MULTILINE), fact
    bounds = [cell.source for cell in cells if "outputs in" in cell.source]
    assert len(bounds) == 1 and "eps" in bounds[0].split("assert")[1], "what is compared is bounded"


@each_framework
def test_code_fits_on_a_screen(text: Path) -> None:
    lines = [
        line
        for cell in from_text(text.read_text("utf-8")).cells
        for line in cell.source.splitlines()
        if cell.cell_type == "code"
    ]
    assert max(map(len, lines)) <= LONGEST_CODE_LINE


@each_framework
def test_the_chapter_leads_to_it(text: Path) -> None:
    assert f"../frameworks/{text.stem}.ipynb" in CHAPTER.read_text("utf-8")


@pytest.mark.skipif(not CHAPTER.exists(), reason="a fork without that chapter")
def test_each_place_that_the_chapter_links_is_there() -> None:
    links = re.findall(r"\.\./frameworks/([\w-]+)\.ipynb#([\w-]+)", CHAPTER.read_text("utf-8"))
    assert len(links) > 20
    for name, place in links:
        cells = json.loads((FRAMEWORKS / f"{name}.ipynb").read_text("utf-8"))["cells"]
        titles = ["".join(cell["source"]).partition("\n")[0] for cell in cells]
        assert place in [title.removeprefix("## ").lower().replace(" ", "-") for title in titles], (name, place)


@each_framework
def test_it_installs_the_package_as_a_chapter_does(text: Path) -> None:
    assert setup_cell(repository_url()) + "\n```" in text.read_text("utf-8")
