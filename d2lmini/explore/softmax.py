"""How hard a softmax listens: the same scores at one inverse temperature after the other."""

import math
from collections.abc import Sequence
from html import escape

import torch
from torch import Tensor

from d2lmini.checks import check_number
from d2lmini.explore.numbers import check_words, read_numbers, write, write_plain
from d2lmini.explore.panel import Choice, Panel, build_panel
from d2lmini.explore.tables import Label, PanelTable

__all__ = ["explore_softmax"]

_STYLE = "thead th{white-space:nowrap}"


def explore_softmax(scores: Tensor, betas: Sequence[float], titles: Sequence[str]) -> Panel:
    """Show the softmax of scores times an inverse temperature: choose the scores and the temperature, see the weights.

    Chapter: Attention pooling.

    Args:
        scores: `(sets, keys)`: several sets of scores, one number for each key.
        betas: the inverse temperatures, from 0 to 1000.
        titles: a name for each set.

    Returns:
        A panel: in a notebook it shows itself as the last value of a cell.

    Raises:
        ValueError: if the scores are not a matrix or a score lies outside `-1000..1000`, an inverse temperature is
            missing or lies outside its range, there are not as many titles as sets, or the panel would have more than
            36 KiB.

    >>> panel = d2l.explore_softmax(torch.tensor([[1.0, 2.0]]), [0.5, 1.0], ["two keys"])
    """
    sets = read_numbers("scores", scores, ("sets", "keys"), -1000, 1000)
    check_words("titles", titles, sets.shape[0], "sets")
    if isinstance(betas, (str, Tensor)) or not isinstance(betas, Sequence) or not betas:
        raise ValueError(f"betas must be a list of numbers, not empty, got {betas!r}")
    for beta in betas:
        check_number("betas", beta, 0, 1000)
    weights = torch.softmax(
        torch.tensor(betas, dtype=torch.float64, device=sets.device)[:, None, None] * sets, dim=2
    )  # (betas, sets, keys)
    names = [Label(f"β = {_write_beta(beta)}") for beta in betas]
    sentences = [
        (f"a{s} b{b}", _say(titles[s], names[b].text, weights[b, s]))
        for s in range(len(sets))
        for b in range(len(betas))
    ]
    tables = [
        PanelTable(
            f"{title}: the weight of each key",
            [Label(f"score {_shorten(write(score, 2))}") for score in sets[s].tolist()],
            [(name, [write(w) for w in weights[b, s].tolist()]) for b, name in enumerate(names)],
            state=f"a{s}",
            rows_of="b",
            bars=True,
        )
        for s, title in enumerate(titles)
    ]
    choices = [Choice("a", "Scores", [Label(title) for title in titles]), Choice("b", "Inverse temperature", names)]
    return build_panel(
        "A softmax, soft or hard",
        choices,
        sentences,
        tables,
        _STYLE,
        play=("softmax", {"scores": [float(write_plain(score, 2)) for score in sets[0].tolist()]}),
    )


def _write_beta(beta: float) -> str:
    """One part of a whole as a fraction, so that the reader meets the number that was asked for."""
    parts = round(1 / beta) if beta > 0 else 0
    return f"1/{parts}" if parts > 1 and math.isclose(parts * beta, 1) else _shorten(write(beta, 5))


def _shorten(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


def _say(title: str, name: str, weights: Tensor) -> str:
    heard = write(1 / weights.square().sum().item(), 1)
    best = write(weights.max().item())
    return f"{escape(title)}: with {name} the best key gets {best} of the weight. Keys heard: {heard}."
