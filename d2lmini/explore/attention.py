"""Who attends to whom."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from d2lmini.explore.numbers import check_lang, check_words, list_words, read_numbers, write
from d2lmini.explore.panel import Choice, Drawing, Panel, build_panel
from d2lmini.explore.tables import Label, PanelTable

__all__ = ["explore_attention"]

_STYLE = "path{stroke-linecap:round;opacity:.8;stroke-width:calc(var(--w)*14px)}"


@dataclass(frozen=True)
class _Words(Label):
    """The words that stand at one place in the sentence of each map."""

    alternatives: Sequence[Label] = ()

    @property
    def html(self) -> str:
        """All of them; the choice of a map decides which one is seen."""
        return "".join(f'<span class="a{m}">{label.html}</span>' for m, label in enumerate(self.alternatives))


def explore_attention(
    weights: Tensor,
    tokens: Sequence[str] | Sequence[Sequence[str]],
    titles: Sequence[str],
    *,
    glosses: Sequence[str] | None = None,
    lang: str = "",
    start: tuple[int, int] = (0, 0),
) -> Panel:
    """Show who attends to whom: choose a map of weights and a query, and see where it looks.

    Chapter: Self-attention.

    Args:
        weights: `(maps, queries, keys)`, with as many queries and keys as tokens: one map for each head, layer or
            model. They are written with two decimals.
        tokens: the words of the sentence, or those of a sentence for each map; then each has its place beside it.
        titles: a name for each map.
        glosses: what the words mean, in the language of the page.
        lang: the language of the words, such as `"zh"`, so that a screen reader says them right.
        start: which map and which query are chosen at first, counted from 0.

    Returns:
        A panel: in a notebook it shows itself as the last value of a cell.

    Raises:
        ValueError: if the weights are not three-dimensional, a weight lies outside `0..1`, there are not as many
            queries, keys and glosses as tokens, or titles and sentences as maps, nothing has the numbers of `start`, or
            the panel would have more than 36 KiB.

    >>> panel = d2l.explore_attention(torch.eye(2)[None], ["a", "b"], ["itself"])
    """
    maps = read_numbers("weights", weights, ("maps", "queries", "keys"), 0, 1)
    check_words("titles", titles, maps.shape[0], "maps")
    shared = isinstance(tokens, str) or not isinstance(tokens, Sequence) or all(isinstance(t, str) for t in tokens)
    if not shared and len(tokens) != len(maps):
        raise ValueError(f"tokens must have one sentence for each of the {len(maps)} maps, got {len(tokens)}")
    for sentence in [tokens] if shared else tokens:
        check_words("tokens", sentence, maps.shape[1], "queries")
        check_words("tokens", sentence, maps.shape[2], "keys")
    if glosses is not None:
        check_words("glosses", glosses, maps.shape[1], "tokens")
    check_lang(lang)
    rows = [[[write(w, 2) for w in row] for row in one.tolist()] for one in maps]
    lists: Any = [tokens] * len(maps) if shared else tokens
    plain = [[Label(str(token), "" if shared else str(i), lang) for i, token in enumerate(own, 1)] for own in lists]
    meanings = glosses or [""] * maps.shape[1]
    words = [
        [Label(key.text, meaning or key.gloss, lang) for key, meaning in zip(own, meanings, strict=True)]
        for own in plain
    ]
    sentences = [
        (f"a{m} b{i}", _say(words[m][i], plain[m], row)) for m, one in enumerate(rows) for i, row in enumerate(one)
    ]
    tables = [
        PanelTable(
            f"{title}: weights of the query in each row",
            plain[m],
            list(zip(words[m], rows[m], strict=True)),
            f"a{m}",
            "b",
        )
        for m, title in enumerate(titles)
    ]
    queries = words[0] if shared else [_Words(own[0].text, alternatives=own) for own in zip(*words, strict=True)]
    style = _STYLE if shared else f"{_STYLE}.columns small{{display:block}}"  # words are as high as each other
    choices = [
        Choice("a", "Map" if shared else "Sentence", [Label(title) for title in titles], [*map(_name_weights, rows)]),
        Choice("b", "Query: which word asks?", queries, drawing=_draw_arcs(len(queries)), columns=True),
    ]
    return build_panel("Who attends to whom", choices, sentences, tables, style, start=start)


def _name_weights(rows: Sequence[Sequence[str]]) -> str:
    return ";".join(f"--w{i}-{j}:{w}" for i, row in enumerate(rows) for j, w in enumerate(row) if float(w))


def _say(query: Label, keys: Sequence[Label], row: Sequence[str]) -> str:
    """The weights in words, the largest first; nothing is said of a key that gets nothing."""
    order = sorted((j for j in range(len(row)) if float(row[j]) > 0), key=lambda j: -float(row[j]))
    given = list_words([f"{row[j]} to {keys[j].html}" for j in order]) if order else "nothing to any word"
    return f"{query.html} gives {given}."


def _draw_arcs(count: int) -> Drawing:
    """An arc from each query to each key, as thick as the weight: so it is drawn once for all maps."""
    height = 46 + 22 * (count - 1)

    def find_way(i: int, j: int) -> str:
        start, end, top = 100 * i + 50, 100 * j + 50, height - 40 - 44 * abs(i - j)
        if i == j:
            return f"M{start - 8} {height}C{start - 34} {top - 14} {start + 34} {top - 14} {start + 8} {height}"
        return f"M{start} {height}Q{(start + end) // 2} {top} {end} {height}"

    ways = [
        f'<path class="b{i}" style="--w:var(--w{i}-{j},0)" d="{find_way(i, j)}"/>'
        for i in range(count)
        for j in range(count)
    ]
    return Drawing(100 * count, height + 8, "".join(ways))
