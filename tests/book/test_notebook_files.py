"""The notebooks as files: what nbval and Sphinx would let pass in silence. Needs no torch."""

import hashlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from book_site.outputs import count_outputs
from book_site.phrases import PREREQUISITES, RUNNING_TIME

from tests.book.chapters import (
    CHAPTERS,
    NOTEBOOK_CHAPTERS,
    NOTEBOOK_PAGES,
    TEXT_CHAPTERS,
    TEXT_PAGES,
    cells,
    convert,
    each_chapter,
    each_notebook,
    find,
    read,
    read_text,
)
from tools import ROOT
from tools.notebooks.files import (
    ASIDE,
    CELL_METADATA,
    COVER,
    DIGEST,
    NEEDS_MODEL,
    TEXTS,
    find_cover,
    hide,
    is_notebook,
    list_answers,
    locate,
)
from tools.releasing.repository import repository_url, setup_cell

pytestmark = pytest.mark.recipe("A chapter")

REFRESH = "run `make notebooks`"

MOST_KIB = 640
LONGEST_CODE_LINE = 84
MOST_CODE_LINES = 30

TAGS = {"answer", "cover", "hide-input", "map", "opening", NEEDS_MODEL} | ASIDE

PUBLISHERS = r"(arxiv|doi|jstor|aclanthology|jmlr)\.org|mlr\.press|openreview\.net"

RAW_MYST = {
    "a role": r"\{[a-zA-Z][\w:.+-]*\}`",
    "a directive": r"^\s*(`{3,}|:{3,}|~{3,})\s*\{",
    "a fence of colons": r"^\s*:{3,}",
    "a target": r"^\s*\([\w-]+\)=\s*$",
    "a comment": r"^%",
    "a substitution": r"\{\{.*\}\}",
    "attributes": r"[)\]`]\{[#.\w]|^\{[#.]",
    "a label of an equation": r"\$\$\s*\([\w-]+\)\s*$",
    "a definition list": r"^:\s{1,3}\S",
    "a footnote": r"\[\^[\w-]+\]",
    "a link without text": r"(?<!!)\[\]\(",
    "a picture without alt text": r"!\[\]\(",
    "a link of Sphinx": r"<(project|inv|path):",
    "a mark of a merge conflict": r"^(<{7}|\|{7}|={7}|>{7})",
}


def images(cell: Any) -> list[Any]:
    return [out for out in cell.outputs if any(mime.startswith("image/") for mime in out.get("data", {}))]


def named(toc: Any) -> Iterator[str]:
    """The files that a table of contents names, at any depth."""
    for key, part in toc.items():
        if key in ("root", "file"):
            yield part
        elif isinstance(part, list):
            for entry in part:
                yield from named(entry)


def test_each_text_has_a_notebook_and_the_other_way_round() -> None:
    assert TEXT_PAGES == NOTEBOOK_PAGES, (
        f"pages: {sorted(TEXT_PAGES ^ NOTEBOOK_PAGES)} lack text or notebook; {REFRESH}"
    )
    assert TEXT_CHAPTERS == NOTEBOOK_CHAPTERS, (
        f"book/*.md without a notebook: {sorted(TEXT_CHAPTERS - NOTEBOOK_CHAPTERS)}, notebooks without a text: "
        f"{sorted(NOTEBOOK_CHAPTERS - TEXT_CHAPTERS)}; {REFRESH}, or delete both"
    )


def test_the_table_of_contents_and_the_files_agree() -> None:
    entries = list(named(yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))))
    files = {f"notebooks/{chapter}" for chapter in NOTEBOOK_CHAPTERS}
    files |= {f"pages/{page}" for page in NOTEBOOK_PAGES}
    files |= {f"book/{path.stem}" for path in TEXTS.glob("*.md") if not is_notebook(path)}
    assert not set(entries) - files, f"_toc.yml names files that do not exist: {sorted(set(entries) - files)}"
    assert not files - set(entries), f"missing from _toc.yml: {sorted(files - set(entries))}"
    assert len(entries) == len(files), f"_toc.yml names a file twice: {sorted(entries)}"


@each_notebook
def test_text_and_notebook_are_equal(chapter: str) -> None:
    text, of_notebook = read_text(chapter), convert(chapter)
    if text != of_notebook:
        lines = {*text.splitlines()} ^ {*of_notebook.splitlines()}
        first = next((line for line in text.splitlines() + of_notebook.splitlines() if line in lines), "")
        pytest.fail(f"book/{chapter}.md and notebooks/{chapter}.ipynb disagree, {REFRESH}; first line: {first!r}")


