"""Answers to the exercises: an encoder block and its faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Join = Callable[[Tensor, Tensor, Tensor], Tensor]  # of the stream, its normed copy and what a layer found


def normed(X: Tensor) -> Tensor:
    return F.layer_norm(X, X.shape[2:])


def block(
    *,
    norm: Callable[[Tensor], Tensor] = normed,
    read: Callable[[Tensor, Tensor], tuple[Tensor, ...]] = lambda X, Y: (Y, Y, Y),
    first: Join = lambda X, Y, found: X + found,
    ask: Callable[[Tensor, Tensor], Tensor] = lambda normed_stream, old: normed_stream,
    second: Join = lambda X, Y, found: X + found,
    lens: Callable[[Tensor], Tensor | None] = lambda lens: lens,
) -> Callable[..., Tensor]:
    """An encoder block in pre-norm, right unless told otherwise."""

    def answer(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
        Y = norm(X)
        X = first(X, Y, attention(*read(X, Y), lens(valid_lens)))
        return second(X, norm(X), ffn(ask(norm(X), Y)))

    return answer


def starter(*, norm: bool = True, stream: bool = True, values: bool = True, end: bool = True) -> Callable[..., Tensor]:
    """The block of the starter, some of its faults left."""

    def answer(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
        layer_norm = nn.LayerNorm(X.shape[1:] if norm else X.shape[2])
        Y = layer_norm(X)
        X = (Y if stream else X) + attention(Y, Y, X if values else Y, valid_lens)
        X = X + ffn(layer_norm(X))
        return layer_norm(X) if end else X

    return answer


def post_norm(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    X = normed(X + attention(X, X, X, valid_lens))
    return normed(X + ffn(X))


def by_hand(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    for layer in (lambda Y: attention(Y, Y, Y, valid_lens), ffn):
        centred = X - X.mean(-1, keepdim=True)
        X = layer(centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()) + X
    return X


def by_names(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    Y = nn.LayerNorm(X.shape[-1], elementwise_affine=False)(X)
    Z = torch.add(X, attention(queries=Y, keys=Y, values=Y, valid_lens=valid_lens))
    return torch.stack([Z, ffn(normed(Z))]).sum(dim=0)


def by_mask(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    Y = normed(X)
    mask = torch.arange(X.shape[1]) < valid_lens[:, None, None]  # (batch, 1, n)
    X = X + attention(Y, Y, Y, mask=mask.expand(-1, X.shape[1], -1))
    return X + ffn(normed(X))


def by_examples(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    parts = zip(X.split(1), valid_lens.split(1), strict=True)
    return torch.cat([block()(x, lens, attention, ffn) for x, lens in parts])


def two_norms(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    norm1, norm2 = nn.LayerNorm(X.shape[2]), nn.LayerNorm(X.shape[2])
    found = [norm1(X)] * 3
    X = X + attention(*found, valid_lens)
    return X + ffn(norm2(X))


def in_place(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    Y = normed(X)
    X += attention(Y, Y, Y, valid_lens)
    return X + ffn(normed(X))


def without_padding(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    padding = torch.arange(X.shape[1]) >= valid_lens[:, None]
    return block()(X, valid_lens, attention, ffn).masked_fill(padding[..., None], 0)


def bare_ffn(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    Y = normed(X)
    X = X + attention(Y, Y, Y, valid_lens)
    return X + ffn(X)


def ffn_first(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    X = X + ffn(normed(X))
    Y = normed(X)
    return X + attention(Y, Y, Y, valid_lens)


def parallel(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    Y = normed(X)
    return X + attention(Y, Y, Y, valid_lens) + ffn(Y)


def lens_first(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    Y = normed(X)
    return X + attention(valid_lens, Y, Y, Y)


def longer_lens(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    return block(lens=lambda lens: lens + X.shape[1])(X, valid_lens, attention, ffn)


def in_numbers(X: Tensor, *others: Any) -> Tensor:
    return block()(X.detach(), *others)


def cut_stream(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    """The norm learns nothing of what it reads."""
    with torch.no_grad():
        Y = normed(X)
    X = X + attention(Y, Y, Y, valid_lens)
    return X + ffn(normed(X))


def unbiased(X: Tensor) -> Tensor:
    return (X - X.mean(-1, keepdim=True)) / X.std(-1, keepdim=True)


def without_epsilon(X: Tensor) -> Tensor:
    return (X - X.mean(-1, keepdim=True)) / X.std(-1, keepdim=True, correction=0)


def epsilon_outside(X: Tensor) -> Tensor:
    return (X - X.mean(-1, keepdim=True)) / (X.std(-1, keepdim=True, correction=0) + 1e-5)


def stops(X: Tensor, valid_lens: Tensor, attention: Any, ffn: Any) -> Tensor:
    return X + ffn(attention(X, X, X, valid_lens)[:, 99])


RIGHT: dict[str, list[Any]] = {
    "debug-block": [
        block(),
        starter(norm=False, stream=False, values=False, end=False),
        by_hand,
        by_names,
        by_mask,
        by_examples,
        two_norms,
    ]
}

_WRONG: list[tuple[Any, str]] = [
    (starter(), "which numbers does yours take together?"),
    (starter(norm=False), "three looks at the same normed tokens"),
    (starter(norm=False, values=False), "the stream, or what the norm has made of it?"),
    (starter(norm=False, values=False, stream=False), "no norm stands at the end of a block"),
    (starter(values=False, stream=False, end=False), "which numbers does yours take together?"),
    (starter(norm=False, stream=False, end=False), "three looks at the same normed tokens"),
    (starter(norm=False, values=False, end=False), "the stream, or what the norm has made of it?"),
    (block(norm=lambda X: F.layer_norm(X, X.shape)), "nothing to do with other sequences"),
    (block(norm=lambda X: F.layer_norm(X.mT, X.shape[1:2]).mT), "not the tokens of a sequence"),
    (block(read=lambda X, Y: (X, X, X)), "attention reads the stream through the norm"),
    (block(read=lambda X, Y: (X, Y, Y)), "all three come from the normed tokens"),
    (block(read=lambda X, Y: (Y, X, Y)), "the keys, too"),
    (block(lens=lambda lens: None), "change a token beyond valid_lens"),
    (block(first=lambda X, Y, found: found), "it does not replace it"),
    (block(first=lambda X, Y, found: normed(X + found)), "or a normed copy of it?"),
    (block(second=lambda X, Y, found: found), "the feed-forward network adds to the stream"),
    (block(second=lambda X, Y, found: Y + found), "or a normed copy of it?"),
    (block(second=lambda X, Y, found: X), "where is the feed-forward network?"),
    (block(ask=lambda now, old: old), "as it is after attention"),
    (
        lambda X, lens, attention, ffn: block(ask=lambda now, old: now)(X, lens, attention, lambda Y: 2 * ffn(Y)),
        "print",
    ),
    (post_norm, "attention reads the stream through the norm"),
    (parallel, "as it is after attention"),
    (without_padding, "at the padding leave what the layers give"),
    (bare_ffn, "reads the stream through a norm, too"),
    (ffn_first, "print the stream"),
    (block(norm=unbiased), "print the stream"),
    (block(lens=lambda lens: (lens - 1).clamp(min=1)), "print the stream"),
    (block(norm=lambda X: X), "through the norm"),
    (longer_lens, "the lengths come last, as they are"),
    (
        lambda X, lens, attention, ffn: X + attention(normed(X), normed(X), normed(X), lens),
        "where is the feed-forward network?",
    ),
    (lens_first, "run it yourself"),
    (block(norm=without_epsilon), "an epsilon, under the root"),
    (block(norm=epsilon_outside), "an epsilon, under the root"),
    (stops, "run it yourself"),
    (in_place, "works in place"),
    (lambda *args: block()(*args)[:, 0], "write the shape of each step"),
    (lambda *args: None, "return a tensor"),
    (in_numbers, "what cuts the result off?"),
    (cut_stream, "is a part of the way cut off?"),
]
WRONG: list[tuple[str, Any, str]] = [("debug-block", answer, hint) for answer, hint in _WRONG]
