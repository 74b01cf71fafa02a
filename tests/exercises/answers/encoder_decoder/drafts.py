"""Answers to the exercises: what a decoder would have written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def accept(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> Any:
    """How many tokens of a draft are right."""
    logits = decoder.step(torch.cat([last, draft[:, :-1]], dim=1), state)[0]
    return (logits.argmax(-1) == draft)[0].long().cumprod(0).sum()


def by_logits(same: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Any]:
    """Which tokens of the draft are right is told by their logits."""

    def answer(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> int:
        logits = decoder.step(torch.cat([last, draft[:, :-1]], dim=1), state)[0]
        return int(same(logits, draft[..., None]).long().cumprod(1).sum())

    return answer


def while_training(decoder: Any, *others: Any) -> Any:
    decoder.train()
    return accept(decoder, *others)


RIGHT: dict[str, list[Any]] = {
    "check-draft": [accept, by_logits(lambda logits, draft: logits.gather(2, draft) >= logits.amax(2, keepdim=True))],
}

_WRONG: list[tuple[Any, str]] = [
    (by_logits(lambda logits, draft: logits.gather(2, draft) > 0), "print, for each place"),
    (while_training, "in evaluation mode"),
    (lambda decoder, state, *others: accept(decoder, None, *others), "goes on from what it has seen"),
]
WRONG: list[tuple[str, Any, str]] = [("check-draft", *wrong) for wrong in _WRONG]
