"""What a decoder would have written."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.exercises.core import WrongAnswer, checker, expect_function, expect_measured

_WORDS = 10


class _CountingOn(nn.Module):
    """A decoder that counts on: after token t it writes t + `step`, modulo ten. It counts its calls."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.by, self.calls, self.states = step, 0, list[Any]()

    def step(self, tokens: Tensor, state: Any, **_: Any) -> tuple[Tensor, Any, None]:
        """Logits, (batch, steps, 10), and the next state."""
        self.calls += 1
        self.states.append(state)
        logits = F.one_hot((tokens.long() + self.by) % _WORDS, _WORDS).float() - 0.5
        return logits, (state, tokens), None


@checker("check-draft")
def check_draft(accepted: Any) -> str:
    """`accepted(decoder, state, last, draft)`: tokens of the draft that greedy decoding would have written."""
    expect_function(accepted)
    for by, last, length, first_wrong in (
        (3, 2, 6, 2),
        (3, 5, 5, 5),
        (7, 4, 6, 0),
        (1, 9, 4, 3),
        (3, 0, 1, 0),
        (7, 3, 1, 1),
    ):
        draft = _write_draft(by, last, length, first_wrong)
        decoder, state = _CountingOn(by), object()
        given = f"a decoder that writes (t + {by}) % {_WORDS} after token t, last [[{last}]], draft {draft.tolist()}"
        try:
            got = accepted(decoder, state, torch.tensor([[last]]), draft)
        except IndexError as error:
            if first_wrong < length:
                raise
            hint = "all of the draft is right: is there a first wrong token?"
            raise WrongAnswer("a draft may be right to its end", hint, given=given, got=error) from error
        expect_measured(
            got,
            first_wrong,
            claim="it is the number of right tokens before the first wrong one",
            given=given,
            hint="print, for each place, what the decoder was given, what it writes there, and the draft",
            mistakes=_list_wrong_counts(by, last, draft, first_wrong),
        )
        if decoder.calls != 1:
            hint = "the draft is known: give all of it to the decoder at once"
            raise WrongAnswer("there is one call of decoder.step", hint, given=given, got=decoder.calls)
        if decoder.states[0] is not state:
            hint = "the decoder goes on from what it has seen so far"
            raise WrongAnswer("decoder.step is given the state", hint, given=given, got=decoder.states[0])
    return "drafts of 1 to 6 tokens, wrong in front, inside, at the end and nowhere: each counted in one step"


def _write_draft(by: int, last: int, length: int, first_wrong: int) -> Tensor:
    """A draft that is greedy but for one token; those after it are what the decoder would write *after* that."""
    tokens = [last]
    for i in range(length):
        tokens.append((tokens[-1] + by + (1 if i == first_wrong else 0)) % _WORDS)
    return torch.tensor([tokens[1:]])


def _list_wrong_counts(by: int, last: int, draft: Tensor, first_wrong: int) -> dict[str, float | tuple[float, ...]]:
    length = draft.shape[1]
    if first_wrong == length:
        return {
            "all of the draft is right: is there a first wrong token?": (0.0, -1.0),
            "how many tokens has the draft? Each of them can be right": length - 1.0,
        }
    wrong: dict[str, float | tuple[float, ...]] = {"the wrong token itself does not count": first_wrong + 1.0}
    if first_wrong > 1:
        hint = "logits at place i belong to the token after input i: the first input is last, not draft[0]"
        wrong[hint] = (0.0, first_wrong - 1.0)
    if length > 1:
        wrong["after the first wrong token later matches mean nothing"] = length - 1.0
        wrong["does greedy decoding write each token of the draft?"] = float(length)
    return wrong
