"""What a decoder would have written."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from d2lmini_exercises.core import WrongAnswer, checker, expect_function, expect_measured
from d2lmini_exercises.same import is_same

_WORDS = 10
_CLAIM = "there is one call of decoder.step"


class _Scribe(nn.Module):
    """A decoder whose next token depends on the sum of all tokens so far, which is its state. It notes its calls.

    Args:
        by: the next token is `by * sum + 1`, modulo ten.
        slope: how far the logits fall from each token to the next one; the right token has the largest.
    """

    def __init__(self, by: int, slope: float) -> None:
        super().__init__()
        self.by, self.slope, self.calls = by, slope, list[tuple[Tensor, Any]]()
        self.given = ""
        self.eval()

    def step(self, tokens: Tensor, state: Any, **_: Any) -> tuple[Tensor, Any, None]:
        """Logits, (1, steps, 10), and the next state."""
        if self.training:
            hint = "greedy decoding runs in evaluation mode: leave the decoder in it"
            raise WrongAnswer("the decoder is in evaluation mode", hint)
        if not isinstance(tokens, Tensor) or tokens.dim() != 2 or len(tokens) != 1:
            hint = "the draft is one sequence, (1, k): each token of it is read after those before it"
            got = tuple(tokens.shape) if isinstance(tokens, Tensor) else type(tokens).__name__
            raise WrongAnswer("decoder.step is given tokens of shape (1, steps)", hint, got=got)
        self.calls.append((tokens, state))
        total = (tokens.long().cumsum(dim=1) + (state if isinstance(state, Tensor) else 0))[..., None]
        return self.write(total), total[:, -1:, 0], None

    def write(self, total: Tensor) -> Tensor:
        """Logits for sums of tokens, `(..., 1)`."""
        return total % 7 - 3 - self.slope * ((torch.arange(_WORDS) - self.by * total - 1) % _WORDS)

    def forward(self, *_: Any, **__: Any) -> None:
        """Refused: it has no state."""
        raise WrongAnswer(_CLAIM, "decoder.step(inputs, state) goes on from what the decoder has seen so far")

    @property
    def code(self) -> str:
        """The same decoder for a student's cell."""
        write = f"total % 7 - 3 - {self.slope} * ((torch.arange(10) - {self.by} * total - 1) % 10)"
        step = "lambda tokens, state: (write((state + tokens.cumsum(1))[..., None]), state + tokens.sum(), None)"
        return f"write = lambda total: {write}; import types; decoder = types.SimpleNamespace(step={step})"


@checker("check-draft")
def check_draft(accepted: Any) -> str:
    """`accepted(decoder, state, last, draft)`: tokens of the draft that greedy decoding would have written."""
    expect_function(accepted)
    for by, slope, before, first, length, first_wrong in (
        (1, 0.1, 4, 8, 7, 2),
        (7, 2.0, 0, 5, 5, 5),
        (3, 0.1, 1, 4, 6, 0),
        (7, 4.0, 8, 9, 4, 3),
        (3, 0.1, 2, 0, 1, 0),
        (3, 0.1, 0, 4, 1, 1),
        (3, 0.01, 1, 4, 5, 3),
    ):
        decoder, state, last = _Scribe(by, slope), torch.tensor([[before]]), torch.tensor([[first]])
        draft = _write_draft(decoder, before, first, length, first_wrong)
        given = f"{decoder.code}; state = torch.tensor([[{before}]]); last = torch.tensor([[{first}]])"
        decoder.given = given = f"{given}; draft = torch.tensor({draft.tolist()})"
        try:
            got = accepted(decoder, state, last, draft)
        except IndexError as error:
            if first_wrong < length:
                raise
            hint = "all of the draft is right: is there a first wrong token?"
            raise WrongAnswer("a draft may be right to its end", hint, given=given, got=error) from error
        _expect_one_call(decoder, state, given)
        expect_measured(
            got,
            first_wrong,
            claim="it is the number of right tokens before the first wrong one",
            given=given,
            hint=_ask_for_inputs(decoder, last, draft)
            or "print, for each place, what the decoder has read, what it writes there, and the draft: "
            "what it writes depends on all tokens before",
            mistakes={} if _ask_for_inputs(decoder, last, draft) else _list_wrong_counts(length, first_wrong),
        )
    return "drafts of 1 to 7 tokens, wrong in front, inside, at the end and nowhere: each counted in one step"


def _expect_one_call(decoder: _Scribe, state: Tensor, given: str) -> None:
    if len(decoder.calls) != 1:
        hint = "the draft is known: give all of it to the decoder at once"
        raise WrongAnswer(_CLAIM, hint, given=given, got=len(decoder.calls))
    used = decoder.calls[0][1]
    if not isinstance(used, Tensor) or not is_same(used, state):
        hint = "the decoder goes on from what it has seen so far"
        raise WrongAnswer("decoder.step is given the state", hint, given=given, got=used)


def _ask_for_inputs(decoder: _Scribe, last: Tensor, draft: Tensor) -> str:
    """A hint for inputs that are not those of greedy decoding; nothing if they are."""
    inputs, right = decoder.calls[0][0], torch.cat([last, draft], dim=1)
    if not torch.equal(inputs[:, :1], last):
        return "logits at place i belong to the token after input i: the first input is last"
    read = min(inputs.shape[1], right.shape[1])
    if not torch.equal(inputs[:, :read], right[:, :read]):
        return "the inputs are last, and then the draft, each token once"
    return ""


def _write_draft(decoder: _Scribe, before: int, first: int, length: int, first_wrong: int) -> Tensor:
    """A draft that is greedy but for one token; those after it are what the decoder would write *after* that."""
    tokens = [first]
    for i in range(length):
        greedy = int(decoder.write(torch.tensor([before + sum(tokens)])).argmax())
        tokens.append((greedy + (i == first_wrong)) % _WORDS)  # a wrong one has the second largest logit
    return torch.tensor([tokens[1:]])


def _list_wrong_counts(length: int, first_wrong: int) -> dict[str, float | tuple[float, ...]]:
    if first_wrong == length:
        return {
            "all of the draft is right: is there a first wrong token?": (0.0, -1.0),
            "how many tokens has the draft? Each of them can be right": length - 1.0,
        }
    wrong: dict[str, float | tuple[float, ...]] = {"the wrong token itself does not count": first_wrong + 1.0}
    if first_wrong > 1:
        hint = "the first token of this draft is right: what does the decoder write after last?"
        wrong[hint] = 0.0
        if length - first_wrong - 1 > first_wrong + 1:
            wrong["the longest run of right tokens need not be the first"] = length - first_wrong - 1.0
    if length > 1:
        wrong["after the first wrong token later matches mean nothing"] = length - 1.0
        wrong["does greedy decoding write each token of the draft?"] = float(length)
    return wrong