@each_notebook
def test_the_notebook_remembers_the_text_that_it_was_made_from(chapter: str) -> None:
    assert hashlib.sha256(convert(chapter).encode()).hexdigest() == read(chapter).metadata.get(DIGEST), (
        f"notebooks/{chapter}.ipynb is not what was made from book/{chapter}.md: its {DIGEST} is another one; {REFRESH}"
    )


@each_notebook
def test_every_code_cell_was_run_in_order(chapter: str) -> None:
    counts = [cell.execution_count for _, cell in cells(chapter, "code")]
    never = [where for where, cell in cells(chapter, "code") if cell.execution_count is None]
    assert not never, f"never executed, so nbval would compare nothing: {never}; {REFRESH}"
    in_order = counts == list(range(1, len(counts) + 1))
    assert in_order, f"notebooks/{chapter}.ipynb: cells were not run in order: {counts}; {REFRESH}"


@each_notebook
def test_some_output_is_compared(chapter: str) -> None:
    assert count_outputs(read(chapter))["compared"], f"book/{chapter}.md: no compared cell: no change would be noticed"


@each_notebook
def test_nothing_raised_or_went_to_stderr(chapter: str) -> None:
    for where, cell in cells(chapter, "code"):
        bad = [out for out in cell.outputs if out.output_type == "error" or out.get("name") == "stderr"]
        assert not bad, f"{where}: output on stderr, or an error: {str(bad)[:300]}"


@each_notebook
def test_no_code_ends_in_a_semicolon(chapter: str) -> None:
    for where, cell in cells(chapter, "code"):
        hidden = re.search(r";\s*(#.*\s*)*\Z", cell.source)
        assert not hidden, f"{where}: a trailing ; hides output from the comparison"


@each_notebook
def test_code_fits_on_a_screen(chapter: str) -> None:
    for where, cell in cells(chapter, "code"):
        lines = cell.source.splitlines()
        longest = max(map(len, lines), default=0)
        assert len(lines) <= MOST_CODE_LINES, f"{where}: {len(lines)} lines, at most {MOST_CODE_LINES}"
        assert longest <= LONGEST_CODE_LINE, f"{where}: a line of {longest} characters, at most {LONGEST_CODE_LINE}"


@pytest.mark.recipe("A figure")
@each_notebook
def test_each_figure_has_alt_text_a_caption_and_its_own_cell(chapter: str) -> None:
    for where, cell in cells(chapter, "code"):
        if images(cell):
            assert len(images(cell)) == 1, f"{where}: one figure a cell, so that each has its alt text"
            tables = [out for out in cell.outputs if "text/html" in out.get("data", {})]
            assert not tables, f"{where}: a figure and a table are two cells, so that the caption is that of the figure"
            alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
            assert len(alt.split()) >= 5, f"{where}: a figure without alt text (mystnb: image: alt in its metadata)"
            beside = images(cell)[0].metadata.get("image/png", {}).get("alt")
            assert beside == alt, f"{where}: in Jupyter the figure has not its alt text; {REFRESH}"
            caption = cell.metadata["mystnb"].get("figure", {}).get("caption", "")
            assert caption.endswith("."), f"{where}: a figure without a caption (mystnb: figure: caption, a sentence)"
            assert {"image/svg+xml", "image/png"} <= set(images(cell)[0].data), f"{where}: not stored as SVG and PNG"


def test_the_cover_is_the_figure_of_a_chapter() -> None:
    pictures = [picture for chapter in CHAPTERS if (picture := find_cover(read(chapter)))]
    stored = [COVER.read_text("utf-8")] if COVER.exists() else []
    assert pictures == stored, f"{COVER.name} is not the figure of the one cell tagged cover; {REFRESH}"


@each_notebook
def test_markdown_is_portable(chapter: str) -> None:
    for where, cell in cells(chapter, "markdown"):
        for what, pattern in RAW_MYST.items():
            found = re.search(pattern, cell.source, re.MULTILINE)
            assert not found, f"{where}: raw MyST ({what}): {found[0]!r} shows up outside Sphinx"


