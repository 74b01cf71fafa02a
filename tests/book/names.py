"""Which names a cell assigns and reads: so that it can be asked what an assertion speaks of."""

import ast
import functools
from collections.abc import Iterator

from IPython.core.inputtransformer2 import TransformerManager


@functools.cache
def transform(source: str) -> str:
    """A cell as Python, its magics as calls."""
    return TransformerManager().transform_cell(source)


@functools.cache
def parse(source: str) -> ast.Module:
    return ast.parse(transform(source))


def list_names(tree: ast.AST | list[ast.expr]) -> set[str]:
    trees = tree if isinstance(tree, list) else [tree]
    return {node.id for part in trees for node in ast.walk(part) if isinstance(node, ast.Name)}


def walk_outside(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those inside of functions, whose names are their own."""
    yield tree
    if not isinstance(tree, ast.FunctionDef):
        for child in ast.iter_child_nodes(tree):
            yield from walk_outside(child)


def list_assignments(tree: ast.AST) -> Iterator[tuple[set[str], ast.AST | list[ast.expr]]]:
    """The names that get a value, and what it is made from. What is filled by a method counts as assigned."""
    for node in walk_outside(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                yield list_names(targets), value
            case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                yield list_names(target), value
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                yield list_names(target), value
            case ast.Call(func=ast.Attribute(value=filled, attr="append" | "extend" | "add" | "update"), args=values):
                yield list_names(filled), values
            case ast.FunctionDef(name=name):
                yield {name}, node


def follow(names: set[str], tree: ast.AST) -> set[str]:
    """The names, and those that got a value from one of them, directly or not."""
    found, before = set(names), set()
    while found != before:
        before = set(found)
        found |= {name for targets, value in list_assignments(tree) if list_names(value) & found for name in targets}
    return found


def list_asserted(tree: ast.AST) -> set[str]:
    """The names in the assertions."""
    return {name for node in ast.walk(tree) if isinstance(node, ast.Assert) for name in list_names(node.test)}
