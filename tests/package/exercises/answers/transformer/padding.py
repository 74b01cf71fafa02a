"""Answers to the exercises: what padding does to real tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def padded(
    measure: Callable[[Tensor], Tensor] = lambda change: change.abs().max(),
    *,
    fill: int = 0,
    front: bool = False,
    lens: Callable[[int, int, int], Tensor | None] = lambda b, n, count: torch.full((b,), n),
    keep: bool = False,
    against: bool = True,
) -> Callable[[Any, Tensor, int], Any]:
    """The effect of padding, right unless told otherwise."""

    def answer(encoder: Any, tokens: Tensor, count: int) -> Any:
        b, n = tokens.shape
        longer = F.pad(tokens, (count, 0) if front else (0, count), value=fill)
        found = encoder(longer, lens(b, n, count))
        if keep:
            return measure(found - F.pad(encoder(tokens), (0, 0, 0, count)))
        other = encoder(tokens) if against else encoder(longer, lens(b, n, count))[:, :n]
        return measure(found[:, :n] - other)

    return answer


def one_example_at_a_time(encoder: Any, tokens: Tensor, count: int) -> Tensor:
    changes = [padded()(encoder, row[None], count) for row in tokens]
    encoder(F.pad(tokens, (0, count)))  # to see how much it would matter
    return torch.stack(changes).max()


def against_padded(encoder: Any, tokens: Tensor, count: int) -> Tensor:
    b, n = tokens.shape
    longer = F.pad(tokens, (0, count))
    return (encoder(longer, torch.full((b,), n)) - encoder(longer))[:, :n].abs().max()


RIGHT: dict[str, list[Any]] = {
    "measure-padding": [one_example_at_a_time, padded(), padded(lambda change: change.abs().max().item())],
}

WRONG: list[tuple[str, Any, str]] = [
    ("measure-padding", padded(lambda change: change.max()), "take its size"),
    ("measure-padding", padded(lambda change: change.abs().mean()), "not the mean"),
    ("measure-padding", padded(lambda change: change.abs().sum()), "not the sum"),
    ("measure-padding", padded(lambda change: change.norm()), "not the length of them all"),
    ("measure-padding", padded(lambda change: change.square().max()), "not its square"),
    ("measure-padding", padded(lambda change: change.norm(dim=2).max()), "a token's change"),
    ("measure-padding", against_padded, "compare with the tokens *without* padding"),
    (
        "measure-padding",
        lambda encoder, tokens, count: encoder(F.pad(tokens, (0, count)), mask=torch.ones(1).bool()),
        "but give it valid_lens here",
    ),
    ("measure-padding", padded(lambda change: change[0].abs().max()), "all examples of the batch"),
    ("measure-padding", padded(keep=True), "at the padding itself"),
    ("measure-padding", padded(against=False), "compare with padding against without"),
    ("measure-padding", padded(lambda change: 3 * change.abs().max()), "subtract the outputs"),
    ("measure-padding", padded(lens=lambda b, n, count: None), "how is the encoder to know"),
    ("measure-padding", padded(lens=lambda b, n, count: torch.tensor(n)), "how is the encoder to know"),
    ("measure-padding", padded(lens=lambda b, n, count: torch.full((b,), n + count)), "padding does not"),
    ("measure-padding", padded(fill=1), "then count zeros"),
    ("measure-padding", padded(front=True), "the real tokens first"),
    ("measure-padding", lambda encoder, tokens, count: 0.0, "torch.cat, or F.pad"),
    (
        "measure-padding",
        padded(lambda change: max(change.abs().max(), torch.tensor(0.1))),
        "where there is padding, valid_lens says so",
    ),
]
