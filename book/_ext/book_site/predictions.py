"""A question that asks the reader to predict: what comes out, and what is said of it, is covered until it is opened."""

import re

from docutils import nodes
from sphinx.application import Sphinx

from book_site.phrases import ANSWER, PREDICT, SCRIPTS, TAKEAWAY

from .folds import is_cell, raw

# Only a script can do what it says; that it is there from the start keeps the text below in its place.
SWITCH = f'<button type="button" class="cover-switch pst-js-only" data-covered="true">{SCRIPTS["covered"]}</button>'
SAID = (nodes.paragraph, nodes.bullet_list, nodes.enumerated_list, nodes.math_block)


def is_prediction(paragraph: nodes.paragraph) -> bool:
    """Whether a paragraph asks the reader to **predict**."""
    return any(is_marker(strong) for strong in paragraph.findall(nodes.strong))


def is_takeaway(paragraph: nodes.paragraph) -> bool:
    """Whether a paragraph is what a section shows, **in one sentence**."""
    return paragraph.astext().startswith(TAKEAWAY)


def is_marker(strong: nodes.strong) -> bool:
    """Whether a word in bold is the one that begins the question."""
    return strong.astext().startswith(PREDICT)


def is_panel(cell: nodes.Element) -> bool:
    """Whether what a cell shows is there to be touched, by a reader who may not have guessed anything."""
    return any('class="touch"' in part.astext() for part in cell.findall(nodes.raw))


def find_answer(after: list[nodes.Node]) -> list[nodes.Element]:
    """Of what follows a prediction: the output, what is said of it and shown with it, until something else begins."""
    answer: list[nodes.Element] = []
    for node, following in zip(after, [*after[1:], None], strict=True):
        asks = isinstance(node, nodes.paragraph) and (is_prediction(node) or is_takeaway(node))
        leads = node.astext().endswith((":", "：")) and following is not None and is_cell(following)
        if isinstance(node, nodes.section) or asks or (answer and leads):
            break
        shown = [part for part in node.children if is_cell(part, "cell_code_output")]
        if not answer and is_cell(node):
            answer += shown
        elif is_cell(node) and not shown:  # it begins something new, and so does the text that leads to it
            return answer[:-1] if answer and answer[-1].astext().endswith((":", "：")) else answer
        elif answer and ((is_cell(node) and not is_panel(node)) or isinstance(node, SAID)):
            answer.append(node)
        elif answer:
            break
    return answer


def cover_answers(app: Sphinx, doctree: nodes.document) -> None:
    """Put what comes out, and the paragraph that says it, into <details> below the question."""
    questions = [node for node in doctree.findall(nodes.paragraph) if is_prediction(node)]
    for number, question in enumerate(questions):
        question["classes"] += ["predict", *(["one"] if len(re.findall("[?？]", question.astext())) == 1 else [])]
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
        summary = f'<details class="guess" data-question="prediction-{number}"><summary>{ANSWER}</summary>'
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