@each_notebook
def test_headings_details_and_equations_are_complete(chapter: str) -> None:
    text = "\n\n".join(cell.source for _, cell in cells(chapter, "markdown"))
    assert len(re.findall("^# ", text, re.MULTILINE)) == 1, f"{find(chapter, '# ', last=True)}: a chapter has one title"
    left = re.sub(r"<details[^>]*>((?!<details)[\s\S])*?</details>", "", text)
    assert "details>" not in left, f"{find(chapter, 'details>', last=True)}: a <details> is not closed, or not opened"
    tags = re.findall(r"\\tag\{([\d.]+)\}", text)
    for tag in tags:
        where = find(chapter, f"tag{{{tag}}}", last=True)
        assert tags.count(tag) == 1, f"{where}: an equation number is used twice: {tag}"
    for mentioned in re.findall(r"\((\d+\.\d+)\)", re.sub("`[^`]*`", "", text)):
        assert mentioned in tags, f"{find(chapter, f'({mentioned})')}: there is no equation {mentioned}"


@each_chapter
def test_a_chapter_says_what_it_needs_and_how_long_it_runs(chapter: str) -> None:
    where, first = cells(chapter, "markdown")[0]
    missing = [what for what in (PREREQUISITES, RUNNING_TIME) if not re.search(rf"\*\*{what}\*\*: \S", first.source)]
    assert not missing, f"{where}: the first cell lacks {missing}"


@each_notebook
def test_cited_works_are_in_the_bibliography(chapter: str) -> None:
    bibliography = (TEXTS / "references.bib").read_text("utf-8")
    for where, cell in cells(chapter, "markdown"):
        for link in re.findall(r"\]\((https?://[^)]+)\)", cell.source):
            if not re.match(rf"https?://[\w.]*({PUBLISHERS})/", link):
                continue
            work = link.partition("doi.org/")[2] or link
            assert re.search(rf"[{{/]{re.escape(work)}}}", bibliography), f"{where}: {link} is not in references.bib"


@each_notebook
def test_the_first_code_cell_sets_up_colab(chapter: str) -> None:
    where, first = cells(chapter, "code")[0]
    assert first.source == setup_cell(repository_url()), (
        f"{where}: the setup cell differs from what _config.yml asks for; copy it from another chapter, "
        "or run `make repository URL=...`"
    )


@each_notebook
def test_only_known_metadata(chapter: str) -> None:
    for where, cell in cells(chapter):
        own = {"id"} if cell.metadata.get("jp-MarkdownHeadingCollapsed") else set()  # for Colab
        assert set(cell.metadata) <= CELL_METADATA | own, f"{where}: metadata {sorted(cell.metadata)}; {REFRESH}"
        tags = set(cell.metadata.get("tags", []))
        assert tags <= TAGS, f"{where}: tags {sorted(tags - TAGS)}; a chapter uses {sorted(TAGS)}"
        assert cell.metadata.get("slideshow", {}) in ({}, {"slide_type": "skip"}), f"{where}: slides are only skipped"
        assert cell.cell_type in ("code", "markdown"), f"{where}: only code and Markdown"
    collapsed = [cell.id for _, cell in cells(chapter) if cell.metadata.get("jp-MarkdownHeadingCollapsed")]
    assert read(chapter).metadata.get("colab", {}).get("collapsed_sections", []) == collapsed, f"{chapter}; {REFRESH}"
    assert set(read(chapter).metadata) <= {"kernelspec", "language_info", "colab", DIGEST}, (
        f"notebooks/{chapter}.ipynb: metadata of the notebook; {REFRESH}"
    )


@each_notebook
def test_the_notebook_is_small(chapter: str) -> None:
    size = locate(chapter).stat().st_size // 1024
    assert size <= MOST_KIB, f"notebooks/{chapter}.ipynb: {size} KiB, at most {MOST_KIB}: draw or print less"


@each_notebook
def test_what_answers_a_prediction_is_collapsed_in_jupyter(chapter: str) -> None:
    notebook = read(chapter)
    answers = list(list_answers(notebook))
    hidden = [cell.id for cell in notebook.cells if cell.metadata.get("jupyter", {}).get(hide(cell))]
    assert [name for name in hidden if name in {cell.id for cell in answers}] == [cell.id for cell in answers]
    folded = [cell for cell in notebook.cells if cell.cell_type == "code" and cell not in answers]
    assert not any(cell.metadata.get("jupyter", {}).get("outputs_hidden") for cell in folded)


@each_notebook
def test_no_letter_of_a_figure_is_smaller_than_11_pixels(chapter: str) -> None:
    outputs = (output for cell in read(chapter).cells for output in cell.get("outputs", ()))
    figures = [output.get("data", {}).get("image/svg+xml", "") for output in outputs]
    points = [100 * float(scale) for figure in figures for scale in re.findall(r"scale\((0\.\d+) -0", figure)]
    assert min(points, default=9) * 4 / 3 >= 11
