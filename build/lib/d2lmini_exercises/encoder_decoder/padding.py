"""What padding does to real tokens."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from d2lmini.transformer.stacks import TransformerEncoder
from d2lmini_exercises.core import WrongAnswer, checker, expect_function, expect_measured, expect_unchanged

_TURNED = 3  # the case whose leak turns a sign round

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
            mistakes=_list_wrong_changes(sentences, sizes, i == _TURNED),
        )
        if i == 0:
            _expect_no_effect(padding_effect, sentences, given)
    return "the largest change of an encoder that leaks, 0 of one that does not, with tokens 0 inside"


def _list_cases() -> list[tuple[list[Tensor], list[Tensor]]]:
    """Sentences with tokens 0 in front, inside and at the end; the leak at each token for a token of padding."""
    first = [torch.tensor(words) for words in ([0, 3], [2, 0, 1, 4, 0], [5, 1, 0])]
    leaks = [torch.zeros(len(sentence), 2) for sentence in first]
    leaks[0][1, 0], leaks[2][0, 0], leaks[2][1, 0], leaks[2][2] = 0.25, 0.5, 0.625, torch.tensor([-1.25, 0.75])
    second = [torch.tensor(words) for words in ([7, 7, 0, 6], [0])]
    other = [torch.zeros(4, 2), torch.tensor([[-1.5, 1.0]])]
    third = [torch.tensor(words) for words in ([4, 0], [4, 0], [3, 5, 0, 0, 1, 2])]
    last = [torch.tensor([[0.125, -0.25], [0.09375, 0.0]])] * 2 + [torch.zeros(6, 2)]
    turned = [torch.tensor([3]), torch.tensor([2, 4])]  # each leak turns a sign round
    equal = [torch.tensor([1, 2]), torch.tensor([3, 0])]
    return [
        (first, leaks),
        (second, other),
        (third, last),
        (turned, [torch.tensor([[-6.0, -12.0]]), torch.zeros(2, 2)]),
        (equal, [torch.zeros(2, 2)] * 2),
    ]


def _list_wrong_changes(
    sentences: list[Tensor], sizes: list[Tensor], turned: bool
) -> dict[str, float | tuple[float, ...]]:
    if turned:
        return {"here a number keeps its size and turns its sign: subtract first, then take the size": 0.0}
    every = torch.cat([size.flatten() for size in sizes])
    ends = [size.abs().max().item() for size in (sizes[0], sizes[-1])]
    tokens = torch.cat(sizes)  # (all tokens, 2)
    right = every.abs().max().item()
    words = torch.cat(sizes)[torch.cat(sentences) != 0].abs().max().item()
    kinds = [torch.stack([size[place] for size in sizes]).abs().max().item() for place in (0, -1)]
    return {
        "0 may be a word: a length says what is real, not the number of a token": tuple(
            found for found in (words,) if 0 < found < right
        ),
        "a change may be negative: take its size": every.max().item(),
        "the largest change, not the mean": (every.abs().mean().item(), tokens.abs().amax(dim=1).mean().item()),
        "the largest change, not the sum": every.abs().sum().item(),
        "the largest change, not the length of them all": every.norm().item(),
        "the change of a number, not the length of a token's change": tokens.norm(dim=1).max().item(),
        "the largest change, not its square": right**2,
        "all sentences of the batch, please": tuple(end for end in ends if 0 <= end < right),
        "each real token of a sentence counts, not only its first or last one": tuple(
            kind for kind in kinds if 0 < kind < right
        ),
        "at the padding itself the output means nothing: leave it out": 99.0,
        "what leaks here must show: compare each sentence in the batch with the sentence alone": 0.0,
    }


def _expect_no_effect(padding_effect: Any, sentences: list[Tensor], given: str) -> None:
    torch.manual_seed(0)
    encoder = TransformerEncoder(8, 8, 16, 2, 2, 0.5).eval()
    before, modes = [sentence.clone() for sentence in sentences], list[bool]()
    encoder.register_forward_pre_hook(lambda module, _: modes.append(module.training))
    found = padding_effect(encoder, sentences)
    if any(modes):
        hint = "in training mode dropout draws new numbers each time: is it padding that you measure then?"
        raise WrongAnswer("the encoder stays in evaluation mode", hint, given=given, got="training mode")
    expect_measured(
        found,
        0.0,
        claim="it is 0 for an encoder that hides its padding",
        given=given.replace("an encoder that leaks", "d2l.TransformerEncoder(8, 8, 16, 2, 2, 0.5).eval()"),
        hint="compare with the sentence *alone*, without padding; and where there is padding, valid_lens says so",
        mistakes={},
    )
    expect_unchanged("sentences", sentences, before)


def _expect_batch(calls: Calls, sentences: list[Tensor], given: str) -> None:
    """Each sentence was given with padding behind it, and with its length."""
    if not calls:
        hint = "what does the encoder make of the sentences in a batch, and of each one alone?"
        raise WrongAnswer("the encoder is called", hint, given=given)
    longest = max(map(len, sentences))
    for sentence in sentences:
        n = len(sentence)
        rows = [
            (tokens, lens, i)
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
        fitting = [(tokens, lens, i) for tokens, lens, i in rows if torch.equal(tokens[i], padded)]
        if not fitting:
            hint = "the real tokens first, then zeros up to the longest sentence"
            got = [tokens[i].tolist() for tokens, _, i in rows]
            raise WrongAnswer("padding stands behind", hint, given=given, expected=padded, got=got)
        _expect_lengths(fitting, n, longest, padded, given)


def _expect_lengths(fitting: list[tuple[Tensor, Any, int]], n: int, longest: int, padded: Tensor, given: str) -> None:
    whole = [call for call in fitting if isinstance(call[1], Tensor) and call[1].shape == call[0].shape[:1]]
    known = [lens[i].item() for _, lens, i in whole]
    if n in known or n == longest:
        return
    if not known:
        hint = "how is the encoder to know what is padding? One length for each sentence"
        raise WrongAnswer("the encoder is given valid_lens, (batch,)", hint, given=given, got=fitting[0][1])
    hint = "valid_lens says how many tokens count: padding does not"
    if torch.equal(whole[0][1], (whole[0][0] != 0).sum(dim=1)):
        hint = "0 may be a word: the length of a sentence is what it was before you padded it"
    raise WrongAnswer("the lengths are those of the sentences", hint, given=given, expected=n, got=known[0])
