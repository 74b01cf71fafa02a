"""Which words the code of a cell writes into its figure, and whether the stored figure says them."""

from __future__ import annotations

import ast
import html
import re
from typing import Any

from tests.book.names import parse

LABELS = {"xlabel", "ylabel", "title", "titles", "labels", "legend"}  # the arguments that write words


def list_labels(tree: ast.AST) -> set[str]:
    """The words, where the code says them letter by letter."""
    keywords = [keyword for node in ast.walk(tree) if isinstance(node, ast.Call) for keyword in node.keywords]
    values = [keyword.value for keyword in keywords if keyword.arg in LABELS]
    values += [part for value in values if isinstance(value, (ast.List, ast.Tuple)) for part in value.elts]
    return {value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)} - {""}


def find_missing_labels(cell: Any) -> set[str]:
    """The words of the code that the stored figure, if there is one, does not say."""
    figures = [output.data["image/svg+xml"] for output in cell.outputs if "image/svg+xml" in output.get("data", {})]
    if not figures:
        return set()
    drawn = {html.unescape(words) for words in re.findall(r"<!-- (.*?) -->", figures[0], re.DOTALL)}
    return {label for label in list_labels(parse(cell.source)) if label not in drawn and not {*label} <= drawn}
