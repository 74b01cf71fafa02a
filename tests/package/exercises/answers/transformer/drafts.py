"""Answers to the exercises: what a decoder would have written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def draft(
    count: Callable[[Tensor], Any] = lambda same: same.long().cumprod(0).sum(), *, shift: bool = True
) -> Callable[..., Any]:
    """How many tokens of a draft are right, right unless told otherwise."""

    def answer(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> Any:
        inputs = torch.cat([last, draft[:, :-1]], dim=1) if shift else draft
        logits = decoder.step(inputs, state)[0]
        return count((logits.argmax(-1) == draft)[0])

    return answer


def one_by_one(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> int:
    token = last
    for i in range(draft.shape[1]):
        logits, state, _ = decoder.step(token, state)
        token = logits.argmax(-1)
        if token.item() != draft[0, i]:
            return i
    return draft.shape[1]


def by_nonzero(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> Any:
    logits = decoder.step(torch.cat([last, draft[:, :-1]], dim=1), state)[0]
    return (logits.argmax(-1) != draft)[0].nonzero()[0]


def by_loop(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> int:
    words = torch.cat([last, draft], dim=1)
    written = decoder.step(words, state)[0].argmax(-1)[0].tolist()
    for i, (wanted, token) in enumerate(zip(draft[0].tolist(), written, strict=False)):
        if wanted != token:
            return i
    return draft.shape[1]


def endless_while(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> int:
    logits = decoder.step(torch.cat([last, draft[:, :-1]], dim=1), state)[0]
    same, i = (logits.argmax(-1) == draft)[0], 0
    while same[i]:
        i += 1
    return i


def without_state(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> Any:
    return draft_count(decoder, None, last, draft)


def after_a_step(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> Any:
    _, state, _ = decoder.step(last, state)
    return draft_count(decoder, state, last, draft)


def shifted_answers(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> int:
    """Never looks at what the decoder writes after last."""
    written = decoder.step(draft, state)[0].argmax(-1)
    return int((written[:, :-1] == draft[:, 1:]).long().cumprod(1).sum())


draft_count = draft()

RIGHT: dict[str, list[Any]] = {
    "check-draft": [
        draft_count,
        draft(lambda same: int(same.long().cumprod(0).sum())),
        by_loop,
        draft(lambda same: torch.cat([same, torch.tensor([False])]).long().argmin()),
        draft(lambda same: next((i for i, right in enumerate(same.tolist()) if not right), len(same))),
        draft(lambda same: len(same) - int((~same).cummax(0).values.sum())),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("check-draft", draft(lambda same: same.sum()), "later matches mean nothing"),
    ("check-draft", draft(lambda same: same.long().argmin()), "is there a first wrong token?"),
    ("check-draft", by_nonzero, "is there a first wrong token?"),
    ("check-draft", endless_while, "is there a first wrong token?"),
    ("check-draft", draft(lambda same: min(len(same), int(same.long().cumprod(0).sum()) + 1)), "itself does not count"),
    ("check-draft", draft(len), "does greedy decoding write each token"),
    ("check-draft", draft(lambda same: 0), "the first input is last"),
    ("check-draft", draft(lambda same: int(same.all()) * len(same)), "the first input is last"),
    ("check-draft", draft(lambda same: same.double().mean()), "print, for each place"),
    ("check-draft", draft(shift=False), "the first input is last"),
    ("check-draft", draft(lambda same: same.long().cumprod(0).max()), "the first input is last"),
    ("check-draft", shifted_answers, "the first input is last"),
    ("check-draft", one_by_one, "give all of it to the decoder at once"),
    ("check-draft", after_a_step, "give all of it to the decoder at once"),
    ("check-draft", without_state, "goes on from what it has seen"),
    ("check-draft", draft(lambda same: same.long().cumprod(0)), "return a float"),
]
