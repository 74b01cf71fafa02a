"""What a decoder would have written."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from d2lmini_exercises.core import WrongAnswer
from d2lmini_exercises.engine import exercise
from d2lmini_exercises.same import is_same

_CLAIM = "there is one call of decoder.step"


def count(
    decoder: Any, state: Any, last: Tensor, draft: Tensor, *, count: Any = lambda same: same.long().cumprod(0).sum()
) -> Any:
    """How many tokens of the draft are right, right unless told otherwise."""
    logits = decoder.step(torch.cat([last, draft[:, :-1]], dim=1), state)[0]
    return count((logits.argmax(-1) == draft)[0])


def count_late(decoder: Any, state: Any, last: Tensor, draft: Tensor) -> Any:
    logits = decoder.step(torch.cat([last, draft], dim=1), state)[0]
    return (logits[0, 1:].argmax(-1) == draft[0]).long().cumprod(0).sum()


def count_longest(same: Tensor) -> int:
    longest = now = 0
    for right in same.tolist():
        now = now + 1 if right else 0
        longest = max(longest, now)
    return longest


def count_while(same: Tensor) -> int:
    i = 0
    while same[i]:
        i += 1
    return i


class Watched(nn.Module):
    """A decoder in evaluation mode that notes what it is given."""

    def __init__(self, step: Any) -> None:
        super().__init__()
        self.write, self.calls = step, list[tuple[Tensor, Any]]()
        self.eval()

    def step(self, tokens: Tensor, state: Any, **_: Any) -> Any:
        """Logits first."""
        if self.training:
            hint = "greedy decoding runs in evaluation mode: leave the decoder in it"
            raise WrongAnswer("the decoder is in evaluation mode", hint)
        if not isinstance(tokens, Tensor) or tokens.dim() != 2 or len(tokens) != 1:
            hint = "the draft is one sequence, (1, k): each token of it is read after those before it"
            got = tuple(tokens.shape) if isinstance(tokens, Tensor) else type(tokens).__name__
            raise WrongAnswer("decoder.step is given tokens of shape (1, steps)", hint, got=got)
        self.calls.append((tokens, state))
        return self.write(tokens.long(), state if isinstance(state, Tensor) else 0)

    def forward(self, *_: Any, **__: Any) -> None:
        """Refused: it has no state."""
        raise WrongAnswer(_CLAIM, "decoder.step(inputs, state) goes on from what the decoder has seen so far")


def use(answer: Any, decoder: Any, state: Tensor, last: Tensor, draft: Tensor) -> Any:
    """The number of tokens, if it took one step, from this state and with these tokens."""
    watched, before, right = Watched(decoder.step), state.clone(), torch.cat([last, draft], dim=1)
    found = answer(watched, state, last, draft)
    if len(watched.calls) != 1:
        hint = "the draft is known: give all of it to the decoder at once"
        raise WrongAnswer(_CLAIM, hint, got=len(watched.calls))
    inputs, used = watched.calls[0]
    if not isinstance(used, Tensor) or not is_same(used, before):
        raise WrongAnswer(
            "decoder.step is given the state", "the decoder goes on from what it has seen so far", got=used
        )
    read, claim = min(inputs.shape[1], right.shape[1]), "decoder.step is given the tokens"
    if not torch.equal(inputs[:, :1], right[:, :1]):
        hint = "logits at place i belong to the token after input i: the first input is last"
        raise WrongAnswer(claim, hint, expected=right[:, :-1], got=inputs)
    if not torch.equal(inputs[:, :read], right[:, :read]):
        raise WrongAnswer(
            claim, "the inputs are last, and then the draft, each token once", expected=right[:, :-1], got=inputs
        )
    return found


def write(by: int, slope: float, before: int, first: int, length: int, wrong: int) -> str:
    """The code for a decoder whose next token depends on the sum of all tokens so far, which is its state, and a draft.

    Args:
        by: the next token is `by * sum + 1`, modulo ten.
        slope: how far the logits fall from each token to the next one; the right token has the largest.
        before: the sum of the tokens before.
        first: the newest token.
        length: tokens in the draft.
        wrong: the one that is not what greedy decoding writes; those behind it go on from it.
    """
    tokens = [first]
    for i in range(length):
        tokens.append((by * (before + sum(tokens)) + 1 + (i == wrong)) % 10)  # a wrong one has the second largest logit
    logits = f"total % 7 - 3 - {slope} * ((torch.arange(10) - {by} * total - 1) % 10)"
    step = "lambda tokens, state: (write((state + tokens.cumsum(1))[..., None]), state + tokens.sum(), None)"
    code = f"write = lambda total: {logits}; import types; decoder = types.SimpleNamespace(step={step})"
    numbers = (
        f"state = torch.tensor([[{before}]]); last = torch.tensor([[{first}]]); draft = torch.tensor([{tokens[1:]}])"
    )
    return f"{code}; {numbers}"


exercise(
    "check-draft",
    count,
    tuple(
        write(*given)
        for given in (
            (1, 0.1, 4, 8, 7, 2),
            (7, 2.0, 0, 5, 5, 5),
            (3, 0.1, 1, 4, 6, 0),
            (7, 4.0, 8, 9, 4, 3),
            (3, 0.1, 2, 0, 1, 0),
            (3, 0.1, 0, 4, 1, 1),
            (3, 0.01, 1, 4, 5, 3),
        )
    ),
    {
        "all of the draft is right: is there a first wrong token?": (
            {"count": lambda same: same.long().argmin()},
            {"count": lambda same: (~same).nonzero()[0]},
            {"count": lambda same: same.tolist().index(False)},
            {"count": count_while},
            {"count": lambda same: -1 if same.all() else same.long().argmin()},
        ),
        "how many tokens has the draft? Each of them can be right": {
            "count": lambda same: same[:-1].long().cumprod(0).sum()
        },
        "the wrong token itself does not count": {
            "count": lambda same: min(len(same), int(same.long().cumprod(0).sum()) + 1)
        },
        "the first token of this draft is right: what does the decoder write after last?": (
            {"count": lambda same: 0},
            {"count": lambda same: int(same.all()) * len(same)},
            count_late,
        ),
        "the longest run of right tokens need not be the first": {"count": count_longest},
        "after the first wrong token later matches mean nothing": {"count": lambda same: same.sum()},
        "does greedy decoding write each token of the draft?": {"count": len},
    },
    claim="it is the number of right tokens before the first wrong one",
    verified="drafts of 1 to 7 tokens, wrong in front, inside, at the end and nowhere: each counted in one step",
    hint="print, for each place, what the decoder has read, what it writes there, and the draft: "
    "what it writes depends on all tokens before",
    use=use,
)
