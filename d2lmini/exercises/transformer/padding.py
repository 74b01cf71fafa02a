"""What padding does to real tokens."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from d2lmini.exercises.core import WrongAnswer, checker, expect_function, expect_measured
from d2lmini.transformer.stacks import TransformerEncoder


class _LeakyEncoder(nn.Module):
    """An encoder that moves by `leak` for each token of padding that it is given, and notes what it is given."""

    def __init__(self, leak: Tensor) -> None:
        super().__init__()
        self.leak, self.calls = leak, list[tuple[Tensor, Any]]()

    def forward(self, tokens: Tensor, valid_lens: Any = None, **others: Any) -> Tensor:
        """Twice the tokens, `(batch, steps, 2)`, and 99 at the padding."""
        if others:
            hint = "that would do as well, but give it valid_lens here"
            raise WrongAnswer("the encoder is called with tokens and valid_lens", hint, got=list(others))
        self.calls.append((tokens, valid_lens))
        X = tokens[..., None] * torch.arange(1.0, 3.0)
        if isinstance(valid_lens, Tensor) and valid_lens.dim() == 1:
            leak = self.leak[(tokens[:, 0] != 2).long()]  # example 0 begins with token 2
            X[:, : leak.shape[1]] += leak * (tokens.shape[1] - valid_lens[:, None, None])
            X = X.masked_fill((torch.arange(tokens.shape[1]) >= valid_lens[:, None])[..., None], 99.0)
        return X


@checker("measure-padding")
def check_measure_padding(padding_effect: Any) -> str:
    """`padding_effect(encoder, tokens, count)`: the largest change at real tokens by appended padding."""
    expect_function(padding_effect)
    tokens, leak = torch.tensor([[2, 1, 1], [1, 3, 2]]), torch.zeros(2, 3, 2)
    leak[0, 1, 1], leak[1, 0, 0], leak[1, 1] = 0.1875, 0.25, torch.tensor([-0.75, 0.25])
    watched = _LeakyEncoder(leak)
    got = padding_effect(watched, tokens.clone(), 2)
    _expect_padded(watched.calls, tokens, 2)
    expect_measured(
        got,
        1.5,
        claim="it is the largest change at a real token",
        given="an encoder that leaks: at one token of example 0 by 0.375, at two of example 1 by 0.5, 0.5 and -1.5",
        hint="subtract the outputs at real tokens, with and without padding, and take the largest size",
        mistakes={
            "a change may be negative: take its size": 0.5,
            "the largest change, not the mean": 2.875 / 12,
            "the largest change, not the sum": 2.875,
            "the largest change, not the length of them all": 2.890625**0.5,
            "the change of a number, not the length of a token's change": 2.5**0.5,
            "the largest change, not its square": 2.25,
            "all examples of the batch, please": 0.375,
            "at the padding itself the output means nothing: leave it out": 99.0,
            "what leaks here must show: compare with padding against without": 0.0,
        },
    )
    encoder = TransformerEncoder(5, 8, 16, 2, 2, 0.0).eval()
    expect_measured(
        padding_effect(encoder, tokens.clone(), 4),
        0.0,
        claim="it is 0 for an encoder that hides its padding",
        given="a d2l.TransformerEncoder",
        hint="compare with the tokens *without* padding; where there is padding, valid_lens says so",
        mistakes={},
    )
    return "1.5 for an encoder that leaks, 0 for one that does not"


def _expect_padded(calls: list[tuple[Tensor, Any]], tokens: Tensor, count: int) -> None:
    n = tokens.shape[1]
    padded = [call for call in calls if call[0].shape[1] == n + count]
    if not padded:
        raise WrongAnswer("the encoder is given n + count tokens", "torch.cat, or F.pad(tokens, (0, count))")
    given, lens = next(((given, lens) for given, lens in padded if isinstance(lens, Tensor)), padded[-1])
    known = (given[:, None, :n] == tokens).all(dim=2).any(dim=1).all()
    if not known or given[:, n:].any():
        hint = "the real tokens first, then count zeros"
        raise WrongAnswer("padding is appended", hint, expected=F.pad(tokens, (0, count)), got=given)
    if not isinstance(lens, Tensor) or lens.shape != given.shape[:1]:
        hint = "how is the encoder to know what is padding? One length for each example of the batch"
        raise WrongAnswer("the encoder is given valid_lens, (batch,)", hint, got=lens)
    if not (lens == n).all():
        hint = "valid_lens says how many tokens count: padding does not"
        raise WrongAnswer("the lengths are those of the real tokens", hint, expected=[n] * len(lens), got=lens)
