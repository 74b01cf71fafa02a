"""Answers to the exercises: what a decoder would have written."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor


def accept(
    decoder: Any, state: Any, last: Tensor, draft: Tensor,
    *, count: Any = lambda same: same.long().cumprod(0).sum(), inputs: Any = lambda last, draft: (last, draft[:, :-1]),
) -> Any:  # fmt: skip
    """How many tokens of a draft are right, right unless told otherwise."""
    logits = decoder.step(torch.cat(inputs(last, draft), dim=1), state)[0]
    return count((logits.argmax(-1)[:, : draft.shape[1]] == draft)[0])


def one_by_one(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> int:
    token = last
    for i in range(draft.shape[1]):
        logits, state, _ = decoder.step(token, state)
        token = logits.argmax(-1)
        if token.item() != draft[0, i]:
            return i
    return draft.shape[1]


def as_a_batch(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> int:
    inputs = torch.cat([last, draft[:, :-1]], dim=1)
    written = decoder.step(inputs.T, state)[0].argmax(-1)  # (k, 1)
    return int((draft == written.T).long().cumprod(1).sum())


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
    "check-draft": [
        accept,
        partial(accept, inputs=lambda *both: both),
        partial(accept, count=lambda same: torch.cat([same, torch.tensor([False])]).long().argmin()),
        partial(accept, count=lambda same: next((i for i, ok in enumerate(same.tolist()) if not ok), len(same))),
        lambda decoder, state, *others: accept(decoder, copy.deepcopy(state), *others),
        by_logits(lambda logits, draft: logits.gather(2, draft) >= logits.amax(2, keepdim=True)),
        lambda decoder, state, last, draft: accept(decoder.eval(), state, last.int(), draft.clone()),
    ],
}

_WRONG: list[tuple[Any, str]] = [
    (as_a_batch, "one sequence, (1, k)"),
    (by_logits(lambda logits, draft: logits.gather(2, draft) > 0), "print, for each place"),
    (while_training, "in evaluation mode"),
    (lambda decoder, *others: decoder(*others), "decoder.step(inputs, state)"),
    (partial(accept, inputs=lambda last, draft: (last, last, draft[:, :-1])), "last, and then the draft"),
    (partial(accept, inputs=lambda last, draft: (draft,)), "the first input is last"),
    (one_by_one, "give all of it to the decoder at once"),
    (lambda decoder, state, *others: accept(decoder, None, *others), "goes on from what it has seen"),
]
WRONG: list[tuple[str, Any, str]] = [("check-draft", *wrong) for wrong in _WRONG]
