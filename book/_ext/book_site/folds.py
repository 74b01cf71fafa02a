"""What a page folds or leaves out, and a notebook shows: solutions, doubts, answers to predictions, the set-up."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from .package import name_wheel

# What speaks to nbval and to Colab; the reason below the first, and a title that says more, speak to the reader.
MACHINERY = re.compile(r"^# NBVAL_IGNORE_OUTPUT\n|^# @title Solution\n|(?<=^# )@title ", re.MULTILINE)

# Only a script can do what it says; that it is there from the start keeps the text below in its place.
SWITCH = (
    '<button type="button" class="cover-switch pst-js-only" aria-pressed="true">Cover answers to predictions</button>'
)

# The headings that fold what is below them, up to the next one, and the tag of their cells.
DOUBTS = "Does this hold?"
FOLDED = {"Solution": "solution", DOUBTS: "check"}

TAKEAWAY = "In one sentence."

SAID = (nodes.paragraph, nodes.bullet_list, nodes.enumerated_list, nodes.math_block)


def raw(html: str) -> nodes.raw:
    """A piece of HTML between nodes."""
    return nodes.raw("", html, format="html")


def is_cell(node: nodes.Node, part: str = "cell_code") -> bool:
    """Whether a node is what myst-nb makes of a code cell, or the `part` of one."""
    return isinstance(node, nodes.container) and node.get("nb_element") == part


def fold_sections(app: Sphinx, doctree: nodes.document) -> None:
    """Put what stands below a heading that folds into <details>: no script, found by search, opened by the keyboard."""
    for section in list(doctree.findall(nodes.section)):
        title = section.next_node(nodes.title)
        kind = FOLDED.get(title.astext()) if title is not None and title.parent is section else None
        if kind is None:
            continue
        above = section.parent.next_node(nodes.title).astext().partition(" · ")[0]
        summary = title.astext() if kind == "check" else f"Show the solution of {above}"
        opens = f'<details class="{kind}"><summary>{escape(summary)}</summary>'
        section.replace_self([raw(opens), *section.children[1:], raw("</details>")])


def drop_machinery(app: Sphinx, doctree: nodes.document) -> None:
    """Leave out the lines of a cell that only a tool reads."""
    for block in doctree.findall(nodes.literal_block):
        if block.parent.get("nb_element") == "cell_code_source":
            block.rawsource = MACHINERY.sub("", block.rawsource)
            block.children = [nodes.Text(block.rawsource)]


def name_folded_code(app: Sphinx, doctree: nodes.document) -> None:
    """Say what a folded cell does: its title in Colab, or whether it only holds bounds."""
    for cell in filter(is_cell, doctree.findall(nodes.container)):
        if cell.get("hide_mode") == "input":
            source = next(iter(cell.findall(nodes.literal_block))).rawsource
            titled = re.match(r"# @title (.+)", source)
            bounds = re.search(r"^\s*assert ", source, re.MULTILINE) and not cell.next_node(nodes.image)
            what = "the bounds that hold on every machine" if bounds else "the code"
            what = titled[1] if titled else what
            cell["prompt_show"], cell["prompt_hide"] = f"Show: {what}", f"Hide: {what}"


def list_ways(app: Sphinx) -> str:
    """The ways to run the chapter that is read, as HTML."""
    page, url = app.env.docname, app.config.html_theme_options.get("repository_url", "")
    up = "../" * page.count("/")
    ways = [f'<a href="{up}_sources/{page}.ipynb" download>Download the notebook</a>']
    if "github.com" in url and "/OWNER/" not in url:
        address = f"{url.replace('https://github.com', 'https://colab.research.google.com/github')}/blob"
        branch = app.config.html_theme_options.get("repository_branch") or "main"
        ways.insert(0, f'<a href="{address}/{branch}/{page}.ipynb">Open it in Colab</a>')
    wheel = name_wheel(Path(app.srcdir))
    package = f'<a href="{up}_sources/{wheel}" download>{wheel}</a>'
    return (
        f"<p>{' or '.join(ways)}. Its first cell installs the package of this book, if it is missing: "
        f"from {package} in the same folder or in the one above, where the unpacked book has it.</p>"
    )


def fold_setup(app: Sphinx, doctree: nodes.document) -> None:
    """Put the cells above the first section, set-up and imports, into <details> that say how to run the rest."""
    chapter = next(iter(doctree.findall(nodes.section)), None)
    cells = [node for node in chapter or () if is_cell(node)]
    if chapter is None or not cells:
        return
    first, end = chapter.index(cells[0]), chapter.index(cells[-1]) + 1
    kind = "page" if app.env.docname.startswith("pages/") else "chapter"
    head = f'<details class="run"><summary>Run this {kind}</summary>{list_ways(app)}'
    chapter[first:end] = [raw(head), *chapter[first:end], raw("</details>")]


def is_prediction(paragraph: nodes.paragraph) -> bool:
    """Whether a paragraph asks the reader to **predict**."""
    return any(is_marker(strong) for strong in paragraph.findall(nodes.strong))


def begins_anew(paragraph: nodes.paragraph) -> bool:
    """Whether a paragraph is no answer, but the next question, or the sentence to take home."""
    return is_prediction(paragraph) or is_takeaway(paragraph)


def is_takeaway(paragraph: nodes.paragraph) -> bool:
    """Whether a paragraph is what a section shows, **in one sentence**."""
    return paragraph.astext().startswith(TAKEAWAY)


def is_marker(strong: nodes.strong) -> bool:
    """Whether a word in bold is the one that begins the question."""
    return strong.astext().startswith("Predict")


def is_panel(cell: nodes.Element) -> bool:
    """Whether what a cell shows is there to be touched, by a reader who may not have guessed anything."""
    return any('class="touch"' in part.astext() for part in cell.findall(nodes.raw))


def link_pages(app: Sphinx, doctree: nodes.document) -> None:
    """In a notebook a panel leads to notebooks, here to their pages."""
    for part in doctree.findall(nodes.raw):
        if 'class="touch"' in part.astext():
            part.children = [nodes.Text(re.sub(r'(<a href="[\w-]+)\.ipynb', r"\1.html", part.astext()))]


def find_answer(after: list[nodes.Node]) -> list[nodes.Element]:
    """Of what follows a prediction: the first output, the cells right below, what is said of them and shown with it."""
    answer: list[nodes.Element] = []
    told = 0  # how often text begins
    for node in after:
        if isinstance(node, nodes.section) or (isinstance(node, nodes.paragraph) and begins_anew(node)):
            break
        shown = [part for part in node.children if is_cell(part, "cell_code_output")]
        if not answer and is_cell(node):
            answer += shown
        elif is_cell(node) and not shown:  # it begins something new, and so does the text that leads to it
            return answer[:-1] if answer and answer[-1].astext().endswith(":") else answer
        elif answer and ((is_cell(node) and not is_panel(node)) or isinstance(node, SAID)):
            told += isinstance(node, SAID) and not isinstance(answer[-1], SAID)
            if told > 1:
                break
            answer.append(node)
        elif answer:
            break
    return answer


def cover_answers(app: Sphinx, doctree: nodes.document) -> None:
    """Put what comes out, and the paragraph that says it, into <details> below the question."""
    questions = [node for node in doctree.findall(nodes.paragraph) if is_prediction(node)]
    for number, question in enumerate(questions):
        question["classes"] += ["predict", *(["one"] if question.astext().count("?") == 1 else [])]
        for strong in filter(is_marker, question.findall(nodes.strong)):
            strong["classes"].append("marker")
        section = question.parent
        answer = find_answer(section.children[section.index(question) + 1 :])
        if not answer:
            continue
        output, *following = answer
        cell = output.parent
        cell.remove(output)
        for node in following:
            section.remove(node)
        question["ids"].append(f"prediction-{number}")
        summary = f'<details class="guess" data-question="prediction-{number}"><summary>What comes out?</summary>'
        shown = nodes.container("", output, classes=["cell"])
        place = section.index(cell) + 1
        section[place:place] = [raw(summary), shown, *following, raw("</details>")]
    if any(question["ids"] for question in questions):
        title = next(doctree.findall(nodes.title))
        title.parent.insert(title.parent.index(title) + 1, raw(SWITCH))


def mark_takeaways(app: Sphinx, doctree: nodes.document) -> None:
    """Name the sentences to take home, so that they have one look."""
    for paragraph in filter(is_takeaway, doctree.findall(nodes.paragraph)):
        paragraph["classes"].append("takeaway")


def mark_kinds(app: Sphinx, doctree: nodes.document) -> None:
    """Name what an exercise is, *Build.* or *Debug.*, so that a style can show it."""
    for section in doctree.findall(nodes.section):
        tasks = [node for node in section if isinstance(node, nodes.paragraph)]
        exercise = section.next_node(nodes.title).astext().startswith("Exercise ")
        if exercise and tasks and isinstance(tasks[0][0], nodes.emphasis):
            tasks[0][0]["classes"].append("kind")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the hooks; before the contents are collected, where a folded solution is no heading."""
    for fold in (
        name_folded_code,
        drop_machinery,
        mark_kinds,
        mark_takeaways,
        link_pages,
        cover_answers,
        fold_setup,
        fold_sections,
    ):
        app.connect("doctree-read", fold, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
