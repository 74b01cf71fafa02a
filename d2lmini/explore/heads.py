"""Heads that are removed one after the other, and what a model can still answer."""

from collections.abc import Mapping, Sequence
from html import escape

from torch import Tensor

from d2lmini.explore.numbers import check_words, read_numbers, write
from d2lmini.explore.panel import Choice, Panel, build_panel
from d2lmini.explore.tables import Label, PanelTable

__all__ = ["explore_pruning"]


def explore_pruning(
    orders: Mapping[str, Sequence[int]],
    right: Tensor,
    heads: Sequence[str],
    questions: Sequence[str],
    start: tuple[int, int] = (0, 0),
) -> Panel:
    """Show a model that loses its heads: choose the order and how many are left, see what is still answered.

    Chapter: What heads learn.

    Args:
        orders: for each name of an order, the numbers of all heads, the first to go first.
        right: `(orders, heads + 1, questions)`, the share of right answers, with all heads and after each removal.
        heads: what each head does, by its number, in a word or two.
        questions: a name for each question.
        start: which order is chosen at first, counted from 0, and how many heads are gone.

    Returns:
        A panel: in a notebook it shows itself as the last value of a cell.

    Raises:
        ValueError: if there is no order or one of them is not a permutation of the heads, a share lies outside `0..1`,
            sizes do not fit, nothing has the numbers of `start`, or the panel would have more than 36 KiB.

    >>> panel = d2l.explore_pruning({"as drawn": [0, 1]}, torch.ones(1, 3, 2), ["0.0", "0.1"], ["copy", "count"])
    """
    if not isinstance(orders, Mapping) or not orders:
        raise ValueError(f"orders must be a dictionary, not empty, got {orders!r}")
    shares = read_numbers("right", right, ("orders", "heads + 1", "questions"), 0, 1)
    check_words("orders", [*orders], shares.shape[0], "orders in right")
    check_words("heads", heads, shares.shape[1] - 1, "removals in right")
    check_words("questions", questions, shares.shape[2], "questions in right")
    for name, order in orders.items():
        numbers = order if isinstance(order, Sequence) and all(isinstance(head, int) for head in order) else []
        if sorted(numbers) != list(range(len(heads))):
            raise ValueError(f"the order {name!r} must name each of the {len(heads)} heads once, got {order!r}")
    left = [Label(f"{count}") for count in range(len(heads), -1, -1)]
    sentences, tables = [], []
    for a, ((name, order), curve) in enumerate(zip(orders.items(), shares, strict=True)):
        steps = [f"head {head} ({heads[head]})" for head in order]
        sentences += [(f"a{a} b{b}", _say(steps, b, curve[b])) for b in range(len(left))]
        rows = [
            (label, [write(share, 2) for share in (*curve[b].tolist(), curve[b].mean().item())])
            for b, label in enumerate(left)
        ]
        head = [*map(Label, questions), Label("all")]
        tables.append(PanelTable(f"{name}: right answers by heads left", head, rows, f"a{a}", "b", bars=True))
    choices = [Choice("a", "Who goes first", [Label(name) for name in orders]), Choice("b", "Heads left", left)]
    return build_panel("Remove a head, and another", choices, sentences, tables, start=start)


def _say(steps: Sequence[str], removed: int, shares: Tensor) -> str:
    """Who went last, and who is left."""
    all_right = f"{write(shares.mean().item(), 2)} of all answers are right."
    gone = f"The last to go was {steps[removed - 1]}. " if removed else "No head is gone. "
    left = f"Left: {'; '.join(steps[removed:])}. " if removed < len(steps) else "No head is left. "
    return escape(f"{gone}{left}") + all_right
