"""Answers to the exercises: what padding does to real tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

Sentences = list[Tensor]


def padded(
    measure: Callable[[Tensor], Any] = lambda change: change.abs().max(),
    *,
    fill: int = 0,
    front: bool = False,
    lens: Callable[[Sentences, Tensor], Any] = lambda sentences, batch: torch.tensor([len(s) for s in sentences]),
    choose: Callable[[Sentences], Sentences] = lambda sentences: sentences,
) -> Callable[[Any, Sentences], Any]:
    """The effect of padding, right unless told otherwise."""

    def answer(encoder: Any, sentences: Sentences) -> Any:
        side = "left" if front else "right"
        batch = pad_sequence(sentences, batch_first=True, padding_value=fill, padding_side=side)
        together = encoder(batch, lens(sentences, batch))
        changes = [
            (states[: len(sentence)] - encoder(sentence[None])[0]).flatten(0, 0)
            for sentence, states in zip(choose(sentences), together, strict=False)
        ]
        return measure(torch.cat(changes))

    return answer


def one_sentence_at_a_time(encoder: Any, sentences: Sentences) -> float:
    longest, found = max(len(sentence) for sentence in sentences), []
    for sentence in sentences:
        longer = F.pad(sentence, (0, longest - len(sentence)))[None]
        states = encoder(longer, torch.tensor([len(sentence)]))[:, : len(sentence)]
        found.append((states - encoder(sentence[None], torch.tensor([len(sentence)]))).abs().max().item())
    return max(found)


@torch.no_grad()
def with_mask(encoder: Any, sentences: Sentences) -> Tensor:
    batch = pad_sequence(sentences, batch_first=True)
    lens = torch.tensor([len(sentence) for sentence in sentences])
    alone = torch.zeros_like(encoder(batch, lens))
    for row, sentence in zip(alone, sentences, strict=True):
        row[: len(sentence)] = encoder(sentence[None])[0]
    real = (torch.arange(batch.shape[1]) < lens[:, None])[..., None]
    return (encoder(batch, lens) - alone).masked_fill(~real, 0.0).abs().amax()


def against_no_lens(encoder: Any, sentences: Sentences) -> Tensor:
    batch, lens = pad_sequence(sentences, batch_first=True), torch.tensor([len(s) for s in sentences])
    change = encoder(batch, lens) - encoder(batch)
    return torch.cat([row[:n] for row, n in zip(change, lens.tolist(), strict=True)]).abs().max()


def with_padding_too(encoder: Any, sentences: Sentences) -> Tensor:
    batch, lens = pad_sequence(sentences, batch_first=True), torch.tensor([len(s) for s in sentences])
    return (encoder(batch, lens) - F.pad(encoder(batch, lens), (0, 0, 0, 0)).where(lens[:, None, None] < 0, 0)).max()


def largest_of_each(encoder: Any, sentences: Sentences) -> Tensor:
    batch, lens = pad_sequence(sentences, batch_first=True), torch.tensor([len(s) for s in sentences])
    together = encoder(batch, lens)
    alone = [encoder(s[None]).abs().max() for s in sentences]
    return torch.stack([t[: len(s)].abs().max() - a for t, a, s in zip(together, alone, sentences, strict=True)]).max()


def only_last(encoder: Any, sentences: Sentences) -> float:
    batch, lens = pad_sequence(sentences, batch_first=True), torch.tensor([len(s) for s in sentences])
    found = encoder(batch, lens)
    return max((found[i, len(s) - 1] - encoder(s[None])[0, -1]).abs().max().item() for i, s in enumerate(sentences))


def against_padded_alone(encoder: Any, sentences: Sentences) -> float:
    batch, lens = pad_sequence(sentences, batch_first=True), torch.tensor([len(s) for s in sentences])
    alone = [encoder(row[None], n[None])[0, :n] for row, n in zip(batch, lens, strict=True)]
    return max((row[: len(a)] - a).abs().max().item() for row, a in zip(encoder(batch, lens), alone, strict=True))


def as_floats(encoder: Any, sentences: Sentences) -> Any:
    return padded()(encoder, [sentence.float() for sentence in sentences])


def by_size(encoder: Any, sentences: Sentences) -> float:
    """Subtracts the sizes."""
    batch, lens = pad_sequence(sentences, batch_first=True), torch.tensor([len(s) for s in sentences])
    found = encoder(batch, lens).abs()
    rows = [row[: len(s)] - encoder(s[None])[0].abs() for row, s in zip(found, sentences, strict=True)]
    return max(row.abs().max().item() for row in rows)


def only_padded(encoder: Any, sentences: Sentences) -> float:
    batch, lens = pad_sequence(sentences, batch_first=True), torch.tensor([len(s) for s in sentences])
    together = enumerate(encoder(batch, lens))
    shorter = [(row, sentences[i]) for i, row in together if len(sentences[i]) < batch.shape[1]]
    return max((row[: len(s)] - encoder(s[None])[0]).abs().max().item() for row, s in shorter)


def where_not_zero(encoder: Any, sentences: Sentences) -> float:
    batch, lens = pad_sequence(sentences, batch_first=True), torch.tensor([len(s) for s in sentences])
    together = encoder(batch, lens)
    changes = [row[: len(s)] - encoder(s[None])[0] for row, s in zip(together, sentences, strict=True)]
    return torch.cat(changes)[torch.cat(sentences) != 0].abs().max().item()


def only_last_sentence(encoder: Any, sentences: Sentences) -> Any:
    batch, lens = pad_sequence(sentences, batch_first=True), torch.tensor([len(s) for s in sentences])
    return (encoder(batch, lens)[-1, : lens[-1]] - encoder(sentences[-1][None])[0]).abs().max()


RIGHT: dict[str, list[Any]] = {
    "measure-padding": [padded(), one_sentence_at_a_time, with_mask, padded(lambda change: change.abs().max().item())],
}


def in_training(encoder: Any, sentences: Sentences) -> Any:
    return padded()(encoder.train(), sentences)


WRONG: list[tuple[str, Any, str]] = [
    ("measure-padding", in_training, "in training mode dropout draws"),
    ("measure-padding", padded(lambda change: change.max()), "take its size"),
    ("measure-padding", padded(lambda change: change.abs().mean()), "not the mean"),
    ("measure-padding", padded(lambda change: change.abs().amax(dim=1).mean()), "not the mean"),
    ("measure-padding", padded(lambda change: change.abs().sum()), "not the sum"),
    ("measure-padding", padded(lambda change: change.norm()), "not the length of them all"),
    ("measure-padding", padded(lambda change: change.square().max()), "not its square"),
    ("measure-padding", padded(lambda change: change.norm(dim=1).max()), "a token's change"),
    ("measure-padding", padded(lambda change: 3 * change.abs().max()), "subtract what comes out"),
    ("measure-padding", padded(choose=lambda sentences: sentences[:1]), "all sentences of the batch"),
    ("measure-padding", largest_of_each, "what leaks here must show"),
    ("measure-padding", against_no_lens, "compare with the sentence *alone*"),
    ("measure-padding", with_padding_too, "at the padding itself"),
    ("measure-padding", lambda encoder, s: (padded()(encoder, s), torch.zeros(()))[1], "what leaks here must show"),
    (
        "measure-padding",
        lambda encoder, s: encoder(pad_sequence(s, batch_first=True), mask=torch.ones(1).bool()),
        "but give it valid_lens here",
    ),
    ("measure-padding", padded(lens=lambda s, batch: None), "how is the encoder to know"),
    ("measure-padding", padded(lens=lambda s, batch: torch.tensor(3)), "how is the encoder to know"),
    ("measure-padding", padded(lens=lambda s, batch: torch.full((len(s),), batch.shape[1])), "padding does not"),
    ("measure-padding", padded(lens=lambda s, batch: (batch != 0).sum(dim=1)), "0 may be a word"),
    ("measure-padding", padded(fill=1), "then zeros"),
    ("measure-padding", padded(front=True), "the real tokens first"),
    ("measure-padding", lambda encoder, sentences: 0.0, "in a batch, and of each one alone?"),
    ("measure-padding", lambda encoder, s: encoder(s[0][None]).sum(), "pad_sequence, or F.pad"),
    ("measure-padding", by_size, "turns its sign"),
    ("measure-padding", only_padded, "run it yourself"),
    ("measure-padding", where_not_zero, "0 may be a word"),
    ("measure-padding", only_last_sentence, "all sentences of the batch"),
    ("measure-padding", padded(lens=lambda s, batch: torch.tensor([len(x) - 1 for x in s])), "padding does not"),
    ("measure-padding", only_last, "not only its first or last one"),
    ("measure-padding", against_padded_alone, "the sentence alone"),
    ("measure-padding", as_floats, "looked up by integers"),
    (
        "measure-padding",
        padded(lambda change: max(change.abs().max(), torch.tensor(0.1))),
        "where there is padding, valid_lens says so",
    ),
]
