"""Answers to the exercises: a decoder block, who sees what, and what is added to what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

import d2lmini as d2l


def normed(X: Tensor) -> Tensor:
    return F.layer_norm(X, X.shape[2:])


def decoder(
    *,
    masked: Callable[[bool], bool] = lambda training: True,
    across: Callable[[Any, Tensor, Tensor], Tensor] = lambda attend, Y, memory: attend(Y, memory, memory),
    second: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda X, Y, found: X + found,
    third: Callable[[Tensor, Any], Tensor] = lambda X, ffn: X + ffn(normed(X)),
    mask: Callable[[int], Tensor] = d2l.causal_mask,
    start: Callable[[Tensor], Tensor] = lambda X: X,
    ask: Callable[[Tensor], Tensor] = normed,
    first: Callable[[Tensor, Tensor], Tensor] = lambda X, found: X + found,
) -> Callable[..., Tensor]:
    """A decoder block, right unless told otherwise."""

    def answer(X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any, training: bool) -> Tensor:
        Y = normed(X)
        allowed = mask(X.shape[1]) if masked(training) else None
        X = first(start(X), look_back(Y, Y, Y, mask=allowed))
        Y = ask(X)
        return third(second(X, Y, across(look_across, Y, memory)), ffn)

    return answer


def post_norm_decoder(X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any, training: bool) -> Tensor:
    X = normed(X + look_back(X, X, X, mask=d2l.causal_mask(X.shape[1])))
    X = normed(X + look_across(X, memory, memory))
    return normed(X + ffn(X))


def decoder_with_old_query(
    X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any, training: bool
) -> Tensor:
    Y = normed(X)
    X = X + look_back(Y, Y, Y, mask=d2l.causal_mask(X.shape[1]))
    X = X + look_across(Y, memory, memory)
    return X + ffn(normed(X))


def starter_decoder(*, mask_fault: bool = True, memory_fault: bool = True) -> Callable[..., Tensor]:
    return decoder(
        masked=(lambda training: training) if mask_fault else (lambda training: True),
        across=(lambda f, Y, memory: f(Y, Y, Y)) if memory_fault else (lambda f, Y, memory: f(Y, memory, memory)),
        second=lambda X, Y, found: Y + found,
    )


def shared_norm(X: Tensor) -> Tensor:
    return F.layer_norm(X, X.shape[1:])


def normed_together(X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any, training: bool) -> Tensor:
    Y = shared_norm(X)
    X = X + look_back(Y, Y, Y, mask=d2l.causal_mask(X.shape[1]))
    X = X + look_across(shared_norm(X), memory, memory)
    return X + ffn(shared_norm(X))


def by_hand(X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any, training: bool) -> Tensor:
    """Token by token: no mask at all."""
    Y, rows = normed(X), []
    for i in range(X.shape[1]):
        rows.append(look_back(Y[:, i : i + 1], Y[:, : i + 1], Y[:, : i + 1]))
    X = X + torch.cat(rows, dim=1)
    X = X + torch.cat([look_across(row, memory, memory) for row in normed(X).split(1, dim=1)], dim=1)
    return X + ffn(normed(X))


def by_lengths(X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any, training: bool) -> Tensor:
    Y, lens = normed(X), torch.arange(1, X.shape[1] + 1).repeat(len(X), 1)
    X = X + look_back(Y, Y, Y, valid_lens=lens)
    X = X + look_across(normed(X), memory, memory)
    return X + ffn(normed(X))


def without_epsilon(X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any, training: bool) -> Tensor:
    def norm(X: Tensor) -> Tensor:
        return (X - X.mean(dim=2, keepdim=True)) / X.std(dim=2, keepdim=True, correction=0)

    Y = norm(X)
    X = X + look_back(Y, Y, Y, mask=d2l.causal_mask(X.shape[1]))
    X = X + look_across(norm(X), memory, memory)
    return X + ffn(norm(X))


def cut_off(X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any, training: bool) -> Tensor:
    return decoder()(X.detach(), memory, look_back, look_across, ffn, training)


def in_place(X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any, training: bool) -> Tensor:
    X += decoder()(X, memory, look_back, look_across, ffn, training) - X
    return X


def unnormed_read(X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any, training: bool) -> Tensor:
    X = X + look_back(X, X, X, mask=d2l.causal_mask(X.shape[1]))
    return X + look_across(normed(X), memory, memory) + ffn(normed(X + look_across(normed(X), memory, memory)))


def swapped(X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any, training: bool) -> Tensor:
    return decoder()(X, memory, look_across, look_back, ffn, training)


def cross_before_self(X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any, training: bool) -> Tensor:
    X = X + look_across(normed(X), memory, memory)
    Y = normed(X)
    X = X + look_back(Y, Y, Y, mask=d2l.causal_mask(X.shape[1]))
    return X + ffn(normed(X))


def by_library(X: Tensor, memory: Tensor, look_back: Any, look_across: Any, ffn: Any, training: bool) -> Tensor:
    Y = normed(X)[:, None]
    X = X + F.scaled_dot_product_attention(Y, Y, Y, is_causal=True)[:, 0]
    X = X + look_across(normed(X), memory, memory)
    return X + ffn(normed(X))


def across_by_library(X: Tensor, memory: Tensor, back: Any, across: Any, ffn: Any, training: bool) -> Tensor:
    Y = normed(X)
    X = X + back(Y, Y, Y, mask=d2l.causal_mask(X.shape[1]))
    X = X + 3 * F.scaled_dot_product_attention(normed(X)[:, None], memory[:, None], memory[:, None])[:, 0]
    return X + across(normed(X), memory, memory) - across(normed(X), memory, memory) + ffn(normed(X))


def raising(*_: Any) -> Tensor:
    return torch.zeros(int("x"))


RIGHT: dict[str, list[Any]] = {
    "debug-decoder": [
        decoder(),
        by_hand,
        by_lengths,
        decoder(mask=lambda n: torch.ones(n, n, dtype=torch.bool).tril()),
        decoder(mask=lambda n: ~torch.ones(1, n, n, dtype=torch.bool).triu(1)),
        decoder(across=lambda f, Y, memory: f(Y, memory, memory, mask=torch.ones(1, dtype=torch.bool))),
        lambda *a: decoder()(*(part.double() for part in a[:2]), *a[2:]),
    ],
}

WRONG: list[tuple[str, Any, str]] = [
    ("debug-decoder", starter_decoder(), "Who is asked in cross-attention?"),
    ("debug-decoder", starter_decoder(memory_fault=False), "a mask that comes and goes"),
    ("debug-decoder", starter_decoder(memory_fault=False, mask_fault=False), "must not have gone through a norm"),
    ("debug-decoder", decoder(masked=lambda training: not training), "a mask that comes and goes"),
    ("debug-decoder", decoder(masked=lambda training: False), "Which tokens may token 0 see?"),
    ("debug-decoder", decoder(mask=lambda n: d2l.causal_mask(n).T), "Which tokens may token 0 see?"),
    ("debug-decoder", decoder(mask=lambda n: d2l.causal_mask(n).tril(-1)), "a token sees itself, too"),
    ("debug-decoder", decoder(start=normed), "the first addition, too"),
    (
        "debug-decoder",
        decoder(third=lambda X, ffn: normed(X) + ffn(normed(X))),
        "the last addition, too",
    ),
    ("debug-decoder", post_norm_decoder, "this is post-norm"),
    ("debug-decoder", decoder_with_old_query, "as it is now, after self-attention"),
    (
        "debug-decoder",
        decoder(across=lambda f, Y, memory: f(Y, memory, memory, mask=d2l.causal_mask(Y.shape[1]))),
        "cross-attention needs no causal mask",
    ),
    ("debug-decoder", lambda X, *others: X[:, :3], "return the stream"),
    ("debug-decoder", decoder(across=lambda f, Y, memory: f(memory, Y, Y)), "a row for each token of X"),
    ("debug-decoder", decoder(across=lambda f, Y, memory: f(Y, memory, memory).view(7)), "run it yourself"),
    ("debug-decoder", decoder(across=lambda f, Y, memory: f(Y, memory, Y)), "both come from the memory"),
    ("debug-decoder", decoder(across=lambda f, Y, memory: f(Y, Y, memory)), "both come from the memory"),
    ("debug-decoder", decoder(second=lambda X, Y, found: found), "the stream goes on"),
    (
        "debug-decoder",
        decoder(across=lambda f, Y, memory: f(Y, *[normed(memory)] * 2)),
        "has its norm from the encoder",
    ),
    ("debug-decoder", decoder(ask=lambda X: X), "cross-attention reads through a norm"),
    ("debug-decoder", decoder(third=lambda X, ffn: X + ffn(X)), "reads through a norm, too"),
    ("debug-decoder", decoder(third=lambda X, ffn: ffn(normed(X))), "adds to the stream"),
    ("debug-decoder", decoder(first=lambda X, found: found), "the first residual connection"),
    (
        "debug-decoder",
        decoder(
            across=lambda f, Y, memory: f(Y, memory, memory, mask=torch.ones(Y.shape[1], memory.shape[1]).tril().bool())
        ),
        "the whole source is known",
    ),
    (
        "debug-decoder",
        decoder(second=lambda X, Y, found: X + 2 * found),
        "print the stream after each of the three layers",
    ),
    ("debug-decoder", lambda *args: None, "return the stream"),
    ("debug-decoder", normed_together, "each token has a norm of its own"),
    ("debug-decoder", in_place, "works in place"),
    ("debug-decoder", without_epsilon, "the norm's epsilon"),
    ("debug-decoder", cut_off, "cuts the result off"),
    ("debug-decoder", torch.no_grad()(decoder()), "cuts the result off"),
    ("debug-decoder", unnormed_read, "self-attention reads through a norm"),
    ("debug-decoder", swapped, "which of them is called where?"),
    ("debug-decoder", cross_before_self, "a token looks back before it looks across"),
    (
        "debug-decoder",
        decoder(across=lambda f, Y, memory: f(Y, memory[:, :-1], memory[:, :-1])),
        "the memory, all of it",
    ),
    ("debug-decoder", decoder(mask=lambda n: ~d2l.causal_mask(n)), "Which tokens may token 0 see?"),
    ("debug-decoder", raising, "run it yourself"),
    ("debug-decoder", by_library, "self_attention is a layer with weights of its own"),
    ("debug-decoder", decoder(third=lambda X, ffn: X + ffn(normed(X).mT).mT), "the features of one token"),
    ("debug-decoder", decoder(third=lambda X, ffn: X + normed(X).sin()), "print the stream after each"),
    ("debug-decoder", decoder(third=lambda X, ffn: X + ffn(ffn(normed(X)))), "print the stream after each"),
    (
        "debug-decoder",
        lambda X, memory, back, across, ffn, training: decoder()(
            X, memory, lambda Y, *_, mask: back(Y, Y, Y, mask), across, ffn, training
        ),
        "the mask goes by its name",
    ),
    ("debug-decoder", decoder(mask=lambda n: torch.ones(n, n).tril()), "True where a query may look"),
    (
        "debug-decoder",
        decoder(mask=torch.nn.Transformer.generate_square_subsequent_mask),
        "True where a query may look",
    ),
    (
        "debug-decoder",
        decoder(across=lambda f, Y, memory: f(Y, memory, memory, mask=d2l.causal_mask(5, 3))),
        "the whole source is known",
    ),
    ("debug-decoder", decoder(third=lambda X, ffn: X), "where is the feed-forward network?"),
    ("debug-decoder", lambda *a: normed(decoder()(*a)), "no norm at the end of a block"),
    (
        "debug-decoder",
        decoder(third=lambda X, ffn: X + 0.99 * ffn(normed(X))),
        "print the stream after each of the three layers",
    ),
    ("debug-decoder", decoder(masked=lambda training: training), "a mask that comes and goes"),
]
