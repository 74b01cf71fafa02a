"""What students get wrong, for the page on teaching: counted from the hints of the checkers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

# A kind of mistake, the words by which a hint speaks of it, and where the book shows it.
KINDS = {
    "positions and steps: off by one, restarted, from the wrong end": (
        r"position|offset|shift|\bfirst\b|\blast\b|earlier|later|one too",
        "[Who eats whom?](../notebooks/positional-encoding.ipynb#who-eats-whom)",
    ),
    "heads: split, merged or transposed wrongly": (
        r"transpos|\bheads?\b|split|reshape|merge",
        "[Heads as part of the batch](../notebooks/multi-head-attention.ipynb#heads-as-part-of-the-batch)",
    ),
    "masks: polarity, place, what may be seen": (
        r"mask|may (see|attend)|hidden|forbid|\bTrue\b",
        "[Masks](../notebooks/attention-pooling.ipynb#masks-who-may-attend-to-what)",
    ),
    "padding: counted as if it were tokens": (
        r"\bpad|valid|lengths?\b",
        "[Masks](../notebooks/attention-pooling.ipynb#masks-who-may-attend-to-what)",
    ),
    "scale: left out, twice, or of the wrong width": (
        r"√|scale|sqrt|\bdivide",
        "[Scaled dot-product attention](../notebooks/attention-pooling.ipynb#scaled-dot-product-attention)",
    ),
    "precision, dtype and device": (
        r"float|precision|integer|dtype|half|device",
        "[Scaled dot-product attention](../notebooks/attention-pooling.ipynb#scaled-dot-product-attention)",
    ),
    "softmax: over the wrong axis, or rows that do not add up to 1": (
        r"\baxis\b|softmax|add up to 1",
        "[Masks](../notebooks/attention-pooling.ipynb#masks-who-may-attend-to-what)",
    ),
    "the batch: one example for all": (
        r"batch|each example",
        "[Projections](../notebooks/self-attention.ipynb#projections-three-roles-three-matrices)",
    ),
}


def list_hints(module: Path) -> Iterator[str]:
    """The hints of a module of checkers: what stands for `hint`, and the keys of `mistakes`."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.keyword) and node.arg == "hint":
            texts = [node.value]
        elif isinstance(node, ast.Dict):
            texts = [key for key in node.keys if key is not None]
        else:
            continue
        for text in texts:
            said = "".join(
                part.value for part in ast.walk(text) if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )
            if said.count(" ") > 2:  # a sentence, not a name
                yield said


class MistakeTable(SphinxDirective):
    """Kinds of mistakes, the most frequent first: how many hints speak of each, of how many chapters, and a link."""

    def run(self) -> list[nodes.Node]:
        """Read the checkers of each chapter."""
        folder = Path(self.env.srcdir) / "d2lmini_exercises"
        self.env.note_dependency(str(folder))
        hints = {
            place: [hint for module in find_modules(place) for hint in list_hints(module)]
            for place in find_chapters(folder)
        }
        total = sum(map(len, hints.values()))
        rows = []
        for kind, (words, link) in KINDS.items():
            spoken = [sum(bool(re.search(words, hint)) for hint in said) for said in hints.values()]
            rows.append((sum(spoken), f"| {kind} | {sum(spoken)} | {sum(map(bool, spoken))} | {link} |"))
        head = [
            f"The checkers have {total} hints; one may be of several kinds.",
            "",
            "| kind | hints | chapters | where |",
            "|---|---:|---:|---|",
        ]
        return self.parse_text_to_nodes("\n".join([*head, *(row for _, row in sorted(rows, reverse=True))]))


def find_chapters(folder: Path) -> list[Path]:
    """The modules or folders of a chapter each: those that have a text in the book."""
    texts = {path.stem.replace("-", "_") for path in (folder.parent / "book").glob("*.md")}
    return sorted(path for path in folder.iterdir() if path.stem in texts)


def find_modules(place: Path) -> list[Path]:
    """The modules of a chapter."""
    return sorted(place.glob("*.py")) if place.is_dir() else [place]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("mistake-table", MistakeTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
