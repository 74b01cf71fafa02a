"""A question that asks the reader to predict: one card has it, its choices, and the answer, covered until it is opened.

The metadata of cells do not reach Sphinx; so, while a notebook is read, directives take their place.
"""

from html import escape

import nbformat
from docutils import nodes
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book_site.guesses import Guess, find_guesses
from book_site.phrases import ANSWER, ANSWERING_CODE, PREDICT, SCRIPTS, TAKEAWAY

from .folds import is_cell, raw

# Only a script can do what it says; that it is there from the start keeps the text below in its place.
SWITCH = f'<button type="button" class="cover-switch pst-js-only" data-covered="true">{SCRIPTS["covered"]}</button>'
FENCE = ":" * 9  # more than an answer needs for what it holds


class Part(SphinxDirective):
    """`{guess-question} name` and `{guess-answer} name`: the two texts of a question, as containers with its name."""

    has_content, required_arguments = True, 1

    def run(self) -> list[nodes.Node]:
        """Keep the name, and what is right."""
        part = nodes.container("", *self.parse_content_to_nodes(), classes=[self.name])
        part["guess"] = self.arguments[0]
        return [part]


def wrap(cell: NotebookNode, text: str, name: str, kind: str) -> None:
    """Put a text of a cell into a directive."""
    cell.source = cell.source.replace(text, f"{FENCE}{{guess-{kind}}} {name}\n{text}\n{FENCE}")


def mark_guesses(app: Sphinx, docname: str, source: list[str]) -> None:
    """Mark what asks and what answers, while a notebook is read."""
    if not source[0].startswith("{"):
        return
    notebook = nbformat.reads(source[0], as_version=4)
    guesses = list(find_guesses(notebook))
    for guess in guesses:
        name = guess.key["name"]
        wrap(guess.asked, guess.text, name, "question")
        wrap(guess.answer, guess.answer.source, name, "answer")
    app.env.metadata[docname]["guesses"] = {guess.key["name"]: describe(guess) for guess in guesses}
    source[0] = nbformat.writes(notebook)


def describe(guess: Guess) -> str:
    """What a script must know, as attributes."""
    key = {"name": guess.key["name"], "right": str(guess.key["right"]), "kind": "choice" if guess.choices else "number"}
    return "".join(f' data-{name}="{escape(value)}"' for name, value in key.items()) + ' data-bet=""' * (
        "bet" in guess.key
    )


def is_marker(strong: nodes.strong) -> bool:
    """Whether a word in bold is the one that begins the question."""
    return strong.astext().startswith(PREDICT)


def is_takeaway(paragraph: nodes.paragraph) -> bool:
    """Whether a paragraph is what a section shows, **in one sentence**."""
    return paragraph.astext().startswith(TAKEAWAY)


def cover_answers(app: Sphinx, doctree: nodes.document) -> None:
    """Make the cards: the question, then what comes out and what is said of it in <details>; below them the code."""
    parts = {kind: [node for node in doctree.findall(nodes.container) if kind in node["classes"]] for kind in KINDS}
    for asked, answer in zip(*parts.values(), strict=True):
        section, name = asked.parent, asked["guess"]
        first, last = section.index(asked), section.index(answer)
        cells = section.children[first + 1 : last]
        shown = [part for cell in cells for part in cell.children if is_cell(part, "cell_code_output")]
        for part in shown:
            part.parent.remove(part)
        for strong in filter(is_marker, asked.findall(nodes.strong)):
            strong["classes"].append("marker")
        asked.children[0]["classes"].append("predict")
        asked.children[0]["ids"].append(f"guess-{name}")
        data = app.env.metadata[app.env.docname]["guesses"][name]
        outputs = [nodes.container("", part, classes=["cell"]) for part in shown]
        section[first : last + 1] = [
            raw(f'<div class="guess-card"{data}>'),
            *asked.children,
            raw(f'<details class="guess"><summary>{ANSWER}</summary>'),
            *outputs,
            *answer.children,
            raw("</details></div>"),
            raw(f'<details class="guess-code" open><summary>{ANSWERING_CODE}</summary>'),
            *cells,
            raw("</details>"),
        ]
    if parts["guess-question"]:
        title = next(doctree.findall(nodes.title))
        title.parent.insert(title.parent.index(title) + 1, raw(SWITCH))


KINDS = ("guess-question", "guess-answer")


def mark_takeaways(app: Sphinx, doctree: nodes.document) -> None:
    """Name the sentences to take home, so that they have one look."""
    for paragraph in filter(is_takeaway, doctree.findall(nodes.paragraph)):
        paragraph["classes"].append("takeaway")
