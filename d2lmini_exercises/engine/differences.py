"""What was expected, what came and the difference, side by side."""

import torch
from torch import Tensor

from d2lmini.figures.tables import Table
from d2lmini_exercises.engine.speech import translate

_ROWS, _COLUMNS = 6, 3  # what a page has room for


def tabulate_differences(got: Tensor, expected: Tensor, differs: Tensor) -> tuple[str, Table]:
    """The matrix, or the piece of it, with the first entry that differs: where it is, and its table.

    Args:
        got: what an answer gave.
        expected: the right result, of the same shape, with one dimension or more.
        differs: the entries that differ, boolean: elsewhere the difference is 0.
    """
    several = expected.dim() > 1
    place = f"{int(differs.sum())} of {differs.numel()} entries"
    called = ("rows", "columns") if several else ("entries", "")
    if not several:
        got, expected, differs = got[:, None], expected[:, None], differs[:, None]
    *outer, row, column = differs.nonzero()[0].tolist()
    got, expected, differs = (whole.detach()[tuple(outer)] for whole in (got, expected, differs))
    sizes = tuple(expected.shape)
    rows, columns = _cut(row, sizes[0], _ROWS), _cut(column, sizes[1], _COLUMNS)
    piece = slice(rows.start, rows.stop), slice(columns.start, columns.stop)
    came, right = got[piece].double(), expected[piece].double()
    blocks = {"expected": right, "got": came, "difference": (came - right).where(differs[piece], 0.0)}
    heads = [name if j == columns.start else f"[{j}]" for name in blocks for j in columns]
    forms = [form for name, block in blocks.items() for form in [_choose(block, name)] * len(columns)]
    lines = torch.cat([*blocks.values()], 1).add(0.0).tolist()  # no -0
    table = Table(
        [translate(head) for head in ("row" if several else "entry", *(heads if several else blocks))],
        [[i, *line] for i, line in zip(rows, lines, strict=True)],
        ["", *forms],
    )
    shown = [f"[{', '.join(map(str, outer))}]"] if outer else []
    for name, cut, size in zip(called, (rows, columns), sizes, strict=True):
        shown += [f"{name} {cut[0]} to {cut[-1]} of {size}"] if len(cut) < size else []
    return "; here ".join([place, *filter(None, [", ".join(shown)])]), table


def _cut(at: int, size: int, most: int) -> range:
    """So many places with this one among them."""
    begin = max(0, min(at - 1, size - most))
    return range(begin, min(begin + most, size))


def _choose(block: Tensor, name: str) -> str:
    """A format for the numbers of a block: whole ones without a point."""
    whole = bool(((block == block.round()) & (block.abs() < 1e9)).all())
    return ".0f" if whole else ".2g" if name == "difference" else ".4g"
