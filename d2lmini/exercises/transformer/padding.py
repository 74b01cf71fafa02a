"""What padding does to real tokens."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from d2lmini.exercises.core import WrongAnswer, checker, expect_function, expect_measured, expect_unchanged
from d2lmini.transformer.stacks import TransformerEncoder

Calls = list[tuple[Tensor, Any]]


class _LeakyEncoder(nn.Module):
    """An encoder that moves by `leak` for each token of padding behind a sentence, and notes what it is given.

    Args:
        sentences: those that leak, each with its leaks, `(n, 2)`.
    """

    def __init__(self, sentences: list[tuple[Tensor, Tensor]]) -> None:
        super().__init__()
        self.sentences, self.calls = sentences, Calls()

    def forward(self, tokens: Tensor, valid_lens: Any = None, **others: Any) -> Tensor:
        """Twice the tokens, `(batch, steps, 2)`, and 99 at the padding."""
        if others:
            hint = "that would do as well, but give it valid_lens here"
            raise WrongAnswer("the encoder is called with tokens and valid_lens", hint, got=list(others))
        if tokens.is_floating_point():
            raise WrongAnswer("tokens are whole numbers", "an embedding is looked up by integers", got=tokens.dtype)
        self.calls.append((tokens, valid_lens))
        X = tokens[..., None] * torch.arange(1.0, 3.0)
        if isinstance(valid_lens, Tensor) and valid_lens.shape == tokens.shape[:1]:
            for row, state, length in zip(tokens, X, valid_lens.tolist(), strict=True):
                leaks = (leak for sentence, leak in self.sentences if torch.equal(row[:length], sentence))
                state[:length] += next(leaks, torch.zeros(1)) * (len(row) - length)
                state[length:] = 99.0
        return X


@checker("measure-padding")
def check_measure_padding(padding_effect: Any) -> str:
    """`padding_effect(encoder, sentences)`: the largest change at a real token when sentences share a batch."""
    expect_function(padding_effect)
    for i, (sentences, leaks) in enumerate(_list_cases()):
        sizes = [leak * (max(map(len, sentences)) - len(leak)) for leak in leaks]
        every = torch.cat([size.flatten() for size in sizes])
        watched = _LeakyEncoder(list(zip(sentences, leaks, strict=True)))
        given = f"sentences {[sentence.tolist() for sentence in sentences]}, an encoder that leaks"
        got = padding_effect(watched, list(sentences))
        _expect_batch(watched.calls, sentences, given)
        expect_measured(
            got,
            every.abs().max().item(),
            claim="it is the largest change at a real token",
            given=f"{given}: the changes are {[size.tolist() for size in sizes]}",
            hint="subtract what comes out at real tokens, alone and in the batch, and take the largest size",
            mistakes=_list_wrong_changes(every, sizes),
        )
        if i == 0:
            _expect_no_effect(padding_effect, sentences, given)
    return "the largest change of an encoder that leaks, 0 of one that does not, with tokens 0 inside"


def _list_cases() -> list[tuple[list[Tensor], list[Tensor]]]:
    """Sentences with tokens 0 in front, inside and at the end; the leak at each token for a token of padding."""
    first = [torch.tensor(words) for words in ([0, 3], [2, 0, 1, 4, 0], [5, 1, 0])]
    leaks = [torch.zeros(len(sentence), 2) for sentence in first]
    leaks[0][1, 0], leaks[2][0, 0], leaks[2][2] = 0.25, 0.5, torch.tensor([-1.25, 0.75])
    second = [torch.tensor(words) for words in ([7, 7, 0, 6], [0])]
    other = [torch.zeros(4, 2), torch.tensor([[-1.5, 1.0]])]
    third = [torch.tensor(words) for words in ([4, 0], [4, 0], [3, 5, 0, 0, 1, 2])]
    last = [torch.tensor([[0.125, -0.25], [0.0, 0.0]])] * 2 + [torch.zeros(6, 2)]
    return [(first, leaks), (second, other), (third, last)]


def _list_wrong_changes(every: Tensor, sizes: list[Tensor]) -> dict[str, float | tuple[float, ...]]:
    ends = [size.abs().max().item() for size in (sizes[0], sizes[-1])]
    tokens = torch.cat(sizes)  # (all tokens, 2)
    right = every.abs().max().item()
    return {
        "a change may be negative: take its size": every.max().item(),
        "the largest change, not the mean": (every.abs().mean().item(), tokens.abs().amax(dim=1).mean().item()),
        "the largest change, not the sum": every.abs().sum().item(),
        "the largest change, not the length of them all": every.norm().item(),
        "the change of a number, not the length of a token's change": tokens.norm(dim=1).max().item(),
        "the largest change, not its square": right**2,
        "all sentences of the batch, please": tuple(end for end in ends if 0 < end < right),
        "each real token of a sentence counts, not only its first or last one": (
            torch.stack([size[0] for size in sizes]).abs().max().item(),
            torch.stack([size[-1] for size in sizes]).abs().max().item(),
        ),
        "at the padding itself the output means nothing: leave it out": 99.0,
        "what leaks here must show: compare each sentence in the batch with the sentence alone": 0.0,
    }


def _expect_no_effect(padding_effect: Any, sentences: list[Tensor], given: str) -> None:
    torch.manual_seed(0)
    encoder = TransformerEncoder(8, 8, 16, 2, 2, 0.0).eval()
    before = [sentence.clone() for sentence in sentences]
    expect_measured(
        padding_effect(encoder, sentences),
        0.0,
        claim="it is 0 for an encoder that hides its padding",
        given=given.replace("an encoder that leaks", "d2l.TransformerEncoder(8, 8, 16, 2, 2, 0.0).eval()"),
        hint="compare with the sentence *alone*, without padding; and where there is padding, valid_lens says so",
        mistakes={},
    )
    expect_unchanged("sentences", sentences, before)


def _expect_batch(calls: Calls, sentences: list[Tensor], given: str) -> None:
    """Each sentence was given with padding behind it, and with its length."""
    longest = max(map(len, sentences))
    for sentence in sentences:
        n = len(sentence)
        rows = [
            (tokens[i], lens, i)
            for tokens, lens in calls
            for i in range(len(tokens) if tokens.dim() == 2 else 0)
            if tokens.shape[1] == longest
        ]
        if not rows:
            hint = "one tensor (batch, n), as long as the longest sentence: pad_sequence, or F.pad"
            raise WrongAnswer(
                "the sentences share a batch", hint, given=given, got=[call[0].tolist() for call in calls]
            )
        padded = torch.cat([sentence, sentence.new_zeros(longest - n)])
        fitting = [(lens, i) for row, lens, i in rows if torch.equal(row, padded)]
        if not fitting:
            hint = "the real tokens first, then zeros up to the longest sentence"
            got = [row.tolist() for row, _, _ in rows]
            raise WrongAnswer("padding stands behind", hint, given=given, expected=padded, got=got)
        _expect_lengths(fitting, n, longest, padded, given)


def _expect_lengths(fitting: list[tuple[Any, int]], n: int, longest: int, padded: Tensor, given: str) -> None:
    known = [lens[i].item() for lens, i in fitting if isinstance(lens, Tensor) and lens.dim() == 1 and i < len(lens)]
    if n in known or n == longest:
        return
    if not known:
        hint = "how is the encoder to know what is padding? One length for each sentence"
        raise WrongAnswer("the encoder is given valid_lens, (batch,)", hint, given=given, got=fitting[0][0])
    hint = "valid_lens says how many tokens count: padding does not"
    if known[0] == (padded != 0).sum() < longest:
        hint = "0 may be a word: the length of a sentence is what it was before you padded it"
    raise WrongAnswer("the lengths are those of the sentences", hint, given=given, expected=n, got=known[0])
