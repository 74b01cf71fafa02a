"""Answers to the exercises: what a decoder would have written."""

from __future__ import annotations

import copy
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


def by_chance(least: float) -> Callable[..., Any]:
    return by_logits(lambda logits, draft: logits.softmax(2).gather(2, draft)[..., 0] > least)


def rolled(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> int:
    written = decoder.step(torch.cat([draft[:, :-1], last], dim=1), state)[0].argmax(-1)
    return int((written.roll(1, dims=1) == draft).long().cumprod(1).sum())


def by_table(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> int:
    """As if a token told which one is next."""
    words = torch.cat([last, draft], dim=1)
    table = dict(zip(words[0].tolist(), decoder.step(words, state)[0].argmax(-1)[0].tolist(), strict=True))
    token, count = last.item(), 0
    for wanted in draft[0].tolist():
        token = table.get(token)
        if token != wanted:
            break
        count += 1
    return count


def while_training(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> Any:
    decoder.train()
    return draft_count(decoder, state, last, draft)


def one_place_late(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> int:
    logits = decoder.step(torch.cat([last, draft], dim=1), state)[0]
    return int((logits[:, 1:].argmax(-1) == draft).long().cumprod(1).sum())


def called(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> int:
    logits = decoder(torch.cat([last, draft[:, :-1]], dim=1), state)[0]
    return int((logits.argmax(-1) == draft).long().cumprod(1).sum())


def longest_run(same: Tensor) -> int:
    longest = now = 0
    for right in same.tolist():
        now = now + 1 if right else 0
        longest = max(longest, now)
    return longest


def last_twice(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> int:
    logits = decoder.step(torch.cat([last, last, draft[:, :-1]], dim=1), state)[0][:, 1:]
    return int((logits.argmax(-1) == draft).long().cumprod(1).sum())


def without_last(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> int:
    if draft.shape[1] < 2:
        return draft_count(decoder, state, last, draft)
    written = decoder.step(draft[:, :-1], state)[0].argmax(-1)
    return 1 + int((written == draft[:, 1:]).long().cumprod(1).sum())


draft_count = draft()

RIGHT: dict[str, list[Any]] = {
    "check-draft": [
        draft_count,
        draft(lambda same: int(same.long().cumprod(0).sum())),
        by_loop,
        draft(lambda same: torch.cat([same, torch.tensor([False])]).long().argmin()),
        draft(lambda same: next((i for i, right in enumerate(same.tolist()) if not right), len(same))),
        draft(lambda same: len(same) - int((~same).cummax(0).values.sum())),
        lambda decoder, state, last, draft: draft_count(decoder, copy.deepcopy(state), last, draft),
        by_logits(lambda logits, draft: logits.gather(2, draft) >= logits.amax(2, keepdim=True)),
        lambda decoder, state, last, draft: draft_count(decoder.eval(), state, last.int(), draft.clone()),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("check-draft", draft(lambda same: same.sum()), "later matches mean nothing"),
    ("check-draft", lambda decoder, state, last, draft: [][len(draft)], "run it yourself"),
    ("check-draft", draft(lambda same: same.long().argmin()), "is there a first wrong token?"),
    ("check-draft", by_nonzero, "is there a first wrong token?"),
    ("check-draft", endless_while, "is there a first wrong token?"),
    ("check-draft", draft(lambda same: min(len(same), int(same.long().cumprod(0).sum()) + 1)), "itself does not count"),
    ("check-draft", draft(len), "does greedy decoding write each token"),
    ("check-draft", draft(lambda same: 0), "the first token of this draft is right"),
    ("check-draft", draft(lambda same: int(same.all()) * len(same)), "the first token of this draft is right"),
    ("check-draft", as_a_batch, "one sequence, (1, k)"),
    ("check-draft", by_logits(lambda logits, draft: logits.gather(2, draft) > 0), "print, for each place"),
    ("check-draft", by_chance(0.1), "does greedy decoding write"),
    ("check-draft", by_chance(0.14), "the first token of"),
    ("check-draft", by_chance(0.2), "the first token of"),
    ("check-draft", by_chance(0.5), "the first token of"),
    (
        "check-draft",
        by_logits(lambda logits, draft: logits.gather(2, draft) > logits.mean(2, keepdim=True)),
        "does greedy decoding write",
    ),
    (
        "check-draft",
        by_logits(lambda logits, draft: (logits.topk(2).indices == draft).any(2)),
        "does greedy decoding write",
    ),
    ("check-draft", rolled, "the first input is last"),
    ("check-draft", by_table, "all tokens before"),
    ("check-draft", while_training, "in evaluation mode"),
    ("check-draft", one_place_late, "the first token of this draft is right"),
    ("check-draft", called, "decoder.step(inputs, state)"),
    ("check-draft", draft(longest_run), "the longest run"),
    ("check-draft", last_twice, "last, and then the draft"),
    ("check-draft", without_last, "the first input is last"),
    ("check-draft", draft(lambda same: same.double().mean()), "print, for each place"),
    ("check-draft", draft(shift=False), "the first input is last"),
    ("check-draft", draft(lambda same: same.long().cumprod(0).max()), "print, for each place"),
    ("check-draft", shifted_answers, "the first input is last"),
    ("check-draft", one_by_one, "give all of it to the decoder at once"),
    ("check-draft", after_a_step, "give all of it to the decoder at once"),
    ("check-draft", without_state, "goes on from what it has seen"),
    ("check-draft", draft(lambda same: same.long().cumprod(0)), "return a float"),
]
